import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonSimulation
import HalcyonSupport
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@Suite("Two tiers", .timeLimit(.minutes(20)))
struct TierTests {
    func run(_ trace: Trace, _ tiers: TierOptions) async throws -> (RunResult, TierResult) {
        let sweep = try Sweep(
            trace: trace, policies: [try PolicyCatalogue.standard.policy("lru")], capacities: [], tiers: tiers)
        let result = try #require(await sweep.run().first)
        return (result, try #require(result.tiers))
    }

    @Test("Promotion, hits by tier and latencies match a sequence worked by hand")
    func tiersMatchASequenceByHand() async throws {
        // Memory holds 1 object, disk 2.
        // a: network; memory a, disk a.   b: network; memory b, disk b a.   a: disk; memory a.   a: memory.
        // c: network; disk's last used is a, so b is evicted: disk c a.   b: network.
        var tiers = try TierOptions(parsing: "memory=1,disk=2")
        tiers.latency.memory = 1
        tiers.latency.disk = 10
        tiers.latency.network = 100
        let (result, tier) = try await run(TinyTraces.unit([0, 1, 0, 0, 2, 1]), tiers)
        #expect(tier.memoryHits == 1)
        #expect(tier.diskHits == 1)
        #expect(tier.networkFetches == 4)
        #expect(result.hits == 2)
        #expect(tier.meanLatency == (1 + 10 + 400) / 6.0)
        #expect(tier.p99Latency == 100)
    }

    @Test("The network takes longer for larger objects")
    func networkTakesLongerForLargerObjects() async throws {
        var tiers = try TierOptions(parsing: "memory=1KB,disk=2KB")
        tiers.latency = try LatencyModel(parsing: "network=50,bandwidth=1KB")
        let (_, tier) = try await run(TinyTraces.sized([0, 0], sizes: [500]), tiers)
        #expect(tier.meanLatency == (50 + 500 + 0.001) / 2)
    }

    @Test("A memory tier of decoded sizes has the hits of a cache with multiplied sizes")
    func memoryOfDecodedSizesEqualsMultipliedSizes() async throws {
        // Memory 100 bytes, 10 per byte on disk; a and b have 4 bytes (40 decoded), c has 11, which does not fit.
        // a, b: network. c: network, in memory refused. a, b: memory. c: disk.
        var tiers = try TierOptions(parsing: "memory=100,disk=1000")
        tiers.decodedSizeRatio = 10
        let sequence: [UInt32] = [0, 1, 2, 0, 1, 2]
        let (result, tier) = try await run(TinyTraces.sized(sequence, sizes: [4, 4, 11]), tiers)
        #expect(tier.memoryHits == 2 && tier.diskHits == 1 && tier.networkFetches == 3)
        #expect(result.refusedTooLarge == 0)
        #expect(tier.decodedSizeRatio == 10)
        // Uniform sizes, which are replayed as entries: 2 of 40 decoded bytes fit, as the third evicts the first.
        let (_, uniform) = try await run(TinyTraces.sized([0, 1, 0, 2, 0, 1], sizes: [4, 4, 4]), tiers)
        let (_, entries) = try await run(
            TinyTraces.unit([0, 1, 0, 2, 0, 1]), TierOptions(memory: .number(2), disk: .number(250)))
        #expect(uniform.memoryHits == entries.memoryHits && uniform.diskHits == entries.diskHits)

        // Any sizes: the hits in memory are those of one cache over a trace of decoded sizes.
        let objects = TinyTraces.scrambled(count: 4_000, objects: 150).entries
        let sizes = (0..<150).map { UInt64($0 * 37 % 90 + 1) }
        tiers = try TierOptions(parsing: "memory=9000,disk=2000")
        tiers.decodedSizeRatio = 7
        let (_, both) = try await run(TinyTraces.sized(objects, sizes: sizes), tiers)
        let alone = try await Sweep(
            trace: TinyTraces.sized(objects, sizes: sizes.map { $0 * 7 }),
            policies: [try PolicyCatalogue.standard.policy("lru")], capacities: [.number(9_000)]
        ).run()
        #expect(both.memoryHits == alone.first?.hits)
        #expect(both.memoryHits > 500)
    }

    @Test("A ratio of decoded sizes needs sizes and a value in range", arguments: [0, -1, 20_000, .nan, .infinity])
    func decodedSizeRatioNeedsSizesAndAValidValue(ratio: Double) async throws {
        var tiers = try TierOptions(parsing: "memory=10,disk=20")
        tiers.decodedSizeRatio = ratio
        await #expect(throws: ReplayError.self) { _ = try await run(TinyTraces.sized([0, 1], sizes: [4, 5]), tiers) }
        tiers.decodedSizeRatio = 2
        await #expect(throws: ReplayError.self) { _ = try await run(TinyTraces.unit([0, 1]), tiers) }
    }

    @Test("Entries expire in a tier after their last access in this tier")
    func entriesExpireInATierAfterTheirLastAccess() async throws {
        // Seconds 0, 200, 600 and 1,300; memory forgets after 300 s, disk after 500 s.
        let times: [Int64] = [0, 200, 600, 1_300].map { $0 * 1_000_000 }
        var tiers = try TierOptions(parsing: "memory=10,disk=10")
        tiers.memoryLifetime = try TimeSpan(parsing: "300s").microseconds
        tiers.diskLifetime = try TimeSpan(parsing: "500s").microseconds
        let (result, tier) = try await run(TinyTraces.sized([0, 0, 0, 0], sizes: [1], times: times), tiers)
        // 200 s: memory. 600 s: 400 s after memory's last, 600 s after the disk's: both stale. 1,300 s: both stale.
        #expect(tier.memoryHits == 1)
        #expect(tier.diskHits == 0)
        #expect(result.stale == 2)
        tiers.diskLifetime = try TimeSpan(parsing: "1h").microseconds
        let (_, longer) = try await run(TinyTraces.sized([0, 0, 0, 0], sizes: [1], times: times), tiers)
        #expect(longer.memoryHits == 1)
        #expect(longer.diskHits == 2)
    }

    @Test("With an empty tier the other tier is a single cache")
    func emptyTierLeavesASingleCache() async throws {
        let trace = TinyTraces.scrambled(count: 5_000, objects: 200)
        let book = bookLRUHits(trace.entries, capacity: 30).count { $0 }
        let (_, noMemory) = try await run(trace, TierOptions(memory: .number(0), disk: .number(30)))
        #expect(noMemory.diskHits == book)
        let (_, equal) = try await run(trace, TierOptions(memory: .number(30), disk: .number(0)))
        #expect(equal.memoryHits == book)
    }

    @Test("Each tier of per-user caches has its own model, trained once by each access")
    func tiersOfPerUserCachesHaveTheirOwnModels() async throws {
        var model = BrowsingModel.shop
        (model.requests, model.users) = (4_000, 12)
        let trace = try model.generate(seed: 1)
        let learned = try PolicyCatalogue.standard.policy("learned")
        // The decisions of the memory tiers depend on their accesses and their model alone, not on the disks.
        let memories = try await Sweep(
            trace: trace, policies: [learned], capacities: [.number(12)], options: ReplayOptions(byUser: true),
            mode: .perUser, knowledge: .server
        ).run()
        for disk in [20, 60] {
            let sweep = try Sweep(
                trace: trace, policies: [learned], capacities: [], mode: .perUser, knowledge: .server,
                tiers: TierOptions(memory: .number(12), disk: .number(disk)))
            let result = try #require(await sweep.run().first)
            #expect(result.tiers?.memoryHits == memories.first?.hits)
        }
    }

    @Test("A policy given by its type shares its model as one given by its name does")
    func policyByTypeSharesItsModelAsByName() async throws {
        var model = BrowsingModel.shop
        (model.requests, model.users) = (3_000, 12)
        let trace = try model.generate(seed: 1)
        let policies = [ConfiguredPolicy(LearnedPolicy.self), try PolicyCatalogue.standard.policy("learned")]
        #expect(policies[0].learns && policies[1].learns)
        #expect(!ConfiguredPolicy(LRU.self).learns)
        let results = try await Sweep(
            trace: trace, policies: policies, capacities: [.number(12)], mode: .perUser, knowledge: .server
        ).run()
        #expect(results[0].hits == results[1].hits && results[0].metrics == results[1].metrics)
    }

    @Test(
        "Incomplete, unknown or repeated tiers are refused",
        arguments: ["", "memory=1", "memory=1,disk=x", "disk=1,disk=2", "a=1,disk=2"])
    func incompleteTiersAreRefused(text: String) {
        #expect(throws: ReplayError.self) { try TierOptions(parsing: text) }
    }

    @Test(
        "Time spans have the units s, min, h, d and w; others are refused",
        arguments: [("300s", 300), ("5min", 300), ("2h", 7_200), ("7d", 604_800), ("1w", 604_800)])
    func timeSpansHaveUnits(text: String, seconds: Int64) throws {
        #expect(try TimeSpan(parsing: text).microseconds == seconds * 1_000_000)
        #expect(throws: ReplayError.self) { try TimeSpan(parsing: "-1s") }
        #expect(throws: ReplayError.self) { try TimeSpan(parsing: "7") }
    }
}
