import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
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

@Suite("Visits of a user: the replay equals the live run", .timeLimit(.minutes(20)))
struct WholeVisitsTests {
    /// Returns the requests of a user with a visit about every second day and with a few favourites among many
    /// objects.
    private func requests(visits: Int) -> [(object: Int, time: Int64)] {
        var random = SplitMix64(seed: 3)
        var (time, all) = (18_000 * 86_400_000_000 as Int64, [(object: Int, time: Int64)]())
        for _ in 0..<visits {
            time += Int64(4 + random.next(below: 80)) * 3_600_000_000 + 123_456_789
            for _ in 0..<10 {
                time += Int64(5 + random.next(below: 60)) * 1_000_000
                // Three of four requests are for the first 12 objects.
                let isUsual = random.next(below: 4) > 0
                all.append((isUsual ? Int(random.next(below: 12)) : 12 + Int(random.next(below: 150)), time))
            }
        }
        return all
    }

    @Test("The replayed log has the live hits, prefetches and plans between visits")
    func replayedVisitsEqualLiveVisits() async throws {
        let requests = requests(visits: SoakLength.isLong ? 1_000 : 220)
        let folder = try TemporaryFolder()
        let sample = try EncodedPicture()
        let capacity = sample.picture.cacheCost * 17 / 2
        let budget = try PrefetchBudget(parsing: "4/request,40/visit")
        let options = try PrefetchOptions(policy: "planner(visits=on)", budget: budget, latency: .ideal)

        var logging = AccessLog.Configuration()
        logging.bounds = .none
        let log = AccessLog(path: "\(folder.path)/access.sqlite", logging)
        let clock = ManualClock(seconds: Double(requests[0].time) / 1e6)
        let cache = ImageCache<Bitmap>(
            memory: .lasting(cost: capacity),
            disk: DiskStorageConfig(
                name: "visits", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero),
            memoryPolicy: try PolicyCatalogue.standard.livePolicy("lru"), serializer: BitmapSerializer(),
            clock: clock, recorder: log, triggers: [])
        var inMemory = ImageOptions()
        inMemory.cacheMemoryOnly = true
        let manager = HalcyonManager(
            cache: cache, downloader: .test(FakeTransport(answerAtOnce: sample.file), clock: clock),
            defaultOptions: inMemory)
        var configuration = PrefetchConfiguration()
        (configuration.budget, configuration.maxConcurrent, configuration.fetchLatency) = (budget, 1, .zero)
        let predictive = manager.startPredicting(configuration)

        var live: [Bool] = []
        let timers = VisitTimers(idleTime: PlanningMoment.idleTime)
        for (object, time) in requests {
            while let moment = timers.next(by: time) {
                clock.set(moment.time)
                await predictive.settle()
            }
            timers.note(0, at: time)
            clock.set(time)
            let resource = Resource(fake("\(object)"), cacheKey: "\(object)", categories: ["c\(object % 5)"], user: "u")
            live.append(try await manager.image(for: resource).cacheType.cached)
            await predictive.settle()
        }
        let statistics = await predictive.statistics
        #expect(statistics.failed == 0 && statistics.usedLate == 0 && statistics.lostAccesses == 0)
        #expect(statistics.plansByOccasion[.visitEnd] == requests.count / 10 - 1)
        #expect(statistics.plansByOccasion[.dayStart, default: 0] > 50)
        #expect(statistics.emptyPlans[.neverIdle] == nil)

        try await log.close()
        let trace = try Trace.load(log.path)
        let run = try await Sweep(
            trace: trace, policies: [try PolicyCatalogue.standard.policy("lru")],
            capacities: [try CapacityRequest(parsing: "\(capacity)")],
            options: ReplayOptions(windows: trace.count, prefetch: options), mode: .perUser, knowledge: .server
        ).run()[0]
        let came = try #require(run.prefetch)
        let replayed = run.windows.map { $0.hits == 1 }
        let difference = zip(replayed, live).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        #expect(difference == nil && replayed.count == live.count)
        #expect(came.fetched == statistics.fetched && came.used == statistics.used)
        #expect(came.fetchedBetweenRequests > 20)
        print(
            """
            visits of a user: \(live.count) requests, \(live.count { $0 }) hits; \(statistics.fetched) fetched ahead, \
            \(came.fetchedBetweenRequests) of them between requests; \(statistics.used) used
            """)
    }
}
