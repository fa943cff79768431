import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// What was found in one cell: one trace, mode and capacity.
///
/// Hit ratios are shares of the counted requests, 0…1, and differences are differences of them: 0.01 is one point.
public struct HypothesisResult: Sendable, Codable {
    /// One policy's part.
    public struct Arm: Sendable, Codable {
        /// What it stands for: `with_categories`, `without_categories`, `permuted_categories` or `baseline`.
        public var role: String
        /// The policy with what was set by hand.
        public var policy: String
        /// What fetched ahead for it; `nil` for nothing.
        public var prefetch: String?
        /// The hit ratio, a mean over its runs.
        public var hitRatio: Double
        /// The hit ratio of each run: by seed, or for permuted labels by permutation, each a mean over seeds.
        public var hitRatios: [Double]
        /// The share of the gap from LRU to the optimum that it closes; `nil` where there is none.
        public var gapClosed: Double?
    }

    /// A policy beside the learner.
    public struct BaselineDifference: Sendable, Codable {
        /// The policy.
        public var policy: String
        /// The learner with categories less the policy.
        public var contrast: Contrast
    }

    /// The permutation test.
    public struct Permutation: Sendable, Codable {
        /// How many permutations were run.
        public var permutations: Int
        /// The p-value of this cell alone; never below 1 / (permutations + 1).
        public var pValue: Double
        /// The p-value that holds for all cells of the trace together (Westfall and Young).
        public var adjustedPValue: Double
    }

    /// What fetched ahead.
    public struct Prefetch: Sendable, Codable {
        /// The prefetch policy, with what was set by hand.
        public var policy: String
        /// What each cache was allowed to fetch ahead, as one would write it.
        public var budget: String
        /// How long a fetch took, in microseconds.
        public var fetchLatency: Int64
        /// The matrix routines that it computed with.
        public var kernels: KernelInfo?
    }

    /// How the intervals were drawn.
    public struct Resampling: Sendable, Codable {
        /// `users` or `time_blocks`.
        public var units: String
        /// How many there are.
        public var count: Int
        /// How many independent ones of equal weight they are worth.
        public var effectiveCount: Double
        /// How many neighbouring ones were drawn together.
        public var blockLength: Int
    }

    /// The share of the gap from LRU to the optimum that the learner with categories closes.
    public struct Gap: Sendable, Codable {
        /// The share.
        public var share: Double
        /// Where it may lie.
        public var interval: Interval
    }

    /// The file as it was named.
    public var trace = ""
    /// One cache for all, or one a user.
    public var mode: ReplayMode
    /// The capacity of the cache, or of each user's.
    public var capacity: Int
    /// The capacity as it was asked for.
    public var capacityAsked: String
    /// What capacity counts.
    public var capacityUnit: SizeUnit
    /// The requests counted, the warm-up left out.
    public var requests: Int
    /// Supported, not supported, or undecided.
    public var verdict: HypothesisVerdict
    /// The verdict with its reasons, for people.
    public var sentence: String
    /// The smallest gain that the data could have shown four times in five, against the harder of the two controls; `nil`
    /// where nothing varies, so that nothing could show.
    public var smallestDetectable: Double?
    /// With categories less without.
    public var withMinusWithout: Contrast
    /// With categories less the mean over permuted labels.
    public var withMinusPermuted: Contrast
    /// The learner with categories less each baseline.
    public var withMinusBaselines: [BaselineDifference]
    /// The permutation test.
    public var permutation: Permutation
    /// The share of the gap closed; `nil` where there is no gap or no LRU or optimum was run.
    public var gapClosed: Gap?
    /// What fetched ahead for the learner, in all its forms; `nil` for nothing.
    public var prefetch: Prefetch?
    /// The matrix routines that the learner computed with; `nil` for a learner without a parameter `kernels`.
    public var kernels: KernelInfo?
    /// Every policy's hit ratio.
    public var arms: [Arm]
    /// How the intervals were drawn.
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
                ? "\(verdict.words): no gain is possible with this cache, in which LRU has the hit ratio of the optimum."
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
