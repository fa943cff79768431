import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonSimulation
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@Suite("Per-user caches", .timeLimit(.minutes(20)))
struct PerUserTests {
    @Test("A replay per user equals each user's requests in a separate cache")
    func perUserReplayEqualsSeparateCaches() async throws {
        let trace = TinyTraces.scrambled(count: 9_000, objects: 200, users: 7)
        let sweep = try Sweep(
            trace: trace, policies: [try PolicyCatalogue.standard.policy("lru")], capacities: [.number(12)],
            mode: .perUser)
        let result = try #require(await sweep.run().first)
        var hits = 0
        var ratios: [Double] = []
        for user in 0..<UInt32(trace.userCount) {
            let own = zip(trace.entries, trace.users).filter { $0.1 == user }.map(\.0)
            let found = bookLRUHits(own, capacity: 12).count { $0 }
            hits += found
            ratios.append(Double(found) / Double(own.count))
        }
        #expect(result.hits == hits)
        #expect(result.requests == 9_000)
        #expect(result.caches == 7)
        #expect(result.mode == .perUser)
        #expect(result.userDistribution == UserDistribution(ratios))
    }

    @Test("The warm-up is a part of the trace, not a share of each user's requests")
    func warmUpIsAPeriodNotAShareOfEachUser() async throws {
        // Ann's requests are early and late, Bob's only early; the first half is warm-up.
        let trace = TinyTraces.unit([0, 0, 1, 1, 0, 0, 2, 2], users: [0, 0, 1, 1, 0, 0, 0, 0])
        let sweep = try Sweep(
            trace: trace, policies: [try PolicyCatalogue.standard.policy("lru")], capacities: [.number(2)],
            options: ReplayOptions(warmup: 0.5), mode: .perUser)
        let result = try #require(await sweep.run().first)
        #expect(result.requests == 4)
        #expect(result.hits == 3)
        #expect(result.userDistribution?.users == 1)
    }

    @Test("Belady in per-user caches uses each user's own future")
    func beladyUsesEachUsersOwnFuture() async throws {
        // Capacity 1: Ann's a a b a with Bob's requests for the same objects between.
        let trace = TinyTraces.unit([0, 1, 0, 0, 1, 1, 0, 0], users: [0, 1, 0, 1, 0, 1, 0, 1])
        let policies = try ["belady", "lru"].map { try PolicyCatalogue.standard.policy($0) }
        let sweep = try Sweep(trace: trace, policies: policies, capacities: [.number(1)], mode: .perUser)
        let results = await sweep.run()
        // Ann: 0 0 1 0: one hit by LRU. Bob: 1 0 1 0: none. A cache of one must admit every fetched object.
        #expect(results[1].hits == 1)
        #expect(results[0].hits >= results[1].hits)
    }

    @Test("Requests without a user are left out and counted")
    func requestsWithoutAUserAreLeftOutAndCounted() throws {
        let trace = TinyTraces.unit([0, 1, 0, 2], users: [0, Trace.noUser, 1, 0])
        let part = trace.selection(withUserOnly: true)
        #expect(part.withoutUser == 1)
        #expect(part.trace.entries == [0, 0, 1])
        #expect(part.trace.users == [0, 1, 0])
        #expect(Array(part.trace.times) == [0, 2_000_000, 3_000_000])
        #expect(throws: ReplayError.self) {
            try Sweep(
                trace: trace, policies: [PolicyCatalogue.standard.policy("lru")], capacities: [.number(1)],
                mode: .perUser)
        }
    }
}
