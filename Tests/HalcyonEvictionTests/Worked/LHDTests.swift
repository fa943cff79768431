import HalcyonEvictionTestSupport
import Testing

@testable import HalcyonEviction

@Suite("LHD", .timeLimit(.minutes(20)))
struct LHDTests {
    /// The paper's definition by hand: the density at an age is the hits still to come there and later, by the time that
    /// everything which reaches that age will still spend in the cache.
    @Test("an update computes the paper's quotient")
    func lesson() {
        var model = HitDensityModel()
        for _ in 0..<3 { model.recordHit(kind: 2, age: 0) }
        model.recordEviction(kind: 2, age: 2)
        model.recordHit(kind: 3, age: 1)
        model.learn()
        // Class 2: one reaches age 2 and leaves without a hit; four reach age 0, of which three are hit at once.
        #expect(model.density(kind: 2, age: 2) == 0)
        #expect(model.density(kind: 2, age: 1) == 0)
        #expect(abs(model.density(kind: 2, age: 0) - 3 / (4 + 1 + 1)) < 1e-6)
        // Class 3: one entry, hit at age 1, having spent one tick at each of two ages.
        #expect(model.density(kind: 3, age: 1) == 1)
        #expect(model.density(kind: 3, age: 0) == 0.5)
        #expect(model.density(kind: 4, age: 0) == 0)
    }

    @Test("classes halve the sum of the last two ages")
    func kinds() {
        #expect(HitDensityModel.kind(ofAge: 0) == HitDensityModel.classes - 1)
        #expect(HitDensityModel.kind(ofAge: 2 * HitDensityModel.ages) == 0)
        #expect(HitDensityModel.kind(ofAge: HitDensityModel.ages) == 0)
        #expect(HitDensityModel.kind(ofAge: HitDensityModel.ages - 1) == 1)
        #expect(HitDensityModel.kind(ofAge: HitDensityModel.ages / 2 - 1) == 2)
    }

    /// Before the first update, old entries are evicted first; of two as young, the one with the longer reuse time.
    @Test("a worked sequence before the first update")
    func worked() throws {
        // All ages are 0 within the first tick of 1,024 accesses. a was hit (ages 0 and none): its class is no lower
        // than b's, which never was. So b goes, then c, and a stays.
        let sequence = WorkedSequence("a- a+ a+ b- c-b d-c a+")
        #expect(try sequence.played(by: "lhd", capacity: 2) == sequence.expected)
    }
}
