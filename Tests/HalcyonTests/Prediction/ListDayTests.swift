import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonEviction
import HalcyonExperiments
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonSupport
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("A day of lists: the replay of the log equals the live run", .timeLimit(.minutes(20)))
struct ListDayTests {
    /// What a user does: is shown a list, or opens an image.
    private enum Step {
        case show([Int], user: Int)
        case open(Int, user: Int)
    }

    /// Lists of 8 of 90 images in six categories. Four users open up to two images of a list, mostly of their own category, and
    /// sometimes one that was not shown.
    private static func steps(lists: Int) -> [Step] {
        var random = SplitMix64(seed: 3)
        var steps: [Step] = []
        for _ in 0..<lists {
            let user = Int(random.next(below: 4))
            let list = (0..<8).map { _ in Int(random.next(below: 90)) }
            steps.append(.show(list, user: user))
            for _ in 0..<Int(random.next(below: 3)) {
                let liked = list.filter { $0 % 6 == user }
                steps.append(.open(liked.first ?? list[Int(random.next(below: 8))], user: user))
            }
            if random.next(below: 5) == 0 { steps.append(.open(90 + Int(random.next(below: 30)), user: user)) }
        }
        return steps
    }

    @Test(
        "Replaying the log reproduces hits and prefetches",
        arguments: [("list-order", 600), ("list-affinity", 600), ("lists", 600)])
    func replayedListsEqualLiveLists(policy: String, perDay: Int) async throws {
        let sample = try EncodedPicture()
        let folder = try TemporaryFolder()
        let capacity = sample.picture.cacheCost * 25 / 2
        let options = try PrefetchOptions(
            policy: policy, budget: PrefetchBudget(parsing: "2/list,\(perDay)/day"), latency: .ideal)
        var logging = AccessLog.Configuration()
        logging.bounds = .none
        let log = AccessLog(path: "\(folder.path)/access.sqlite", logging)
        let (clock, recorder) = (ManualClock(seconds: 19_000 * 86_400), Recorder(into: log))
        let cache = ImageCache<Bitmap>(
            memory: .lasting(cost: capacity),
            disk: DiskStorageConfig(name: "lists", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero),
            memoryPolicy: try PolicyCatalogue.standard.livePolicy("lru"), serializer: BitmapSerializer(), clock: clock,
            recorder: recorder, triggers: [])
        var inMemory = ImageOptions()
        inMemory.cacheMemoryOnly = true
        let manager = HalcyonManager(
            cache: cache, downloader: .test(FakeTransport(answerAtOnce: sample.file), clock: clock),
            defaultOptions: inMemory)
        // One cache for all users, and fetches that take no time, as in the replay.
        var configuration = PrefetchConfiguration()
        (configuration.servesOneUser, configuration.fetchLatency) = (false, .zero)
        (configuration.budget, configuration.maxConcurrent, configuration.planner) = (
            options.budget, 1, options.planner
        )
        if !options.isPlanner { configuration.policy = PrefetchCatalogue.entry(named: policy)?.make }
        let predictive = manager.startPredicting(configuration)

        func resource(_ object: Int, _ user: Int) -> Resource {
            Resource(fake("\(object)"), cacheKey: "\(object)", categories: ["c\(object % 6)"], user: "u\(user)")
        }
        var live: [Bool] = []
        for step in Self.steps(lists: SoakLength.isLong ? 20_000 : 500) {
            clock.advance(by: 20)
            switch step {
            case .show(let list, let user):
                manager.show(list: list.map { resource($0, user) }, in: "home")
            case .open(let object, let user):
                live.append(try await manager.image(for: resource(object, user)).cacheType.cached)
            }
            await predictive.settle()
        }
        let statistics = await predictive.statistics
        #expect(recorder.all.map { $0.outcome != .network } == live)
        #expect(statistics.lists.prefetched == statistics.fetched && statistics.lists.used == statistics.used)
        #expect(statistics.used > 0 && statistics.dropped > 0 && statistics.lists.opened > 100)
        try await log.close()

        let trace = try Trace.load(log.path)
        let lists = try #require(trace.lists)
        #expect(lists.count == statistics.lists.lists && lists.itemCount == statistics.lists.shown)
        for (name, prefetch) in [(policy, options), ("none", nil)] as [(String, PrefetchOptions?)] {
            let run = try await Sweep(
                trace: trace, policies: ["lru"], capacities: ["\(capacity)"],
                options: ReplayOptions(windows: trace.count, prefetch: prefetch)
            ).run()[0]
            // To show that the check can fail: without the prefetches, the hits differ.
            #expect((run.windows.map { $0.hits == 1 } == live) == (name == policy), "\(name)")
            guard let came = run.prefetch else { continue }
            #expect(came.fetched == statistics.fetched && came.used == statistics.used)
        }
    }
}
