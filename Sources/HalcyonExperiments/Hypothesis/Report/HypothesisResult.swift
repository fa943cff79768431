import HalcyonEviction
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonTrace

/// The result in one cell: one trace, mode and capacity.
///
/// Hit ratios are shares of the counted requests, 0…1. Differences are differences of hit ratios: 0.01 is one point.
package struct HypothesisResult: Sendable, Codable {
    /// The result of one policy.
    package struct Arm: Sendable, Codable {
        /// The role: `with_categories`, `without_categories`, `permuted_categories` or `baseline`.
        package var role: String
        /// The policy with the parameters set by the user.
        package var policy: String
        /// All parameters of the policy, defaults included.
        package var parameters: [String: String]
        /// The way the labels are permuted, in the notation of `--permute`. Nil for the other roles.
        package var permute: PermutationScheme?
        /// The prefetch policy. Nil without prefetching.
        package var prefetch: String?
        /// All parameters of the planner, defaults included. Nil without prefetching.
        package var prefetchParameters: [String: String]?
        /// The hit ratio, averaged over the runs.
        package var hitRatio: Double
        /// The hit ratio of each run: by seed, or for permuted labels by permutation, each averaged over seeds.
        package var hitRatios: [Double]
        /// The share of the gap from LRU to the optimum that the policy closes. Nil without a gap.
        package var gapClosed: Double?
    }

    /// The difference between the learner and a baseline.
    package struct BaselineDifference: Sendable, Codable {
        /// The baseline policy.
        package var policy: String
        /// The learner with categories minus the baseline.
        package var contrast: Contrast
    }

    /// The comparison with one way to permute labels, and the result of its permutation test.
    package struct Permutation: Sendable, Codable {
        /// The way, in the notation of `--permute`, without properties that are equal for all objects.
        package var permute: PermutationScheme
        /// The learner with categories minus its mean over these permutations.
        package var contrast: Contrast
        /// The number of permutations.
        package var permutations: Int
        /// The number of seeds averaged under each permutation.
        package var seeds: Int
        /// The p-value of this cell alone, at least 1 / (permutations + 1).
        package var pValue: Double
        /// The p-value for all cells of the trace together (Westfall and Young).
        package var adjustedPValue: Double
        /// The number of strata; 1 for uniform permutations.
        package var strata: Int
        /// The number of objects in the smallest stratum.
        package var smallestStratum: Int
        /// The share of the objects that have other labels than before, in the first permutation, 0…1.
        package var shareChanged: Double

        init(_ evidence: CellEvidence, scheme: Int, strata: LabelStrata, shareChanged: Double) {
            permute = strata.scheme
            contrast = evidence.overPermuted[scheme]
            permutations = evidence.hits.permuted[scheme].count
            seeds = evidence.hits.permuted[scheme].first?.count ?? 0
            pValue = evidence.permutations[scheme].pValue
            adjustedPValue = evidence.permutations[scheme].adjusted
            self.strata = strata.members.count
            smallestStratum = strata.fewest
            self.shareChanged = shareChanged
        }
    }

    /// The prefetching of the learner.
    package struct Prefetch: Sendable, Codable {
        /// The prefetch policy, with the parameters set by the user.
        package var policy: String
        /// All parameters of the planner with categories, defaults included.
        package var parameters: [String: String]
        /// The prefetch budget of each cache, in the notation of `--prefetch-budget`.
        package var budget: String
        /// The latency of a prefetch of no bytes, in microseconds.
        package var fetchLatency: Int64
        /// The bandwidth of prefetches in bytes a second. Nil if sizes do not matter.
        package var bandwidth: Double?
        /// The latency of a prefetch as text: `150 ms + size / (5.0 MB/s)`, or `ideal (zero latency)`.
        package var latency: String
        /// The matrix routines of the prefetch policy.
        package var kernels: KernelInfo?
        /// The announcements to each device, with every value. Nil without.
        package var announcements: String?
    }

    /// The units that the intervals are based on.
    package struct Resampling: Sendable, Codable {
        /// The kind of units: `users` or `time_blocks`.
        package var units: String
        /// The number of units.
        package var count: Int
        /// The effective number of independent units of equal weight: the degrees of freedom of the units, plus one.
        package var effectiveCount: Double
        /// The number of time blocks over which the differences depend on themselves; 1 for users.
        package var blockLength: Int
    }

    /// The share of the gap from LRU to the optimum that the learner with categories closes.
    package struct Gap: Sendable, Codable {
        /// The share, where 1 is the whole gap.
        package var share: Double
        /// The confidence interval of the share (Fieller). Nil if the data do not show that there is a gap.
        package var interval: Interval?
    }

    /// The file as the user named it.
    package var trace = ""
    /// The kind of caches: one shared cache, or per-user caches.
    package var mode: ReplayMode
    /// The capacity of the cache, or of each user's cache.
    package var capacity: Int
    /// The capacity as requested.
    package var capacityAsked: String
    /// The unit of the capacity.
    package var capacityUnit: SizeUnit
    /// What the learners and the prefetch policies of per-user caches saw. Nil for a shared cache.
    package var knowledge: Knowledge?
    /// What the models of devices were trained on, with the labels of each arm: `other-users`, or the names of other traces. Nil
    /// without such models.
    package var pretrain: String?
    /// The number of counted requests, without the warm-up.
    package var requests: Int
    /// The verdict.
    package var verdict: HypothesisVerdict
    /// The verdict with its reasons, as a sentence.
    package var sentence: String
    /// The smallest gain that the data would show with a probability of 80 %, over the stricter of the two controls.
    /// Nil if nothing varies.
    package var smallestDetectable: Double?
    /// The learner with categories minus its mean over permuted labels, by the first way to permute them: the headline.
    package var withMinusPermuted: Contrast
    /// The learner with categories minus the learner without.
    package var withMinusWithout: Contrast
    /// The learner with categories minus each baseline.
    package var withMinusBaselines: [BaselineDifference]
    /// The result of the permutation test by the first way to permute labels.
    package var permutation: Permutation
    /// The results of all ways to permute labels, the first included.
    package var permutations: [Permutation]
    /// The offline policy at the upper end of the gap, whose lower end is LRU. Nil if LRU or it was not run.
    package var gapReference: String?
    /// The share of the gap closed. Nil without a gap, or if LRU or the optimum was not run.
    package var gapClosed: Gap?
    /// The prefetching of the learner, in all its forms. Nil without prefetching.
    package var prefetch: Prefetch?
    /// The matrix routines that the learner computed with. Nil for a learner without a parameter `kernels`.
    package var kernels: KernelInfo?
    /// The hit ratios of all policies.
    package var arms: [Arm]
    /// The units that the intervals are based on.
    package var resampling: Resampling

    init(
        _ evidence: CellEvidence, field: HypothesisField, capacity request: CapacityRequest,
        learner: HypothesisLearner, knowledge: Knowledge, permutations: [Permutation]
    ) {
        mode = field.mode
        capacity = field.resolved(request)
        capacityAsked = request.description
        capacityUnit = field.trace.sizeUnit
        requests = evidence.hits.withCategories.first?.requests ?? 0
        verdict = HypothesisVerdict(evidence)
        sentence = HypothesisSentence(evidence, verdict: verdict).text
        if mode == .perUser {
            self.knowledge = knowledge
            pretrain = learner.pretraining?.description
            sentence += " With \(knowledge.rawValue) knowledge"
            sentence += learner.pretraining.map { " and models \($0.words)." } ?? "."
        }
        smallestDetectable = evidence.smallestDetectable
        withMinusWithout = evidence.overWithout
        self.permutations = permutations
        permutation = permutations[0]
        withMinusPermuted = permutation.contrast
        withMinusBaselines = zip(learner.baselines, evidence.overBaselines).map {
            BaselineDifference(policy: $0.label, contrast: $1)
        }
        gapReference = evidence.gapReference
        gapClosed = evidence.gapClosed.map { Gap(share: $0.share, interval: $0.interval) }
        prefetch = learner.prefetch.map {
            let options = $0.withCategories
            return Prefetch(
                policy: options.policy.description, parameters: options.parameters,
                budget: options.budget.description,
                fetchLatency: options.latency.shortest, bandwidth: options.latency.bandwidth,
                latency: options.latency.description, kernels: KernelInfo(options),
                announcements: field.mode == .perUser ? $0.announcements?.description : nil)
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
        func arm(
            _ role: String, _ policy: ConfiguredPolicy, _ ratios: [Double], _ prefetch: PrefetchOptions? = nil,
            permute: PermutationScheme? = nil
        ) -> Arm {
            let mean = ratios.reduce(0, +) / Double(max(1, ratios.count))
            return Arm(
                role: role, policy: policy.label,
                parameters: Dictionary(policy.recordedParameters.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }),
                permute: permute, prefetch: prefetch?.policy.description,
                prefetchParameters: prefetch?.parameters, hitRatio: mean, hitRatios: ratios,
                gapClosed: lru.flatMap { evidence.gapClosed(by: mean, lru: $0) })
        }
        let (with, without) = (learner.prefetch?.withCategories, learner.prefetch?.withoutCategories)
        var arms = [
            arm("with_categories", learner.withCategories, hits.withCategories.map(\.hitRatio), with),
            arm("without_categories", learner.withoutCategories, hits.withoutCategories.map(\.hitRatio), without),
        ]
        for (scheme, runs) in zip(evidence.schemes, hits.permuted) {
            let ratios = runs.map { CellEvidence.mean($0).hitRatio }
            arms.append(arm("permuted_categories", learner.withCategories, ratios, with, permute: scheme))
        }
        return arms + zip(learner.baselines, hits.baselines).map { arm("baseline", $0, [$1.hitRatio]) }
    }
}
