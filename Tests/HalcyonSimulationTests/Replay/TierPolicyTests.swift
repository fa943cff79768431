import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Tiers with their own policies", .timeLimit(.minutes(20)))
struct TierPolicyTests {
    @Test("Each tier decides as a cache of its policy with the requests that reach it")
    func tierDecidesAsACacheOfItsPolicy() throws {
        let trace = TinyTraces.scrambled(count: 6_000, objects: 400)
        let tiers = try TierOptions(parsing: "memory=20:lfu,disk=90:s3-fifo(small=0.2)")
        let result = try ReplayJob(policy: ConfiguredPolicy(LRU.self), capacity: .number(1), tiers: tiers)
            .run(over: ReplayInput(trace))
        // The memory serves every request; the disk those that the memory misses.
        func cache(_ name: String, _ capacity: Int) throws -> AnyCache {
            try PolicyCatalogue.classical.policy(name)
                .makeCache(PolicyContext(capacity: capacity, entries: trace.objectCount, usesUniformSizes: true))
        }
        let (memory, disk) = (try cache("lfu", 20), try cache("s3-fifo(small=0.2)", 90))
        var (memoryHits, diskHits) = (0, 0)
        for (number, entry) in trace.entries.enumerated() {
            let access = Access(entry: entry, requestNumber: number)
            if memory.access(access) == .hit {
                memoryHits += 1
            } else if disk.access(access) == .hit {
                diskHits += 1
            }
        }
        #expect(memoryHits > 0 && diskHits > 0)
        #expect(result.tiers?.memoryHits == memoryHits && result.tiers?.diskHits == diskHits)
        #expect(result.tiers?.memoryPolicy == "lfu" && result.tiers?.diskPolicy == "s3-fifo(small=0.2)")
        #expect(result.label == "lfu/s3-fifo(small=0.2)")
        #expect(result.parameters["disk_small"] == "0.2")
    }

    @Test("kingfisher expires after five minutes in memory and a week on disk")
    func kingfisherExpiresAndTrimsItsTiers() throws {
        // Seconds: 0 fetched; 200 memory; 600 memory expired, disk; 700,000 within a week of 600: disk; then 8 days: none.
        let times: [Int64] = [0, 200, 600, 604_000, 604_000 + 691_200].map { $0 * 1_000_000 }
        let trace = TinyTraces.sized([0, 0, 0, 0, 0], sizes: [100], times: times)
        let result = try ReplayJob.kingfisher(capacity: .number(16 * 100)).run(over: ReplayInput(trace))
        #expect(result.label == "kingfisher" && result.tiers?.memoryCapacity == 100)
        #expect(result.tiers?.memoryHits == 1 && result.tiers?.diskHits == 2 && result.tiers?.networkFetches == 2)
        #expect(result.parameters["memory_expiration"] == "300.0" && result.parameters["disk_expiration"] == "7.0")
    }

    @Test(
        "Tiers that cannot be parsed are refused",
        arguments: [
            "memory=1:lru", "memory=1:nosuch,disk=2", "memory=1:,disk=2:lru", "memory=:lru,disk=2", "memory=0.1,disk=2",
            "memory=1:lru(,disk=2",
        ])
    func invalidTiersAreRefused(text: String) {
        #expect(throws: (any Error).self) { try TierOptions(parsing: text) }
    }

    @Test("An offline policy in a tier is refused")
    func offlinePolicyInATierIsRefused() throws {
        let tiers = try TierOptions(parsing: "memory=5:lru,disk=10:belady")
        let job = ReplayJob(policy: ConfiguredPolicy(LRU.self), capacity: .number(1), tiers: tiers)
        #expect(throws: ReplayError.self) { try job.run(over: ReplayInput(TinyTraces.unit([0, 1]))) }
    }
}
