import Foundation
import HalcyonEviction
import HalcyonSupport
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Image cache: closing the disk", .timeLimit(.minutes(20)))
struct DiskClosingTests {
    @Test("Closing finishes pending work and frees the directory; later calls miss or throw")
    func closingFinishesWorkAndFreesDirectory() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 1_000))
        let cache = fixture.cache
        let options = CacheOptions(categories: ["c"])
        let stored = Mutex(0)
        for number in 0..<50 {
            cache.store(Blob("v\(number)", cost: 5), forKey: "k\(number)", options: options) { result in
                if case .success = result.diskCacheResult { stored.withLock { $0 += 1 } }
            }
        }
        let storage = try #require(cache.diskStorage)
        async let other: Void = cache.close()
        await cache.close()
        await other
        #expect(stored.withLock { $0 } == 50)
        guard case .closed = cache.diskState else { return #expect(Bool(false), "\(cache.diskState)") }

        #expect(cache.diskStorage == nil)
        let late = await cache.store(Blob("late"), forKey: "late", options: options)
        guard case .failure(CacheError.closed) = late.diskCacheResult else {
            return #expect(Bool(false), "\(late.diskCacheResult)")
        }
        #expect(cache.imageInMemory(forKey: "late") == Blob("late"))
        cache.clearMemoryCache()
        #expect(try await cache.image(forKey: "k1").cacheType == .none)
        #expect(cache.load("k1")?.cacheType == CacheType.none)
        #expect(await cache.clean() == [])
        #expect(await cache.diskStorageSize() == 0)
        await cache.remove(forKey: "k1")
        await cache.remove(category: "c")
        await cache.clear()
        await cache.enterBackground()
        #expect(throws: CacheError.self) { try storage.store(value: Data(), forKey: "late") }
        #expect(try storage.value(forKey: "k1") == nil)
        #expect(!storage.isCached(forKey: "k1") && storage.count == 0 && storage.totalSize == 0)
        storage.removeAll()
        storage.flush()
        await cache.close()

        // The closed cache still exists and has removed nothing.
        let next = try DiskStorage(config: fixture.nextConfig, policyNamed: "lru", clock: fixture.clock)
        #expect(next.count == 50 && next.use(category: "c").count == 50)
        try next.store(value: Data("n".utf8), forKey: "late")
        storage.removeAll()
        #expect(next.isCached(forKey: "late"))
    }

    @Test("A cache can be opened and closed many times, and closing stops its triggers")
    func cacheCanBeReopenedManyTimes() async throws {
        let folder = try TemporaryFolder()
        let trigger = ManualTrigger()
        for round in 0..<20 {
            let cache = try ImageCache<Blob>.open(folder, trigger: trigger)
            #expect(trigger.isStarted)
            if round > 0 { #expect(try await cache.image(forKey: "k\(round - 1)").image == Blob("\(round)", cost: 9)) }
            cache.store(Blob("\(round + 1)", cost: 9), forKey: "k\(round)", completionHandler: nil)
            await cache.close()
            #expect(!trigger.isStarted)
        }
    }

    @Test("A cache that is closing finds nothing on disk, and a clearing removes from memory only")
    func closingCacheRemovesFromMemoryOnly() async throws {
        let serializer = GatedSerializer()
        let (cache, folder) = try ImageCache<Blob>.gated(serializer)
        await cache.store(Blob("a"), forKey: "a")
        serializer.close()
        cache.store(Blob("b"), forKey: "b", completionHandler: nil)
        let closing = Task { await cache.close() }
        // The closing waits for the store.
        await waitUntil { cache.disk.storage == nil }
        #expect(cache.disk.openStorage != nil && cache.isCached(forKey: "a"))
        await cache.clear()
        #expect(!cache.isCached(forKey: "a") && cache.imageCachedType(forKey: "b") == .none)
        #expect(try await cache.image(forKey: "a").image == nil)
        serializer.open()
        await closing.value
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/halcyon.cache.x")
        #expect(files.count { !$0.hasPrefix(".") } == 2)
    }

    @Test("Closing waits for running reads, on the queue and on a caller's thread, and their completions")
    func closingWaitsForRunningReads() async throws {
        let folder = try TemporaryFolder()
        for isSynchronous in [false, true] {
            let owner = DiskOwner(clock: ManualClock()) { patience in
                try DiskStorage.open(folder, patience)
            } onFailure: { _ in
            }
            let (reading, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let steps = Mutex<[String]>([])
            let work = { @Sendable (storage: DiskStorage) throws in
                reading.signal()
                mayGoOn.wait()
                // In a closed storage this would throw.
                try storage.store(value: Data(), forKey: "b")
                steps.withLock { $0.append("read") }
            }
            let done = { @Sendable (result: Result<Void, any Error>) in
                #expect(throws: Never.self) { try result.get() }
                steps.withLock { $0.append("completed") }
            }
            if isSynchronous {
                DispatchQueue.global().async { owner.performNow(reading: "a", work, done: done) }
            } else {
                owner.perform(.read("a"), work, done: done)
            }
            try await CallbackQueue.dispatch(DispatchQueue(label: "test")).result { reading.wait() }
            let closing = Task {
                await owner.close()
                steps.withLock { $0.append("closed") }
            }
            await waitUntil { owner.storage == nil }
            // A closing that did not wait would end in this time.
            try await Task.sleep(for: .milliseconds(50))
            #expect(owner.openStorage != nil && steps.withLock { $0.isEmpty })
            mayGoOn.signal()
            await closing.value
            #expect(steps.withLock { $0 } == ["read", "completed", "closed"])
        }
    }

    @Test("A look-up that opens the directory while the cache closes leaves it closed and the directory free")
    func openingDuringClosingLeavesCacheClosed() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let (opening, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let isFirst = Mutex(true)
        let owner = DiskOwner(clock: clock) { patience in
            let fails = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if fails { throw CacheError.directoryInUse(URL(fileURLWithPath: "/x")) }
            opening.signal()
            mayGoOn.wait()
            return try DiskStorage.open(folder, patience)
        } onFailure: { _ in
        }
        clock.advance(by: 10)
        owner.perform(.read("a"), { _ in }, done: { _ in })
        try await CallbackQueue.dispatch(DispatchQueue(label: "test")).result { opening.wait() }
        let closing = Task { await owner.close() }
        await waitUntil { owner.isClosing }
        mayGoOn.signal()
        await closing.value
        guard case .closed = owner.diskState else { return #expect(Bool(false), "\(owner.diskState)") }
        #expect(throws: Never.self) { try DiskStorage.open(folder, .zero) }
    }

    @Test("A storage opened after the closing has ended is closed again")
    func storageOpenedAfterClosingIsClosed() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let attempts = Mutex(0)
        let reference = Mutex<DiskOwner?>(nil)
        let owner = DiskOwner(clock: clock) { patience in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            if attempt == 1 { throw CacheError.directoryInUse(URL(fileURLWithPath: "/x")) }
            // The closing ends within the attempt.
            reference.withLock { $0 }?.finishClosing()
            return try DiskStorage.open(folder, patience)
        } onFailure: { _ in
        }
        reference.withLock { $0 = owner }
        clock.advance(by: 10)
        let isClosed = await withCheckedContinuation { continuation in
            owner.perform(.read("a"), { _ in }) { result in
                guard case .failure(CacheError.closed) = result else { return continuation.resume(returning: false) }
                continuation.resume(returning: true)
            }
        }
        #expect(isClosed && owner.openStorage == nil)
        #expect(throws: Never.self) { try DiskStorage.open(folder, .zero) }
        reference.withLock { $0 = nil }
    }
}
