import HalcyonEviction
import HalcyonExperiments
import HalcyonPrefetch
import HalcyonSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Prefetching between visits", .timeLimit(.minutes(20)))
struct VisitReplayTests {
    private static let day: Int64 = 86_400_000_000

    /// Requests in order of time.
    private func trace(
        _ requests: [(user: UInt32, object: UInt32, time: Int64)], size: (Int) -> UInt64 = { _ in 1 }
    ) -> Trace {
        let sorted = requests.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element)
        let count = Int(sorted.map(\.object).max() ?? 0) + 1
        var names = TraceNames()
        for object in 0..<count { names.keys.append("\(object)") }
        return Trace(
            entries: sorted.map(\.object), times: TimeColumn(sorted.map(\.time)), users: sorted.map(\.user),
            objectSizes: (0..<count).map(size), userCount: Int(sorted.map(\.user).max() ?? 0) + 1,
            sizeUnit: .objects, names: names)
    }

    private func run(
        _ trace: Trace, _ policy: String, capacity: Int, latency: FetchLatency = .fixed(1_000_000),
        mode: ReplayMode = .perUser, eviction: String = "lru", budget: String = "2/request"
    ) throws -> (run: RunResult, prefetch: PrefetchResult) {
        var options = ReplayOptions()
        options.prefetch = try PrefetchOptions(
            policy: policy, budget: PrefetchBudget(parsing: budget), latency: latency)
        let result = try ReplayJob(
            policy: PolicyCatalogue.standard.policy(eviction), capacity: .number(capacity), mode: mode, options: options
        ).run(over: ReplayInput(trace))
        return (result, try #require(result.prefetch))
    }

    @Test("visit-refill evicts what the visit requested first and restores it before the next")
    func visitRefillRestoresTheVisitsObjects() throws {
        // A cache of two. Three objects each day, in one order: LRU never hits.
        let requests = (0..<3).flatMap { day in
            (0..<3).map {
                (user: 0 as UInt32, object: UInt32($0), time: Int64(day) * Self.day + Int64($0) * 60_000_000)
            }
        }
        let (run, prefetch) = try run(trace(requests), "visit-refill", capacity: 2)
        #expect(prefetch.objectHitRatioWithout == 0)
        // First day: 0, 1; 2 takes the place of 0, requested first. The later an object was requested, the higher its
        // rank, so that 1 and 2 are kept. Second day: 0 takes the place of 1, the lowest; 1 that of 0, which the visit
        // has requested; 2 hits. Now 2 ranks highest and 0 lowest, so that 1 and 2 are kept again, and the third day
        // is like the second.
        #expect(run.hits == 2, "\(run.hits) hits, \(prefetch.fetched) fetched")
        #expect(prefetch.fetched == prefetch.fetchedBetweenRequests)
    }

    @Test("With two weekly lists of 20 objects planner(visits=on) holds the list that is due")
    func visitPlannerHoldsTheListThatIsDue() throws {
        // Each user requests the same 15 objects each Monday, and 15 other objects each Thursday that it never
        // requests again.
        var requests: [(user: UInt32, object: UInt32, time: Int64)] = []
        var next: UInt32 = 2_000
        for week in 0..<30 as Range<Int64> {
            for user in 0..<40 as Range<UInt32> {
                for place in 0..<15 as Range<UInt32> {
                    let offset = Int64(user) * 1_000_000 + Int64(place) * 60_000_000
                    requests.append((user, user * 15 + place, week * 7 * Self.day + offset))
                    requests.append((user, next, (week * 7 + 3) * Self.day + offset))
                    next += 1
                }
            }
        }
        let list = trace(requests)
        let planned = try run(list, "planner(visits=on)", capacity: 20)
        // LRU holds five of the old list's objects at most; half of all requests can hit.
        #expect(planned.prefetch.objectHitRatioWithout < 0.01)
        #expect(planned.run.objectHitRatio > 0.35, "\(planned.run.objectHitRatio)")
        #expect(planned.prefetch.precision > 0.5, "\(planned.prefetch.precision)")
        // The result hardly depends on the latency up to the idle time: little is fetched for the present visit.
        let slow = try run(list, "planner(visits=on)", capacity: 20, latency: .fixed(60_000_000))
        #expect(abs(slow.run.objectHitRatio - planned.run.objectHitRatio) < 0.025)
    }

    @Test("Without recurring requests hardly anything is fetched and nothing is lost", arguments: ["lru", "learned"])
    func nothingIsFetchedOrLostWithoutRecurrence(eviction: String) throws {
        var random = SplitMix64(seed: 4)
        var requests: [(user: UInt32, object: UInt32, time: Int64)] = []
        for visit in 0..<3_000 as Range<Int64> {
            let (user, start) = (UInt32(random.next(below: 50)), visit * 3_600_000_000)
            let first = UInt32(visit) * 12
            for place in 0..<12 as Range<UInt32> {
                requests.append((user, first + place, start + Int64(place) * 10_000_000))
                // Each object is requested twice within the visit.
                requests.append((user, first + place, start + Int64(place + 8) * 10_000_000))
            }
        }
        let (run, prefetch) = try run(trace(requests), "planner(visits=on)", capacity: 10, eviction: eviction)
        #expect(run.objectHitRatio > prefetch.objectHitRatioWithout - 0.001, "\(run.objectHitRatio)")
        #expect(
            Double(prefetch.fetchedBetweenRequests) < 0.01 * Double(run.requests), "\(prefetch.fetchedBetweenRequests)")
    }

    @Test("In a shared cache planner(visits=on) has the hits of planner")
    func visitPlannerInASharedCacheIsThePlanner() throws {
        var random = SplitMix64(seed: 6)
        let requests = (0..<20_000).map { index in
            (
                user: UInt32(random.next(below: 30)), object: UInt32(random.next(below: 400)),
                time: Int64(index) * 5_000_000
            )
        }
        let (visits, _) = try run(trace(requests), "planner(visits=on)", capacity: 40, mode: .shared)
        let (plain, _) = try run(trace(requests), "planner", capacity: 40, mode: .shared)
        #expect(visits.hits == plain.hits)
    }

    @Test(
        "With device knowledge each user has the hits of its requests replayed alone",
        arguments: [
            "planner", "planner(visits=on)", "visit-refill", "markov", "markov-user", "popular", "category-popular",
            "mithril", "next-key",
        ],
        [1, 3])
    func deviceKnowledgeEqualsEachUserAlone(policy: String, sizes: Int) throws {
        // Five users on forty days: a list of its own each Monday, and other objects that it requests once.
        var requests: [(user: UInt32, object: UInt32, time: Int64)] = []
        for user in 0..<5 as Range<UInt32> {
            for day in 0..<40 as Range<UInt32> {
                for place in 0..<8 as Range<UInt32> {
                    let object = day % 7 == user ? user * 8 + place : 40 + (day * 8 + place) % 97
                    let time = Int64(day) * Self.day + Int64(user) * 7_200_000_000 + Int64(place) * 20_000_000
                    requests.append((user: user, object: object, time: time))
                }
            }
        }
        func run(_ requests: [(user: UInt32, object: UInt32, time: Int64)], _ knowledge: Knowledge) throws -> RunResult
        {
            var options = ReplayOptions()
            options.prefetch = try PrefetchOptions(
                policy: policy, budget: PrefetchBudget(parsing: "2/request"), latency: .fixed(1_000_000))
            return try ReplayJob(
                policy: PolicyCatalogue.standard.policy("lru"), capacity: .number(12), mode: .perUser,
                knowledge: knowledge,
                options: options
            ).run(over: ReplayInput(trace(requests, size: { UInt64(1 + $0 % sizes) })))
        }
        let own = try run(requests, .device)
        if policy == "next-key" {
            // It learns nothing, and so is the same for all.
            let shared = try run(requests, .server)
            #expect((own.hits, own.prefetch?.used) == (shared.hits, shared.prefetch?.used))
            return
        }
        let alone = try (0..<5).map { user in
            let own = requests.filter { $0.user == user }.map { (user: 0 as UInt32, object: $0.object, time: $0.time) }
            return try run(own, .server)
        }
        #expect(own.hits == alone.reduce(0) { $0 + $1.hits })
        #expect(own.prefetch?.used == alone.reduce(0) { $0 + ($1.prefetch?.used ?? 0) })
        let shared = try run(requests, .server)
        if policy == "popular" {
            #expect(shared.hits != own.hits, "one policy for all users sees the others' requests")
        }
    }

    @Test("A budget of 0 fetches nothing and leaves the choice of victims")
    func zeroBudgetLeavesTheChoiceOfVictims() throws {
        // A cache of two; three objects each day, in one order: LRU never hits. visit-refill keeps what the day
        // requested last.
        let requests = (0..<5).flatMap { day in
            (0..<3).map {
                (user: 0 as UInt32, object: UInt32($0), time: Int64(day) * Self.day + Int64($0) * 60_000_000)
            }
        }
        let (victims, prefetch) = try run(trace(requests), "visit-refill", capacity: 2, budget: "0/request")
        #expect(prefetch.fetched == 0 && prefetch.objectHitRatioWithout == 0)
        #expect(victims.hits > 0)
    }
}
