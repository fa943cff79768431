import Foundation
import HalcyonEviction
import HalcyonSupport
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Image cache: opening the disk", .timeLimit(.minutes(20)))
struct DiskOpeningTests {
    @Test("A second cache over a directory throws, or on request works in memory only and reports it")
    func secondCacheOfDirectoryThrowsOrUsesMemory() async throws {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let first = try ImageCache<Data>(name: "x", cacheDirectoryURL: directory)
        #expect(first.diskState.isOpen)
        func second(_ rule: DirectoryInUse) throws -> [ImageCache<Data>] {
            [
                try ImageCache<Data>(name: "x", cacheDirectoryURL: directory, onDirectoryInUse: rule),
                try ImageCache<Data>(
                    disk: .init(name: "x", directory: directory), memoryPolicyNamed: "lru", onDirectoryInUse: rule),
            ]
        }
        do {
            _ = try second(.fail)
            Issue.record("two owners")
        } catch CacheError.diskUnavailable(CacheError.directoryInUse) {}
        #expect(throws: CacheError.self) {
            try ImageCache<Data>(disk: .init(name: "x", directory: directory), memoryPolicyNamed: "lru")
        }
        for cache in try second(.memoryOnly) {
            guard case .unavailable(CacheError.directoryInUse) = cache.diskState else {
                return #expect(Bool(false), "\(cache.diskState)")
            }
            let events = cache.events()
            let result = await cache.store(Data(), forKey: "a")
            #expect(throws: CacheError.self) { try result.diskCacheResult.get() }
            for await case .failure in events { break }
        }
        // A directory that cannot be used at all is an error either way.
        let blocked = URL(fileURLWithPath: try folder.file("blocked", "a file"))
        #expect(throws: CacheError.self) {
            try ImageCache<Data>(name: "x", cacheDirectoryURL: blocked, onDirectoryInUse: .memoryOnly)
        }
        await first.close()
        #expect(try ImageCache<Data>(name: "x", cacheDirectoryURL: directory).diskState.isOpen)
    }

    @Test("Only the first opening waits for the lock; other operations fail at once during a later one")
    func onlyFirstOpeningWaitsForLock() async throws {
        let clock = ManualClock()
        let patiences = Mutex<[Duration]>([])
        let (opening, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let owner = DiskOwner(clock: clock) { patience in
            let isFirst = patiences.withLock { patiences in
                patiences.append(patience)
                return patiences.count == 1
            }
            if !isFirst {
                opening.signal()
                mayGoOn.wait()
            }
            throw CacheError.directoryInUse(URL(fileURLWithPath: "/x"))
        } onFailure: { _ in
        }
        @Sendable func fails(_ key: String) async -> Bool {
            await withCheckedContinuation { continuation in
                owner.perform(
                    .read(EntryKey(key)), { _ in }, done: { continuation.resume(returning: (try? $0.get()) == nil) })
            }
        }
        #expect(await fails("a") && patiences.withLock { $0 } == [.seconds(1)])
        clock.advance(by: 10)
        async let second = fails("b")
        try await CallbackQueue.dispatch(DispatchQueue(label: "test")).result { opening.wait() }
        #expect(await fails("c"))
        mayGoOn.signal()
        #expect(await second && patiences.withLock { $0 } == [.seconds(1), .zero])
    }

    @Test("A cache in memory only takes the directory over ten seconds after it was freed")
    func memoryOnlyCacheTakesOverFreedDirectory() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let first = try ImageCache<Blob>.open(folder)
        let second = ImageCache<Blob>(
            memory: .lasting(cost: 100), disk: .init(name: "x", directory: URL(fileURLWithPath: folder.path)),
            serializer: BlobSerializer(), clock: clock, triggers: [])
        #expect(!second.diskState.isOpen)
        let events = second.events()
        clock.advance(by: 10)
        #expect(try await second.image(forKey: "a").cacheType == .none)
        for await event in events {
            guard case .failure(let reason) = event else { continue }
            #expect(reason.contains("one at a time may use a directory"))
            break
        }
        await first.store(Blob("a", cost: 5), forKey: "a")
        await first.close()
        #expect(try await second.image(forKey: "a").cacheType == .none)
        clock.advance(by: 10)
        #expect(try await second.image(forKey: "a").image == Blob("a", cost: 5))
        #expect(second.diskState.isOpen)
    }

    @Test("While a disk that was opened late is listed, stores on it hold no thread")
    func lateOpeningHoldsNoWriter() async throws {
        let (folder, clock, gate) = (try TemporaryFolder(), ManualClock(), DispatchSemaphore(value: 0))
        let isFree = SharedFlag()
        let config = DiskStorageConfig(
            name: "x", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero)
        let owner = DiskOwner(clock: clock) { patience in
            guard isFree.value else { throw CacheError.directoryInUse(URL(fileURLWithPath: folder.path)) }
            return try DiskStorage(
                config: config, seed: 1, clock: clock, patience: patience,
                calls: SteppedCalls(beforeListing: { gate.wait() }))
        } onFailure: { _ in
        }
        isFree.value = true
        clock.advance(by: 10)
        let ended = CallCounter()
        for key in ["a", "b", "c"] {
            owner.store(EntryKey(key)) {
                Data(key.utf8)
            } write: { storage, data in
                _ = try storage.store(value: data, forKey: key)
            } done: { _ in
                ended.add()
            }
            await waitUntil { owner.openStorage != nil }
        }
        await waitUntil { owner.preparedSize == 3 }
        // All threads of the queue are free: this block runs alone on it.
        await withCheckedContinuation { continuation in
            owner.queue.async(flags: .barrier) { continuation.resume() }
        }
        #expect(ended.count == 0)
        gate.signal()
        await waitUntil { ended.count == 3 }
        #expect(owner.openStorage?.count == 3)
        await owner.close()
    }
}
