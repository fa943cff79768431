import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// The result in one cell: one trace, mode and capacity.
///
/// Hit ratios are shares of the counted requests, 0…1. Differences are differences of hit ratios: 0.01 is one point.
public struct HypothesisResult: Sendable, Codable {
    /// The result of one policy.
    public struct Arm: Sendable, Codable {
        /// The role: `with_categories`, `without_categories`, `permuted_categories` or `baseline`.
        public var role: String
        /// The policy with the parameters set by the user.
        public var policy: String
        /// The prefetch policy. Nil without prefetching.
        public var prefetch: String?
        /// The hit ratio, averaged over the runs.
        public var hitRatio: Double
        /// The hit ratio of each run: by seed, or for permuted labels by permutation, each averaged over seeds.
        public var hitRatios: [Double]
        /// The share of the gap from LRU to the optimum that the policy closes. Nil without a gap.
        public var gapClosed: Double?
    }

    /// The difference between the learner and a baseline.
    public struct BaselineDifference: Sendable, Codable {
        /// The baseline policy.
        public var policy: String
        /// The learner with categories minus the baseline.
        public var contrast: Contrast
    }

    /// The result of the permutation test.
    public struct Permutation: Sendable, Codable {
        /// The number of permutations.
        public var permutations: Int
        /// The p-value of this cell alone, at least 1 / (permutations + 1).
        public var pValue: Double
        /// The p-value for all cells of the trace together (Westfall and Young).
        public var adjustedPValue: Double
    }

    /// The prefetching of the learner.
    public struct Prefetch: Sendable, Codable {
        /// The prefetch policy, with the parameters set by the user.
        public var policy: String
        /// The prefetch budget of each cache, in the notation of `--prefetch-budget`.
        public var budget: String
        /// The duration of a prefetch, in microseconds.
        public var fetchLatency: Int64
        /// The matrix routines of the prefetch policy.
        public var kernels: KernelInfo?
    }

    /// The resampling that the intervals are based on.
    public struct Resampling: Sendable, Codable {
        /// The kind of units: `users` or `time_blocks`.
        public var units: String
        /// The number of units.
        public var count: Int
        /// The effective number of independent units of equal weight.
        public var effectiveCount: Double
        /// The number of adjacent units drawn together.
        public var blockLength: Int
    }

    /// The share of the gap from LRU to the optimum that the learner with categories closes.
    public struct Gap: Sendable, Codable {
        /// The share, where 1 is the whole gap.
        public var share: Double
        /// The confidence interval of the share.
        public var interval: Interval
    }

    /// The file as the user named it.
    public var trace = ""
    /// The kind of caches: one shared cache, or per-user caches.
    public var mode: ReplayMode
    /// The capacity of the cache, or of each user's cache.
    public var capacity: Int
    /// The capacity as requested.
    public var capacityAsked: String
    /// The unit of the capacity.
    public var capacityUnit: SizeUnit
    /// The number of counted requests, without the warm-up.
    public var requests: Int
    /// The verdict: supported, not supported, or undecided.
    public var verdict: HypothesisVerdict
    /// The verdict with its reasons, as a sentence.
    public var sentence: String
    /// The smallest gain that the data would show with a probability of 80 %, over the stricter of the two controls.
    /// Nil if nothing varies.
    public var smallestDetectable: Double?
    /// The learner with categories minus the learner without.
    public var withMinusWithout: Contrast
    /// The learner with categories minus its mean over permuted labels.
    public var withMinusPermuted: Contrast
    /// The learner with categories minus each baseline.
    public var withMinusBaselines: [BaselineDifference]
    /// The result of the permutation test.
    public var permutation: Permutation
    /// The share of the gap closed. Nil without a gap, or if LRU or the optimum was not run.
    public var gapClosed: Gap?
    /// The prefetching of the learner, in all its forms. Nil without prefetching.
    public var prefetch: Prefetch?
    /// The matrix routines that the learner computed with. Nil for a learner without a parameter `kernels`.
    public var kernels: KernelInfo?
    /// The hit ratios of all policies.
    public var arms: [Arm]
    /// The resampling that the intervals are based on.
    public var resampling: Resampling

