import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Overrides by LRU", .timeLimit(.minutes(20)))
struct RecencyGuardTests {
    /// Returns a guard of a cache of 100, whose shadow holds the objects of requests 1 to 100.
    private func filled() -> RecencyGuard {
        var guarding = RecencyGuard(capacity: 100)
        for now in 1...100 { guarding.compare(last: nil, now: now, isMiss: true, residents: 100) }
        return guarding
    }

    @Test("An override starts after more than ten hits of LRU alone and lasts a tenth of the residents")
    func overrideStartsAfterTenHitsOfLRUAlone() {
        var guarding = filled()
        for lost in 1...10 {
            guarding.compare(last: lost, now: 100 + lost, isMiss: true, residents: 100)
            let decides = guarding.takesEviction()
            #expect(!decides, "after \(lost)")
        }
        guarding.compare(last: 11, now: 111, isMiss: true, residents: 100)
        let overrides = guarding.overrides
        #expect(overrides == 1)
        var decided = 0
        while guarding.takesEviction() { decided += 1 }
        #expect(decided == 10)
        // The sum restarts at 0.
        guarding.compare(last: 12, now: 112, isMiss: true, residents: 100)
        let decides = guarding.takesEviction()
        #expect(!decides)
    }

    @Test("No override starts while one in four of the differences is a hit of the learner")
    func overrideNeedsThreeInFourDifferences() {
        var guarding = filled()
        var now = 100
        for round in 0..<30 {
            for lost in 1...3 {
                now += 1
                guarding.compare(last: round * 3 + lost, now: now, isMiss: true, residents: 100)
            }
            now += 1
            guarding.compare(last: nil, now: now, isMiss: false, residents: 100)
        }
        let overrides = guarding.overrides
        #expect(overrides == 0)
    }

    @Test("No override starts if the learner recently had a lead of 40 hits")
    func recentLeadOfTheLearnerPreventsAnOverride() {
        for lead in [20, 40] {
            var guarding = filled()
            var now = 100
            for _ in 0..<lead {
                now += 1
                guarding.compare(last: nil, now: now, isMiss: false, residents: 100)
            }
            // The objects of requests 41 and later are still held.
            for lost in 50..<65 {
                now += 1
                guarding.compare(last: lost, now: now, isMiss: true, residents: 100)
            }
            let overrides = guarding.overrides
            #expect(overrides == (lead == 20 ? 1 : 0), "\(lead) ahead")
        }
    }

    @Test("Hits and misses that LRU shares, and removed objects, do not count")
    func sharedOutcomesAndRemovedObjectsDoNotCount() {
        var guarding = filled()
        for object in 1...40 { guarding.remove(last: object) }
        for now in 101...140 { guarding.compare(last: now - 100, now: now, isMiss: true, residents: 100) }
        for now in 141...180 { guarding.compare(last: now - 100, now: now, isMiss: false, residents: 100) }
        let overrides = guarding.overrides
        #expect(overrides == 0)
    }

    /// Half of the requests are for objects that stay popular. Later every object is requested exactly twice.
    private func changing() -> [Access] {
        var random = SplitMix64(seed: 7)
        return (0..<20_000).map { index in
            let isPopular = random.next(below: 2) == 0
            let entry: Int
            if index < 12_000 {
                entry = isPopular ? random.next(below: 300) : 300 + index
            } else {
                entry = 20_000 + (index % 2 == 0 ? index / 2 : index / 2 - 60)
            }
            return Access(entry: EntryID(entry), requestNumber: index, time: Int64(index) * 1_000_000)
        }
    }

    private func hits(_ text: String, from first: Int) throws -> Int {
        let cache = try PolicyCatalogue.standard.policy(text).makeCache(
            PolicyContext(capacity: 150, usesUniformSizes: true, seed: 1))
        return changing().enumerated().count { cache.access($1) == .hit && $0 >= first }
    }

    @Test("Overrides save hits when objects that the learner refuses are requested twice")
    func overrideHelpsWhenRefusedObjectsReturn() throws {
        let (lru, guarded) = (try hits("lru", from: 12_000), try hits("learned", from: 12_000))
        let network = try hits("learned(decider=network)", from: 12_000)
        // LRU hits every second request. The network hits none of them at first, and most after its label window has grown.
        // Until then the overrides of LRU give the hits.
        #expect(lru > 3_900 && guarded > 3_200 && guarded > network + 50, "\(lru), \(network), \(guarded)")
    }
}
