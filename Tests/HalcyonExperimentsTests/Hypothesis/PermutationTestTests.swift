import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite(.timeLimit(.minutes(20))) struct PermutationTestTests {
    @Test func pValueIsTheRankAmongPermutations() {
        let findings = PermutationTest.findings(observed: [3], permuted: [[1, 2, 4, 2.5]])
        #expect(findings == [.init(pValue: 0.4, adjusted: 0.4, larger: 1)])
    }

    @Test func tiesCountAgainstTheObservation() {
        let findings = PermutationTest.findings(observed: [0.5], permuted: [[0.5, 0.5, 0.5]])
        #expect(findings == [.init(pValue: 1, adjusted: 1, larger: 3)])
    }

    @Test func observationIsComparedWithTheLargestOfAllCells() {
        // In the first cell the observation is first of five, but the third permutation is further out in the second.
        let findings = PermutationTest.findings(
            observed: [1.5, 0], permuted: [[1.4, -1.4, 0, -1.5], [0, 0.1, 5, 0.2]])
        #expect(findings[0].pValue == 0.2)
        #expect(findings[0].adjusted == 0.4)
        #expect(findings[1].pValue == 1)
    }

    @Test func falseFindingsAreAsRareAsStated() {
        // Six cells of exchangeable noise, 2,000 traces: at most one in twenty may have any finding, within 3.5
        // deviations.
        var generator = SeededGenerator(seed: 4)
        var found = 0
        for _ in 0..<2_000 {
            let common = (0..<20).map { _ in generator.unit() }
            let cells = (0..<6).map { _ in common.map { 0.5 * $0 + generator.unit() } }
            let findings = PermutationTest.findings(
                observed: cells.map { $0[0] }, permuted: cells.map { Array($0.dropFirst()) })
            if findings.contains(where: { $0.adjusted <= 0.05 }) { found += 1 }
        }
        #expect(found <= 135)
        // The level is exact, not only an upper bound.
        #expect(found >= 65)
    }

    @Test func scheduleHasTwoLooksAtHalfTheLevel() {
        let schedule = PermutationSchedule(first: 19, most: 199, level: 0.05)
        #expect(schedule.stages == [19, 39, 199] && schedule.looks == [39, 199])
        #expect(PermutationSchedule(first: 50, most: 199, level: 0.05).stages == [50, 199])
        for (first, most) in [(19, 19), (2, 2), (199, 199)] {
            let fixed = PermutationSchedule(first: first, most: most, level: 0.05)
            #expect(fixed.stages == [most] && fixed.looks == [most])
        }
        // Too few for two looks: all at once.
        #expect(PermutationSchedule(first: 2, most: 30, level: 0.05).stages == [30])
        // Of 199 permutations, four may be larger: 2 · 5 / 200 = 0.05.
        #expect(schedule.mayBecomeSignificant(larger: 4, drawn: 19))
        #expect(!schedule.mayBecomeSignificant(larger: 5, drawn: 19))
        #expect(!schedule.mayBecomeSignificant(larger: 0, drawn: 199))
    }

    @Test func pValuesOfSeveralLooksAreAdjusted() {
        let schedule = PermutationSchedule(first: 19, most: 199, level: 0.05)
        let lower = (0..<199).map { -1 - 0.001 * Double($0) }
        func finding(_ count: Int, larger: Int) -> PermutationTest.Finding {
            let values = Array(lower.prefix(count - larger)) + Array(repeating: 2, count: larger)
            return schedule.findings(observed: [1], permuted: [values])[0]
        }
        // Before a look nothing is significant; at 39 the first of 40 is.
        #expect(finding(19, larger: 0).adjusted == 0.1)
        #expect(finding(39, larger: 0).adjusted == 0.05)
        #expect(finding(39, larger: 1).adjusted == 0.1)
        // The larger ones are last, after the first look: that look counts.
        #expect(finding(199, larger: 1).adjusted == 0.02)
        #expect(finding(199, larger: 100).adjusted == 0.05)
    }

    /// The stages of a test of three cells under the null hypothesis: at any stop at most one trace in twenty has a
    /// finding, within 3.5 standard errors.
    @Test func sequentialTestKeepsItsLevel() {
        let schedule = PermutationSchedule(first: 19, most: 199, level: 0.05)
        var generator = SeededGenerator(seed: 9)
        var (found, drawn) = (0, 0)
        for _ in 0..<1_500 {
            let cells = (0..<3).map { _ in (0..<200).map { _ in generator.unit() } }
            let observed = cells.map { $0[0] }
            for stage in schedule.stages {
                let findings = schedule.findings(
                    observed: observed, permuted: cells.map { Array($0[1...stage]) })
                if findings.contains(where: { $0.adjusted <= 0.05 + 1e-9 }) {
                    found += 1
                    drawn += stage
                    break
                }
                guard findings.contains(where: { schedule.mayBecomeSignificant(larger: $0.larger, drawn: stage) })
                else {
                    drawn += stage
                    break
                }
            }
        }
        // 75 are expected of a test without looks; the standard error is 8.4.
        #expect(found <= 104, "\(found)")
        #expect(found >= 25, "a test that finds nothing says nothing: \(found)")
        #expect(drawn < 1_500 * 199, "\(drawn)")
    }

    @Test func holmsAdjustmentMatchesFiguresByHand() {
        // 0.01 · 4, 0.03 · 2 raised to 0.02 · 3, 0.5.
        let adjusted = Holm.adjusted([0.03, 0.01, 0.5, 0.02])
        #expect(zip(adjusted, [0.06, 0.04, 0.5, 0.06]).allSatisfy { abs($0 - $1) < 1e-12 })
        #expect(Holm.adjusted([]) == [])
        #expect(Holm.adjusted([0.8, 0.9]) == [1, 1])
    }
}
