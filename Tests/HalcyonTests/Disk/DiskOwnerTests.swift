import Foundation
import HalcyonEviction
import HalcyonSupport
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Image cache: ownership of the disk", .timeLimit(.minutes(20)))
struct DiskOwnerTests {
    private var synchronous: CacheOptions {
        var options = CacheOptions()
        options.loadDiskFileSynchronously = true
        return options
    }

    private func load(_ cache: ImageCache<Blob>, _ key: String) -> ImageCacheResult<Blob>? {
        let found = Mutex<ImageCacheResult<Blob>?>(nil)
        cache.retrieveImage(forKey: key, options: synchronous, callbackQueue: .untouch) { result in
            found.withLock { $0 = try? result.get() }
        }
        return found.withLock { $0 }
    }

    @Test("A synchronous load waits neither for the serializers of other stores nor for a cleaning")
    func synchronousLoadDoesNotWaitForOtherStores() async throws {
        let serializer = GatedSerializer()
        let (cache, folder) = try Self.cache(serializer)
        await cache.store(Blob("there"), forKey: "there")
        cache.clearMemoryCache()
        serializer.close()
        let group = DispatchGroup()
        for number in 0..<40 {
            group.enter()
            cache.store(Blob("\(number)"), forKey: "k\(number)") { _ in group.leave() }
        }
        async let cleaned = cache.clean()
        // If it waited for any of them, it would never return.
        #expect(load(cache, "there")?.cacheType == .disk)
        #expect(cache.isCached(forKey: "there"))
        serializer.open()
        _ = await cleaned
        await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
        cache.clearMemoryCache()
        for number in 0..<40 { #expect(load(cache, "k\(number)")?.image == Blob("\(number)")) }
        withExtendedLifetime(folder) {}
    }

    @Test("A synchronous load sees the earlier stores of its key and runs them itself")
    func synchronousLoadRunsPendingStoreOfItsKey() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        await cache.store(Blob("old"), forKey: "a")
        // Otherwise the thread that completes this store would complete the next ones, too.
        await waitUntil { cache.disk.undeliveredCount == 0 }
        cache.disk.queue.suspend()
        let completed = Mutex<[String]>([])
        for name in ["first", "second"] {
            cache.store(Blob(name), forKey: "a") { _ in completed.withLock { $0.append(name) } }
        }
        cache.clearMemoryCache()
        // The queue is suspended, so this thread serializes and writes both.
        #expect(load(cache, "a")?.image == Blob("second"))
        #expect(cache.imageInMemory(forKey: "a") == Blob("second"))
        // Completions of other calls do not run on the waiting thread.
        #expect(completed.withLock { $0 } == [])
        cache.disk.queue.resume()
        await cache.settleDisk()
        while completed.withLock({ $0.count }) < 2 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(completed.withLock { $0 } == ["first", "second"])
    }

    @Test("Two caches that read each other synchronously in completions do not deadlock")
    func cachesReadingEachOtherDoNotDeadlock() async throws {
        let (first, second) = (try CacheFixture(), try CacheFixture())
        for cache in [first.cache, second.cache] {
            await cache.store(Blob("there"), forKey: "there")
            cache.clearMemoryCache()
        }
        let (found, options) = (Counter(), synchronous)
        await withTaskGroup { group in
            for number in 0..<100 {
                let (one, other) = number % 2 == 0 ? (first.cache, second.cache) : (second.cache, first.cache)
                group.addTask {
                    await withCheckedContinuation { continuation in
                        one.store(Blob(cost: 1), forKey: "k\(number)") { _ in
                            other.retrieveImage(forKey: "there", options: options, callbackQueue: .untouch) { result in
                                if (try? result.get())?.image != nil { found.add() }
                                continuation.resume()
                            }
                        }
                    }
                }
            }
        }
        #expect(found.count == 100)
    }

