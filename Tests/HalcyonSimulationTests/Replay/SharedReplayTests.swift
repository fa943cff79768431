import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonSimulation
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@Suite("Shared replay", .timeLimit(.minutes(20)))
struct SharedReplayTests {
    let lru = "lru"

    func run(
        _ trace: Trace, _ policy: String = "lru", _ capacity: String, _ options: ReplayOptions = ReplayOptions()
    ) async throws -> RunResult {
        let sweep = try Sweep(trace: trace, policies: [policy], capacities: [capacity], options: options)
        return try #require(await sweep.run().first)
    }

    @Test("Hits, windows and warm-up are those of a textbook LRU")
    func hitsWindowsAndWarmUpEqualABookLRU() async throws {
        let trace = TinyTraces.scrambled(count: 10_007, objects: 300)
        let hits = bookLRUHits(trace.entries, capacity: 40)
        for warmup in [0, 0.25, 0.9999] {
            let result = try await run(trace, "lru", "40", ReplayOptions(warmup: .share(warmup), windows: 7))
            let first = Int((warmup * 10_007).rounded(.down))
            #expect(result.warmupRequests == first)
            #expect(result.requests == 10_007 - first)
            #expect(result.hits == hits.dropFirst(first).count { $0 })
            #expect(result.windows.reduce(0) { $0 + $1.requests } == result.requests)
            #expect(result.windows.reduce(0) { $0 + $1.hits } == result.hits)
        }
        let result = try await run(trace, "lru", "40", ReplayOptions(windows: 7))
        let length = 1_430  // 10,007 requests in 7 windows, rounded up
        #expect(result.windows.count == 7)
        for (number, window) in result.windows.enumerated() {
            #expect(window.hits == hits.dropFirst(number * length).prefix(length).count { $0 })
        }
    }

    @Test("Bytes are counted by the size of the requested object")
    func bytesAreCountedByTheRequestedSize() async throws {
        // Capacity 100: a (60), b (30) fit together; c (50) evicts a; a evicts b and c.
        let trace = TinyTraces.sized([0, 1, 0, 2, 0, 1], sizes: [60, 30, 50])
        let result = try await run(trace, "lru", "100")
        #expect(result.hits == 1)
        #expect(result.byteHitRatio == 60.0 / (60 + 30 + 60 + 50 + 60 + 30))
        #expect(result.bytesFetched == 60 + 30 + 50 + 60 + 30)
        // At c the last used is b; without it 60 + 50 > 100, so that a is evicted, too.
        #expect(result.evictions == 3)
        #expect(result.capacityUnit == .bytes)
    }

    @Test("An object larger than the cache is refused and counted")
    func objectLargerThanTheCacheIsRefusedAndCounted() async throws {
        let result = try await run(TinyTraces.sized([0, 1, 0, 1], sizes: [10, 101]), "lru", "100")
        #expect(result.admissionsRefused == 2)
        #expect(result.hits == 1)
        #expect(result.evictions == 0)
    }

    @Test("A cache of capacity 0 never hits; one larger than the trace misses each object once")
    func emptyCacheNeverHitsAndAHugeOneMissesOnce() async throws {
        let trace = TinyTraces.scrambled(count: 2_000, objects: 100)
        for policy in ["lru", "belady", "s3-fifo", "arc"] {
            let nothing = ReplayJob(policy: try PolicyCatalogue.standard.policy(policy), capacity: .number(0))
            #expect(try nothing.run(over: ReplayInput(trace)).hits == 0)
            #expect(try await run(trace, policy, "\(CapacityRequest.largest)").hits == 2_000 - trace.objectCount)
        }
    }

    @Test("Results do not depend on the number of threads")
    func resultsDoNotDependOnThreads() async throws {
        let trace = TinyTraces.scrambled(count: 20_000, objects: 900)
        let policies = ["lru", "random", "s3-fifo", "belady"]
        let sweep = try Sweep(trace: trace, policies: policies, capacities: ["1%", "5%", "100"])
        let one = await sweep.run(workers: 1)
        let many = await sweep.run(workers: 8)
        #expect(one.map(\.hits) == many.map(\.hits))
        #expect(one.map(\.evictions) == many.map(\.evictions))
        #expect(one.map(\.policy) == policies.flatMap { [$0, $0, $0] })
        #expect(one.map(\.capacityAsked) == policies.flatMap { _ in ["1%", "5%", "100"] })
    }

    @Test("The same seed gives the same hits of a random policy, another seed others")
    func seedDecidesRandomPolicies() async throws {
        let trace = TinyTraces.scrambled(count: 20_000, objects: 900)
        let first = try await run(trace, "random", "100", ReplayOptions(seed: 1))
        let again = try await run(trace, "random", "100", ReplayOptions(seed: 1))
        let other = try await run(trace, "random", "100", ReplayOptions(seed: 2))
        #expect(first.hits == again.hits)
        #expect(first.hits != other.hits)
    }

    @Test("Hits and requests are counted by category and user")
    func hitsByCategoryAndUserAddUp() async throws {
        var sets = CategorySets()
        let both = sets.number(of: [0, 1])
        let one = sets.number(of: [1])
        var names = TraceNames()
        names.categories = StringTable(["shoes", "hats"])
        names.users = StringTable(["ann", "bob"])
        let trace = Trace(
            entries: [0, 1, 0, 1, 2], times: TimeColumn(count: 5), users: [0, 1, 0, 0, Trace.noUser],
            objectSizes: [1, 1, 1], objectCategories: [both, one, 0], categorySets: sets, categoryCount: 2,
            userCount: 2, names: names)
        let result = try await run(trace, "lru", "2", ReplayOptions(byCategory: true, byUser: true))
        let categories = try #require(result.categories)
        #expect(categories["shoes"]?.requests == 2)
        #expect(categories["shoes"]?.hits == 1)
        #expect(categories["hats"]?.requests == 4)
        #expect(categories["hats"]?.hits == 2)
        let users = try #require(result.users)
        #expect(users["ann"]?.requests == 3)
        #expect(users["ann"]?.hits == 2)
        #expect(users["bob"]?.requests == 1)
        #expect(users.count == 2)
    }

    @Test("An empty trace and bytes of objects without sizes are refused")
    func emptyTraceAndBytesOfObjectsAreRefused() {
        #expect(throws: ReplayError.self) {
            try Sweep(trace: TinyTraces.unit([]), policies: ["lru"], capacities: ["1"])
        }
        #expect(throws: ReplayError.self) {
            try Sweep(trace: TinyTraces.unit([0]), policies: ["lru"], capacities: ["1MB"])
        }
    }

    @Test(
        "The error of an unknown policy names the nearest ones",
        arguments: [("lur", "lru"), ("fiof", "fifo"), ("s3fifo", "s3-fifo"), ("belayd", "belady"), ("twoq", "2q")])
    func unknownPolicyGetsTheNearestNames(asked: String, meant: String) throws {
        let error = #expect(throws: PolicyError.self) { _ = try PolicyCatalogue.standard.policy(asked) }
        let sentence = try #require(error).description
        #expect(sentence.hasPrefix("There is no policy '\(asked)'; the nearest are "))
        #expect(sentence.contains(" \(meant)"))
    }
}
