import Foundation
import GRDB
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Notes of the entries on disk", .timeLimit(.minutes(20)))
struct EntryNoteTests {
    /// Stores a value with a note.
    private func store(
        _ cache: ImageCache<Blob>, _ key: String, note: String?, options: CacheOptions = CacheOptions(), cost: Int = 10
    ) async {
        await withCheckedContinuation { continuation in
            cache.store(
                Blob(key, cost: cost), original: nil, forKey: EntryKey(key), toMemory: true, toDisk: true,
                options: options,
                note: { _, _ in note.map { Data($0.utf8) } }
            ) { _ in continuation.resume() }
        }
    }

    /// The notes that the index database of a cache has once all changes are written.
    private func written(_ fixture: CacheFixture) async throws -> Set<String> {
        await fixture.cache.enterBackground()
        var configuration = Configuration()
        configuration.readonly = true
        let path = fixture.folder.path + "/halcyon.cache.test/.halcyon/index.sqlite"
        let texts = try await DatabaseQueue(path: path, configuration: configuration).read {
            try String.fetchAll($0, sql: "SELECT CAST(note AS TEXT) FROM entry WHERE note IS NOT NULL")
        }
        return Set(texts)
    }

    private func count(_ fixture: CacheFixture) -> Int? {
        fixture.cache.diskStorage?.state.withLock { $0.noteCount }
    }

    enum Loss: CaseIterable {
        case removal, category, variants, forgetting, eviction, expiration, clearing, storeInMemory, otherBytes
        case lostFile, sweep
    }

