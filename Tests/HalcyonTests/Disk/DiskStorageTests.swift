import Foundation
import Halcyon
import HalcyonEviction
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Disk storage", .timeLimit(.minutes(20)))
struct DiskStorageTests {
    let fixture: DiskFixture

    init() throws { fixture = try DiskFixture() }

    @Test("Defaults are 1 GiB, a sweep every ten minutes and a week")
    func defaultsLimitSizeSweepAndAge() {
        let config = DiskStorageConfig(name: "x")
        #expect(config.sizeLimit == 1_073_741_824 && config.cleanInterval == .seconds(600))
        guard case .days(7) = config.expiration else { return #expect(Bool(false)) }
    }

    @Test("Any value that converts to data and back can be stored")
    func anySerializableValueCanBeStored() throws {
        let config = fixture.config()
        let disk = try DiskStorage(config: config)
        try disk.store(value: Note(text: "hello"), forKey: "a")
        #expect(try disk.value(forKey: "a", as: Note.self) == Note(text: "hello"))
        #expect(throws: CacheError.self) { try disk.store(value: Note(text: "refuse"), forKey: "b") }
        #expect(!disk.isCached(forKey: "b"))
    }

    @Test("A policy by name decides victims as in memory; belady is refused")
    func policiesByNameDecideVictims() throws {
        for (policy, expected) in [("lru", ["a", "c", "d"]), ("fifo", ["b", "c", "d"]), ("mru", ["b", "c", "d"])] {
            let fixture = try DiskFixture()
            let disk = try fixture.open(policy: policy) { $0.sizeLimit = 3 * 4_096 }
            for key in ["a", "b", "c"] { try disk.store(value: bytes(4_096), forKey: key) }
            _ = try disk.value(forKey: "a")
            try disk.store(value: bytes(4_096), forKey: "d")
            #expect(["a", "b", "c", "d"].filter { disk.isCached(forKey: $0) } == expected)
            try fixture.expectAgreement(disk)
        }
        #expect(throws: CacheError.self) { try DiskStorage(config: fixture.config(), policyNamed: "belady") }
    }

    @Test("An absent name is answered without the file system, unless the listing failed")
    func absentNameNeedsNoFileSystem() throws {
        var disk: DiskStorage? = try fixture.open()
        try disk?.store(value: bytes(10), forKey: "a")
        let url = try #require(disk?.cacheFileURL(forKey: "b"))
        disk?.waitUntilListed()
        // The file exists, so a look-up in the file system would find it.
        try bytes(10).write(to: url)
        #expect(disk?.isCached(forKey: "b") == false)
        #expect(try disk?.value(forKey: "b") == nil)
        // A look-up can be answered without any thread of the disk, and only where that is certain.
        let misses = disk?.statistics.lookUps.misses
        #expect(disk?.misses(EntryKey("b"), AccessContext()) == true)
        #expect(disk?.misses(EntryKey("a"), AccessContext()) == false)
        #expect(disk?.statistics.lookUps.misses == misses.map { $0 + 1 })
        try fixture.close(&disk)
        disk = try fixture.open(beforeListing: { throw SystemError(code: EIO) })
        disk?.waitUntilListed()
        fixture.clock.set(0)
        let now = Date(timeIntervalSince1970: 100)
        try FileManager.default.setAttributes([.modificationDate: now], ofItemAtPath: url.path)
        #expect(disk?.isCached(forKey: "b") == true)
        #expect(try disk?.value(forKey: "b") == bytes(10))
        #expect(try disk?.value(forKey: "a") == bytes(10))
        #expect(disk?.isCached(forKey: "c") == false)
        try disk?.store(value: bytes(11), forKey: "c")
        #expect(try disk?.value(forKey: "c") == bytes(11))
        try fixture.expectAgreement(try #require(disk))
    }

    @Test("A store during the first listing is kept, and earlier values are found at once")
    func storeDuringListingIsKept() async throws {
        var disk: DiskStorage? = try fixture.open()
        for key in ["a", "b"] { try disk?.store(value: bytes(10), forKey: key) }
        try fixture.close(&disk)
        let gate = DispatchSemaphore(value: 0)
        let racing = try fixture.open(beforeListing: { gate.wait() })
        #expect(try racing.value(forKey: "a") == bytes(10))
        #expect(racing.isCached(forKey: "b"))
        #expect(!racing.isCached(forKey: "c"))
        let store = Thread { _ = try? racing.store(value: bytes(20), forKey: "c") }
        store.start()
        gate.signal()
        await waitUntil { store.isFinished }
        #expect(try racing.value(forKey: "c") == bytes(20))
        #expect(try racing.value(forKey: "b") == bytes(10))
        try fixture.expectAgreement(racing)
    }

    @Test("A vanished file is a miss, and a vanished folder is created again")
    func vanishedFileIsMissAndFolderIsRemade() throws {
        let disk = try fixture.open()
        for key in ["a", "b"] { try disk.store(value: bytes(10), forKey: key) }
        try FileManager.default.removeItem(at: disk.cacheFileURL(forKey: "a"))
        #expect(try disk.value(forKey: "a") == nil)
        #expect(fixture.left.all.map(\.reason) == [.lost])
        try fixture.expectAgreement(disk)
        try FileManager.default.removeItem(at: disk.directoryURL)
        #expect(try disk.value(forKey: "b") == nil)
        try disk.store(value: bytes(30), forKey: "c")
        #expect(try disk.value(forKey: "c") == bytes(30))
        try fixture.expectAgreement(disk)
        #expect(throws: CacheError.self) { try fixture.open() }
    }

    @Test("A folder recreated by another storage is left alone until that closes, then taken over")
    func folderOfAnotherOwnerIsLeftAlone() throws {
        let disk = try fixture.open()
        try disk.store(value: bytes(10), forKey: "a")
        disk.flush()
        try FileManager.default.removeItem(at: disk.directoryURL)
        // A lock belongs to an open directory, so that a second storage acts like a second process.
        var other: DiskStorage? = try fixture.open()
        for key in ["a", "b", "c"] { try other?.store(value: bytes(20), forKey: key) }
        other?.flush()

        do {
            try disk.store(value: bytes(30), forKey: "a")
            Issue.record("a second owner")
        } catch CacheError.cannotWriteFile(_, let underlying) {
            guard case CacheError.directoryInUse = underlying else { throw underlying }
        }
        #expect(try disk.value(forKey: "a") == nil)
        #expect(disk.count == 0)
        disk.remove(forKey: "b")
        disk.removeAll()
        disk.flush()
        try fixture.expectAgreement(#require(other))
        #expect(try other?.value(forKey: "a") == bytes(20))
        #expect(try other?.value(forKey: "b") == bytes(20))

        try fixture.close(&other)
        try disk.store(value: bytes(30), forKey: "d")
        #expect(try ["a", "b", "c", "d"].map { try disk.value(forKey: $0)?.count } == [20, 20, 20, 30])
        try fixture.expectAgreement(disk)
        #expect(throws: CacheError.self) { try fixture.open() }
    }

    @Test("Concurrent configuration changes are atomic")
    func configurationChangesAreAtomic() async throws {
        let disk = try fixture.open()
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<200 {
                        disk.withConfig { $0.expiration = .seconds(seconds($0.expiration) + 1) }
                    }
                }
            }
        }
        #expect(disk.config.expiration == .seconds(604_800 + 1_600))
        @Sendable func seconds(_ expiration: StorageExpiration) -> Double {
            if case .seconds(let seconds) = expiration { return seconds }
            return 604_800
        }
    }

