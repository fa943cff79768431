import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Restarts between visits", .timeLimit(.minutes(20)))
struct RestartTests {
    /// Requests of two users in visits of about ten requests, with categories.
    private func visits(count: Int = 4_000, objects: UInt32 = 150, sizes: Bool = false) -> Trace {
        let plain = TinyTraces.scrambled(count: count, objects: objects, users: 2)
        var random = SplitMix64(seed: 8)
        var (time, times) = (Int64(0), [Int64]())
        for _ in 0..<count {
            time += random.next(below: 12) == 0 ? 7_200_000_000 : 1_000_000
            times.append(time)
        }
        let number = plain.objectCount
        var sets = CategorySets()
        for category in 0..<UInt32(3) { _ = sets.number(of: [category]) }
        return Trace(
            entries: plain.entries, times: TimeColumn(times), users: plain.users,
            objectSizes: (0..<number).map { sizes ? UInt64($0 * 37 % 90 + 1) : 1 },
            objectCategories: (0..<number).map { UInt32($0 % 4) },
            categorySets: sets, categoryCount: 3, userCount: 2,
            sizeUnit: sizes ? .bytes : .objects)
    }

    private func run(
        _ trace: Trace, _ policy: String, tiers: TierOptions? = nil, capacity: Int = 20, restart: RestartOptions?
    ) throws -> RunResult {
        try ReplayJob(
            policy: PolicyCatalogue.standard.policy(policy), capacity: .number(capacity), mode: .perUser, tiers: tiers,
            options: ReplayOptions(restart: restart)
        ).run(over: ReplayInput(trace))
    }

    @Test(
        "A learner in one tier has the results of one that is never restarted while all its calls are kept",
        arguments: ["learned", "learned(model=shipped)"], [false, true])
    func keptLearnerDecidesAsOneThatWentOn(policy: String, sizes: Bool) throws {
        let trace = visits(sizes: sizes)
        let capacity = sizes ? 900 : 20
        let (on, off) = (
            try run(trace, policy, capacity: capacity, restart: RestartOptions()),
            try run(trace, policy, capacity: capacity, restart: nil)
        )
        #expect(on.hits == off.hits && on.evictions == off.evictions && on.metrics == off.metrics)
        #expect(on.admissionsRefused == off.admissionsRefused && off.evictions > 1_000)
        #expect(on.restart == "visits" && off.restart == nil)
    }

    /// Two tiers by hand: memory loses its residents at each visit, and the disk is as it was.
    private func hits(byHand trace: Trace, _ policy: String, memory: Int, disk: Int) throws -> (memory: Int, disk: Int)
    {
        let policy = try PolicyCatalogue.standard.policy(policy)
        var (inMemory, onDisk) = (0, 0)
        for user in 0..<UInt32(2) {
            func make(_ capacity: Int) -> AnyCache {
                var context = PolicyContext(capacity: capacity, usesUniformSizes: true, seed: 1 + UInt64(user))
                context.servesOneUser = true
                return policy.makeCache(context)
            }
            let tiers = [make(memory), make(disk)]
            for set in 1..<UInt32(trace.categorySets.count) {
                for tier in tiers { tier.define(categorySet: set, members: Array(trace.categorySets[set])) }
            }
            // A user's objects are numbered in the order of their first requests.
            var (last, numbers) = (Int64?.none, [UInt32: UInt32]())
            for (count, request) in (0..<trace.count).filter({ trace.users[$0] == user }).enumerated() {
                let time = trace.times[request]
                if let last, time - last > 1_800_000_000 {
                    for entry in 0..<UInt32(numbers.count) { tiers[0].remove(entry) }
                }
                last = time
                let entry = numbers[trace.entries[request]] ?? UInt32(numbers.count)
                numbers[trace.entries[request]] = entry
                let access = Access(
                    entry: entry, requestNumber: count, time: time, size: 1,
                    categories: trace.categorySet(ofRequest: request), user: user)
                if tiers[0].access(access) == .hit {
                    inMemory += 1
                } else if tiers[1].access(access) == .hit {
                    onDisk += 1
                }
            }
        }
        return (inMemory, onDisk)
    }

    @Test("In two tiers, memory is empty at each visit and goes on learning, and the disk is as it was")
    func tiersAreAsByHand() throws {
        let trace = visits()
        var tiers = TierOptions(memory: .number(8), disk: .number(30))
        tiers.decodedSizeRatio = 1
        let (on, off) = (
            try run(trace, "learned", tiers: tiers, restart: RestartOptions()),
            try run(trace, "learned", tiers: tiers, restart: nil)
        )
        let expected = try hits(byHand: trace, "learned", memory: 8, disk: 30)
        #expect(on.tiers?.memoryHits == expected.memory && on.tiers?.diskHits == expected.disk)
        let others = try #require(off.tiers)
        #expect(others.memoryHits > expected.memory && expected.disk > 100)
    }

