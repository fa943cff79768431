import HalcyonSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite struct IntervalTests {
    /// A number that is nearly normal: twelve uniform ones less six.
    private func normal(_ generator: inout SeededGenerator) -> Double {
        (0..<12).reduce(-6) { sum, _ in sum + generator.unit() }
    }

    @Test func quantilesLieBetweenNeighbours() {
        let sorted = (1...99).map { Double($0) }
        #expect(abs(Interval.quantile(sorted, 0.5) - 50) < 1e-9)
        #expect(abs(Interval.quantile(sorted, 0.025) - 2.5) < 1e-9)
        #expect(Interval.quantile(sorted, 0.0001) == 1)
        #expect(Interval.quantile(sorted, 0.9999) == 99)
    }

    @Test func ofNormalDrawsItHasStudentsWidth() {
        // Draws at the normal quantiles themselves: a mean of ten has t(9) · √(10 / 9) times its bootstrap deviation.
        let draws = (0..<20_000).map { Distributions.normalQuantile((Double($0) + 0.5) / 20_000) }
        let interval = Interval(ofDraws: draws, confidence: 0.95, effectiveUnits: 10)
        let expected = 2.2621571628 * (10.0 / 9).squareRoot()
        #expect(abs(interval.high - expected) < 0.01)
        #expect(abs(interval.low + expected) < 0.01)
    }

    @Test func itCoversWhatItShould() {
        // 400 samples of 40 units with skewed weights: 95 % intervals must hold the truth 400 × 0.95 ± 3.5 deviations.
        var generator = SeededGenerator(seed: 11)
        var covered = 0
        for sample in 0..<400 {
            let weights = (0..<40).map { _ in 10 + 90 * generator.unit() * generator.unit() }
            let values = weights.map { $0 * (0.02 + 0.01 * normal(&generator)) }
            let bootstrap = Bootstrap(weights: weights, blockLength: 1, replicates: 300, seed: UInt64(sample))
            let draws = bootstrap.ratios([values])[0]
            let interval = Interval(ofDraws: draws, confidence: 0.95, effectiveUnits: bootstrap.effectiveUnits)
            if interval.low <= 0.02, 0.02 <= interval.high { covered += 1 }
        }
        #expect((365...396).contains(covered))
    }

    @Test func noiseOfRunsIsAdded() {
        // Units without any spread: the interval is Student's about the noise alone, t(9) = 2.262 a deviation. A 97.5th
        // percentile of 20,000 draws strays by 0.02 deviations.
        let bootstrap = Bootstrap(
            weights: Array(repeating: 1, count: 10_000), blockLength: 1, replicates: 20_000, seed: 1)
        let contrast = Contrast(
            0.5, draws: Array(repeating: 0.4, count: 20_000), noise: RunNoise(deviation: 0.01, degrees: 9),
            bootstrap: bootstrap, confidence: 0.95, cells: 1)
        #expect(abs(contrast.interval.high - 0.5 - 0.022621571628) < 7e-4)
        #expect(abs(contrast.interval.low - 0.5 + 0.022621571628) < 7e-4)
        #expect(contrast.difference == 0.5)
        #expect(contrast.familyInterval == contrast.interval)
    }

    @Test func whatCouldHaveShownIsAsWorkedByHand() throws {
        // Units of 3e-4 with 9 degrees, runs of 4e-4 with 2: 5e-4 together, with 625 / (81 / 9 + 256 / 2) = 4.5620 degrees, whose
        // 97.5th percentile is 2.64661; 0.84162 for four times in five.
        let noise = RunNoise(deviation: 0.0004, degrees: 2)
        let both = try #require(Contrast.detectable(variance: 9e-8, units: 10, noise: noise, confidence: 0.95))
        #expect(abs(both - (2.64661 + 0.84162) * 0.0005) < 1e-7, "\(both)")
        // One of them alone has its own degrees: t(2) = 4.30265, t(9) = 2.26216, and 1.95996 where there are infinitely many.
        let runs = try #require(Contrast.detectable(variance: 0, units: 10, noise: noise, confidence: 0.95))
        #expect(abs(runs - (4.30265 + 0.84162) * 0.0004) < 1e-7, "\(runs)")
        let units = try #require(Contrast.detectable(variance: 9e-8, units: 10, noise: .none, confidence: 0.95))
        #expect(abs(units - (2.26216 + 0.84162) * 0.0003) < 1e-7, "\(units)")
        let endless = RunNoise(deviation: 0.0004, degrees: .infinity)
        let normal = try #require(Contrast.detectable(variance: 0, units: 10, noise: endless, confidence: 0.95))
        #expect(abs(normal - (1.95996 + 0.84162) * 0.0004) < 1e-7, "\(normal)")
        // Never more than a whole hit ratio; nothing where nothing varies.
        let wild = RunNoise(deviation: 0.5, degrees: 1)
        #expect(Contrast.detectable(variance: 0, units: 10, noise: wild, confidence: 0.95) == 1)
        #expect(Contrast.detectable(variance: 0, units: 10, noise: .none, confidence: 0.95) == nil)
    }

    @Test(arguments: [1, 2, 3] as [Double])
    func whatCouldHaveShownHardlyDependsOnTheNumberOfDraws(degrees: Double) throws {
        var generator = SeededGenerator(seed: 5)
        let weights = Array(repeating: 1.0, count: 200)
        let values = weights.map { _ in 0.01 * normal(&generator) }
        let found = try [500, 2_000, 8_000, 32_000].map { replicates in
            let bootstrap = Bootstrap(weights: weights, blockLength: 1, replicates: replicates, seed: 3)
            let contrast = Contrast(
                0.01, draws: bootstrap.ratios([values])[0], noise: RunNoise(deviation: 0.002, degrees: degrees),
                bootstrap: bootstrap, confidence: 0.95, cells: 6)
            return try #require(contrast.detectable)
        }
        let (least, most) = (try #require(found.min()), try #require(found.max()))
        #expect(most < least * 1.1, "\(found)")
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
