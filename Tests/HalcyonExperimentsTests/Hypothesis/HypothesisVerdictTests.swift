import Testing

@testable import HalcyonExperiments

@Suite struct HypothesisVerdictTests {
    private var options: HypothesisOptions {
        var options = HypothesisOptions()
        options.resamples = 200
        return options
    }

    /// How many of 20 traces of two cells have at least one cell that is supported.
    private func claims(_ hits: StubHits) throws -> Int {
        try (1...20).count { seed in
            let evidence = try hits.evidence(hits.cells(2, seed: UInt64(seed)), options: options)
            return evidence.contains { HypothesisVerdict($0) == .supported }
        }
    }

    @Test func categoriesThatTellNothingAreNotClaimed() throws {
        #expect(try claims(StubHits(effect: 0)) <= 1)
    }

    @Test func aGainThatPermutedLabelsHaveTooIsNotClaimed() throws {
        // The features help, whatever the labels are: more than without, but not more than permuted.
        #expect(try claims(StubHits(effect: 0, features: 0.03)) <= 1)
    }

    @Test func aHarmThatPermutedLabelsDoMoreOfIsNotClaimed() throws {
        // Better than with permuted labels, but no better than without categories.
        #expect(try claims(StubHits(effect: 0.03, features: -0.03)) <= 1)
    }

    @Test func categoriesThatTellMuchAreClaimed() throws {
        let hits = StubHits(effect: 0.02)
        for seed in 1...20 {
            let evidence = try hits.evidence(hits.cells(2, seed: UInt64(seed)), options: options)
            #expect(evidence.allSatisfy { HypothesisVerdict($0) == .supported })
        }
    }

    @Test func whatIsMeasuredIsRight() throws {
        let hits = StubHits(effect: 0.02)
        var (sum, covered) = (0.0, 0)
        for seed in 1...20 {
            let evidence = try hits.evidence(hits.cells(1, seed: UInt64(seed)), options: options)[0]
            for contrast in [evidence.overWithout, evidence.overPermuted] {
                sum += contrast.difference / 40
                if contrast.interval.low < 0.02, 0.02 < contrast.interval.high { covered += 1 }
                let detectable = try #require(contrast.detectable)
                #expect(detectable > 0 && detectable < 0.02)
            }
            let gap = try #require(evidence.gapClosed)
            #expect(gap.interval.low < gap.share && gap.share < gap.interval.high)
        }
        // Gains are 2 × uniform by user, labels add 0.003 × uniform: one difference strays by 0.0016, twenty by 0.0004.
        #expect(abs(sum - 0.02) < 0.0014)
        // 38 of 40 are expected; one draw of users counts twice.
        #expect(covered >= 34)
    }

    @Test func theGapClosedIsBetweenLRUAndTheOptimum() throws {
        // LRU is 0.05 × gain below, the optimum 0.2 × gain above, the learner 0.02 × gain above: 7 of 25.
        let hits = StubHits(effect: 0.02)
        let gaps = try (1...10).map { seed in
            try #require(hits.evidence(hits.cells(1, seed: UInt64(seed)), options: options)[0].gapClosed).share
        }
        #expect(abs(gaps.reduce(0, +) / 10 - 0.28) < 0.01)
    }

    @Test func fewPermutationsSupportNothing() throws {
        var hits = StubHits(effect: 0.05)
        hits.permutations = 18
        let evidence = try hits.evidence(hits.cells(1, seed: 1), options: options)[0]
        #expect(HypothesisVerdict(evidence) == .undecided)
        let sentence = HypothesisSentence(evidence, verdict: .undecided).text
        #expect(sentence.hasSuffix("At least 19 permutations are needed to find support."))
    }

    @Test func aGainThatMattersIsRuledOutOrNot() throws {
        let hits = StubHits(effect: 0)
        let cells = hits.cells(1, seed: 2)
        var options = options
        options.margin = 0.02
        let evidence = try hits.evidence(cells, options: options)[0]
        #expect(HypothesisVerdict(evidence) == .notSupported)
        // The sentence names the control whose interval rules the gain out.
        let bounds = [
            "the same learner without them": evidence.overWithout.familyInterval.high,
            "permuted labels": evidence.overPermuted.familyInterval.high,
        ]
        let least = try #require(bounds.min { $0.value < $1.value })
        let points = (max(least.value * 100, 0.01) * 100).rounded() / 100
        let gain = least.value > 0 ? "a gain of \(points) points or more" : "any gain"
        let sentence = HypothesisSentence(evidence, verdict: .notSupported).text
        #expect(sentence.hasPrefix("Not supported: \(gain) over \(least.key) is ruled out"), "\(sentence)")
        options.margin = 0
        #expect(HypothesisVerdict(try hits.evidence(cells, options: options)[0]) == .undecided)
    }

    @Test func theFamilyIntervalIsTheWiderOne() throws {
        let hits = StubHits(effect: 0.02)
        let evidence = try hits.evidence(hits.cells(3, seed: 1), options: options)
        for contrast in evidence.map(\.overWithout) {
            #expect(contrast.familyInterval.low < contrast.interval.low)
            #expect(contrast.familyInterval.high > contrast.interval.high)
        }
    }

    @Test func whereNothingVariesNothingIsSaidToBeDetectable() throws {
        let run = StubHits(effect: 0).cells(1, seed: 1)[0].withCategories[0]
        var cell = CellHits()
        cell.withCategories = [run, run]
        cell.withoutCategories = [run, run]
        cell.permuted = Array(repeating: [run], count: 19)
        var better = run
        better.byUnit[0] += 1
        better = ArmHits(hits: run.hits + 1, requests: run.requests, byUnit: better.byUnit)
        for (optimum, words) in [(run, "no gain is possible"), (better, "nothing varies")] {
            cell.baselines = [run, optimum]
            let evidence = try StubHits(effect: 0).evidence([cell], options: options)[0]
            #expect(evidence.overWithout.detectable == nil && evidence.smallestDetectable == nil)
            let verdict = HypothesisVerdict(evidence)
            let sentence = HypothesisSentence(evidence, verdict: verdict).text
            #expect(verdict == .notSupported && sentence.hasPrefix("Not supported: \(words)"), "\(sentence)")
        }
    }
}
