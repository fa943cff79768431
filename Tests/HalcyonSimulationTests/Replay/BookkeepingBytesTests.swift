import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Bytes of bookkeeping", .timeLimit(.minutes(20)))
struct BookkeepingBytesTests {
    private func run(
        _ trace: Trace, _ policy: String, _ capacity: Int, mode: ReplayMode = .shared, knowledge: Knowledge = .device,
        tiers: TierOptions? = nil, prefetch: PrefetchOptions? = nil
    ) async throws -> RunResult {
        let sweep = try Sweep(
            trace: trace, policies: [try PolicyCatalogue.standard.policy(policy)],
            capacities: tiers == nil ? [.number(capacity)] : [], options: ReplayOptions(prefetch: prefetch), mode: mode,
            knowledge: knowledge, tiers: tiers)
        return try #require(await sweep.run().first)
    }

    @Test("LRU needs 9 bytes an entry number, 8 more with variable sizes")
    func lruNeedsNineBytesANumber() async throws {
        let uniform = try await run(TinyTraces.unit([0, 1, 2, 3, 4, 5]), "lru", 3)
        #expect(uniform.metadataFixedBytes == 0 && uniform.metadataBytesPerResident == 9)
        #expect(uniform.metadataBytes == 6 * 9)
        let variable = try await run(TinyTraces.sized([0, 1, 2, 3], sizes: [1, 2, 3, 4]), "lru", 10)
        #expect(variable.metadataFixedBytes == 0 && variable.metadataBytesPerResident == 17)
        #expect(variable.metadataBytes == 4 * 17)
    }

    @Test(
        "Bytes per resident do not grow with the objects of the trace", arguments: ["lru", "s3-fifo", "arc", "sieve"])
    func bytesPerResidentDoNotGrowWithTheTrace(policy: String) async throws {
        let few = try await run(TinyTraces.unit(Array(0..<100)), policy, 10)
        let many = try await run(TinyTraces.unit(Array(0..<20_000)), policy, 10)
        #expect(abs(many.metadataBytesPerResident - few.metadataBytesPerResident) < 0.02 * few.metadataBytesPerResident)
        #expect(many.metadataBytes > 50 * few.metadataBytes)
    }

    @Test("S3-FIFO needs bytes for each remembered entry, too")
    func s3fifoNeedsANumberForEachGhost() async throws {
        // 20 objects once each in a cache for 10, which remembers the last 9 victims: 10 bytes of queues and one of
        // residency for each of 19 numbers. Three queues take 24 bytes each.
        let result = try await run(TinyTraces.unit(Array(0..<20)), "s3-fifo", 10)
        #expect(result.evictions == 10)
        #expect(result.metadataFixedBytes == 72)
        #expect(result.metadataBytesPerResident == 20.9)
        #expect(result.metadataBytes == 292)
    }

    @Test("GDSF needs a heap of 64 places for 50 residents")
    func gdsfNeedsAHeapOf64Places() async throws {
        // 8 bytes for place and frequency and one of residency a number; a place of the heap takes 16.
        let result = try await run(TinyTraces.unit(Array(0..<100)), "gdsf", 50)
        #expect(result.metadataFixedBytes == 0)
        // (9 · 50 + 64 · 16) / 50.
        #expect(result.metadataBytesPerResident == 29.48)
        #expect(result.metadataBytes == 1_924)
    }

    @Test("A cache without residents has 0 bytes per resident")
    func cacheWithoutResidentsHasNoBytesPerResident() async throws {
        let result = try await run(TinyTraces.unit([0, 1, 2]), "lru", 0)
        #expect(result.metadataBytesPerResident == 0 && result.metadataBytes == 3 * 9)
        #expect(CacheSummary().bytesPerResident == 0)
    }

    @Test("Tiers and per-user caches have a table each")
    func tiersAndPerUserCachesHaveATableEach() async throws {
        let trace = TinyTraces.scrambled(count: 2_000, objects: 100, users: 4)
        let tiers = try await run(
            trace, "lru", 0, tiers: TierOptions(memory: .number(10), disk: .number(30)))
        #expect(tiers.metadataBytesPerResident == 9 && tiers.metadataBytes == 2 * 9 * trace.objectCount)
        let ghosts = try await run(
            TinyTraces.unit(Array(0..<20)), "s3-fifo", 0, tiers: TierOptions(memory: .number(10), disk: .number(10)))
        #expect(ghosts.metadataBytesPerResident == 20.9 && ghosts.metadataFixedBytes == 144)
        let users = try await run(trace, "lru", 20, mode: .perUser)
        let pairs = Set(zip(trace.entries, trace.users).map { "\($0) \($1)" }).count
        #expect(users.metadataBytesPerResident == 9 && users.metadataBytes == 9 * pairs)
    }

