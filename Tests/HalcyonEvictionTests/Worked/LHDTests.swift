import HalcyonEvictionTestSupport
import Testing

@testable import HalcyonEviction

@Suite("LHD", .timeLimit(.minutes(20)))
struct LHDTests {
    /// The paper's definition by hand: the density at an age is the hits at that and later ages, divided by the time
    /// that all entries that reach that age still spend in the cache.
    @Test("An update computes the hit density as defined in the paper")
    func updateComputesThePapersQuotient() {
        var model = HitDensityModel()
        for _ in 0..<3 { model.recordHit(kind: 2, age: 0) }
        model.recordEviction(kind: 2, age: 2)
        model.recordHit(kind: 3, age: 1)
        model.learn()
        // Class 2: one entry reaches age 2 and is evicted without a hit; four reach age 0, of which three are hit at
        // once.
        #expect(model.density(kind: 2, age: 2) == 0)
        #expect(model.density(kind: 2, age: 1) == 0)
        #expect(abs(model.density(kind: 2, age: 0) - 3 / (4 + 1 + 1)) < 1e-6)
        // Class 3: one entry, hit at age 1, having spent one tick at each of two ages.
        #expect(model.density(kind: 3, age: 1) == 1)
        #expect(model.density(kind: 3, age: 0) == 0.5)
        #expect(model.density(kind: 4, age: 0) == 0)
    }

    @Test("Each class covers half the sum of the last two ages of the next lower class")
    func ageClassesHalveTheSumOfTwoAges() {
        #expect(HitDensityModel.kind(ofAge: 0) == HitDensityModel.classes - 1)
        #expect(HitDensityModel.kind(ofAge: 2 * HitDensityModel.ages) == 0)
        #expect(HitDensityModel.kind(ofAge: HitDensityModel.ages) == 0)
        #expect(HitDensityModel.kind(ofAge: HitDensityModel.ages - 1) == 1)
        #expect(HitDensityModel.kind(ofAge: HitDensityModel.ages / 2 - 1) == 2)
    }

    /// Before the first update, old entries are evicted first; of two as young, the one with the longer reuse time.
    @Test("Before the first update LHD evicts entries without hits, older entries first")
    func lhdEvictsOldEntriesBeforeTheFirstUpdate() throws {
        // All ages are 0 within the first tick of 1,024 accesses. a was hit (ages 0 and none): its class is no lower
        // than that of b, which was never hit. So b is evicted, then c, and a is kept.
        let sequence = WorkedSequence("a- a+ a+ b- c-b d-c a+")
        #expect(try sequence.played(by: "lhd", capacity: 2) == sequence.expected)
    }
}
