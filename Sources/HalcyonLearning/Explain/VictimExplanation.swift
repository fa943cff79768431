import HalcyonEviction

/// Why one victim was chosen.
public struct VictimExplanation: Sendable, Codable {
    /// How much a group raised an object's score, compared with its mean over the samples that were held back.
    public struct Contribution: Sendable, Codable {
        /// The group.
        public var group: String
        /// The network's score as it was, less what it is with the group's features at their means; octaves.
        public var score: Double
    }

    /// One of those among whom the choice was made.
    public struct Candidate: Sendable, Codable {
        /// The object's number in its cache.
        public var entry: UInt32
        /// Its number among all caches that share the model; the same where there is one cache.
        public var object: UInt32
        /// The number of who asked for it last, in a fleet of whose cache it is; `nil` if nobody knows.
        public var user: UInt32?
        /// Whether it is the object that was asked for, which then might have been refused.
        public var isNewcomer: Bool
        /// How many requests the cache had served when it got its score, to which all that follows belongs: one scoring serves several
        /// evictions.
        public var scoredAt: Int
        /// What the judge gave it: the least goes.
        public var score: Double
        /// The network's chance that it is asked for again within the horizon.
        public var probability: Double
        /// The features, as bytes.
        public var features: [String: Int]
        /// What each group did to the network's score; empty where another judge decided.
        public var contributions: [Contribution]
    }

    /// Which eviction it was, counted from 1.
    public var number: Int
    /// How many requests the cache had served, this one included.
    public var request: Int
    /// Who decided: `network`, `gdsf` or `lru`.
    public var judge: String
    /// How many residents were looked at: all of them by `gdsf` where sizes differ and in the turns of `lru`.
    public var candidates: Int
    /// Who went.
    public var victim: Candidate
    /// Who would have gone in its place; `nil` if there was no other.
    public var runnerUp: Candidate?

    /// The record of an eviction in words.
    ///
    /// - Parameter means: the mean inputs of the samples that were held back.
    init(_ record: VictimRecord, number: Int, inputs: Int, means: [Float], parameters: LearnedParameters) {
        let groups = FeatureGroups.named.filter { parameters.groups.contains($0.group) }
        let explained = record.judge == .network ? groups : []
        func candidate(_ observed: VictimRecord.Observation) -> Candidate {
            let scored = observed.scored
            var judgement = Judgement(
                weights: scored.weights, inputs: inputs, hidden: parameters.hidden, blas: parameters.blas)
            let row = judgement.inputs(scored.row)
            let variants = explained.map { group in
                var changed = row
                for feature in group.features where feature.place < inputs {
                    changed[feature.place] = means[feature.place]
                }
                return changed
            }
            let logits = judgement.logits([row] + variants)
            let scores = logits.map {
                Double(
                    parameters.missCost.score(logit: $0, logSize: scored.logSize, costsDiffer: record.costsDiffer))
            }
            let features = groups.flatMap(\.features).filter { $0.place < inputs }
            return Candidate(
                entry: observed.entry, object: observed.object, user: observed.user == .max ? nil : observed.user,
                isNewcomer: observed.isNewcomer, scoredAt: scored.request,
                score: Double(observed.score),
                probability: Judgement.probability(logits[0]),
                features: Dictionary(uniqueKeysWithValues: features.map { ($0.name, Int(scored.row[$0.place])) }),
                contributions: explained.indices.map {
                    Contribution(group: explained[$0].name, score: scores[0] - scores[$0 + 1])
                })
        }
        self.number = number
        request = record.request
        judge =
            switch record.judge {
            case .network: "network"
            case .greedyDual: "gdsf"
            case .recency: "lru"
            }
        candidates = record.candidates
        victim = candidate(record.victim)
        runnerUp = record.runnerUp.map(candidate)
    }
}
