import Foundation
import Halcyon
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
        let stored = disk.files.folder.status(disk.cacheFileURL(forKey: "a").lastPathComponent)
        #expect(stored?.expires == fixture.clock.now + 100_000_000)
        fixture.clock.advance(by: 60)
        let read = fixture.clock.now
        // An extension needs this lock, and the reader does not wait for it.
        let found = try disk.files.mutation.withLock { _ in try disk.value(forKey: "a") }
        #expect(found == bytes(10))
        disk.flush()
        let extended = disk.files.folder.status(disk.cacheFileURL(forKey: "a").lastPathComponent)
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
        var disk: DiskStorage<Data>? = try fixture.open()
        try disk?.store(value: bytes(10), forKey: "a", expiration: .seconds(50))
        try disk?.store(value: bytes(10), forKey: "b", expiration: .never)
        let name = try #require(disk?.cacheFileURL(forKey: "a").lastPathComponent)
        let status = disk?.files.folder.status(name)
        #expect(status?.expires == fixture.clock.now + 50_000_000)
        #expect(status?.accessed == fixture.clock.now)
        try fixture.close(&disk)
        fixture.clock.advance(by: 40)
        disk = try fixture.open()
        disk?.files.waitUntilListed()
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
