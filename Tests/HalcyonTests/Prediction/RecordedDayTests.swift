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

@Suite("A recorded day whose fetches take time", .timeLimit(.minutes(20)))
struct RecordedDayTests {
    /// A user's live cache, whose prefetches arrive when the test says so, and its log.
    private final class Day {
        let folder: TemporaryFolder
        let sample: EncodedPicture
        let clock = ManualClock(seconds: 18_000 * 86_400)
        let transport = FakeTransport()
        let log: AccessLog
        let manager: HalcyonManager
        let predictive: LivePrefetcher
        let capacity: Int
        private let timers = VisitTimers(idleTime: PlanningMoment.idleTime)
        private var random = SplitMix64(seed: 5)
        private var settling: [Task<Void, Never>] = []
        var hits: [Bool] = []
        /// The requests that waited for a prefetch.
        var joined = 0

        init() throws {
            folder = try TemporaryFolder()
            sample = try EncodedPicture()
            capacity = sample.picture.cacheCost * 17 / 2
            var logging = AccessLog.Configuration()
            logging.bounds = .none
            log = AccessLog(path: "\(folder.path)/access.sqlite", logging)
            let cache = ImageCache<Bitmap>(
                memory: .lasting(cost: capacity),
                disk: DiskStorageConfig(
                    name: "recorded", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero),
                memoryPolicy: try PolicyCatalogue.standard.livePolicy("lru"), serializer: BitmapSerializer(),
                clock: clock, recorder: log, triggers: [])
            var inMemory = ImageOptions()
            inMemory.cacheMemoryOnly = true
            manager = HalcyonManager(
                cache: cache, downloader: .test(transport, clock: clock), defaultOptions: inMemory)
            var configuration = PrefetchConfiguration()
            (configuration.budget, configuration.maxConcurrent) = (try PrefetchBudget(parsing: "4/request,40/visit"), 3)
            configuration.fetchLatency = .zero
            predictive = manager.startPredicting(configuration)
        }

        /// Lets the prefetcher plan and waits until the plan is made and its first fetches have begun.
        private func plan(where isDone: @escaping (PrefetchStatistics) -> Bool) async {
            let predictive = predictive
            settling.append(Task { await predictive.settle() })
            while !Task.isCancelled, await !isDone(predictive.statistics) { await Task.yield() }
            await begun()
        }

        /// Waits until the transport has every begun fetch.
        private func begun() async {
            while !Task.isCancelled {
                let now = await predictive.statistics
                if now.begun - now.fetched - now.failed - now.cancelled == transport.waiting.count { return }
                await Task.yield()
            }
        }

        /// Ends a fetch with its image or with status 404.
        private func end(_ name: String, isGood: Bool) async throws {
            let before = await predictive.statistics
            if isGood { transport.answer(name, sample.file) } else { transport.answer(name, Data(), status: 404) }
            while !Task.isCancelled,
                await predictive.statistics.fetched + predictive.statistics.failed == before.fetched + before.failed
            {
                await Task.yield()
            }
            await begun()
        }

        /// Ends some of the fetches, one after the other.
        private func endSome() async throws {
            for name in transport.waiting where random.next(below: 3) == 0 {
                clock.advance(by: Double(1 + random.next(below: 900)) / 1_000)
                try await end(name, isGood: random.next(below: 8) > 0)
            }
        }

        func request(_ object: Int, at time: Int64) async throws {
            while let moment = timers.next(by: time) {
                let before = await predictive.statistics.plansByOccasion
                clock.set(moment.time)
                await plan { $0.plansByOccasion != before }
                try await endSome()
            }
            clock.set(time)
            let name = "\(object)"
            let resource = Resource(fake(name), cacheKey: name, categories: ["c\(object % 5)"], user: "u")
            let (accesses, plans) = await (predictive.statistics.accesses, predictive.statistics.plans)
            if transport.waiting.contains(name) {
                joined += 1
                let (manager, before) = (manager, transport.calls.count)
                let image = Task { try await manager.image(for: resource).cacheType.cached }
                // A load with a higher priority raises that of the transfer that it joins.
                await transport.waitForCalls(before + 1)
                clock.advance(by: 0.3)
                try await end(name, isGood: true)
                hits.append(try await image.value)
            } else {
                if !manager.cache.isCached(forKey: name) { transport.answer(name, sample.file) }
                hits.append(try await manager.image(for: resource).cacheType.cached)
            }
            timers.note(0, at: clock.now)
            await plan { $0.accesses > accesses && $0.plans > plans }
            try await endSome()
        }

