import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonLearning
import HalcyonSupport
import HalcyonTestSupport

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

/// A suite whose manager fetches what a scripted policy proposes.
protocol PredictiveTests: Sendable {
    /// The calls of its policies.
    var notes: ScriptedPolicy.Notes { get }
}

extension PredictiveTests {
    func configuration(_ change: (inout PrefetchConfiguration) -> Void = { _ in }) -> PrefetchConfiguration {
        var configuration = PrefetchConfiguration { [notes] _ in ScriptedPolicy(notes) }
        configuration.maxConcurrent = 1
        change(&configuration)
        return configuration
    }

    func resource(_ name: String, _ categories: String...) -> Resource {
        Resource(fake(name), cacheKey: name, categories: categories, user: "u")
    }

    func started(_ transport: FakeTransport) -> [String] {
        transport.calls.compactMap { if case .start(let name, _) = $0 { name } else { nil } }
    }

    /// Starts prediction and requests "a", so that "b" is being fetched; `settled` ends when no fetch is in flight.
    func fetching(
        _ manager: HalcyonManager, _ transport: FakeTransport
    ) async throws -> (predictive: LivePrefetcher, settled: Task<Void, Never>) {
        let predictive = manager.startPredicting(configuration())
        predictive.announce([resource("a"), resource("b")])
        let visible = Task { try await manager.image(for: resource("a")) }
        await transport.waitForCalls(1)
        transport.answer("a", try EncodedPicture().file)
        _ = try await visible.value
        let settled = Task { await predictive.settle() }
        await transport.waitForCalls(2)
        return (predictive, settled)
    }

    /// Advances the clock, requests "a", after which "b" is likely, and returns how often "b" was requested so far.
    func asked(_ fixture: ManagerFixture, _ transport: FakeTransport, after seconds: Double) async throws -> Int {
        fixture.clock.advance(by: seconds)
        _ = try await fixture.manager.image(for: resource("a"))
        await fixture.manager.predictive?.settle()
        return started(transport).count { $0 == "b" }
    }

    /// Waits until there was a plan and returns the notes up to it.
    func heardUntilPlan() async -> [String] {
        var heard: [String] = []
        while heard.last?.hasPrefix("plan") != true, !Task.isCancelled {
            heard += notes.take()
            await Task.yield()
        }
        return heard
    }
}

/// A host without a cache, on which tests of a prefetcher alone run.
struct HostDouble: PrefetchHost {
    private let heldKey: @Sendable (String) -> String?
    let capacity: CacheCapacity
    private let findFolder: @Sendable () -> URL?
    private let fetch: @Sendable (Resource) async -> FetchResult
    let clock: any CacheClock = ManualClock(seconds: 0)

    init(
        heldKey: @escaping @Sendable (String) -> String? = { _ in nil }, capacity: CacheCapacity = CacheCapacity(),
        folder: @escaping @Sendable () -> URL? = { nil },
        fetch: @escaping @Sendable (Resource) async -> FetchResult = { _ in .noManager }
    ) {
        (self.heldKey, self.capacity, findFolder, self.fetch) = (heldKey, capacity, folder, fetch)
    }

    var folder: URL? { findFolder() }
    var room: Int { 1_000 }
    var roomOnDisk: Int? { nil }
    func heldKey(_ key: String, ofSource source: String?, for user: String?) -> String? { heldKey(key) }
    func fileName(forKey key: String) -> String? { nil }
    func evictNext(_ keys: [String]) {}
    func reconsider(_ key: String, isLikely: Bool) {}
    func record(_ event: RecordedEvent) {}
    func fetch(_ resource: Resource, _ options: ImageOptions) async -> FetchResult { await fetch(resource) }
    func settle() async {}
}