    @Test("A note goes with its entry, whichever way that goes", arguments: Loss.allCases)
    func noteGoesWithItsEntry(loss: Loss) async throws {
        let fixture = try CacheFixture { $0.sizeLimit = 4 * 4_096 }
        let (cache, disk) = (fixture.cache, try #require(fixture.cache.diskStorage))
        let key = loss == .forgetting ? EntryOrigin.privateKey("a", of: "u7") : "a"
        var options = CacheOptions(categories: ["c"])
        options.diskCacheExpiration = .seconds(10)
        await store(cache, key, note: "of a", options: options)
        await store(cache, "b", note: "of b")
        #expect(count(fixture) == 2 && cache.notes.note(of: key) == Data("of a".utf8))
        #expect(try await written(fixture) == ["of a", "of b"])
        switch loss {
        case .removal: await cache.remove(forKey: key)
        case .category: await cache.remove(category: "c")
        case .variants: await cache.removeVariants(ofKey: key)
        case .forgetting: try await cache.forget(user: "u7") {}
        case .eviction:
            for name in ["x", "y"] { await store(cache, name, note: nil, cost: 4_000) }
            cache.clearMemoryCache()
            _ = try await cache.image(forKey: "b")
            await store(cache, "z", note: nil, cost: 4_000)
        case .expiration:
            fixture.clock.advance(by: 10)
            cache.clearMemoryCache()
            #expect(try await cache.image(forKey: key).image == nil)
        case .sweep:
            fixture.clock.advance(by: 10)
            await cache.cleanExpiredDiskCache()
        case .clearing:
            await cache.clear()
            await store(cache, "b", note: "of b")
        case .storeInMemory: await cache.store(Blob(), forKey: key, toDisk: false)
        case .otherBytes: await cache.store(Blob("other"), forKey: key)
        case .lostFile:
            try FileManager.default.removeItem(at: disk.cacheFileURL(forKey: key))
            cache.clearMemoryCache()
            #expect(try await cache.image(forKey: key).image == nil)
        }
        await fixture.cache.settleDisk()
        #expect(count(fixture) == 1 && cache.notes.note(of: key) == nil)
        #expect(await cache.notes.settled(of: "b") == Data("of b".utf8))
        #expect(try await written(fixture) == ["of b"])
        // A note without an entry is not kept.
        if loss != .otherBytes {
            await cache.notes.set(Data("late".utf8), of: key)
            #expect(count(fixture) == 1)
        }
    }

    @Test("More notes than 16,384 are kept, over a restart, in less than half a kilobyte each")
    func notesHaveNoLimitOfTheirOwn() throws {
        let fixture = try DiskFixture()
        var disk: DiskStorage? = try fixture.open(flushDelay: .seconds(3_600))
        let count = 18_000
        for number in 0..<count {
            _ = try disk?.store(
                Data(), EntryKey("k\(number)"), expiration: .never, context: AccessContext(),
                note: { _, _ in bytes(120, UInt8(number % 251)) })
        }
        let index = try #require(disk?.directoryURL.path) + "/.halcyon/index.sqlite"
        try fixture.close(&disk)
        let size = try FileManager.default.attributesOfItem(atPath: index)[.size] as? Int
        #expect(size.map { $0 < count * 512 } == true)
        let reopened = try fixture.open()
        reopened.waitUntilListed()
        let kept = (0..<count).filter {
            reopened.note(of: EntryKey("k\($0)")) == bytes(120, UInt8($0 % 251))
        }
        #expect(kept.count == count)
    }

    @Test("A note is read without the disk, and waits for pending stores of its key only")
    func noteIsReadWithoutDisk() async throws {
        let fixture = try CacheFixture()
        let (cache, notes) = (fixture.cache, fixture.cache.notes)
        await store(cache, "a", note: "of a")
        cache.disk.queue.suspend()
        try FileManager.default.removeItem(atPath: fixture.folder.path + "/halcyon.cache.test")
        #expect(await notes.settled(of: "a") == Data("of a".utf8))
        #expect(await notes.settled(of: "none") == nil)
        try FileManager.default.createDirectory(
            atPath: fixture.folder.path + "/halcyon.cache.test", withIntermediateDirectories: false)
        let stored = Task { await store(cache, "a", note: "newer") }
        await waitUntil { !cache.disk.isFree("a") }
        let found = Task { await notes.settled(of: "a") }
        cache.disk.queue.resume()
        await stored.value
        #expect(await found.value == Data("newer".utf8))
    }

    @Test("A note waits for the listing of the folder, and belongs to the file of its extension")
    func noteWaitsForListing() async throws {
        let folder = try TemporaryFolder()
        let gate = DispatchSemaphore(value: 0)
        let (clock, isGated) = (ManualClock(), SharedFlag())
        let config = DiskStorageConfig(name: "x", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero)
        func open() -> DiskOwner {
            DiskOwner(clock: clock) { patience in
                try DiskStorage(
                    config: config, seed: 1, clock: clock, patience: patience,
                    calls: SteppedCalls(beforeListing: { if isGated.value { gate.wait() } }))
            } onFailure: { _ in
            }
        }
        let first = open()
        for (number, name) in [nil, "webp"].enumerated() {
            _ = try first.openStorage?.store(
                Data(), EntryKey("a", forcedExtension: name), expiration: nil, context: AccessContext(),
                note: { _, _ in Data([UInt8(number)]) })
        }
        await first.close()
        isGated.value = true
        let second = open()
        let notes = EntryNotes(disk: second)
        #expect(notes.note(of: "a") == nil)
        let found = Task { await (notes.settled(of: "a"), notes.settled(of: EntryKey("a", forcedExtension: "webp"))) }
        gate.signal()
        let (plain, webp) = await found.value
        #expect(plain == Data([0]) && webp == Data([1]))
        #expect(notes.note(of: "a") == Data([0]))
        await second.close()
        #expect(await notes.settled(of: "a") == nil)
    }

    @Test("A store of the same bytes may keep the note, and a note may be set for expected bytes only")
    func noteIsOfItsBytes() async throws {
        let fixture = try CacheFixture()
        let (cache, notes) = (fixture.cache, fixture.cache.notes)
        let seen = Mutex<[[Data?]]>([])
        for _ in 0..<2 {
            await withCheckedContinuation { continuation in
                let note: NoteMaker = { data, earlier in
                    seen.withLock { $0.append([data, earlier]) }
                    return earlier ?? Data([1])
                }
                cache.keepOriginal({ bytes(3) }, forKey: "a", options: CacheOptions(), note: note) {
                    continuation.resume()
                }
            }
        }
        #expect(seen.withLock { $0 } == [[bytes(3), nil], [bytes(3), Data([1])]])
        await notes.set(Data([2]), of: "a") { $0 == bytes(4) }
        #expect(notes.note(of: "a") == Data([1]))
        await notes.set(Data([2]), of: "a") { $0 == bytes(3) }
        #expect(notes.note(of: "a") == Data([2]))
        await notes.set(nil, of: "a")
        #expect(notes.note(of: "a") == nil)
    }

    @Test("An entry that has expired on disk and lives on in memory has its note until the disk is cleaned")
    func expiredEntryHasNoteUntilCleaning() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        var options = CacheOptions()
        options.diskCacheExpiration = .seconds(10)
        await store(cache, "a", note: "of a", options: options)
        fixture.clock.advance(by: 10)
        #expect(try await cache.image(forKey: "a").cacheType == .memory)
        #expect(await cache.notes.settled(of: "a") == Data("of a".utf8))
        await cache.cleanExpiredDiskCache()
        #expect(try await cache.image(forKey: "a").cacheType == .memory)
        #expect(await cache.notes.settled(of: "a") == nil)
    }

    @Test("A note of a file that was replaced since its row was written is dropped at the start")
    func noteOfReplacedFileIsDropped() {
        func row(_ name: String) -> IndexDatabase.Row {
            IndexDatabase.Row(
                name: name, size: 512, length: 10, accessed: 3, expires: 100, renewal: 5, fingerprint: 9,
                categories: [], note: Data([1]))
        }
        let files = [("same", 100), ("replaced", 200)].map { (name, expires) in
            (name: name, status: CacheFolder.Status(size: 512, length: 10, accessed: 3, expires: Int64(expires)))
        }
        let merged = DiskRecovery.merge(files: files, rows: [row("same"), row("replaced")])
        #expect(
            merged.residents.map(\.note) == [nil, Data([1])] && merged.residents.map(\.name) == ["replaced", "same"])
    }
}
