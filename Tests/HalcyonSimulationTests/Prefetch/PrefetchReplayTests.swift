import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Replay with prefetching", .timeLimit(.minutes(20)))
struct PrefetchReplayTests {
    /// Objects by number, with their numbers as keys, one a second.
    private func numbered(_ entries: [UInt32], users: [UInt32] = [], sizes: [UInt64]? = nil) -> Trace {
        let count = Int(entries.max() ?? 0) + 1
        var names = TraceNames()
        for object in 0..<count { names.keys.append(utf8: Array("\(object)".utf8)) }
        return Trace(
            entries: entries, times: TimeColumn(count: entries.count), users: users,
            objectSizes: sizes ?? Array(repeating: 1, count: count),
            userCount: Int(users.max().map { $0 + 1 } ?? 0), sizeUnit: sizes == nil ? .objects : .bytes, names: names)
    }

    private func run(
        _ trace: Trace, _ prefetch: String, capacity: Int, budget: String = "1/request", latency: Int64 = 0,
        policy: String = "lru", mode: ReplayMode = .shared, warmup: Warmup = .none
    ) async throws -> (RunResult, PrefetchResult) {
        var options = ReplayOptions(warmup: warmup)
        options.prefetch = try PrefetchOptions(
            policy: prefetch, budget: PrefetchBudget(parsing: budget), latency: .fixed(latency))
        let sweep = try Sweep(
            trace: trace, policies: [try PolicyCatalogue.standard.policy(policy)], capacities: [.number(capacity)],
            options: options, mode: mode, knowledge: .server)
        let result = try #require(await sweep.run().first)
        return (result, try #require(result.prefetch))
    }

    @Test("In a scan of numbers every request after the first hits its prefetched object")
    func scanOfNumbersHitsAfterTheFirstRequest() async throws {
        // 0 misses; each prefetch of 1, 2, 3, 4 is used by the next request, that of 5 never.
        let (result, prefetch) = try await run(numbered([0, 1, 2, 3, 4]), "next-key", capacity: 3)
        #expect(result.hits == 4 && result.requests == 5)
        #expect(prefetch.objectHitRatioWithout == 0)
        #expect(prefetch.fetched == 5 && prefetch.used == 4 && prefetch.late == 0)
        #expect(prefetch.hitsOwed == 4 && prefetch.precision == 0.8 && prefetch.coverage == 0.8)
        #expect(prefetch.pollution == 0 && prefetch.timeliness == 1 && prefetch.wastedSize == 1)
        #expect(prefetch.meanRequestsUntilUse == 1)
    }

    @Test("A prefetch that arrives after the request is late and no hit")
    func prefetchThatArrivesAfterTheRequestIsLate() async throws {
        // One request a second, a fetch takes two: each object is in flight when it is requested.
        let (result, prefetch) = try await run(numbered([0, 1, 2, 3, 4]), "next-key", capacity: 3, latency: 2_000_000)
        #expect(result.hits == 0)
        #expect(prefetch.fetched == 5 && prefetch.used == 0 && prefetch.late == 4 && prefetch.timeliness == 0)
        #expect(prefetch.wastedSize == 1, "the requests for 1 to 4 joined their transfers; 5 is never requested")
        // One that ends at the time stamp of the request is late, too: only a shorter one is in time.
        for (latency, hits) in [(1_000_000, 0), (999_999, 4)] as [(Int64, Int)] {
            let (run, _) = try await run(numbered([0, 1, 2, 3, 4]), "next-key", capacity: 3, latency: latency)
            #expect(run.hits == hits)
        }
    }

    @Test("A prefetch counts if it started after the warm-up; one that never arrives is wasted")
    func prefetchCountsIfItStartedAfterTheWarmUp() async throws {
        // A fetch takes four requests: 1, fetched after 0, arrives while the fifth request is served, before its own.
        let requests: [UInt32] = [0, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7]
        let trace = numbered(requests)
        let (_, warm) = try await run(trace, "next-key", capacity: 20, latency: 4_000_000, warmup: 0.25)
        // 1 and 10 were fetched in the warm-up: the hit on 1 is due to prefetching, but to no fetch that counts. 2 to
        // 7 are late, 8 never arrives. 10 is in the cache until the end.
        #expect(warm.hitsOwed == 1 && warm.used == 0 && warm.precision == 0)
        #expect(warm.fetched == 7 && warm.late == 6 && warm.wastedSize == 1)
        // Fetched on demand: 9 requests after the warm-up, of which 9, 9 and 1 hit; with prefetches 13, late ones
        // once.
        #expect(abs(warm.wastedShare - 1.0 / 7) < 1e-12)
        let (_, whole) = try await run(trace, "next-key", capacity: 20, latency: 4_000_000)
        #expect(whole.fetched == 9 && whole.used == 1 && whole.late == 6 && whole.wastedSize == 2)
        let (_, endless) = try await run(numbered([0, 3, 5]), "next-key", capacity: 20, latency: .max)
        // After 5, 6 is fetched, which is no key of the trace.
        #expect(endless.fetched == 3 && endless.wastedSize == 3 && endless.wastedShare == 3.0 / 6)
    }

    @Test("An object that was never requested is prefetched with its size and is a hit")
    func prefetchedObjectHasItsSizeAndIsAHit() async throws {
        let trace = numbered([0, 1, 2, 3, 4], sizes: [1_000, 2_000, 3_000, 4_000, 5_000])
        let (result, prefetch) = try await run(trace, "next-key", capacity: 100_000)
        // 5 never occurs: it has the size of 4, after which it is fetched.
        #expect(result.hits == 4 && prefetch.fetchedSize == 19_000 && prefetch.wastedSize == 5_000)
    }

    @Test("An expired object can be prefetched again; one that expires unused is wasted")
    func expiredObjectIsPrefetchedAgain() async throws {
        // Entries of kingfisher-memory expire after 300 s. 0 and 1 are requested every 1,000 s, 1 ten seconds after 0.
        var times: [Int64] = []
        for round in 0..<10 { times += [Int64(round) * 1_000_000_000, Int64(round) * 1_000_000_000 + 10_000_000] }
        var names = TraceNames()
        for object in 0..<2 { names.keys.append(utf8: Array("\(object)".utf8)) }
        let trace = Trace(
            entries: (0..<20).map { UInt32($0 & 1) }, times: TimeColumn(times), objectSizes: [1, 1], sizeUnit: .objects,
            names: names)
        let (result, prefetch) = try await run(trace, "next-key", capacity: 10, policy: "kingfisher-memory")
        // After each 1, 2 is fetched, which never occurs.
        #expect(result.hits == 10 && prefetch.hitsOwed == 10 && prefetch.fetched == 20 && prefetch.wastedSize == 10)
    }

    @Test("A budget in bytes needs sizes")
    func byteBudgetNeedsSizes() async throws {
        await #expect(throws: ReplayError.self) {
            _ = try await run(numbered([0, 1]), "popular", capacity: 1, budget: "2/request,50MB/day")
        }
    }

