import Foundation
import HalcyonEviction
import HalcyonSupport
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Image cache: the order of operations on the disk", .timeLimit(.minutes(20)))
struct DiskOwnerTests {
    @Test("A removal or clearing voids pending stores, whose completions are called")
    func removalVoidsPendingStores() async throws {
        let serializer = GatedSerializer()
        let (cache, folder) = try ImageCache<Blob>.gated(serializer)
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
        let (cache, folder) = try ImageCache<Blob>.gated(serializer)
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
        #expect(cache.load("there")?.cacheType == .disk)
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
        let (cache, folder) = try ImageCache<Blob>.gated(serializer)
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

    @Test("While the bytes of stores wait to be written, no further store is serialized")
    func bytesThatWaitAreBounded() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 1 << 30))
        let (cache, disk) = (fixture.cache, fixture.cache.disk)
        let count = 24
        let (prepared, written) = (CallCounter(), DispatchGroup())
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
}
