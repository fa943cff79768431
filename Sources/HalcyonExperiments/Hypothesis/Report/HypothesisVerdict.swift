/// What the data say of the hypothesis in one cell.
public enum HypothesisVerdict: String, Sendable, Codable {
    /// Categories raise the hit ratio: over the learner without them and over permuted labels, both clear of zero for
    /// all cells together, and beyond what permuted labels do by chance.
    case supported
    /// A gain that matters is ruled out, over the learner without categories or over permuted labels.
    case notSupported = "not supported"
    /// Neither.
    case undecided

    /// As a sentence begins with it.
    var words: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    init(_ evidence: CellEvidence) {
        let contrasts = [evidence.overWithout, evidence.overPermuted]
        if contrasts.allSatisfy({ $0.familyInterval.low > 0 })
            && evidence.permutation.adjusted <= evidence.options.level + 1e-9
        {
            self = .supported
        } else if contrasts.contains(where: { $0.familyInterval.high < evidence.options.margin }) {
            self = .notSupported
        } else {
            self = .undecided
        }
    }
}