    @Test("The block that computes the directory is called once and released")
    func pathBlockIsCalledOnceAndReleased() throws {
        let calls = Mutex(0)
        weak var owner: Removals?
        let disk: DiskStorage
        do {
            let kept = Removals()
            owner = kept
            disk = try fixture.open {
                $0.cachePathBlock = { [kept] directory, name in
                    _ = kept
                    calls.withLock { $0 += 1 }
                    return directory.appendingPathComponent("own-\(name)")
                }
            }
        }
        try disk.store(value: bytes(1), forKey: "a")
        #expect(disk.directoryURL.lastPathComponent == "own-test")
        #expect(calls.withLock { $0 } == 1)
        #expect(owner == nil)
    }

    @Test("Unreadable bytes are an error with the file and the reason")
    func unreadableBytesAreAnError() throws {
        let disk = try DiskStorage(config: fixture.config())
        try disk.store(value: Note(text: "a"), forKey: "a")
        try Data([0xff]).write(to: disk.cacheFileURL(forKey: "a"))
        try FileManager.default.setAttributes(
            [.modificationDate: Date.distantFuture], ofItemAtPath: disk.cacheFileURL(forKey: "a").path)
        let error = #expect(throws: CacheError.self) { try disk.value(forKey: "a", as: Note.self) }
        guard case .cannotLoadDataFromDisk(let url, let underlying)? = error else {
            Issue.record("another error: \(String(describing: error))")
            return
        }
        #expect(url == disk.cacheFileURL(forKey: "a"))
        #expect(underlying is Note.Unreadable)
    }

