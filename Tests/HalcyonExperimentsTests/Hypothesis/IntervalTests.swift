import HalcyonSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite(.timeLimit(.minutes(20))) struct IntervalTests {
    @Test func noiseOfRunsIsAdded() {
        // Units without any spread: the interval is Student's about the noise alone, t(9) = 2.262157 a deviation.
        let contrast = Contrast(
            0.5, series: Array(repeating: 0.4, count: 100),
            units: UnitVariance(independent: Array(repeating: 1, count: 100)),
            noise: RunNoise(deviation: 0.01, degrees: 9), confidence: 0.95, cells: 1)
        #expect(abs(contrast.interval.high - 0.5 - 0.022621571628) < 1e-9)
        #expect(abs(contrast.interval.low - 0.5 + 0.022621571628) < 1e-9)
        #expect(contrast.difference == 0.5 && contrast.degrees == 9)
        #expect(contrast.familyInterval == contrast.interval)
    }

    @Test func unitsAndRunsTogetherMatchFiguresByHand() {
        // Two units of one request that differ by 0.06 from each other: a mean with the standard error 0.03 and one
        // degree; runs of 0.04 with 20. Together 0.05, with 625 / (81 / 1 + 256 / 20) = 6.66311 degrees.
        let contrast = Contrast(
            0.1, series: [0.07, 0.13], units: UnitVariance(independent: [1, 1]),
            noise: RunNoise(deviation: 0.04, degrees: 20), confidence: 0.95, cells: 6)
        #expect(abs(contrast.standardError - 0.05) < 1e-12)
        #expect(abs((contrast.degrees ?? 0) - 625 / 93.8) < 1e-9)
        // Quantiles of t(6.66311) at 0.975 and 1 − 0.025 / 6.
        #expect(abs(contrast.interval.high - 0.1 - 2.38907752 * 0.05) < 1e-6)
        #expect(abs(contrast.familyInterval.high - 0.1 - 3.70248253 * 0.05) < 1e-6)
    }

    @Test func withoutVariationTheIntervalIsOnePoint() {
        let contrast = Contrast(
            0.1, series: [0.1, 0.1], units: UnitVariance(independent: [1, 1]), noise: .none, confidence: 0.95, cells: 6)
        #expect(contrast.interval == Interval(low: 0.1, high: 0.1) && contrast.familyInterval == contrast.interval)
        #expect(contrast.detectable == nil && contrast.degrees == nil)
    }

    @Test func shareOfTheGapHasFiellersInterval() throws {
        // Gains 1, 2, 3 and gaps 8, 10, 12 of three units: means 2 and 10, variances of means 1/3 and 4/3, covariance
        // 2/3; t(2) = 4.302653 and t² = 18.51282. θ is between the roots of
        // (100 − t² 4/3) θ² − 2 (20 − t² 2/3) θ + 4 − t² / 3 = 0.
        let units = UnitVariance(independent: [1, 1, 1])
        let share = try #require(
            GapShare(
                gain: 2, gap: 10, gains: [1, 2, 3], gaps: [8, 10, 12], units: units, noise: .none, confidence: 0.95))
        #expect(share.share == 0.2)
        let interval = try #require(share.interval)
        for theta in [interval.low, interval.high] {
            let left = 75.316240 * theta * theta - 2 * 7.658120 * theta - 2.170940
            #expect(abs(left) < 1e-4, "\(left)")
        }
        #expect(interval.low < 0.2 && interval.high > 0.2)
        // A gap that could be 0 leaves every share possible.
        let vague = GapShare(
            gain: 2, gap: 10, gains: [1, 2, 3], gaps: [0, 10, 20], units: units, noise: .none, confidence: 0.95)
        #expect(vague?.interval == nil && vague?.share == 0.2)
        #expect(
            GapShare(gain: 0, gap: 0, gains: [0], gaps: [0], units: units, noise: .none, confidence: 0.95) == nil)
    }

    private func detectable(_ variance: Double, _ noise: RunNoise) -> Double? {
        StandardError(variance: variance, degrees: 9, noise: noise).detectable(confidence: 0.95)
    }

    @Test func detectableEffectMatchesFiguresByHand() throws {
        // Units of 3e-4 with 9 degrees, runs of 4e-4 with 2: 5e-4 together, with 625 / (81 / 9 + 256 / 2) = 4.5620 degrees, whose
        // 97.5th percentile is 2.64661; 0.84162 for four times in five.
        let noise = RunNoise(deviation: 0.0004, degrees: 2)
        let both = try #require(detectable(9e-8, noise))
        #expect(abs(both - (2.64661 + 0.84162) * 0.0005) < 1e-7, "\(both)")
        // One of them alone has its own degrees: t(2) = 4.30265, t(9) = 2.26216, and 1.95996 with infinitely many.
        let runs = try #require(detectable(0, noise))
        #expect(abs(runs - (4.30265 + 0.84162) * 0.0004) < 1e-7, "\(runs)")
        let units = try #require(detectable(9e-8, .none))
        #expect(abs(units - (2.26216 + 0.84162) * 0.0003) < 1e-7, "\(units)")
        let endless = RunNoise(deviation: 0.0004, degrees: .infinity)
        let normal = try #require(detectable(0, endless))
        #expect(abs(normal - (1.95996 + 0.84162) * 0.0004) < 1e-7, "\(normal)")
        // At most a whole hit ratio; nil without variation.
        let wild = RunNoise(deviation: 0.5, degrees: 1)
        #expect(detectable(0, wild) == 1)
        #expect(detectable(0, .none) == nil)
    }

    @Test func noiseIsPooledOverArms() throws {
        // Two pairs that differ by 0.02 and 0: squares 0.0002 and 0 with one degree each.
        let noise = try #require(RunNoise.ofRuns([[0.1, 0.12], [0.3, 0.3], [0.5]]))
        #expect(noise.degrees == 2)
        #expect(abs(noise.deviation - 0.01) < 1e-12)
        #expect(RunNoise.ofRuns([[0.1], [0.2]]) == nil)
        #expect(abs(RunNoise.spread([1, 2, 3]).deviation - 1) < 1e-12)
    }
}
