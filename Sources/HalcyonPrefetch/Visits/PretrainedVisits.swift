import HalcyonLearning

/// What a ``PrefetchPlanner`` has learned of visits over all users, beside its network for requests: a part of
/// ``PretrainedPlanner``.
///
/// It has the network that estimates the next visit, and how often its estimates came true. It has how often visits repeat objects and
/// how their hits are spread, and which choices were better than those of the eviction policy.
///
/// In the file it has these arrays:
///
/// - `visits.network` and `visits.gradients`: the weights, and the root of the sum of each weight's squared gradients;
/// - `visits.outcomes`, 2 × bins of probability: the predictions, and those that came true;
/// - `visits.repeats` and `visits.rest`, 2 × steps of a visit's length;
/// - `visits.contests`, 2 × 2: gains and losses, during visits and between them.
struct PretrainedVisits: Sendable, Equatable {
    /// The largest count that is written; larger ones are scaled down with those that they are compared with.
    private static let largestCount: Float = 9_999
    private static let prefix = "visits."

    /// The weights of the network.
    let weights: [Float]
    /// The root of the sum of each weight's squared gradients.
    let gradients: [Float]
    /// The predictions of each bin of probability, and those that came true.
    let outcomes: [Float]
    /// The numbers of objects that reached each step, and of those that were repeated.
    let repeats: [Float]
    /// The hits of each step, and those that were still to come.
    let rest: [Float]
    /// The gains and losses during visits, then between them.
    let contests: [Float]
    /// The number of outcomes that the network was trained with.
    let examples: Int

    /// Reads the part of a file; `nil` if the file has none.
    ///
    /// - Throws: `ModelFileError` if this release cannot use it.
    init?(_ file: SafeTensors, _ texts: ModelTexts) throws(ModelFileError) {
        guard file.tensors.keys.contains(where: { $0.hasPrefix(Self.prefix) }) else { return nil }
        func values(_ name: String, _ shape: [Int]) throws(ModelFileError) -> [Float] {
            try file.values(Self.prefix + name, shape: shape)
        }
        weights = try values("network", [OnlineNetwork.weightCount(inputs: VisitInputColumns.inputCount)])
        gradients = try values("gradients", [OnlineNetwork.weightCount(inputs: VisitInputColumns.inputCount)])
        outcomes = try values("outcomes", [2, OutcomesByProbability.bins])
        repeats = try values("repeats", [2, RepeatsInVisit().reached.count])
        rest = try values("rest", [2, RestOfVisit().hits.count])
        contests = try values("contests", [2, 2])
        for (name, counts) in [
            ("gradients", gradients), ("outcomes", outcomes), ("repeats", repeats), ("rest", rest),
            ("contests", contests),
        ] where counts.contains(where: { $0 < 0 || $0 == 0 && !["contests", "outcomes"].contains(name) }) {
            throw ModelFileError(reason: .inconsistent("The array 'visits.\(name)' has a number that is no count"))
        }
        examples = try texts.count("visit_examples")
    }

    /// Writes the part into a file.
    func write(into file: inout SafeTensors) {
        let arrays: [(String, [Int], [Float])] = [
            ("network", [weights.count], weights), ("gradients", [gradients.count], gradients),
            ("outcomes", [2, outcomes.count / 2], outcomes), ("repeats", [2, repeats.count / 2], repeats),
            ("rest", [2, rest.count / 2], rest), ("contests", [2, 2], contests),
        ]
        for (name, shape, values) in arrays {
            file.tensors[Self.prefix + name] = SafeTensors.Tensor(shape: shape, values: values)
        }
        file.metadata["visit_examples"] = "\(examples)"
    }

    init(_ planner: BetweenVisits) {
        weights = planner.model.weights
        gradients = planner.model.squares.map { min($0.squareRoot(), Self.largestCount) }
        let bins = planner.outcomes.list
        outcomes = Self.scaled(Array(bins[..<OutcomesByProbability.bins]), Array(bins[OutcomesByProbability.bins...]))
        repeats = Self.scaled(planner.repeats.reached, planner.repeats.repeated)
        rest = Self.scaled(planner.rest.hits, planner.rest.later)
        let (during, between) = (planner.duringVisits.counts, planner.betweenVisits.counts)
        contests = [during.gains, during.losses, between.gains, between.losses]
        examples = planner.model.examples
    }

    /// Returns two lists of counts in one. A pair is scaled down if one is larger than ``largestCount``; its ratio stays.
    private static func scaled(_ first: [Float], _ second: [Float]) -> [Float] {
        let factors = zip(first, second).map { min(1, largestCount / max($0, $1, 1)) }
        return zip(first, factors).map { $0 * $1 } + zip(second, factors).map { $0 * $1 }
    }
}

extension BetweenVisits {
    /// Replaces what was learned of visits over all users. What was learned of single users and objects stays.
    func adopt(_ learned: PretrainedVisits) {
        model.adopt(weights: learned.weights, squares: learned.gradients.map { $0 * $0 }, examples: learned.examples)
        outcomes.list = learned.outcomes
        let (steps, stepsOfRest) = (repeats.reached.count, rest.hits.count)
        (repeats.reached, repeats.repeated) = (Array(learned.repeats[..<steps]), Array(learned.repeats[steps...]))
        (rest.hits, rest.later) = (Array(learned.rest[..<stepsOfRest]), Array(learned.rest[stepsOfRest...]))
        duringVisits.counts = (learned.contests[0], learned.contests[1])
        betweenVisits.counts = (learned.contests[2], learned.contests[3])
    }
}