    @Test("An unused prefetch evicts an entry that would have hit: pollution and waste")
    func unusedPrefetchEvictsAnEntryThatWouldHit() async throws {
        // Capacity 1: after 0, 1 is fetched and evicts 0, so that 0 misses repeatedly.
        let trace = numbered([0, 0, 0, 0, 1])
        let (result, prefetch) = try await run(trace, "next-key", capacity: 1)
        #expect(prefetch.objectHitRatioWithout == 0.6)
        // 1 is protected, but its place is the only one for 0.
        #expect(result.hits == 1 && prefetch.hitsOwed == 1)
        #expect(prefetch.pollution == 0.6 && prefetch.coverage == 0.5)
        // After 1, 2 is fetched, which never occurs.
        #expect(prefetch.fetched == 5 && prefetch.used == 1 && prefetch.precision == 0.2)
        #expect(prefetch.wastedSize == 4 && abs(prefetch.wastedShare - 4.0 / 9) < 1e-12)
    }

    @Test("Budgets in objects and bytes are kept in each cache")
    func budgetsInObjectsAndBytesAreKeptPerCache() async throws {
        let trace = numbered([0, 1, 2, 3, 4, 5], sizes: [10, 10, 10, 10, 10, 10])
        let (_, total) = try await run(trace, "next-key", capacity: 100, budget: "2/total")
        #expect(total.fetched == 2)
        // Each object counts with its size.
        let again = numbered([0, 1, 2, 3, 0, 1, 2, 3], sizes: [10, 10, 10, 10])
        let (_, bytes) = try await run(again, "next-key", capacity: 15, budget: "20B/total")
        #expect(bytes.fetchedSize <= 20)
        let users: [UInt32] = [0, 1, 0, 1, 0, 1]
        let (_, each) = try await run(
            numbered([0, 1, 2, 3, 4, 5], users: users), "next-key", capacity: 9, budget: "1/total", mode: .perUser)
        #expect(each.fetched == 2 && each.used == 0)
    }

