import Testing

@testable import HalcyonSupport

/// Compared with printed tables (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.1 and 1.3.6.7.2) and closed
/// forms.
@Suite(.timeLimit(.minutes(20))) struct DistributionsTests {
    @Test(arguments: [(0.975, 1.959963984540054), (0.8, 0.8416212335729143), (0.5, 0), (0.001, -3.090232306167813)])
    func normalQuantilesEqualPrintedTables(probability: Double, expected: Double) {
        #expect(abs(Distributions.normalQuantile(probability) - expected) < 1e-9)
    }

    @Test(arguments: [
        (0.975, 1.0, 12.7062047362), (0.975, 2, 4.3026527297), (0.975, 10, 2.2281388520),
        (0.975, 29, 2.0452296421), (0.995, 5, 4.0321429836), (0.025, 10, -2.2281388520),
    ])
    func studentQuantilesEqualPrintedTables(probability: Double, degrees: Double, expected: Double) {
        #expect(abs(Distributions.studentQuantile(probability, degrees: degrees) - expected) < 1e-8)
    }

    @Test func studentDistributionHasItsClosedForms() {
        for x in [-3.0, -0.5, 0.25, 1, 8] {
            // Two degrees: 1/2 + x / (2 √(2 + x²)).
            let expected = 0.5 + x / (2 * (2 + x * x).squareRoot())
            #expect(abs(Distributions.studentProbability(x, degrees: 2) - expected) < 1e-12)
        }
        // One degree is Cauchy's, which has a quarter beyond 1.
        #expect(abs(Distributions.studentProbability(1, degrees: 1) - 0.75) < 1e-12)
    }
}
