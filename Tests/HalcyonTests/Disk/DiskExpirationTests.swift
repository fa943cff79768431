import Foundation
import Halcyon
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Disk storage: expiration", .timeLimit(.minutes(20)))
struct DiskExpirationTests {
    let fixture: DiskFixture

    init() throws { fixture = try DiskFixture() }

    @Test("A reader does not wait for the extension of an expiration, which the next flush writes")
    func readerDoesNotWaitForExtension() throws {
        let disk = try fixture.open { $0.expiration = .seconds(100) }
        try disk.store(value: bytes(10), forKey: "a")
        let stored = disk.folder.status(disk.cacheFileURL(forKey: "a").lastPathComponent)
        #expect(stored?.expires == fixture.clock.now + 100_000_000)
        fixture.clock.advance(by: 60)
        let read = fixture.clock.now
        // An extension needs this lock, and the reader does not wait for it.
        let found = try disk.mutation.withLock { _ in try disk.value(forKey: "a") }
        #expect(found == bytes(10))
        disk.flush()
        let extended = disk.folder.status(disk.cacheFileURL(forKey: "a").lastPathComponent)
        #expect(extended?.expires == read + 100_000_000)
        #expect(extended?.accessed == read)
        fixture.clock.advance(by: 99)
        #expect(disk.isCached(forKey: "a"))
        #expect(try disk.value(forKey: "a", extendingExpiration: .none) != nil)
        fixture.clock.advance(by: 1)
        #expect(try disk.value(forKey: "a") == nil)
        #expect(try fixture.files() == [:])
        #expect(fixture.left.all.map(\.reason) == [.expired])
    }

    @Test("A hit reads one file and writes nothing until its expiration moves by a hundredth of its span")
    func hitWritesNothingUntilExpirationMoves() throws {
        let steps = Mutex<[DiskStep]>([])
        var disk: DiskStorage? = try fixture.open(
            flushDelay: .seconds(3_600), { $0.expiration = .seconds(1_000) },
            onStep: { step in steps.withLock { $0.append(step) } })
        try disk?.store(value: bytes(10), forKey: "a")
        disk?.flush()
        func hit() throws -> [DiskStep] {
            steps.withLock { $0 = [] }
            #expect(try disk?.value(forKey: "a") == bytes(10))
            if disk?.state.withLock({ $0.needsFlush }) == true { disk?.flush(least: false) }
            return steps.withLock { $0 }
        }
        for _ in 0..<10 {
            fixture.clock.advance(by: 1)
            #expect(try hit() == [.reading])
        }
        fixture.clock.advance(by: 1)
        #expect(try hit() == [.reading, .touching, .indexing, .indexed])
        fixture.clock.advance(by: 10)
        #expect(try hit() == [.reading])
        // The closing writes the rest: the expiration is exact after a restart.
        try fixture.close(&disk)
        fixture.clock.advance(by: 999)
        disk = try fixture.open()
        disk?.waitUntilListed()
        #expect(disk?.isCached(forKey: "a") == true)
        fixture.clock.advance(by: 1)
        #expect(disk?.isCached(forKey: "a") == false)
    }

    @Test("After hits that only memory knows, a restart keeps the order of the accesses")
    func unwrittenHitsKeepOrderAfterRestart() throws {
        var disk: DiskStorage? = try fixture.open()
        for key in ["a", "b", "c"] {
            try disk?.store(value: bytes(10), forKey: key, expiration: key == "b" ? .never : nil)
            fixture.clock.advance(by: 1)
        }
        for key in ["b", "a"] {
            #expect(try disk?.value(forKey: key, extendingExpiration: .none) != nil)
            fixture.clock.advance(by: 1)
        }
        try fixture.close(&disk)
        disk = try fixture.open { $0.sizeLimit = 3 * 4_096 }
        for (stored, left) in [("d", ["a", "b", "d"]), ("e", ["a", "d", "e"]), ("f", ["d", "e", "f"])] {
            try disk?.store(value: bytes(10), forKey: stored)
            fixture.clock.advance(by: 1)
            #expect(["a", "b", "c", "d", "e", "f"].filter { disk?.isCached(forKey: $0) == true } == left)
        }
    }