    @Test("A removal or clearing voids pending stores, whose completions are called")
    func removalVoidsPendingStores() async throws {
        let serializer = GatedSerializer()
        let (cache, folder) = try Self.cache(serializer)
        serializer.close()
        let group = DispatchGroup()
        for key in ["a", "b"] {
            group.enter()
            cache.store(Blob(key), forKey: key) { result in
                #expect(throws: Never.self) { try result.diskCacheResult.get() }
                group.leave()
            }
        }
        // Neither waits for the serializer.
        await cache.remove(forKey: "a")
        await cache.clear()
        await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
        #expect(!cache.isCached(forKey: "a") && !cache.isCached(forKey: "b"))
        serializer.open()
        await cache.store(Blob("c"), forKey: "c")
        #expect(cache.diskStorage?.count == 1 && cache.memoryStorage.count == 1)
        withExtendedLifetime(folder) {}
    }

    @Test("A removal of many keys waits for no serializer and voids the pending stores it matches")
    func removalOfManyKeysDoesNotWaitForSerializers() async throws {
        let serializer = GatedSerializer()
        let (cache, folder) = try Self.cache(serializer)
        let listed = CacheOptions(categories: ["c"])
        await cache.store(Blob("there"), forKey: "there")
        await cache.store(Blob("old"), forKey: "replaced")
        await cache.store(Blob("gone"), forKey: "gone", options: listed)
        cache.clearMemoryCache()
        serializer.close()
        let group = DispatchGroup()
        func store(_ key: some EntryNaming, _ options: CacheOptions = CacheOptions()) {
            group.enter()
            cache.store(Blob(key.entryKey.key), forKey: key, options: options) { result in
                #expect(throws: Never.self) { try result.diskCacheResult.get() }
                group.leave()
            }
        }
        // Each holds a thread of the queue, of which there are more only after a while.
        for number in 0..<6 { store("k\(number)") }
        // The value on disk that it replaces has another category.
        store("replaced", listed)
        store(EntryKey("variants", processorIdentifier: "small"))
        store(EntryOrigin.privateKey("private", of: "u1"))
        // If one of these waited for a serializer, it would never return.
        await cache.remove(category: "c")
        await cache.removeVariants(ofKey: "variants")
        await cache.removePrivate(ofUser: "u1")
        for key in ["replaced", "gone"] { #expect(try await cache.image(forKey: key).image == nil) }
        async let again: Void = cache.remove(category: "c")
        #expect(load(cache, "there")?.cacheType == .disk)
        await again
        #expect(cache.diskStorage?.count == 1)
        serializer.open()
        await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
        #expect(cache.diskStorage?.count == 7)
        withExtendedLifetime(folder) {}
    }

    @Test("After a clearing memory and disk are empty, also with loads in flight")
    func clearLeavesTiersEmptyDuringLoads() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 10_000))
        let cache = fixture.cache
        for round in 0..<20 {
            for number in 0..<20 { await cache.store(Blob(cost: 1), forKey: "k\(number)") }
            cache.clearMemoryCache()
            let loads = (0..<60).map { number in Task { try await cache.image(forKey: "k\(number % 20)") } }
            switch round % 3 {
            case 0: await cache.clear()
            case 1: for number in 0..<20 { await cache.remove(forKey: "k\(number)") }
            default:
                await cache.clearDiskCache()
                for load in loads { _ = try await load.value }
                cache.clearMemoryCache()
            }
            #expect(cache.memoryStorage.count == 0 && cache.diskStorage?.count == 0, "\(round)")
            for load in loads { _ = try await load.value }
            #expect(cache.memoryStorage.count == 0, "\(round)")
        }
    }

    @Test("Cancelling a load that waits for a store of its key ends it at once")
    func cancelEndsLoadWaitingForStore() async throws {
        let serializer = GatedSerializer()
        let (cache, folder) = try Self.cache(serializer)
        serializer.close()
        cache.store(Blob("a"), forKey: "a", completionHandler: nil)
        cache.clearMemoryCache()
        let load = Task { try await cache.image(forKey: "a") }
        await waitUntil { cache.memoryStorage.core.withLock { $0.reads.isPending("a") } }
        load.cancel()
        await #expect(throws: CancellationError.self) { try await load.value }
        #expect(!cache.memoryStorage.core.withLock { $0.reads.isPending("a") })
        serializer.open()
        #expect(try await cache.image(forKey: "a").image == Blob("a"))
        withExtendedLifetime(folder) {}
    }

    @Test("The first stores wait for the listing without blocking threads or reads")
    func storesWaitForListingWithoutThreads() async throws {
        let folder = try TemporaryFolder()
        let gate = DispatchSemaphore(value: 0)
        let owner = DiskOwner(clock: ManualClock()) { _ in
            try DiskStorage(
                config: .init(name: "x", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero), seed: 1,
                patience: .seconds(1), calls: SteppedCalls(beforeListing: { gate.wait() }))
        } onFailure: { _ in
        }
        let group = DispatchGroup()
        let reads = Mutex(0)
        // More stores than the queue has threads.
        for number in 0..<600 {
            group.enter()
            owner.store("k\(number)") {
                Data("v".utf8)
            } write: { storage, data in
                try storage.store(value: data, forKey: "k\(number)")
            } done: { _ in
                group.leave()
            }
        }
        let read: Data? = await withCheckedContinuation { continuation in
            owner.perform(.read("other")) {
                try $0.value(forKey: "other")
            } done: { result in
                reads.withLock { $0 += 1 }
                continuation.resume(returning: try? result.get())
            }
        }
        #expect(read == nil && reads.withLock { $0 } == 1)
        gate.signal()
        await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
        #expect(owner.storage?.count == 600)
        await owner.close()
    }

    // MARK: - Closing

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
        #expect(load(cache, "k1")?.cacheType == CacheType.none)
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
            let cache = try Self.open(folder, trigger: trigger)
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
        let (cache, folder) = try Self.cache(serializer)
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
                try Self.storage(folder, patience)
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
            return try Self.storage(folder, patience)
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
        #expect(throws: Never.self) { try Self.storage(folder, .zero) }
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
            return try Self.storage(folder, patience)
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
        #expect(throws: Never.self) { try Self.storage(folder, .zero) }
        reference.withLock { $0 = nil }
    }

    // MARK: - Opening

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
        let first = try Self.open(folder)
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

    @Test("While the bytes of stores wait to be written, no further store is serialized")
    func bytesThatWaitAreBounded() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 1 << 30))
        let (cache, disk) = (fixture.cache, fixture.cache.disk)
        let count = 24
        let (prepared, written) = (Counter(), DispatchGroup())
        // The writers wait for the lock on the files.
        let (locked, mayWrite) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let storage = try #require(cache.diskStorage)
        storage.waitUntilListed()
        Thread.detachNewThread {
            storage.mutation.withLock { _ in
                locked.signal()
                mayWrite.wait()
            }
        }
        locked.wait()
        let serial = DispatchQueue(label: "serial")
        for number in 0..<count {
            written.enter()
            disk.store("k\(number)", preparation: serial) {
                prepared.add()
                return Data(count: 4 << 20)
            } write: { storage, data in
                _ = try storage.store(value: data, forKey: "k\(number)")
            } done: { _ in
                written.leave()
            }
        }
        await waitUntil { disk.unpreparedCount == count - 8 }
        #expect(DiskOwner.preparedLimit == 8 * 4 << 20)
        #expect(prepared.count == 8 && disk.preparedSize == DiskOwner.preparedLimit)
        mayWrite.signal()
        await withCheckedContinuation { continuation in written.notify(queue: .global()) { continuation.resume() } }
        #expect(prepared.count == count && disk.preparedSize == 0 && disk.unpreparedCount == 0)
        #expect(cache.diskStorage?.count == count)
    }

    @Test("A store that waits for an earlier one of its key does not keep that from being serialized")
    func boundOfBytesLetsEarlierStoresRun() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 1 << 30))
        let disk = fixture.cache.disk
        let slow = DispatchQueue(label: "slow")
        slow.suspend()
        let ended = DispatchGroup()
        for (queue, size) in [(slow, 1), (nil, DiskOwner.preparedLimit)] as [(DispatchQueue?, Int)] {
            ended.enter()
            disk.store("a", preparation: queue) {
                Data(count: size)
            } write: { storage, data in
                _ = try storage.store(value: data, forKey: "a")
            } done: { _ in
                ended.leave()
            }
            if size > 1 { await waitUntil { disk.preparedSize == size } }
        }
        slow.resume()
        await withCheckedContinuation { continuation in ended.notify(queue: .global()) { continuation.resume() } }
        #expect(try fixture.cache.diskStorage?.value(forKey: "a")?.count == DiskOwner.preparedLimit)
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
        let ended = Counter()
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

    @Test("A default object is created once; setting one waits for no creation and replaces it")
    func setDefaultReplacesCreation() async throws {
        let slot = SettableDefault<String>()
        let (creating, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let created = Mutex<[String]>([])
        let group = DispatchGroup()
        for _ in 0..<2 {
            DispatchQueue.global().async(group: group) {
                let value = slot.value {
                    creating.signal()
                    mayGoOn.wait()
                    return "created"
                }
                created.withLock { $0.append("\(value)") }
            }
        }
        try await CallbackQueue.dispatch(DispatchQueue(label: "test")).result { creating.wait() }
        slot.set("set")
        #expect("\(slot.value { "another" })" == "set")
        mayGoOn.signal()
        await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
        #expect(created.withLock { $0 } == ["set", "set"])
    }

    // MARK: - The disk after changes by others

    @Test("After its folder was deleted the size is 0, and the next store creates it again")
    func deletedFolderHasSizeZero() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        for key in ["a", "b"] {
            await cache.store(Blob(cost: 5), forKey: key, options: CacheOptions(categories: ["c"]))
        }
        #expect(await cache.diskStorageSize() == 8_192)
        try FileManager.default.removeItem(atPath: fixture.folder.path + "/halcyon.cache.test")
        #expect(await cache.diskStorageSize() == 0)
        #expect(await cache.use(category: "c").disk == CategoryUse())
        #expect(cache.diskStorage?.count == 0 && !cache.isCached(forKey: "z"))
        #expect(cache.statistics.disk.removals == [.lost: 2])
        try await cache.store(Blob(cost: 5), forKey: "c").diskCacheResult.get()
        #expect(await cache.diskStorageSize() == 4_096)
        #expect(try fixture.files().count == 1)
    }

    /// Opens a storage of a folder.
    @discardableResult
    private static func storage(_ folder: TemporaryFolder, _ patience: Duration) throws -> DiskStorage {
        try DiskStorage(
            config: .init(name: "x", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero), seed: 1,
            clock: ManualClock(), patience: patience)
    }

    static func cache(_ serializer: GatedSerializer) throws -> (ImageCache<Blob>, TemporaryFolder) {
        let folder = try TemporaryFolder()
        return (
            ImageCache(
                memory: .lasting(cost: 10_000), disk: .init(name: "x", directory: URL(fileURLWithPath: folder.path)),
                serializer: serializer, clock: ManualClock(), triggers: []), folder
        )
    }

    static func open(_ folder: TemporaryFolder, trigger: ManualTrigger? = nil) throws -> ImageCache<Blob> {
        ImageCache(
            memory: .lasting(cost: 100), disk: .init(name: "x", directory: URL(fileURLWithPath: folder.path)),
            serializer: BlobSerializer(), triggers: trigger.map { [$0] } ?? [])
    }
}

extension CacheFixture {
    /// The configuration of the next storage in the same folder.
    fileprivate var nextConfig: DiskStorageConfig {
        DiskStorageConfig(name: "test", directory: URL(fileURLWithPath: folder.path))
    }
}

/// A count that any thread increases.
private final class Counter: Sendable {
    private let state = Mutex(0)
    var count: Int { state.withLock { $0 } }
    func add() { state.withLock { $0 += 1 } }
}

/// A serializer that waits while it is closed.
final class GatedSerializer: CacheSerializer {
    private let isClosed = Mutex(false)
    private let inner = BlobSerializer()

    func close() { isClosed.withLock { $0 = true } }
    func open() { isClosed.withLock { $0 = false } }

    func data(with value: Blob, original: Data?) -> Data? {
        while isClosed.withLock({ $0 }) { usleep(1_000) }
        return inner.data(with: value, original: original)
    }

    func value(with data: Data) -> Blob? { inner.value(with: data) }
}
