import Foundation
import HalcyonEviction
import HalcyonSupport
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Image cache: loads on the caller's thread", .timeLimit(.minutes(20)))
struct SynchronousLoadTests {
    @Test("A synchronous load waits neither for the serializers of other stores nor for a cleaning")
    func synchronousLoadDoesNotWaitForOtherStores() async throws {
        let serializer = GatedSerializer()
        let (cache, folder) = try ImageCache<Blob>.gated(serializer)
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
        #expect(cache.load("there")?.cacheType == .disk)
        #expect(cache.isCached(forKey: "there"))
        serializer.open()
        _ = await cleaned
        await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
        cache.clearMemoryCache()
        for number in 0..<40 { #expect(cache.load("k\(number)")?.image == Blob("\(number)")) }
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
        #expect(cache.load("a")?.image == Blob("second"))
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
        let (found, options) = (CallCounter(), CacheOptions.synchronous)
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
}
