import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache

@Suite("Disk storage: on a full or read-only file system", .timeLimit(.minutes(20)))
struct FullDiskTests {
    @Test("On a full disk a store evicts the oldest values and is kept; one that cannot fit evicts none")
    func fullDiskEvicts() throws {
        guard let small = try SmallDisk(kilobytes: 1_000) else { return }
        let fixture = try DiskFixture(on: small)
        let disk = try fixture.open()
        for number in 0..<100 {
            try disk.store(value: bytes(40_000, UInt8(number)), forKey: "k\(number)")
            #expect(try disk.value(forKey: "k\(number)") == bytes(40_000, UInt8(number)))
            fixture.clock.advance(by: 1)
        }
        // The disk holds fewer than 25 of them, and not more are evicted than each store needs.
        let kept = (0..<100).filter { disk.isCached(forKey: "k\($0)") }
        #expect(kept.count > 15 && kept.count < 25 && kept == Array((100 - kept.count)..<100))
        #expect(fixture.left.all.count == 100 - kept.count && fixture.left.all.allSatisfy { $0.reason == .evicted })
        try fixture.expectAgreement(disk)
        let error = #expect(throws: CacheError.self) { try disk.store(value: bytes(2_000_000), forKey: "k99") }
        #expect(error?.description.contains("No space left on device") == true)
        for number in kept { #expect(try disk.value(forKey: "k\(number)") == bytes(40_000, UInt8(number))) }
        let hidden = try FileManager.default.contentsOfDirectory(atPath: disk.directoryURL.path + "/.halcyon")
        #expect(!hidden.contains { $0.hasSuffix(".part") })
    }

    @Test("A disk or a quota that is full as the writer says evicts as much as is needed", arguments: [ENOSPC, EDQUOT])
    func writerThatFindsNoSpaceEvicts(code: Int32) throws {
        let fixture = try DiskFixture()
        let path = fixture.folder.path + "/halcyon.cache.test"
        // Room for four files.
        let disk = try fixture.open(onStep: { step in
            let names = step == .writing ? try FileManager.default.contentsOfDirectory(atPath: path) : []
            if names.filter({ !$0.hasPrefix(".") }).count >= 4 { throw SystemError(code: code) }
        })
        for number in 0..<6 {
            try disk.store(value: bytes(10, UInt8(number)), forKey: "k\(number)")
            fixture.clock.advance(by: 1)
        }
        // A value of one block is taken to need two.
        #expect((0..<6).filter { disk.isCached(forKey: "k\($0)") } == [2, 3, 4, 5])
        #expect(fixture.left.all.map(\.reason) == [.evicted, .evicted])
        try fixture.expectAgreement(disk)
    }

    @Test("An index that the full disk refused is written completely once there is space")
    func indexIsWrittenOnceThereIsSpace() throws {
        guard let small = try SmallDisk(kilobytes: 1_000) else { return }
        let fixture = try DiskFixture(on: small)
        // A long delay, so that the index is not written before the disk is full.
        var disk: DiskStorage? = try fixture.open(flushDelay: .seconds(3_600))
        for number in 0..<40 {
            try disk?.store(
                value: bytes(4_096), forKey: "k\(number)", context: AccessContext(categories: ["c\(number % 2)"]))
        }
        #expect(small.fill())
        disk?.flush()
        #expect(disk?.state.withLock { $0.unindexed.count } == 40)
        for number in 0..<40 { #expect(try disk?.value(forKey: "k\(number)") == bytes(4_096)) }
        try small.empty()
        disk?.flush()
        #expect(disk?.state.withLock { $0.unindexed.count } == 0)
        try fixture.close(&disk)
        let again = try fixture.open()
        #expect(again.use(category: "c1").count == 20)
        try fixture.expectAgreement(again)
    }

    @Test("With a full disk at the start, values and categories are known and stores fail until there is space")
    func fullDiskAtStartKeepsValues() throws {
        guard let small = try SmallDisk(kilobytes: 1_000) else { return }
        let fixture = try DiskFixture(on: small)
        try start(fixture, small.fill) {
            try small.empty()
            return true
        }
    }

    @Test("With a read-only disk at the start, values and categories are known and stores fail")
    func readOnlyDiskAtStartKeepsValues() throws {
        guard let small = try SmallDisk(kilobytes: 1_000) else { return }
        let fixture = try DiskFixture(on: small)
        try start(fixture, { small.remount("ro") }, { small.remount("rw") })
    }

    private func start(_ fixture: DiskFixture, _ begin: () -> Bool, _ end: () throws -> Bool) throws {
        var disk: DiskStorage? = try fixture.open()
        for key in ["a", "b"] {
            try disk?.store(value: bytes(4_096), forKey: key, context: AccessContext(categories: ["k"]))
        }
        try fixture.close(&disk)
        #expect(begin())
        disk = try fixture.open()
        #expect(disk?.use(category: "k").count == 2)
        #expect(try disk?.value(forKey: "a") == bytes(4_096))
        #expect(throws: CacheError.self) { try disk?.store(value: bytes(9_000), forKey: "c") }
        disk?.flush()
        #expect(try end())
        try disk?.store(value: bytes(9_000), forKey: "c", context: AccessContext(categories: ["k"]))
        #expect(try disk?.value(forKey: "c") == bytes(9_000))
        try fixture.close(&disk)
        let again = try fixture.open()
        #expect(again.use(category: "k").count == 3)
        try fixture.expectAgreement(again)
    }

    @Test("On a read-only disk reads continue, removed values stay hidden and are deleted later")
    func readOnlyDiskHidesRemovedValues() throws {
        guard let small = try SmallDisk(kilobytes: 1_000) else { return }
        let fixture = try DiskFixture(on: small)
        let disk = try fixture.open()
        for key in ["a", "b", "c", "d"] { try disk.store(value: bytes(4_096), forKey: key) }
        #expect(small.forbidWriting())
        #expect(throws: CacheError.self) { try disk.store(value: bytes(9_000), forKey: "a") }
        #expect(throws: CacheError.self) { try disk.store(value: bytes(9_000), forKey: "e") }
        disk.remove(forKey: "b")
        #expect(disk.trim(toSize: 4_096).count == 2)
        for key in ["a", "b", "c", "d", "e"] {
            #expect(try disk.value(forKey: key) == (key == "d" ? bytes(4_096) : nil), "\(key)")
        }
        disk.flush()
        #expect(try fixture.files().count == 4)
        #expect(small.allowWriting())
        try disk.store(value: bytes(9_000), forKey: "c")
        disk.flush()
        try fixture.expectAgreement(disk)
        #expect(disk.count == 2)
        #expect(try disk.value(forKey: "c") == bytes(9_000))
    }

    @Test("On a read-only disk that was never listed, removed values stay hidden and are deleted later")
    func readOnlyUnlistedDiskHidesRemovedValues() throws {
        guard let small = try SmallDisk(kilobytes: 1_000) else { return }
        let fixture = try DiskFixture(on: small)
        var disk: DiskStorage? = try fixture.open()
        for key in ["a", "b"] { try disk?.store(value: bytes(4_096), forKey: key) }
        try fixture.close(&disk)
        #expect(small.remount("ro"))
        let unlisted = try fixture.open(beforeListing: { throw SystemError(code: EIO) })
        unlisted.remove(forKey: "a")
        #expect(try unlisted.value(forKey: "a") == nil)
        #expect(!unlisted.isCached(forKey: "a"))
        #expect(try unlisted.value(forKey: "b") == bytes(4_096))
        #expect(small.remount("rw"))
        unlisted.removeSizeExceededValues()
        unlisted.flush()
        try fixture.expectAgreement(unlisted)
        #expect(unlisted.count == 1)
    }
}