    @Test(
        "Without a proposal the hits of any policy are unchanged",
        arguments: ["lru", "s3-fifo", "gdsf", "learned", "arc"])
    func prefetchingWithoutProposalsChangesNothing(policy: String) async throws {
        let trace = TinyTraces.scrambled(count: 6_000, objects: 300, users: 5)
        for mode in [ReplayMode.shared, .perUser] {
            // Without keys there is no next key.
            let (result, prefetch) = try await run(trace, "next-key", capacity: 20, policy: policy, mode: mode)
            let plain = try Sweep(
                trace: trace, policies: [try PolicyCatalogue.standard.policy(policy)], capacities: [.number(20)],
                mode: mode, knowledge: .server)
            let expected = try #require(await plain.run().first)
            #expect(result.hits == expected.hits, "\(policy) \(mode)")
            #expect(prefetch.fetched == 0 && prefetch.objectHitRatioWithout == expected.objectHitRatio)
        }
    }

    @Test(
        "The whole replay is causal and repeatable",
        arguments: ["planner", "mithril", "visit-refill", "planner(visits=on)"])
    func prefetchReplayIsCausalAndRepeatable(name: String) async throws {
        let trace = TinyTraces.scrambled(count: 12_000, objects: 300, users: 9)
        let prefix = trace.selection(limit: 8_000).trace
        let whole = try await run(trace, name, capacity: 10, policy: "learned", mode: .perUser)
        let again = try await run(trace, name, capacity: 10, policy: "learned", mode: .perUser)
        #expect(whole.0.hits == again.0.hits && whole.1.fetched == again.1.fetched && whole.1.used == again.1.used)
        let part = try await run(prefix, name, capacity: 10, policy: "learned", mode: .perUser)
        // Ten windows of 1,200 requests against ten of 800: six of the first cover nine of the second.
        let first = whole.0.windows.prefix(6).reduce(0) { $0 + $1.hits }
        let second = part.0.windows.prefix(9).reduce(0) { $0 + $1.hits }
        #expect(first == second)
    }

    @Test("The prefetches of next-key depend on the requests so far alone")
    func nextKeyDoesNotDependOnLaterRequests() async throws {
        // The same first requests; in one trace 1 and 5 are requested later, in the other never.
        let (_, later) = try await run(numbered([0, 4, 0, 4, 1, 5]), "next-key", capacity: 20, budget: "1/request")
        let (_, never) = try await run(
            numbered([0, 4, 0, 4, 8, 8].map { $0 }), "next-key", capacity: 20, budget: "1/request")
        // 1, 5; then 2 and 6 after 1 and 5, or 9 after 8.
        #expect(later.fetched == 4 && later.used == 2)
        #expect(never.fetched == 3 && never.used == 0 && never.wastedSize == 3)
        // Keys far apart are numbers, too: each has a next one, whose fetch is wasted.
        var names = TraceNames()
        for key in ["10", "20", "30", "x"] { names.keys.append(utf8: Array(key.utf8)) }
        let apart = Trace(
            entries: [0, 1, 2, 3], times: TimeColumn(count: 4), users: [], objectSizes: [1, 1, 1, 1], userCount: 0,
            sizeUnit: .objects, names: names)
        let (_, wasted) = try await run(apart, "next-key", capacity: 10)
        #expect(wasted.fetched == 3 && wasted.wastedSize == 3)
    }

    @Test("The size of an object that was never requested is unknown until it is fetched")
    func sizeOfAnUnseenObjectIsUnknownUntilFetched() async throws {
        // 1 is larger than the cache, which its first fetch shows; the fetch is wasted and not repeated.
        let trace = numbered([0, 0, 0, 1], sizes: [10, 5_000])
        let (_, prefetch) = try await run(trace, "next-key", capacity: 100)
        #expect(prefetch.fetched == 2 && prefetch.used == 0)
        #expect(prefetch.fetchedSize == 10_000 && prefetch.wastedSize == 10_000, "1, and 2 after 1, as large as 1")
        // A budget in bytes pays for an object larger than estimated, and is then spent.
        let (_, budgeted) = try await run(trace, "next-key", capacity: 100, budget: "1/request,20B/total")
        #expect(budgeted.fetched == 1 && budgeted.fetchedSize == 5_000)
    }

    @Test("Unknown policies and parameters, and an offline eviction policy, are refused")
    func invalidPrefetchOptionsAreRefused() async throws {
        #expect(throws: ReplayError.self) {
            try PrefetchOptions(policy: "crystal-ball", budget: PrefetchBudget(parsing: "1/request"), latency: .ideal)
        }
        #expect(throws: PolicyError.self) {
            try PrefetchOptions(policy: "planner(lookahead=2)", budget: PrefetchBudget(parsing: "1/request"))
        }
        #expect(throws: PolicyError.self) {
            try PrefetchOptions(policy: "popular(price=2)", budget: PrefetchBudget(parsing: "1/request"))
        }
        await #expect(throws: ReplayError.self) {
            _ = try await run(numbered([0, 1]), "popular", capacity: 1, policy: "belady")
        }
    }
}
