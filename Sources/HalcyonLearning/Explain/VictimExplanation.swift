import HalcyonEviction

/// The reason for the choice of one victim.
public struct VictimExplanation: Sendable, Codable {
    private enum CodingKeys: String, CodingKey {
        case number, request
        case expert = "judge"
        case candidates, victim, runnerUp
    }

    /// The contribution of a group of features to an object's score, compared with their means over the held-back samples
    /// whose labels were known at the eviction; over the first of them if none was.
    public struct Contribution: Sendable, Codable {
        /// The name of the group.
        public var group: String
        /// The network's score, minus its score with the group's features at their means. In octaves.
        public var score: Double
    }

    /// An object that was compared.
    public struct Candidate: Sendable, Codable {
        private enum CodingKeys: String, CodingKey {
            case entry, object, user
            case isNewObject = "isNewcomer"
            case scoredAt, score, probability, features, contributions
        }

        /// The object's number in its cache.
        public var entry: UInt32
        /// The object's number among all caches that share the model; equal to ``entry`` if there is one cache.
        public var object: UInt32
        /// The user of the last access, or with per-user caches the user of the cache; `nil` if unknown.
        public var user: UInt32?
        /// Whether it is the requested object, which might have been refused instead.
        public var isNewObject: Bool
        /// The requests that the cache had served when the object was scored. All following values are as of then: one scoring
        /// serves several evictions.
        public var scoredAt: Int
        /// The score by the expert that decided; the lowest one is the victim.
        public var score: Double
        /// The network's probability that the object is requested again within the label window.
        public var probability: Double
        /// The features, as bytes.
        public var features: [String: Int]
        /// The contribution of each group to the network's score; empty if another expert decided.
        public var contributions: [Contribution]
    }

    /// The number of the eviction, from 1.
    public var number: Int
    /// The requests that the cache had served, this one included.
    public var request: Int
    /// The expert that decided: `network`, `gdsf` or `lru`; or the shadow that was followed: `s3-fifo`, `w-tinylfu` or
    /// `lru`.
    public var expert: String
    /// The number of residents that were compared: all of them by `gdsf` with variable sizes, by `lru` and
    /// by shadows.
    public var candidates: Int
    /// The object that was evicted.
    public var victim: Candidate
    /// The object that would have been evicted instead; `nil` if there was no other.
    public var runnerUp: Candidate?

    /// Explains the record of an eviction.
    ///
    /// - Parameter means: the mean inputs of the held-back samples.
    init(_ record: VictimRecord, number: Int, inputs: Int, means: [Float], parameters: LearnedParameters) {
        let groups = FeatureGroups.named.filter { parameters.groups.contains($0.group) }
        let explained = record.decider == Expert.network.name ? groups : []
        func candidate(_ observed: VictimRecord.Observation) -> Candidate {
            let scored = observed.scored
            var evaluator = NetworkEvaluator(
                weights: scored.weights, inputs: inputs, hidden: parameters.hidden, blas: parameters.blas)
            let row = evaluator.inputs(scored.row)
            let variants = explained.map { group in
                var changed = row
                for feature in group.features where feature.place < inputs {
                    changed[feature.place] = means[feature.place]
                }
                return changed
            }
            let logits = evaluator.logits([row] + variants)
            let scores = logits.map {
                Double(
                    parameters.missCost.score(
                        logit: $0, logSize: scored.logSize, usesUniformSizes: record.usesUniformSizes))
            }
            let features = groups.flatMap(\.features).filter { $0.place < inputs }
            return Candidate(
                entry: observed.object.entry, object: observed.object.object,
                user: observed.object.user == .max ? nil : observed.object.user,
                isNewObject: observed.isNewObject, scoredAt: scored.request, score: Double(observed.score),
                probability: NetworkEvaluator.probability(logits[0]),
                features: Dictionary(uniqueKeysWithValues: features.map { ($0.name, Int(scored.row[$0.place])) }),
                contributions: explained.indices.map {
                    Contribution(group: explained[$0].name, score: scores[0] - scores[$0 + 1])
                })
        }
        self.number = number
        request = record.request
        expert = record.decider
        candidates = record.candidates
        victim = candidate(record.victim)
        runnerUp = record.runnerUp.map(candidate)
    }
}
