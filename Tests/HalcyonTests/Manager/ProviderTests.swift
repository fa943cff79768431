import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Manager: providers are called once for all waiters, and again on retry", .timeLimit(.minutes(20)))
struct ProviderTests {
    @Test("A hundred concurrent requests call one provider once and store each variant once")
    func concurrentRequestsCallProviderOnce() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture()
        let provider = SlowProvider(sample.file)
        let calls = Counter()
        let mono = ImageOptions(processor: CountedProcessor(onCall: calls.next))
        let images = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                let options = number < 50 ? ImageOptions() : mono
                group.addTask {
                    try await fixture.manager.image(for: .provider(provider), options: options).image == sample.picture
                }
            }
            await fixture.manager.loader.providers.waitForWaiters(100)
            provider.release()
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(images == 100 && provider.askedCount == 1 && calls.count == 1)
        await fixture.settle()
        // The image and its processed variant.
        #expect(fixture.cache.statistics.memory.stores == 2 && fixture.cache.statistics.disk.stores == 2)
        #expect(fixture.manager.loader.providers.transferCount == 0)
    }

    @Test("Cancelling one waiter leaves the others; cancelling the last one cancels the provider")
    func cancellingLastWaiterCancelsProvider() async throws {
        let fixture = try ManagerFixture()
        let (ended, end) = AsyncStream<Bool>.makeStream()
        let provider = ClosureProvider("a") { _ in
            do { try await Task.sleep(for: .seconds(600)) } catch { end.yield(error is CancellationError) }
            throw CancellationError()
        }
        let loads = (0..<2).map { _ in
            Task { await failure { try await fixture.manager.image(for: .provider(provider)) } }
        }
        await fixture.manager.loader.providers.waitForWaiters(2)
        loads[0].cancel()
        #expect(await loads[0].value is CancellationError)
        #expect(fixture.manager.loader.providers.waiterCount == 1)
        loads[1].cancel()
        #expect(await loads[1].value is CancellationError)
        var iterator = ended.makeAsyncIterator()
        #expect(await iterator.next() == true)
        #expect(fixture.manager.loader.providers.transferCount == 0)
    }

    @Test("A provider's failure reaches all waiters, and the next load calls the provider again")
    func providerFailureReachesAllAndIsForgotten() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture()
        let gate = DispatchSemaphore(value: 0)
        let provider = ClosureProvider("a") { attempt in
            try await CallbackQueue.dispatch(DispatchQueue(label: "test")).result { gate.wait() }
            if attempt == 1 { throw Refusal() }
            return sample.file
        }
        let loads = (0..<10).map { _ in
            Task { await failure { try await fixture.manager.image(for: .provider(provider)) } }
        }
        await fixture.manager.loader.providers.waitForWaiters(10)
        gate.signal()
        for load in loads { #expect(await load.value is Refusal) }
        gate.signal()
        #expect(try await fixture.manager.image(for: .provider(provider)).image == sample.picture)
        #expect(provider.attempts == 2)
    }

    @Test("A failed provider is retried, also in a prefetch; missing files and invalid images are not")
    func failedProviderIsRetried() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture()
        var options = ImageOptions()
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 2, retryInterval: .seconds(5))
        let provider = ClosureProvider("a") { attempt in
            if attempt < 3 { throw Refusal() }
            return sample.file
        }
        let load = Task { [options] in
            try await fixture.manager.image(for: .provider(provider), options: options).image
        }
        await fixture.pauses(5, times: 2)
        #expect(try await load.value == sample.picture && provider.attempts == 3)

        let hopeless = ClosureProvider("b") { _ in throw Refusal() }
        let prefetcher = ImagePrefetcher(
            resources: [Resource(.provider(hopeless))], manager: fixture.manager, options: options)
        async let report = prefetcher.run()
        await fixture.pauses(5, times: 2)
        #expect(await report.failed.first?.error is Refusal && hopeless.attempts == 3)

        // A missing file and invalid image data are not retried.
        let missing = URL(fileURLWithPath: fixture.folder.path + "/missing.png")
        let unread = await failure { try await fixture.manager.image(for: .file(missing), options: options) }
        #expect(unread is ManagerError)
        let text = ClosureProvider("c") { _ in Data("no picture".utf8) }
        let error = await failure { try await fixture.manager.image(for: .provider(text), options: options) }
        #expect(error is ImageError && text.attempts == 1)
    }

    @Test("A file is read on the queue that its source states")
    func fileIsReadOnItsSourceQueue() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture()
        let file = URL(fileURLWithPath: try fixture.folder.file("a.png", Array(sample.file)))
        let calls = Counter()
        let queue = CallbackQueue.custom { block in
            calls.next()
            DispatchQueue.global().async(execute: block)
        }
        let result = try await fixture.manager.image(for: .file(file, queue: queue))
        #expect(result.image == sample.picture && calls.count == 1)
    }

    @Test("Providers of two kinds with one key are not merged")
    func providersOfTwoKindsAreNotMerged() async throws {
        let (red, blue) = (try EncodedPicture(), try EncodedPicture.blue)
        let fixture = try ManagerFixture()
        let slow = SlowProvider(red.file)
        var options = ImageOptions()
        options.cacheMemoryOnly = true
        options.forceRefresh = true
        let waiting = Task { [options] in
            try await fixture.manager.image(for: .provider(slow), options: options).image
        }
        await fixture.manager.loader.providers.waitForWaiters(1)
        let other = try await fixture.manager.image(for: .data(blue.file, cacheKey: slow.cacheKey), options: options)
        #expect(other.image == blue.picture)
        slow.release()
        #expect(try await waiting.value == red.picture)
    }
}

/// The error of the providers in these tests.
private struct Refusal: Error {}

/// A counter.
private final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    var count: Int { value.load(ordering: .relaxed) }

    @Sendable func next() { value.add(1, ordering: .relaxed) }
}

/// A provider of the bytes of a closure, which receives the number of calls so far.
private final class ClosureProvider: ImageDataProvider {
    let cacheKey: String
    private let bytes: @Sendable (Int) async throws -> Data
    private let asked = Atomic<Int>(0)

    init(_ cacheKey: String, _ bytes: @escaping @Sendable (Int) async throws -> Data) {
        (self.cacheKey, self.bytes) = (cacheKey, bytes)
    }

    var attempts: Int { asked.load(ordering: .relaxed) }

    func data() async throws -> Data { try await bytes(asked.add(1, ordering: .relaxed).newValue) }
}

/// Returns the picture unchanged and reports each call.
private struct CountedProcessor: BitmapProcessor {
    let identifier = "counted"
    let onCall: @Sendable () -> Void

    func process(_ picture: Bitmap) -> Bitmap {
        onCall()
        return picture
    }
}

extension ManagerFixture {
    /// Advances the clock over retry pauses and checks that none ends early.
    fileprivate func pauses(_ seconds: Double, times: Int) async {
        for _ in 0..<times {
            // The other sleeper is the memory's sweeper.
            await clock.waitForSleepers(2)
            clock.advance(by: seconds - 0.1)
            #expect(clock.sleeperCount == 2)
            clock.advance(by: 0.1)
        }
    }
}

extension ProviderMerger {
    /// Waits until there are `count` waiters.
    func waitForWaiters(_ count: Int) async {
        await waitUntil { waiterCount >= count }
    }
}