        /// Ends all fetches and closes the log.
        func end() async throws -> PrefetchStatistics {
            while let name = transport.waiting.first { try await end(name, isGood: true) }
            for task in settling { await task.value }
            try await log.close()
            return await predictive.statistics
        }

        /// Returns the requests of a user with a visit about every second day and with a few favourites among many
        /// objects.
        func requests(visits: Int) -> [(object: Int, time: Int64)] {
            var random = SplitMix64(seed: 3)
            var (time, all) = (clock.now, [(object: Int, time: Int64)]())
            for _ in 0..<visits {
                time += Int64(4 + random.next(below: 80)) * 3_600_000_000
                for _ in 0..<10 {
                    time += Int64(20 + random.next(below: 60)) * 1_000_000
                    let isUsual = random.next(below: 4) > 0
                    all.append((isUsual ? Int(random.next(below: 12)) : 12 + Int(random.next(below: 40)), time))
                }
            }
            return all
        }
    }

    /// Returns how many accesses of a log were fetched for while a prefetch of their object was in flight, or had
    /// just arrived.
    private func lateInLog(_ path: String) throws -> Int {
        let reader = try AccessLogReader(path: path)
        var events = try reader.events()[...]
        var (late, position, inFlight) = (0, 0, Set<String>())
        while true {
            let batch = try reader.next()
            if batch.isEmpty { return late }
            for access in batch {
                var arrived: String?
                while let event = events.first, event.position <= position {
                    events.removeFirst()
                    guard let key = event.key else { continue }
                    if event.kind == .prefetchStart { inFlight.insert(key) }
                    if event.kind == .prefetchEnd { inFlight.remove(key) }
                    if event.kind == .prefetchArrival, inFlight.remove(key) != nil, key == access.key { arrived = key }
                }
                if access.outcome == .network, inFlight.remove(access.key) != nil || arrived != nil { late += 1 }
                position += 1
            }
        }
    }

    @Test("Replaying the recorded prefetches reproduces the day's hits, with late, joined and failed ones")
    func recordedPrefetchesReproduceLiveHits() async throws {
        let day = try Day()
        for (object, time) in day.requests(visits: SoakLength.isLong ? 400 : 90) {
            try await day.request(object, at: time)
        }
        let statistics = try await day.end()
        #expect(day.joined > 20 && statistics.failed > 20 && statistics.used > 50)

        var load = TraceLoadOptions()
        load.recording = true
        let trace = try Trace.load(day.log.path, load)
        let recording = try #require(trace.recording)
        #expect(recording.events.count { $0.kind == .prefetchStart } == statistics.begun)
        #expect(recording.events.count { $0.kind == .prefetchArrival } == statistics.fetched)
        #expect(recording.events.count { $0.kind == .prefetchEnd } == statistics.failed)
        #expect(recording.events.contains { $0.kind == .victim } && recording.events.contains { $0.kind == .visitEnd })
        #expect(try #require(recording.fetches.median) > 0)
        let late = try lateInLog(day.log.path)
        for (perUser, policy) in [(true, "recorded"), (false, "recorded"), (true, "none")] {
            var options = ReplayOptions(windows: trace.count)
            if policy != "none" { options.prefetch = try PrefetchOptions(policy: policy, budget: .unlimited) }
            let run = try await Sweep(
                trace: trace, policies: [try PolicyCatalogue.standard.policy("lru")],
                capacities: [try CapacityRequest(parsing: "\(day.capacity)")], options: options,
                mode: perUser ? .perUser : .shared
            ).run()[0]
            let replayed = run.windows.map { $0.hits == 1 }
            // To show that the check can fail: without the prefetches, the hits differ.
            #expect((replayed == day.hits) == (policy == "recorded"), "\(policy) \(perUser)")
            guard let came = run.prefetch else { continue }
            #expect(came.late == late && late >= day.joined)
            #expect(came.fetched == recording.events.count { $0.kind == .prefetchStart && $0.position < trace.count })
            #expect(came.used == statistics.used)
            #expect(came.latency.hasPrefix("as recorded (median of "))
        }
        print(
            """
            a recorded day: \(day.hits.count) requests, \(day.hits.count { $0 }) hits; \(statistics.begun) prefetches begun, \
            \(statistics.used) used, \(day.joined) joined, \(statistics.failed) failed
            """)
    }
}