    @Test(
        "A policy that does not learn starts with the residents in the order of their last access",
        arguments: ["lru", "s3-fifo", "w-tinylfu"])
    func otherPoliciesStartWithTheResidents(name: String) throws {
        let trace = visits(count: 1_500)
        let policy = try PolicyCatalogue.standard.policy(name)
        var hits = 0
        for user in 0..<UInt32(2) {
            func make() -> AnyCache {
                policy.makeCache(PolicyContext(capacity: 20, usesUniformSizes: true, seed: 1 + UInt64(user)))
            }
            var (cache, last, numbers) = (make(), Int64?.none, [UInt32: UInt32]())
            var accesses: [UInt32: Access] = [:]
            for (count, request) in (0..<trace.count).filter({ trace.users[$0] == user }).enumerated() {
                let time = trace.times[request]
                if let before = last, time - before > 1_800_000_000 {
                    let residents = accesses.values.filter { cache.contains($0.entry) }
                        .sorted { $0.requestNumber < $1.requestNumber }
                    cache = make()
                    for one in residents { _ = cache.access(one) }
                }
                last = time
                // A user's objects are numbered in the order of their first requests.
                let object = trace.entries[request]
                let entry = numbers[object] ?? UInt32(numbers.count)
                numbers[object] = entry
                let access = Access(entry: entry, requestNumber: count, time: time, size: 1)
                accesses[entry] = access
                if cache.access(access) == .hit { hits += 1 }
            }
        }
        let found = try run(trace, name, restart: RestartOptions())
        #expect(found.hits == hits)
        if name == "lru" { #expect(try run(trace, name, restart: nil).hits == hits) }
    }

    @Test("With few calls kept, the learner begins with its model: near, the same each time, and better than without")
    func fewCallsAreNear() throws {
        let trace = visits(count: 9_000)
        let few = RestartOptions(calls: 512)
        let (on, off) = (try run(trace, "learned", restart: few), try run(trace, "learned", restart: nil))
        #expect(on.hits == (try run(trace, "learned", restart: few)).hits)
        #expect(on.hits != off.hits)
        #expect(abs(on.objectHitRatio - off.objectHitRatio) < 0.03)
        #expect(try run(trace, "learned", restart: RestartOptions(calls: 16)).hits < on.hits)
    }

    @Test("Text is read, and faults have a sentence")
    func optionsAreRead() throws {
        #expect(try RestartOptions(parsing: "visits") == RestartOptions())
        #expect(try RestartOptions(parsing: "visits(calls=64)").description == "visits(calls=64)")
        for text in ["", "days", "visits(calls=0)", "visits(calls=x)", "visits(every=1h)", "visits(calls=64,calls=64)"]
        {
            #expect(throws: ReplayError.self) { try RestartOptions(parsing: text) }
        }
    }

    @Test("A run without a device, or of which nothing is known, is refused in one sentence")
    func runsWithoutDevicesAreRefused() throws {
        let trace = visits(count: 100)
        let learned = try PolicyCatalogue.standard.policy("learned")
        var jobs = [
            ReplayJob(policy: learned, capacity: .number(9), mode: .shared),
            ReplayJob(policy: learned, capacity: .number(9), mode: .perUser, knowledge: .server),
            ReplayJob(policy: try PolicyCatalogue.standard.policy("belady"), capacity: .number(9), mode: .perUser),
            ReplayJob(policy: learned, capacity: .number(9), mode: .perUser),
            ReplayJob(policy: learned, capacity: .number(9), mode: .perUser),
        ]
        jobs[3].options.timings = true
        jobs[4].options.prefetch = try PrefetchOptions(policy: "markov", budget: PrefetchBudget(parsing: "1/request"))
        for job in jobs {
            var job = job
            job.options.restart = RestartOptions()
            #expect(throws: ReplayError.self) { try job.run(over: ReplayInput(trace)) }
        }
        var plain = ReplayJob(policy: learned, capacity: .number(9), mode: .perUser)
        plain.options.restart = RestartOptions()
        var report = LoadReport()
        report.noTimes = true
        let timeless = Trace(
            entries: [0, 1], times: TimeColumn(count: 2), users: [0, 0], objectSizes: [1, 1], userCount: 1,
            report: report)
        #expect(throws: ReplayError.data("The trace has no times, by which --restart knows when a visit ends.")) {
            try plain.run(over: ReplayInput(timeless))
        }
    }
}
