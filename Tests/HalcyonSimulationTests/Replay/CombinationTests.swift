import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import HalcyonTraceTestSupport
import Testing

@testable import HalcyonSimulation
@testable import HalcyonTrace

/// Modes, knowledge, tiers, prefetching and tables combine freely.
@Suite("Combinations of caches, sources and counts", .timeLimit(.minutes(20)))
struct CombinationTests {
    /// One way to replay.
    struct Combination: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var policy = "lru"
        var mode = ReplayMode.shared
        var knowledge = Knowledge.server
        var tiers = false
        var prefetch: String?
        var latency: Int64 = 0
        var byCategory = false
        var byUser = false

        func job() throws -> ReplayJob {
            var options = ReplayOptions(byCategory: byCategory, byUser: byUser)
            options.prefetch = try prefetch.map {
                try PrefetchOptions(policy: $0, budget: PrefetchBudget(parsing: "1/request"), latency: .fixed(latency))
            }
            return ReplayJob(
                policy: try PolicyCatalogue.standard.policy(policy), capacity: .number(2_000_000), mode: mode,
                knowledge: knowledge,
                tiers: tiers ? TierOptions(memory: .number(500_000), disk: .number(2_000_000)) : nil,
                options: options)
        }
    }

    static let combinations = [
        Combination(testDescription: "shared"),
        Combination(testDescription: "per user", mode: .perUser),
        Combination(testDescription: "per user, learned, one model", policy: "learned", mode: .perUser),
        Combination(testDescription: "per user, learned, own", policy: "learned", mode: .perUser, knowledge: .device),
        Combination(testDescription: "tiers", tiers: true),
        Combination(testDescription: "tiers per user", policy: "s3-fifo", mode: .perUser, tiers: true),
        Combination(testDescription: "tiers per user, learned", policy: "learned", mode: .perUser, tiers: true),
        Combination(testDescription: "prefetch", prefetch: "markov"),
        Combination(testDescription: "prefetch per user", policy: "gdsf", mode: .perUser, prefetch: "popular"),
        Combination(testDescription: "prefetch with latency", prefetch: "markov-user", latency: 5_000_000),
        Combination(testDescription: "prefetch into tiers", tiers: true, prefetch: "markov"),
        Combination(
            testDescription: "prefetch into tiers per user", policy: "learned", mode: .perUser, tiers: true,
            prefetch: "category-popular"),
        Combination(testDescription: "tables", byCategory: true, byUser: true),
        Combination(testDescription: "tables per user", mode: .perUser, byCategory: true, byUser: true),
        Combination(testDescription: "quotas", policy: "category-quota", mode: .perUser),
    ]

    /// A feed of 3,000 requests of 12 users, with sizes, categories and some requests without a user.
    private func file(in folder: TemporaryFolder) throws -> String {
        var model = BrowsingModel.feed
        model.requests = 3_000
        model.users = 12
        let trace = try model.generate(seed: 1, names: true)
        var text = "time,key,size,category,user\n"
        for request in 0..<trace.count {
            let set = trace.categorySets[trace.categorySet(ofRequest: request)]
            let categories = set.map { trace.names.categories[$0] }.joined(separator: "|")
            let user = request % 50 == 7 ? "" : trace.names.users[trace.users[request]]
            text += "\(trace.times[request] / 1_000_000),\(trace.entries[request]),"
            text += "\(trace.size(ofRequest: request)),\(categories),\(user)\n"
        }
        return try folder.file("feed.csv", text)
    }

    @Test("A stream decides and counts as the loaded trace does", arguments: combinations)
    func streamDecidesAndCountsAsTheLoadedTrace(_ combination: Combination) throws {
        let folder = try TemporaryFolder()
        let path = try file(in: folder)
        let job = try combination.job()
        let whole = try Trace.load(path, TraceLoadOptions.with { $0.names = .all })
        let part = whole.selection(skip: 20, limit: 2_500, withUserOnly: job.mode == .perUser)
        var loaded = try job.run(over: ReplayInput(part.trace, for: [job]))
        let load = TraceLoadOptions.with {
            $0.names = .all
            $0.skip = 20
            $0.limit = 2_500
            $0.chunkBytes = 5_000
        }
        let report = try StreamReplay(path: path, load: load, jobs: [job]).run()
        var streamed = report.runs[0]
        #expect(loaded.hits > 100 && loaded.evictions > 100)
        #expect(report.trace.requests == 2_500)
        if job.mode == .perUser {
            #expect(part.withoutUser == 60)
            // A stream reads no further than necessary, so that it counts those before its last request.
            #expect(report.trace.notes.contains { $0.hasSuffix("without a user left out.") })
        }
        // A stream has windows of a million requests, and tables that grow.
        for path in [\RunResult.metadataBytes, \.metadataFixedBytes] {
            loaded[keyPath: path] = 0
            streamed[keyPath: path] = 0
        }
        for path in [\RunResult.metadataBytesPerResident, \.seconds, \.requestsPerSecond] {
            loaded[keyPath: path] = 0
            streamed[keyPath: path] = 0
        }
        (loaded.deviceMetadata, streamed.deviceMetadata) = (nil, nil)
        loaded.windows = []
        streamed.windows = []
        loaded.prefetch?.planningMicroseconds = 0
        streamed.prefetch?.planningMicroseconds = 0
        loaded.prefetch?.metadataBytes = 0
        streamed.prefetch?.metadataBytes = 0
        // A sum of fractions, in another order.
        let latencies = [loaded, streamed].map { $0.tiers?.meanLatency ?? 0 }
        #expect(abs(latencies[0] - latencies[1]) < 1e-9)
        loaded.tiers?.meanLatency = 0
        streamed.tiers?.meanLatency = 0
        #expect(try JSONReport.data(streamed) == JSONReport.data(loaded))
    }

    @Test("The warm-up is left out of every count in every combination", arguments: combinations)
    func warmUpIsLeftOutOfEveryCount(_ combination: Combination) throws {
        let folder = try TemporaryFolder()
        let path = try file(in: folder)
        var job = try combination.job()
        let whole = try Trace.load(path, TraceLoadOptions.with { $0.names = .all })
        let trace = whole.selection(withUserOnly: job.mode == .perUser).trace
        let all = try job.run(over: ReplayInput(trace))
        job.options.warmup = 0.5
        let half = try job.run(over: ReplayInput(trace))
        // Decisions are the same, so that the first half has the missing counts.
        job.options.warmup = .none
        let early = try job.run(over: ReplayInput(trace.selection(limit: trace.count / 2).trace))
        #expect(half.requests == trace.count - trace.count / 2 && half.warmupRequests == trace.count / 2)
        #expect(half.hits == all.hits - early.hits && half.evictions == all.evictions - early.evictions)
        #expect(half.bytesFetched == all.bytesFetched - early.bytesFetched)
        #expect(half.windows.reduce(0) { $0 + $1.hits } == half.hits)
        if let users = half.users { #expect(users.values.reduce(0) { $0 + $1.requests } <= half.requests) }
        if let tiers = half.tiers {
            #expect(tiers.memoryHits + tiers.diskHits == half.hits)
            #expect(tiers.networkFetches == half.requests - half.hits)
        }
    }

    /// LRU with room for 1 before LRU with room for 3; object 2 is fetched after object 0, which evicts it from memory at once.
    ///
    ///     0: inserted into both; 2 is prefetched into both, and evicts 0 from memory.
    ///     2: a hit in memory.   0: a hit on disk, which evicts 2 from memory; 2 is on disk, so that it is not fetched.
    ///     2: a hit on disk.     5, 6: misses; the disk holds 2, 5, 6.
    @Test("A prefetched object enters both tiers, and a hit in either uses it")
    func prefetchedObjectEntersBothTiers() throws {
        let trace = TinyTraces.unit([0, 2, 0, 2, 5, 6])
        let policy = try PolicyCatalogue.standard.policy("lru")
        var context = PolicyContext(capacity: 1)
        context.prefetches = true
        let memory = policy.makeCache(context)
        context.capacity = 3
        let disk = policy.makeCache(context)
        let cache = PrefetchingCache(
            TieredCache(memory: memory, disk: disk), capacity: 3, unit: CacheUnit(trace), policy: AlwaysTwo(),
            budget: .unlimited, latency: { _, _ in 0 }, objects: ObjectInfo(trace))
        var counts = PrefetchTally(unit: CacheUnit(trace))
        let outcomes = trace.entries.map { object in
            let access = Access(entry: .none, user: 0, object: object)
            let outcome = cache.serve(access, isCounted: true, counts: &counts)
            cache.report(access, isHit: outcome.isHit, isCounted: true, counts: &counts)
            cache.prefetch(after: access, isCounted: true, counts: &counts)
            return outcome
        }
        #expect(outcomes == [.miss, .hit, .lowerTierHit, .lowerTierHit, .miss, .miss])
        #expect(counts.fetched == 1 && counts.used == 1)
    }

    @Test("Jobs of one pass over a stream must be all shared or all per user")
    func jobsOfOneStreamAreAllSharedOrAllPerUser() throws {
        let lru = try PolicyCatalogue.standard.policy("lru")
        let jobs = [ReplayMode.shared, .perUser].map { ReplayJob(policy: lru, capacity: .number(5), mode: $0) }
        #expect(throws: ReplayError.self) { try StreamReplay(path: "t.csv", load: TraceLoadOptions(), jobs: jobs) }
    }
}

/// Proposes object 2 after object 0.
private final class AlwaysTwo: PrefetchPolicy {
    let metadataBytes = 0

    func note(_ access: Access, isHit: Bool) {}
    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        if access.object == 0 && !outlook.holds(2) { plan.propose(2) }
    }
}
