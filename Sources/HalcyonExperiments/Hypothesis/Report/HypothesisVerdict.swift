import HalcyonSimulation

/// The answer to the hypothesis in one cell, or in a trace.
///
/// The answers of a cell are exclusive, and one of them always holds. They are decided by the intervals for all cells
/// of the trace together, over two controls: the learner without categories, and permuted labels (the first way of
/// `HypothesisOptions.permute`).
///
/// - *shown*: the intervals over both controls are above zero, and the permutation test is significant.
/// - *possible*: the intervals over both controls reach the margin: neither rules out a gain of the margin or more.
/// - *below zero*: the interval over the learner without categories is below zero.
///
/// | | possible | not possible |
/// |---|---|---|
/// | shown | supported | too small to matter |
/// | not shown | undecided | harmful if below zero, otherwise no effect beyond the margin |
///
/// A cell that is below zero is neither shown nor possible.
package enum HypothesisVerdict: String, Sendable, Codable, CaseIterable {
    /// A gain is shown, and a gain of at least the margin is possible.
    case supported
    /// A gain is shown, and it is below the margin.
    case tooSmall = "too small to matter"
    /// No gain is shown, and a gain of the margin or more is ruled out.
    case noEffect = "no effect beyond the margin"
    /// Categories lower the hit ratio.
    case harmful
    /// No gain is shown, and a gain of the margin or more is not ruled out.
    case undecided

    /// The verdict with a capital letter, for the start of a sentence.
    var words: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    /// Creates the verdict of a cell.
    ///
    /// - Parameters:
    ///   - overWithout: the family interval over the learner without categories.
    ///   - overPermuted: the family interval over permuted labels.
    ///   - isSignificant: whether the permutation test is significant for all cells together.
    ///   - margin: the smallest relevant gain, at least 0.
    init(overWithout: Interval, overPermuted: Interval, isSignificant: Bool, margin: Double) {
        let isShown = Self.isAboveZero(overWithout) && Self.isAboveZero(overPermuted) && isSignificant
        let isPossible = overWithout.high >= margin && overPermuted.high >= margin
        if isShown {
            self = isPossible ? .supported : .tooSmall
        } else if overWithout.high < -Self.tolerance {
            self = .harmful
        } else {
            self = isPossible ? .undecided : .noEffect
        }
    }

    init(_ evidence: CellEvidence) {
        self.init(
            overWithout: evidence.overWithout.familyInterval,
            overPermuted: evidence.overPermuted.first?.familyInterval ?? evidence.overWithout.familyInterval,
            isSignificant: evidence.isSignificant, margin: evidence.options.margin)
    }

    /// Creates the verdict of a trace from those of its cells. The first that applies:
    ///
    /// 1. a gain is shown in one cell and harm in another: undecided;
    /// 2. any cell is harmful: harmful;
    /// 3. any cell is supported: supported;
    /// 4. any cell is undecided: undecided;
    /// 5. any cell is too small to matter: too small to matter;
    /// 6. otherwise no effect beyond the margin.
    ///
    /// The intervals of the cells hold together, so the verdict of the trace has the error probability of the test.
    init(cells: [HypothesisVerdict]) {
        let found = Set(cells)
        let isShown = found.contains(.supported) || found.contains(.tooSmall)
        if found.contains(.harmful) {
            self = isShown ? .undecided : .harmful
        } else {
            self = [.supported, .undecided, .tooSmall].first(where: found.contains) ?? .noEffect
        }
    }

    /// Hit ratios that differ by less than this are equal: sums of the same hits in another order.
    static let tolerance = 1e-12

    static func isAboveZero(_ interval: Interval) -> Bool { interval.low > tolerance }
}