    @Test("A stream counts the bytes of the objects that it has seen")
    func streamCountsTheObjectsSeen() throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("t.csv", "key\n" + (0..<4_000).map { "\($0)\n" }.joined())
        let result = try StreamReplay(
            path: path, load: TraceLoadOptions(),
            jobs: [ReplayJob(policy: PolicyCatalogue.standard.policy("lru"), capacity: .number(100))]
        ).run().runs[0]
        // Tables that grow have a 128th in reserve at most.
        #expect((9...9.08).contains(result.metadataBytesPerResident))
        #expect((36_000...36_300).contains(result.metadataBytes) && result.metadataFixedBytes == 0)
    }

    @Test("A prefetched object has an entry number, too")
    func prefetchedObjectHasAnEntryNumber() async throws {
        // Each cache gets object 1 only because it follows 0.
        let prefetch = try PrefetchOptions(
            policy: "markov", budget: PrefetchBudget(parsing: "1/request"), latency: .ideal)
        let trace = TinyTraces.scrambled(count: 2_000, objects: 100, users: 3)
        let result = try await run(trace, "lru", 20, mode: .perUser, prefetch: prefetch)
        // 12 bytes of an unused prefetch beside LRU's 9, and tables that grow by 16 places at least.
        #expect((21...32).contains(result.metadataBytesPerResident))
    }

    @Test("learned with 255 residents needs megabytes for its model and some 126 bytes a resident")
    func learnedNeedsAModelAnd126BytesAResident() async throws {
        var load = TraceLoadOptions()
        load.limit = 12_000
        let trace = try Trace.load(BundledTrace.path("shop.csv"), load)
        let result = try await run(trace, "learned", 255)
        // The model, its samples, and 1,024 remembered objects of 24 bytes.
        #expect((1_000_000...8_000_000).contains(result.metadataFixedBytes))
        #expect((85...135).contains(result.metadataBytesPerResident), "documented: 126")
        // 4 bytes of places and one of residency a number; the rest grows with the residents.
        let perResident = result.metadataBytes - result.metadataFixedBytes - 5 * trace.objectCount
        #expect((16_320...23_500).contains(perResident))
        // The formula gives the numbers in use: residents, and the smallest history.
        let numbers = (result.metadataBytesPerResident * 255 - Double(perResident)) / 5
        #expect(abs(numbers - numbers.rounded()) < 1e-6)
        #expect((1_155...1_280).contains(numbers))
    }

    @Test("In per-user caches a model of a server counts once, models of devices count each")
    func sharedModelCountsOnceAndOwnModelsEach() async throws {
        let trace = TinyTraces.scrambled(count: 3_000, objects: 200, users: 6)
        let shared = try await run(trace, "learned", 20, mode: .perUser, knowledge: .server)
        let own = try await run(trace, "learned", 20, mode: .perUser, knowledge: .device)
        #expect(shared.metadataFixedBytes > 100_000)
        // Six models that each learnt from a sixth of the requests: samples take memory as they arrive.
        #expect(own.metadataFixedBytes > shared.metadataFixedBytes)
        #expect(shared.deviceMetadata == nil, "no device has a part of a server's model")
        let device = try #require(own.deviceMetadata)
        #expect(device.meanBytes == own.metadataBytes / 6 && device.largestBytes > device.meanBytes)
    }

    @Test("The metadata of a device include its prefetch policy; the mean and the largest of two devices are exact")
    func deviceMetadataIncludeThePrefetchPolicy() async throws {
        let prefetch = try PrefetchOptions(
            policy: "markov", budget: PrefetchBudget(parsing: "1/request"), latency: .ideal)
        func bytes(_ users: [UInt32], knowledge: Knowledge = .device) async throws -> RunResult {
            let objects = users.indices.map { UInt32($0 * 7 % 90) }
            return try await run(
                TinyTraces.unit(objects, users: users), "lru", 20, mode: .perUser, knowledge: knowledge,
                prefetch: prefetch)
        }
        // The second user has more requests, so that its tables are larger.
        let users = (0..<400).map { UInt32($0 % 8 == 0 ? 0 : 1) }
        let both = try await bytes(users)
        let device = try #require(both.deviceMetadata)
        let policies = try #require(both.prefetch).metadataBytes
        #expect(policies > 0 && device.meanBytes == (both.metadataBytes + policies) / 2)
        #expect(device.largestBytes > device.meanBytes && device.largestBytes < both.metadataBytes + policies)
        #expect(try await bytes(users, knowledge: .server).deviceMetadata == nil)
    }
}
