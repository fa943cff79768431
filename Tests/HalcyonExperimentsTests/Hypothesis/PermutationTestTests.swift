import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite struct PermutationTestTests {
    @Test func ranksAmongItsPermutations() {
        let findings = PermutationTest.findings(observed: [3], permuted: [[1, 2, 4, 2.5]])
        #expect(findings == [.init(pValue: 0.4, adjusted: 0.4)])
    }

    @Test func tiesCountAgainstIt() {
        let findings = PermutationTest.findings(observed: [0.5], permuted: [[0.5, 0.5, 0.5]])
        #expect(findings == [.init(pValue: 1, adjusted: 1)])
    }

    @Test func whatIsSeenIsHeldAgainstTheLargestOfAllCells() {
        // In the first cell it is first of five, but the third permutation stands out further in the second.
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
        // It is exact, not merely safe.
        #expect(found >= 65)
    }
}