    @Test("A store over the size limit evicts until the files' blocks fit; 0 is no limit")
    func storeOverLimitEvicts() throws {
        let disk = try fixture.open { $0.sizeLimit = 40_000 }
        for number in 0..<10 {
            try disk.store(value: bytes(5_000), forKey: "k\(number)")
            #expect(disk.totalSize <= 40_000)
            #expect(try fixture.files().values.reduce(0, +) <= 40_000)
        }
        // 5,000 bytes take two blocks of 4,096: four files fit.
        #expect((0..<10).filter { disk.isCached(forKey: "k\($0)") } == [6, 7, 8, 9])
        #expect(fixture.left.all.allSatisfy { $0.reason == .evicted && $0.cost == 8_192 })
        try fixture.expectAgreement(disk)
        #expect(try !disk.store(value: bytes(50_000), forKey: "huge"))
        #expect(disk.count == 4)
        disk.config.sizeLimit = 20_000
        #expect((0..<10).filter { disk.isCached(forKey: "k\($0)") } == [8, 9])
        disk.config.sizeLimit = 0
        for number in 0..<10 { try disk.store(value: bytes(5_000), forKey: "k\(number)") }
        #expect(disk.count == 10)
        try fixture.expectAgreement(disk)
    }

    @Test("Concurrent stores and removals leave files and entries consistent")
    func concurrentStoresAndRemovalsAgree() async throws {
        let disk = try fixture.open { $0.sizeLimit = 200_000 }
        await withTaskGroup { group in
            for thread in 0..<8 {
                group.addTask {
                    var random = SplitMix64(seed: UInt64(thread))
                    for version in 0..<150 {
                        let key = "k\(random.next(below: 30))"
                        switch random.next(below: 6) {
                        case 0...2:
                            _ = try? disk.store(
                                value: SelfDescribingValue.bytes(key: key, version: version), forKey: key)
                        case 3: disk.remove(forKey: key)
                        default:
                            if let data = try? disk.value(forKey: key) {
                                #expect(SelfDescribingValue.version(of: data, key: key) != nil)
                            }
                        }
                    }
                }
            }
        }
        try fixture.expectAgreement(disk)
    }

    @Test("A directory is used by one storage at a time")
    func directoryHasOneStorage() throws {
        var disk: DiskStorage? = try fixture.open()
        try disk?.store(value: bytes(1), forKey: "a")
        let error = #expect(throws: CacheError.self) { try fixture.open() }
        #expect(error?.description.hasSuffix("one at a time may use a directory.") == true)
        try fixture.close(&disk)
        disk = try fixture.open()
        #expect(try disk?.value(forKey: "a") == bytes(1))
    }
}

/// A value that can fail to serialize and to deserialize.
struct Note: DataTransformable, Equatable, Sendable {
    struct Unreadable: Error {}
    var text: String

    func toData() throws -> Data {
        if text == "refuse" { throw Unreadable() }
        return Data(text.utf8)
    }

    static func fromData(_ data: Data) throws -> Note {
        guard let text = String(data: data, encoding: .utf8) else { throw Unreadable() }
        return Note(text: text)
    }
}
