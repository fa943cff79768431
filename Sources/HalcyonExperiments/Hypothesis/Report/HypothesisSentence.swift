/// A verdict in words.
struct HypothesisSentence {
    let text: String

    init(_ evidence: CellEvidence, verdict: HypothesisVerdict) {
        let (without, permuted) = (evidence.overWithout, evidence.overPermuted)
        let p = "p = \(evidence.permutation.adjusted.decimals(3))"
        let figures =
            "\(Self.words(without)) against the same learner without them, "
            + "\(Self.words(permuted)) against permuted labels (\(p))"
        guard let detectable = evidence.smallestDetectable else {
            text =
                evidence.leavesNoGain
                ? "\(verdict.words): no gain is possible with this cache, in which LRU hits as often as the optimum."
                : "\(verdict.words): nothing varies in any run, so that no gain could show; measured are \(figures)."
            return
        }
        let shown = Self.points(detectable)
        switch verdict {
        case .supported:
            text =
                "\(verdict.words): knowing the categories changes the hit ratio by \(figures); "
                + "the data could have shown \(shown)."
        case .notSupported:
            let isByLabels = permuted.familyInterval.high < without.familyInterval.high
            let bound = isByLabels ? permuted.familyInterval.high : without.familyInterval.high
            let ruledOut = bound > 0 ? "a gain of \(max(bound * 100, 0.01).decimals(2)) points or more" : "any gain"
            let control = isByLabels ? "permuted labels" : "the same learner without them"
            text =
                "\(verdict.words): \(ruledOut) over \(control) is ruled out, by the interval that holds for all cells; "
                + "measured are \(figures). "
                + "The data could have shown \(shown)."
        case .undecided:
            let fewest = Int((1 / evidence.options.level).rounded(.up)) - 1
            let tooFew =
                evidence.hits.permuted.count < fewest
                ? " At least \(fewest) permutations are needed to find support." : ""
            text =
                "\(verdict.words): measured are \(figures), and the smallest gain that the data could have shown is "
                + "\(shown).\(tooFew)"
        }
    }

    private static func points(_ gain: Double) -> String {
        gain < 0.000_05 ? "less than 0.01 points" : "\((gain * 100).decimals(2)) points"
    }

    private static func words(_ contrast: Contrast) -> String {
        "\(contrast.difference.signedHundredths) points "
            + "(\(contrast.interval.low.signedHundredths) to \(contrast.interval.high.signedHundredths))"
    }
}
