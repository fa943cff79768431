import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonTestSupport
import HalcyonTrace
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

/// A day on which users browse a catalogue on a server, through a manager that records, learns and predicts.
private struct Day {
    /// Midnight of the day, in microseconds since 1970.
    static let midnight: Int64 = 19_000 * 86_400_000_000

    let browsing: Trace
    let server: HostileServer
    let pictures: [EncodedPicture]

    /// - Parameter requests: The number of requests, spread over some 24 hours.
    init(requests: Int) throws {
        var model = BrowsingModel.shop
        (model.requests, model.users, model.concurrentSessions) = (requests, 12, 3)
        (model.categories, model.objectsPerCategory) = (8, max(20, requests / 200))
        model.requestsPerSecond = Double(requests) / 86_400
        browsing = try model.generate(seed: 11, names: false)
        let pictures = try (0..<8).map { number in
            try EncodedPicture(PixelColor(red: UInt8(number * 30), green: 90, blue: 40), width: 4 + number)
        }
        self.pictures = pictures
        let files = pictures.map { Array($0.file) }
        server = try HostileServer { visit in
            let number = Int(visit.path.dropFirst()) ?? 0
            visit.answer(files[number % files.count])
        }
    }

    func resource(_ request: Int) -> Resource {
        let user = browsing.user(ofRequest: request)
        return Resource(
            server.url("/\(browsing.entries[request])"),
            categories: browsing.categorySets[browsing.categorySet(ofRequest: request)].map { "c\($0)" },
            user: user == Trace.noUser ? nil : "u\(user)")
    }

    /// The total size of all requested pictures.
    var distinctSize: Int {
        Set(browsing.entries).reduce(0) { $0 + pictures[Int($1) % pictures.count].picture.cacheCost }
    }
}

@Suite("A whole day: the replay equals the live run", .timeLimit(.minutes(20)))
struct WholeDayTests {
    /// A prefetch policy and the number of requests in its test.
    struct Predictor: Sendable, CustomTestStringConvertible {
        let name: String
        let requests: Int
        var testDescription: String { name }
    }

    @Test(
        "The replayed log has the live hits and prefetches, and the server got exactly these requests",
        arguments: [Predictor(name: "markov", requests: 600), Predictor(name: "planner(sampling=1)", requests: 900)])
    func replayedDayEqualsLiveDay(predictor: Predictor) async throws {
        let day = try Day(requests: SoakLength.isLong ? 20_000 : predictor.requests)
        let folder = try TemporaryFolder()
        let capacity = day.distinctSize / 6
        let budget = try PrefetchBudget(parsing: "2/request,20/minute,\(day.browsing.count / 4)/day")
        let options = try PrefetchOptions(policy: predictor.name, budget: budget, latency: .ideal)

        var logging = AccessLog.Configuration()
        logging.bounds = .none
        let log = AccessLog(path: "\(folder.path)/access.sqlite", logging)
        let (clock, recorder) = (ManualClock(seconds: Double(Day.midnight) / 1e6), Recorder(into: log))
        // No triggers: memory pressure of the machine would remove values, and a replay would not know.
        let cache = ImageCache<Bitmap>(
            memory: .lasting(cost: capacity),
            disk: DiskStorageConfig(
                name: "day", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero),
            memoryPolicy: try PolicyCatalogue.standard.livePolicy("learned(model=none)"),
            serializer: BitmapSerializer(),
            clock: clock, recorder: recorder, triggers: [])
        var inMemory = ImageOptions()
        inMemory.cacheMemoryOnly = true
        let manager = HalcyonManager(
            cache: cache, downloader: .test(clock: clock), defaultOptions: inMemory)
        // One cache for all users, and fetches that take no time, as in the replay.
        var configuration = PrefetchConfiguration()
        (configuration.servesOneUser, configuration.fetchLatency) = (false, .zero)
        configuration.planner = options.planner
        if predictor.name == "markov" { configuration.policy = PrefetchCatalogue.entry(named: predictor.name)?.make }
        (configuration.budget, configuration.maxConcurrent) = (budget, 1)
        let predictive = manager.startPredicting(configuration)

        var live: [Bool] = []
        for request in 0..<day.browsing.count {
            clock.set(Day.midnight + day.browsing.times[request])
            let result = try await manager.image(for: day.resource(request))
            live.append(result.cacheType.cached)
            await predictive.settle()
        }
        let statistics = await predictive.statistics
        let outcomes = recorder.all.map(\.outcome)
        #expect(outcomes.map { $0 != .network } == live && live.contains(true))
        #expect(day.server.visits.count == outcomes.count { $0 == .network } + statistics.fetched)
        #expect(day.server.visits.allSatisfy { $0.method == "GET" })
        #expect(statistics.failed == 0 && statistics.usedLate == 0 && statistics.lostAccesses == 0)
        #expect(statistics.used > 0 && statistics.dropped > 0)

        try await log.close()
        let trace = try Trace.load(log.path)
        var report = LoadReport()
        report.format = .accessLog
        #expect(trace.report == report)
        let run = try await Sweep(
            trace: trace, policies: ["learned(model=none)"], capacities: ["\(capacity)"],
            options: ReplayOptions(windows: trace.count, prefetch: options)
        ).run()[0]
        let came = try #require(run.prefetch)
        #expect(run.windows.map { $0.hits == 1 } == live)
        #expect(came.fetched == statistics.fetched && came.used == statistics.used)
        #expect(came.hitsOwed == outcomes.count { $0 == .prefetched })
        print(
            """
            a whole day, \(predictor.name): \(live.count) requests, \(live.count { $0 }) hits, \(came.hitsOwed) of them owed to \
            prefetching; \(statistics.fetched) fetched ahead, \(statistics.used) used; \
            \(outcomes.count { $0 == .network }) loads and \(day.server.visits.count) GETs
            """)
    }
}
