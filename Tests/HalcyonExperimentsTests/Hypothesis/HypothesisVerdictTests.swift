import HalcyonSimulation
import Testing

@testable import HalcyonExperiments

@Suite(.timeLimit(.minutes(20))) struct HypothesisVerdictTests {
    private var options: HypothesisOptions {
        var options = HypothesisOptions()
        options.permute = [.uniform]
        options.mostPermutations = options.permutations
        return options
    }

    /// How many of 20 traces of two cells have at least one cell that is supported.
    private func claims(_ hits: StubHits) throws -> Int {
        try (1...20).count { seed in
            let evidence = try hits.evidence(hits.cells(2, seed: UInt64(seed)), options: options)
            return evidence.contains { HypothesisVerdict($0) == .supported }
        }
    }

    @Test func uninformativeCategoriesAreNotClaimed() throws {
        #expect(try claims(StubHits(effect: 0)) <= 1)
    }

    @Test func gainSharedWithPermutedLabelsIsNotClaimed() throws {
        // The features help with any labels: the learner is better than without, but not better than with permuted
        // labels.
        #expect(try claims(StubHits(effect: 0, features: 0.03)) <= 1)
    }

    @Test func gainOverHarmfulPermutedLabelsIsNotClaimed() throws {
        // Better than with permuted labels, but no better than without categories.
        #expect(try claims(StubHits(effect: 0.03, features: -0.03)) <= 1)
    }

    @Test func informativeCategoriesAreClaimed() throws {
        let hits = StubHits(effect: 0.02)
        for seed in 1...20 {
            let evidence = try hits.evidence(hits.cells(2, seed: UInt64(seed)), options: options)
            #expect(evidence.allSatisfy { HypothesisVerdict($0) == .supported })
        }
    }

    @Test func measuredEffectAndIntervalAreRight() throws {
        let hits = StubHits(effect: 0.02)
        var (sum, covered) = (0.0, 0)
        for seed in 1...20 {
            let evidence = try hits.evidence(hits.cells(1, seed: UInt64(seed)), options: options)[0]
            for contrast in evidence.decisive {
                sum += contrast.difference / 40
                if contrast.interval.low < 0.02, 0.02 < contrast.interval.high { covered += 1 }
                let detectable = try #require(contrast.detectable)
                #expect(detectable > 0 && detectable < 0.02)
            }
            let gap = try #require(evidence.gapClosed)
            let interval = try #require(gap.interval)
            #expect(interval.low < gap.share && gap.share < interval.high)
        }
        // Gains are 2 × uniform by user, labels add 0.003 × uniform: the standard error is 0.0016 of one difference,
        // 0.0004 of twenty.
        #expect(abs(sum - 0.02) < 0.0014)
        // 38 of 40 are expected; one draw of users counts twice.
        #expect(covered >= 34)
    }

    @Test func gapClosedIsBetweenLRUAndTheOptimum() throws {
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
        var options = options
        options.permutations = 18
        options.mostPermutations = 18
        let evidence = try hits.evidence(hits.cells(1, seed: 1), options: options)[0]
        #expect(HypothesisVerdict(evidence) == .undecided)
        let sentence = HypothesisSentence(evidence, verdict: .undecided).text
        #expect(sentence.hasSuffix("At least 19 permutations are needed to find support."))
    }

    @Test func relevantGainIsRuledOutOnlyWithAMargin() throws {
        let hits = StubHits(effect: 0)
        let cells = hits.cells(1, seed: 2)
        var options = options
        options.margin = 0.02
        let evidence = try hits.evidence(cells, options: options)[0]
        #expect(HypothesisVerdict(evidence) == .noEffect)
        // The sentence names the control whose interval rules the gain out.
        let bounds = [
            "the same learner without categories": evidence.overWithout.familyInterval.high,
            "labels permuted uniformly": evidence.overPermuted[0].familyInterval.high,
        ]
        let least = try #require(bounds.min { $0.value < $1.value })
        let points = max(least.value * 100, 0.01).decimals(2)
        let gain = least.value > 0 ? "a gain of \(points) points or more" : "any gain"
        let sentence = HypothesisSentence(evidence, verdict: .noEffect).text
        #expect(
            sentence.hasPrefix("No effect beyond the margin: \(gain) over \(least.key) is ruled out"), "\(sentence)")
        options.margin = 0
        #expect(HypothesisVerdict(try hits.evidence(cells, options: options)[0]) == .undecided)
    }

    @Test func familyIntervalIsWider() throws {
        let hits = StubHits(effect: 0.02)
        let evidence = try hits.evidence(hits.cells(3, seed: 1), options: options)
        for contrast in evidence.map(\.overWithout) {
            #expect(contrast.familyInterval.low < contrast.interval.low)
            #expect(contrast.familyInterval.high > contrast.interval.high)
        }
    }

    @Test func withoutVariationNoEffectIsDetectable() throws {
        let run = StubHits(effect: 0).cells(1, seed: 1)[0].withCategories[0]
        var cell = CellHits()
        cell.withCategories = [run, run]
        cell.withoutCategories = [run, run]
        cell.permuted = [Array(repeating: [run], count: 19)]
        var better = run
        better.byUnit[0] += 1
        better = ArmHits(hits: run.hits + 1, requests: run.requests, byUnit: better.byUnit)
        for (optimum, words) in [(run, "no gain is possible"), (better, "nothing varies")] {
            cell.baselines = [run, optimum]
            let evidence = try StubHits(effect: 0).evidence([cell], options: options)[0]
            #expect(evidence.overWithout.detectable == nil && evidence.smallestDetectable == nil)
            let verdict = HypothesisVerdict(evidence)
            let sentence = HypothesisSentence(evidence, verdict: verdict).text
            #expect(verdict == .noEffect && sentence.hasPrefix("No effect beyond the margin: \(words)"), "\(sentence)")
        }
    }

    private func verdict(
        _ without: (Double, Double), _ permuted: (Double, Double), significant: Bool, margin: Double
    ) -> HypothesisVerdict {
        HypothesisVerdict(
            overWithout: Interval(low: without.0, high: without.1),
            overPermuted: Interval(low: permuted.0, high: permuted.1), isSignificant: significant, margin: margin)
    }

    /// Two measured gains that are significant and below the margin.
    @Test func smallSignificantGainIsTooSmallToMatter() {
        // course at 60 objects a user, +0.22 (0.17 … 0.29) and +0.21 (0.11 … 0.32) points.
        #expect(
            verdict((0.0017, 0.0029), (0.0011, 0.0032), significant: true, margin: 0.005).rawValue
                == "too small to matter")
        // checkins at 20 objects a user, +0.16 (0.08 … 0.24) and +0.12 (0.02 … 0.21) points.
        #expect(
            verdict((0.0008, 0.0024), (0.0002, 0.0021), significant: true, margin: 0.005).rawValue
                == "too small to matter")
    }

    /// Each answer as in the documentation, independently of the order in which the code decides.
    @Test func exactlyOneAnswerHoldsAsDefined() {
        let ends = [-3, -2, -1, 0, 1, 2, 3].map { Double($0) / 1_000 }
        let intervals = ends.flatMap { low in ends.filter { $0 >= low }.map { (low, $0) } }
        var seen: Set<HypothesisVerdict> = []
        for margin in [0, 0.001, 0.002] {
            for without in intervals {
                for permuted in intervals {
                    for significant in [false, true] {
                        let holds: [HypothesisVerdict: Bool] = [
                            .supported: without.0 > 0 && permuted.0 > 0 && significant
                                && without.1 >= margin && permuted.1 >= margin,
                            .tooSmall: without.0 > 0 && permuted.0 > 0 && significant
                                && (without.1 < margin || permuted.1 < margin),
                            .harmful: without.1 < 0,
                            .noEffect: !(without.0 > 0 && permuted.0 > 0 && significant) && without.1 >= 0
                                && (without.1 < margin || permuted.1 < margin),
                            .undecided: !(without.0 > 0 && permuted.0 > 0 && significant)
                                && without.1 >= margin && permuted.1 >= margin,
                        ]
                        let answers = holds.filter(\.value).keys
                        #expect(answers.count == 1)
                        let found = verdict(without, permuted, significant: significant, margin: margin)
                        #expect(answers.first == found)
                        seen.insert(found)
                    }
                }
            }
        }
        #expect(seen == Set(HypothesisVerdict.allCases))
    }

    @Test func roundingErrorIsNotHarmful() {
        let tiny = (-1e-17, -1e-17)
        #expect(verdict(tiny, tiny, significant: false, margin: 0.005) == .noEffect)
    }

    /// The rule of the documentation, for every set of answers that cells can have.
    @Test func verdictOnATraceFollowsFromItsCells() {
        let all = HypothesisVerdict.allCases
        for mask in 1..<(1 << all.count) {
            let cells = all.indices.filter { mask & (1 << $0) != 0 }.map { all[$0] }
            let has = { (verdict: HypothesisVerdict) in cells.contains(verdict) }
            let isShown = has(.supported) || has(.tooSmall)
            let expected: HypothesisVerdict =
                switch (has(.harmful), isShown) {
                case (true, true): .undecided
                case (true, false): .harmful
                case (false, _):
                    has(.supported)
                        ? .supported : has(.undecided) ? .undecided : has(.tooSmall) ? .tooSmall : .noEffect
                }
            #expect(HypothesisVerdict(cells: cells) == expected && HypothesisVerdict(cells: cells + cells) == expected)
        }
    }

    @Test func harmfulCategoriesAreReported() throws {
        let hits = StubHits(effect: -0.03)
        let evidence = try hits.evidence(hits.cells(1, seed: 1), options: options)[0]
        #expect(HypothesisVerdict(evidence) == .harmful)
        let sentence = HypothesisSentence(evidence, verdict: .harmful).text
        #expect(sentence.hasPrefix("Harmful: the learner with categories has the lower hit ratio"), "\(sentence)")
    }

    @Test func gainBelowTheMarginIsReportedAsTooSmall() throws {
        let hits = StubHits(effect: 0.02)
        var options = options
        options.margin = 0.05
        let evidence = try hits.evidence(hits.cells(1, seed: 1), options: options)[0]
        #expect(HypothesisVerdict(evidence) == .tooSmall)
        let sentence = HypothesisSentence(evidence, verdict: .tooSmall).text
        #expect(sentence.contains("but a gain of 5.00 points or more over") && sentence.contains("is ruled out"))
    }
}