/// The verdict on one trace: that of all its cells together.
package struct TraceVerdict: Sendable, Codable, Equatable {
    /// The file as the user named it.
    package var trace: String
    /// The verdict.
    package var verdict: HypothesisVerdict
    /// The verdict with its reasons, as a sentence.
    package var sentence: String
    /// The p-value of the permutation test over all cells of the trace: the smallest adjusted p-value of a cell.
    package var pValue: Double
    /// ``pValue``, adjusted by Holm for all traces of the report.
    package var holmPValue: Double

    /// Creates the verdicts of several traces, in the order of `traces`.
    static func list(_ results: [HypothesisResult], traces: [String], level: Double) -> [TraceVerdict] {
        let cells = traces.map { trace in results.filter { $0.trace == trace } }
        let values = cells.map { $0.map(\.permutation.adjustedPValue).min() ?? 1 }
        let adjusted = Holm.adjusted(values)
        return traces.indices.map { index in
            let verdict = HypothesisVerdict(cells: cells[index].map(\.verdict))
            return TraceVerdict(
                trace: traces[index], verdict: verdict,
                sentence: sentence(verdict, cells[index], values[index], adjusted[index], traces.count, level),
                pValue: values[index], holmPValue: adjusted[index])
        }
    }

    private static func sentence(
        _ verdict: HypothesisVerdict, _ cells: [HypothesisResult], _ value: Double, _ adjusted: Double, _ traces: Int,
        _ level: Double
    ) -> String {
        func count(_ wanted: HypothesisVerdict) -> Int { cells.count { $0.verdict == wanted } }
        let counts = HypothesisVerdict.allCases.filter { count($0) > 0 }.map { "\($0.rawValue) in \(count($0))" }
        var text = "\(verdict.words) on this trace: \(counts.joined(separator: ", ")) of \(cells.count.counted("cell"))"
        text += "; p = \(value.decimals(3))"
        if traces > 1 {
            text += ", and \(adjusted.decimals(3)) adjusted for the \(traces) traces (Holm)"
            if value <= level + 1e-9 && adjusted > level + 1e-9 {
                text += ", which is not significant for all of them together"
            }
        }
        if verdict == .undecided && count(.harmful) > 0 {
            text += ". A gain is shown in one cell and harm in another"
        }
        return text + "."
    }
}

/// The sentence that states a verdict and its reasons.
struct HypothesisSentence {
    let text: String

    init(_ evidence: CellEvidence, verdict: HypothesisVerdict) {
        let without = evidence.overWithout
        let permuted = evidence.overPermuted.first ?? without
        let way = evidence.schemes.first?.words ?? "permuted"
        let p = "p = \((evidence.permutations.first?.adjusted ?? 1).decimals(3))"
        let figures =
            "\(Self.words(permuted)) over labels \(way) (\(p)), "
            + "\(Self.words(without)) over the same learner without categories"
        guard let detectable = evidence.smallestDetectable else {
            text =
                evidence.leavesNoGain
                ? "\(verdict.words): no gain is possible with this cache, in which LRU has the hit ratio of the optimum."
                : "\(verdict.words): nothing varies in any run, so no gain is detectable; measured: \(figures)."
            return
        }
        let margin = Self.points(evidence.options.margin)
        let shown = "The smallest detectable gain is \(Self.points(detectable))."
        let isByLabels = permuted.familyInterval.high < without.familyInterval.high
        let bound = isByLabels ? permuted.familyInterval.high : without.familyInterval.high
        let control = isByLabels ? "labels \(way)" : "the same learner without categories"
        switch verdict {
        case .supported:
            text = "\(verdict.words): knowing the categories changes the hit ratio by \(figures). \(shown)"
        case .tooSmall:
            text =
                "\(verdict.words): knowing the categories changes the hit ratio by \(figures), but a gain of \(margin) "
                + "or more over \(control) is ruled out. \(shown)"
        case .noEffect:
            let ruledOut = bound > 0 ? "a gain of \(Self.points(max(bound, 0.0001))) or more" : "any gain"
            text =
                "\(verdict.words): \(ruledOut) over \(control) is ruled out, by the interval that holds for all cells; "
                + "measured: \(figures). \(shown)"
        case .harmful:
            text =
                "\(verdict.words): the learner with categories has the lower hit ratio, by the interval that holds for "
                + "all cells; measured: \(figures). \(shown)"
        case .undecided:
            let fewest = Int((1 / evidence.options.level - 1e-9).rounded(.up)) - 1
            let tooFew =
                evidence.options.schedule.stages.last ?? 0 < fewest
                ? " At least \(fewest) permutations are needed to find support." : ""
            text =
                "\(verdict.words): a gain is not shown, and one of \(margin) or more is not ruled out; "
                + "measured: \(figures). \(shown)\(tooFew)"
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