    @Test(
        "A value stored while the clock was ahead expires as if it were stored when the clock is right again",
        arguments: [false, true])
    func valueOfTheFutureIsRedated(restarts: Bool) throws {
        let right = fixture.clock.now
        var disk: DiskStorage? = try fixture.open { $0.expiration = .seconds(100) }
        fixture.clock.advance(by: 7 * 365 * 86_400)
        let later = fixture.clock.now + 10_000_000
        let date = StorageExpiration.date(Date(timeIntervalSince1970: Double(later) / 1e6))
        try disk?.store(value: bytes(1), forKey: "usual")
        try disk?.store(value: bytes(1), forKey: "read")
        try disk?.store(value: bytes(2), forKey: "dated", expiration: date)
        try disk?.store(value: bytes(2), forKey: "lasting", expiration: .never)
        disk?.flush()
        fixture.clock.set(right)
        // A hit that does not extend: only the time of the store shows that the expiration is wrong.
        #expect(try disk?.value(forKey: "read", extendingExpiration: .none) != nil)
        if restarts {
            try fixture.close(&disk)
            disk = try fixture.open { $0.expiration = .seconds(100) }
            disk?.waitUntilListed()
        } else {
            #expect(disk?.removeExpiredValues() == [])
        }
        disk?.flush()
        let name = try #require(disk?.cacheFileURL(forKey: "usual").lastPathComponent)
        #expect(disk?.folder.status(name)?.expires == right + 100_000_000)
        fixture.clock.advance(by: 99)
        let keys = ["usual", "read", "dated", "lasting"]
        #expect(keys.allSatisfy { disk?.isCached(forKey: $0) == true })
        fixture.clock.advance(by: 1)
        #expect(keys.filter { disk?.isCached(forKey: $0) == true } == ["dated", "lasting"])
        #expect(disk?.removeExpiredValues().map(\.reason) == [.expired, .expired])
        fixture.clock.set(later)
        #expect(keys.filter { disk?.isCached(forKey: $0) == true } == ["lasting"])
    }

    @Test("Storing an expired value changes nothing")
    func expiredStoreChangesNothing() throws {
        let disk = try fixture.open()
        try disk.store(value: bytes(1), forKey: "a")
        #expect(try !disk.store(value: bytes(2), forKey: "a", expiration: .expired))
        #expect(try !disk.store(value: bytes(2), forKey: "b", expiration: .seconds(-5)))
        #expect(try disk.value(forKey: "a") == bytes(1))
        #expect(disk.count == 1)
    }

    @Test("The file's times hold its expiration and last access, also over a restart")
    func fileTimesHoldExpirationAndAccess() throws {
        var disk: DiskStorage? = try fixture.open()
        try disk?.store(value: bytes(10), forKey: "a", expiration: .seconds(50))
        try disk?.store(value: bytes(10), forKey: "b", expiration: .never)
        let name = try #require(disk?.cacheFileURL(forKey: "a").lastPathComponent)
        let status = disk?.folder.status(name)
        #expect(status?.expires == fixture.clock.now + 50_000_000)
        #expect(status?.accessed == fixture.clock.now)
        try fixture.close(&disk)
        fixture.clock.advance(by: 40)
        disk = try fixture.open()
        disk?.waitUntilListed()
        #expect(try disk?.value(forKey: "a") != nil)
        fixture.clock.advance(by: 49)
        #expect(disk?.isCached(forKey: "a") == true)
        fixture.clock.advance(by: 1)
        #expect(disk?.isCached(forKey: "a") == false)
        fixture.clock.advance(by: 1e9)
        #expect(try disk?.value(forKey: "b") != nil)
    }

    @Test("By default a value expires a week after its last access")
    func valuesExpireAWeekAfterAccess() throws {
        let disk = try fixture.open()
        try disk.store(value: bytes(10), forKey: "a")
        fixture.clock.advance(by: 7 * 86_400 - 1)
        #expect(try disk.value(forKey: "a") != nil)
        fixture.clock.advance(by: 7 * 86_400 - 1)
        #expect(disk.isCached(forKey: "a"))
        fixture.clock.advance(by: 1)
        #expect(!disk.isCached(forKey: "a"))
        #expect(disk.removeExpiredValues().map(\.reason) == [.expired])
    }
}