    init(
        _ evidence: CellEvidence, field: HypothesisField, capacity request: CapacityRequest,
        learner: HypothesisLearner
    ) {
        mode = field.mode
        capacity = field.resolved(request)
        capacityAsked = request.description
        capacityUnit = field.trace.sizeUnit
        requests = evidence.hits.withCategories.first?.requests ?? 0
        verdict = HypothesisVerdict(evidence)
        sentence = HypothesisSentence(evidence, verdict: verdict).text
        smallestDetectable = evidence.smallestDetectable
        withMinusWithout = evidence.overWithout
        withMinusPermuted = evidence.overPermuted
        withMinusBaselines = zip(learner.baselines, evidence.overBaselines).map {
            BaselineDifference(policy: $0.label, contrast: $1)
        }
        permutation = Permutation(
            permutations: evidence.hits.permuted.count, pValue: evidence.permutation.pValue,
            adjustedPValue: evidence.permutation.adjusted)
        gapClosed = evidence.gapClosed.map { Gap(share: $0.share, interval: $0.interval) }
        prefetch = learner.prefetch.map {
            let options = $0.withCategories
            return Prefetch(
                policy: options.policy.description, budget: options.budget.description,
                fetchLatency: options.fetchLatency, kernels: KernelInfo(options))
        }
        kernels = KernelInfo(learner.withCategories)
        arms = Self.arms(evidence, learner)
        resampling = Resampling(
            units: evidence.units.kind.rawValue, count: evidence.units.weights.count,
            effectiveCount: evidence.effectiveUnits, blockLength: evidence.blockLength)
    }

    private static func arms(_ evidence: CellEvidence, _ learner: HypothesisLearner) -> [Arm] {
        let hits = evidence.hits
        let lru = learner.baselines.firstIndex { $0.label == "lru" }.map { hits.baselines[$0].hitRatio }
        let planner = learner.prefetch?.withCategories.policy.description
        func arm(_ role: String, _ policy: ConfiguredPolicy, _ ratios: [Double]) -> Arm {
            let mean = ratios.reduce(0, +) / Double(max(1, ratios.count))
            return Arm(
                role: role, policy: policy.label, prefetch: role == "baseline" ? nil : planner, hitRatio: mean,
                hitRatios: ratios,
                gapClosed: lru.flatMap { evidence.gapClosed(by: mean, lru: $0) })
        }
        return [
            arm("with_categories", learner.withCategories, hits.withCategories.map(\.hitRatio)),
            arm("without_categories", learner.withoutCategories, hits.withoutCategories.map(\.hitRatio)),
            arm(
                "permuted_categories", learner.withCategories,
                hits.permuted.map { CellEvidence.mean($0).hitRatio }),
        ] + zip(learner.baselines, hits.baselines).map { arm("baseline", $0, [$1.hitRatio]) }
    }
}

/// The verdict on the hypothesis in one cell.
public enum HypothesisVerdict: String, Sendable, Codable {
    /// Categories raise the hit ratio. Both gains, over the learner without categories and over permuted labels, are
    /// above zero for all cells together, and the permutation test is significant.
    case supported
    /// A relevant gain is ruled out, over the learner without categories or over permuted labels.
    case notSupported = "not supported"
    /// Neither supported nor ruled out.
    case undecided

    /// The verdict with a capital letter, for the start of a sentence.
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

/// The sentence that states a verdict and its reasons.
struct HypothesisSentence {
    let text: String

    init(_ evidence: CellEvidence, verdict: HypothesisVerdict) {
        let (without, permuted) = (evidence.overWithout, evidence.overPermuted)
        let p = "p = \(evidence.permutation.adjusted.decimals(3))"
        let figures =
            "\(Self.words(without)) over the same learner without them, "
            + "\(Self.words(permuted)) over permuted labels (\(p))"
        guard let detectable = evidence.smallestDetectable else {
            text =
                evidence.leavesNoGain
                ? "\(verdict.words): no gain is possible with this cache, in which LRU has the hit ratio of the optimum."
                : "\(verdict.words): nothing varies in any run, so no gain is detectable; measured: \(figures)."
            return
        }
        let shown = Self.points(detectable)
        switch verdict {
        case .supported:
            text =
                "\(verdict.words): knowing the categories changes the hit ratio by \(figures); "
                + "the smallest detectable gain is \(shown)."
        case .notSupported:
            let isByLabels = permuted.familyInterval.high < without.familyInterval.high
            let bound = isByLabels ? permuted.familyInterval.high : without.familyInterval.high
            let ruledOut = bound > 0 ? "a gain of \(max(bound * 100, 0.01).decimals(2)) points or more" : "any gain"
            let control = isByLabels ? "permuted labels" : "the same learner without them"
            text =
                "\(verdict.words): \(ruledOut) over \(control) is ruled out, by the interval that holds for all cells; "
                + "measured: \(figures). The smallest detectable gain is \(shown)."
        case .undecided:
            let fewest = Int((1 / evidence.options.level).rounded(.up)) - 1
            let tooFew =
                evidence.hits.permuted.count < fewest
                ? " At least \(fewest) permutations are needed to find support." : ""
            text =
                "\(verdict.words): measured: \(figures). The smallest detectable gain is \(shown).\(tooFew)"
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
