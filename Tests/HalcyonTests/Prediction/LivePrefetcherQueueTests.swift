import Foundation
import Halcyon
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("Predictive prefetching: models and files never block the threads of tasks", .timeLimit(.minutes(20)))
struct LivePrefetcherQueueTests {
    /// Records whether calls of a policy and file operations run on the queue.
    private final class Places: Sendable {
        private let calls = Mutex<(onQueue: [String], elsewhere: [String])>(([], []))

        static var isOnQueue: Bool { queueLabel() == "halcyon.prefetcher" }

        func note(_ name: String) {
            let isOnQueue = Self.isOnQueue
            calls.withLock { calls in
                if isOnQueue { calls.onQueue.append(name) } else { calls.elsewhere.append(name) }
            }
        }

        var onQueue: Set<String> { calls.withLock { Set($0.onQueue) } }
        var elsewhere: [String] { calls.withLock { $0.elsewhere } }
    }

    /// Calls a closure in each of its methods.
    private final class Reporting: PrefetchPolicy {
        private let report: @Sendable (String) -> Void

        init(_ report: @escaping @Sendable (String) -> Void) { self.report = report }

        func define(categorySet: CategorySetID, members: [UInt32]) { report("define") }
        func announce(_ object: AnnouncedObject) { report("announce") }
        func note(_ access: Access, isHit: Bool) { report("note") }
        func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) { report("plan") }
        var metrics: [PolicyMetric] {
            report("metrics")
            return []
        }
        var metadataBytes: Int { 0 }
    }

    /// A gate that blocks threads until it is opened.
    private final class Gate: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        private let waiters = Atomic<Int>(0)
        private let opened = Atomic<Bool>(false)

        var waiterCount: Int { waiters.load(ordering: .relaxed) }
        var isOpen: Bool { opened.load(ordering: .relaxed) }

        func wait() {
            waiters.add(1, ordering: .relaxed)
            semaphore.wait()
        }

        func open(for count: Int) {
            opened.store(true, ordering: .relaxed)
            for _ in 0..<count { semaphore.signal() }
        }
    }

    private func resource(_ name: String) -> Resource {
        Resource(fake(name), cacheKey: name, categories: ["c"], user: "u")
    }

    @Test("The policy is made and called, and files are read and written, on the prefetcher's queue")
    func policyAndFilesRunOnPrefetcherQueue() async throws {
        let places = Places()
        let folder = try TemporaryFolder()
        #expect(!Places.isOnQueue)
        let host = HostDouble(
            heldKey: { key in
                places.note("holds")
                return key
            },
            folder: {
                places.note("folder")
                return URL(fileURLWithPath: folder.path)
            })
        let configuration = PrefetchConfiguration { _ in
            places.note("make")
            return Reporting { places.note($0) }
        }
        let template = LoadTemplate(nil, defaults: ImageOptions())
        let prefetcher = LivePrefetcher(configuration, host, options: ImageOptions(), after: nil)
        let inbox = prefetcher.inbox
        inbox.put(.announced([AnnouncedResource(resource("a"))], template, time: 0))
        inbox.put(
            .accessed(RecordedAccess(time: 1, key: "a", cost: 1, categories: ["c"], user: "u", outcome: .memory)))
        inbox.put(.removed(.memory, Removal(key: "a", cost: 1, categories: [], reason: .evicted)))
        await prefetcher.processEvents()
        await prefetcher.plan()
        await prefetcher.save()
        _ = await prefetcher.metrics
        await prefetcher.stop()
        await prefetcher.forgetAccesses()
        #expect(places.elsewhere == [])
        #expect(
            places.onQueue.isSuperset(of: ["make", "define", "announce", "note", "plan", "metrics", "folder", "holds"]))
    }

    @Test("More blocked policies than processors do not block other tasks")
    func blockedPoliciesDoNotBlockTasks() async throws {
        let count = ProcessInfo.processInfo.activeProcessorCount + 1
        let gate = Gate()
        // If the policies block all tasks, the test fails at this time instead of hanging.
        DispatchQueue.global().asyncAfter(deadline: .now() + 500) { gate.open(for: count) }
        var fixtures: [ManagerFixture] = []
        for _ in 0..<count {
            let fixture = try ManagerFixture(FakeTransport())
            let predictive = fixture.manager.startPredicting(
                PrefetchConfiguration { _ in Reporting { if $0 == "announce" { gate.wait() } } })
            predictive.announce([resource("a")])
            fixtures.append(fixture)
        }
        #expect(await waitUntil { gate.waiterCount == count })
        let sum = await withTaskGroup(of: Int.self) { group in
            for number in 0..<100 {
                group.addTask {
                    await Task.yield()
                    return number
                }
            }
            return await group.reduce(0, +)
        }
        #expect(sum == 4_950 && !gate.isOpen)
        gate.open(for: count)
        for fixture in fixtures { await fixture.manager.predictive?.stop() }
    }
}
