import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

@testable import HalcyonLearning

/// The learner decides by differences of request numbers, independently of their start.
@Suite("The learner's clocks beyond 32 bits", .timeLimit(.minutes(20)))
struct LearnedClockTests {
    /// Requests of five users in two categories: half of them to 200 objects, half to objects that are requested once.
    private func accesses(_ count: Int, usesUniformSizes: Bool) -> [Access] {
        var random = SplitMix64(seed: 2)
        return (0..<count).map { index in
            let popular = random.next(below: 2) == 0
            let entry = popular ? EntryID(random.next(below: 200)) : EntryID(200 + index)
            return Access(
                entry: entry, requestNumber: index, time: Int64(index) * 30_000_000,
                size: usesUniformSizes ? 1 : 1 + Int(entry) * 37 % 100, categories: popular ? 1 : 2,
                user: UInt32(random.next(below: 5)))
        }
    }

    private func events(from start: Int, usesUniformSizes: Bool) -> (events: [PolicyRecord.Event], weights: [Float]) {
        let context = PolicyContext(
            capacity: usesUniformSizes ? 100 : 5_000, usesUniformSizes: usesUniformSizes, seed: 1)
        let model = LearnedModel(LearnedParameters(), seed: 1)
        model.learner.pointee.features.userCategory.clock = start
        var policy = LearnedPolicy(LearnedParameters(), context: context, model: model)
        policy.ownsModel = true
        policy.now = start
        let record = PolicyRecord()
        let cache = PolicyChecker(record).makeCache(around: policy, context: context)
        cache.define(categorySet: 1, members: [0])
        cache.define(categorySet: 2, members: [1])
        for access in accesses(9_000, usesUniformSizes: usesUniformSizes) { _ = cache.access(access) }
        #expect(record.breaches.isEmpty)
        return (record.events, model.learner.pointee.trainer.network.weights)
    }

    /// Every start is equally far from the next epoch of 2¹⁷ requests, and far enough for a stable miss ratio.
    @Test("Decisions and weights are equal when the clock passes 2³⁰, 2³¹ and 2³²", arguments: [true, false])
    func decisionsAndWeightsAreEqualBeyond32Bits(usesUniformSizes: Bool) {
        let expected = events(from: 1 << 20 - 4_000, usesUniformSizes: usesUniformSizes)
        #expect(expected.events.contains { if case .eviction = $0 { true } else { false } })
        // The last one passes 2³² − 100, where the miss ratio's divisor once left 32 bits.
        for bits in [30, 31, 32, 40] {
            let jumped = events(from: 1 << bits - 4_000, usesUniformSizes: usesUniformSizes)
            #expect(jumped.events == expected.events && jumped.weights == expected.weights, "2^\(bits)")
        }
    }

    @Test("A resident and a ghost that are more than 2³² requests old do not look recent")
    func veryOldObjectsDoNotLookRecent() {
        var history = ObjectHistory(entries: 0, ghostsPerResident: 1)
        for entry: EntryID in [1, 2] {
            let slot = history.open(entry)
            history.records[Int(slot)].note(Access(entry: entry), now: 5, second: 0)
            history.records[Int(slot)].pending = 17
            history.link(slot)
        }
        let ghost = history.resident(2)
        history.unlink(ghost)
        _ = history.close(ghost)
        // Twenty sweeps: far beyond 2³² requests.
        let last = 20 << 30
        for now in stride(from: 1 << 30, through: last, by: 1 << 30) {
            history.limitAges(at: UInt32(truncatingIfNeeded: now)) { _ in false }
            let resident = history.records[Int(history.resident(1))]
            #expect(resident.age(at: now) >= min(UInt32(clamping: now - 5), WrappingClock.longestAge))
            #expect(resident.ageOfFirst(at: now) >= min(UInt32(clamping: now - 5), WrappingClock.longestAge))
        }
        // The sample was removed from the ring long ago; its number may belong to another object.
        #expect(history.records[Int(history.resident(1))].pending == ObjectRecord.none)
        let again = history.records[Int(history.open(2))]
        #expect(again.age(at: last) >= WrappingClock.longestAge && again.pending == ObjectRecord.none)
    }

    /// GDSF with a clock in double precision, by a search through all residents.
    private func hits(ofExactClock start: Double, _ accesses: [Access], capacity: Int) -> Int {
        var (clock, used, hits) = (start, 0, 0)
        let unit = Double(accesses[0].size)
        var residents: [EntryID: (priority: Double, accesses: Int, size: Int, last: Int)] = [:]
        for (now, access) in accesses.enumerated() {
            let weight = unit / Double(access.size)
            if var resident = residents[access.entry] {
                hits += 1
                resident.accesses += 1
                (resident.priority, resident.last) = (clock + Double(resident.accesses) * weight, now)
                residents[access.entry] = resident
                continue
            }
            let priority = clock + weight
            var isRefused = false
            while used + access.size > capacity, !isRefused,
                let least = residents.min(by: {
                    ($0.value.priority, $0.value.last) < ($1.value.priority, $1.value.last)
                })
            {
                isRefused = priority < least.value.priority
                clock = max(clock, isRefused ? priority : least.value.priority)
                if isRefused { break }
                residents[least.key] = nil
                used -= least.value.size
            }
            if isRefused { continue }
            residents[access.entry] = (priority, 1, access.size, now)
            used += access.size
        }
        return hits
    }

    @Test("A large GreedyDual clock restarts, and the hits stay within 2 %", arguments: [true, false])
    func largeGreedyDualClockRestarts(usesUniformSizes: Bool) throws {
        let accesses = accesses(6_000, usesUniformSizes: usesUniformSizes)
        let capacity = usesUniformSizes ? 60 : 3_000
        let parameters = try LearnedParameters().applying(
            PolicySpec(parsing: "learned(decider=heuristic)").settings, policy: "learned")
        func hits(clock: Float) -> Int {
            let context = PolicyContext(capacity: capacity, usesUniformSizes: usesUniformSizes, seed: 1)
            var policy = LearnedPolicy(parameters, context: context)
            policy.greedyDual.clock = clock
            let record = PolicyRecord()
            let cache = PolicyChecker(record).makeCache(around: policy, context: context)
            for access in accesses { _ = cache.access(access) }
            #expect(record.breaches.isEmpty)
            return record.hits.count
        }
        let short = hits(clock: 0)
        // 2²⁶: without a restart one access adds less than half a step. The first evictions start the clock again.
        #expect(abs(hits(clock: 0x1p26) - short) <= short / 50)
        if usesUniformSizes { return }
        // With variable sizes all residents are compared, so that the decisions are those of exact priorities.
        let exact = self.hits(ofExactClock: 0, accesses, capacity: capacity)
        #expect(abs(short - exact) <= exact / 200, "\(short) \(exact)")
    }

    @Test("A user with more than 2³² accesses does not look new")
    func userWithMoreThan2To32AccessesDoesNotLookNew() {
        var profiles = UserProfiles(users: 4, pairs: 64)
        var user = UserProfiles.Profile()
        user.user = 3
        user.accesses = .max - 1
        profiles.profiles[3] = user
        [UInt32(7)].withUnsafeBufferPointer { members in
            for index in 0..<3 {
                profiles.note(Access(entry: 0, user: 3), isRepeat: true, members: members, now: index, second: 0)
            }
        }
        let accesses = profiles.profile(of: 3)?.accesses ?? 0
        #expect(accesses == 1 << 31 + 1)
        #expect(profiles.weight(3, 7) > 1.9, "the accesses since count in full")
    }
}
