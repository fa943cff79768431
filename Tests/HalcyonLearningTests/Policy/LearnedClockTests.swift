import HalcyonEviction
import HalcyonTestSupport
import Testing

@testable import HalcyonLearning

/// The learner decides by differences of request numbers, whatever came before.
@Suite("The learner's clocks beyond 32 bits")
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

    /// Every start is as far from the next epoch of 2¹⁷ requests, and far enough for a settled miss ratio.
    @Test("Decisions and weights are the same when the clock passes 2³⁰, 2³¹ and 2³²", arguments: [true, false])
    func jump(usesUniformSizes: Bool) {
        let expected = events(from: 1 << 20 - 4_000, usesUniformSizes: usesUniformSizes)
        #expect(expected.events.contains { if case .eviction = $0 { true } else { false } })
        // The last one passes 2³² − 100, where the miss ratio's divisor once left 32 bits.
        for bits in [30, 31, 32, 40] {
            let jumped = events(from: 1 << bits - 4_000, usesUniformSizes: usesUniformSizes)
            #expect(jumped.events == expected.events && jumped.weights == expected.weights, "2^\(bits)")
        }
    }

    @Test("A resident and a ghost that are 2³² requests old do not look recent")
    func oldObjects() {
        var history = ObjectHistory(entries: 0, ghostsPerResident: 1)
        for entry: EntryID in [1, 2] {
            let slot = history.open(entry)
            history.records[Int(slot)].note(Access(entry: entry), now: 5, second: 0)
            history.records[Int(slot)].pending = 17
            history.link(slot)
        }
        let ghost = history.resident(2)
        history.unlink(ghost)
        history.close(ghost)
        // Twenty sweeps: far beyond 2³² requests.
        let last = 20 << 30
        for now in stride(from: 1 << 30, through: last, by: 1 << 30) {
            history.limitAges(at: UInt32(truncatingIfNeeded: now)) { _ in false }
            let resident = history.records[Int(history.resident(1))]
            #expect(resident.age(at: now) >= min(UInt32(clamping: now - 5), WrappingClock.longestAge))
            #expect(resident.ageOfFirst(at: now) >= min(UInt32(clamping: now - 5), WrappingClock.longestAge))
        }
        // The sample left the ring long ago; its number may be another object's by now.
        #expect(history.records[Int(history.resident(1))].pending == ObjectRecord.none)
        let again = history.records[Int(history.open(2))]
        #expect(again.age(at: last) >= WrappingClock.longestAge && again.pending == ObjectRecord.none)
    }

    @Test("A user with more than 2³² accesses does not look new")
    func manyAccesses() {
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
