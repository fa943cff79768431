/// A verdict in words.
struct HypothesisSentence {
    let text: String

    init(_ evidence: CellEvidence, verdict: HypothesisVerdict) {
        let (without, permuted) = (evidence.overWithout, evidence.overPermuted)
        let p = "p = \(evidence.permutation.adjusted.decimals(3))"
        let shown = (max(without.detectable, permuted.detectable) * 100).decimals(2)
        let figures =
            "\(Self.words(without)) against the same learner without them, "
            + "\(Self.words(permuted)) against permuted labels (\(p))"
        switch verdict {
        case .supported:
            text =
                "Supported: knowing the categories changes the hit ratio by \(figures); "
                + "the data could have shown \(shown) points."
        case .notSupported:
            let ruledOut = min(without.familyInterval.high, permuted.familyInterval.high)
            text =
                "Not supported: a gain of \((max(0, ruledOut) * 100).decimals(2)) points or more is ruled out; "
                + "measured are \(figures). The data could have shown \(shown) points."
        case .undecided:
            let fewest = Int((1 / evidence.options.level).rounded(.up)) - 1
            let tooFew =
                evidence.hits.permuted.count < fewest
                ? " At least \(fewest) permutations are needed to find support." : ""
            text =
                "Undecided: measured are \(figures), and the smallest gain that the data could have shown is "
                + "\(shown) points.\(tooFew)"
        }
    }

    private static func words(_ contrast: Contrast) -> String {
        "\(contrast.difference.signedHundredths) points "
            + "(\(contrast.interval.low.signedHundredths) to \(contrast.interval.high.signedHundredths))"
    }
}
