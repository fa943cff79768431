import Foundation
import HalcyonLearning

/// What a ``PrefetchPlanner`` has learned of visits over all users, beside its network for requests.
///
/// It has the network that estimates the next visit, and how often its estimates came true. It has how often visits repeat objects and
/// how their hits are spread, and which choices were better than those of the eviction policy.
///
/// Statistics of single objects, categories and users are not included, because their numbers mean nothing elsewhere.
///
/// A file is in the safetensors format. It has these arrays:
///
/// - `network` and `gradients`: the weights, and the root of the sum of each weight's squared gradients;
/// - `outcomes`, 2 × bins of probability: the predictions, and those that came true;
/// - `repeats` and `rest`, 2 × steps of a visit's length;
/// - `contests`, 2 × 2: gains and losses, during visits and between them.
public struct PretrainedVisits: Sendable, Equatable {
    /// The file version that this release writes, and the only one that it reads. It is raised when the inputs of the network change.
    public static let formatVersion = 1
    private static let format = "halcyon.visits"
    private static let activation = "relu"
    /// The largest count that is written; larger ones are scaled down with those that they are compared with.
    private static let largestCount: Float = 9_999

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
    public let examples: Int
    /// The version of Halcyon that wrote the file.
    public let producer: String

    /// Reads a file. O(bytes).
    ///
    /// - Throws: `ModelFileError` if the file does not exist or cannot be used by this release.
    public init(contentsOf path: String) throws(ModelFileError) {
        let data = try ModelFile.read(path)
        do { try self.init(parsing: data) } catch { throw error.named(path) }
    }

    /// Parses the bytes of a file. O(bytes).
    ///
    /// - Throws: `ModelFileError` if this release cannot use them.
    public init(parsing data: Data) throws(ModelFileError) {
        let file = try SafeTensors(parsing: data)
        let texts = try file.texts(
            format: Self.format, versions: Self.formatVersion...Self.formatVersion, activation: Self.activation)
        weights = try file.values("network", shape: [NextVisitModel.weightCount])
        gradients = try file.values("gradients", shape: [NextVisitModel.weightCount])
        outcomes = try file.values("outcomes", shape: [2, OutcomesByProbability.bins])
        repeats = try file.values("repeats", shape: [2, RepeatsInVisit().reached.count])
        rest = try file.values("rest", shape: [2, RestOfVisit().hits.count])
        contests = try file.values("contests", shape: [2, 2])
        for (name, counts) in [
            ("gradients", gradients), ("outcomes", outcomes), ("repeats", repeats), ("rest", rest),
            ("contests", contests),
        ] where counts.contains(where: { $0 < 0 || $0 == 0 && !["contests", "outcomes"].contains(name) }) {
            throw ModelFileError(reason: .inconsistent("The array '\(name)' has a number that is no count"))
        }
        examples = try texts.count("examples")
        producer = try texts.text("halcyon_version")
    }

    /// Writes a file, which replaces an older one only when it is complete. O(weights).
    ///
    /// - Throws: `ModelFileError` if that fails; an older file then remains.
    public func write(to path: String) throws(ModelFileError) { try ModelFile.write(try data(), to: path) }

    /// Returns the bytes of the file; the same for equal contents. O(weights).
    ///
    /// - Throws: `ModelFileError` if the header cannot be encoded.
    public func data() throws(ModelFileError) -> Data {
        try SafeTensors(
            tensors: [
                "network": SafeTensors.Tensor(shape: [weights.count], values: weights),
                "gradients": SafeTensors.Tensor(shape: [gradients.count], values: gradients),
                "outcomes": SafeTensors.Tensor(shape: [2, outcomes.count / 2], values: outcomes),
                "repeats": SafeTensors.Tensor(shape: [2, repeats.count / 2], values: repeats),
                "rest": SafeTensors.Tensor(shape: [2, rest.count / 2], values: rest),
                "contests": SafeTensors.Tensor(shape: [2, 2], values: contests),
            ],
            metadata: [
                "format": Self.format, "format_version": "\(Self.formatVersion)", "halcyon_version": producer,
                "activation": Self.activation, "examples": "\(examples)",
            ]
        ).data()
    }

    fileprivate init(_ planner: BetweenVisits, producer: String) {
        weights = planner.model.weights
        gradients = planner.model.squares.map { min($0.squareRoot(), Self.largestCount) }
        let bins = planner.outcomes.list
        outcomes = Self.scaled(Array(bins[..<OutcomesByProbability.bins]), Array(bins[OutcomesByProbability.bins...]))
        repeats = Self.scaled(planner.repeats.reached, planner.repeats.repeated)
        rest = Self.scaled(planner.rest.hits, planner.rest.later)
        let (during, between) = (planner.duringVisits, planner.betweenVisits)
        contests = [during.gains, during.losses, between.gains, between.losses]
        examples = planner.model.examples
        self.producer = producer
    }

    /// Returns two lists of counts in one. A pair is scaled down if one is larger than ``largestCount``; its ratio stays.
    private static func scaled(_ first: [Float], _ second: [Float]) -> [Float] {
        let factors = zip(first, second).map { min(1, largestCount / max($0, $1, 1)) }
        return zip(first, factors).map { $0 * $1 } + zip(second, factors).map { $0 * $1 }
    }
}

extension PrefetchPlanner {
    /// Returns what was learned of visits over all users; `nil` if no visit was learned from.
    ///
    /// - Parameter producer: the version of Halcyon that is stated in the file.
    public func visitsSnapshot(producer: String) -> PretrainedVisits? {
        guard let between, between.model.examples > 0 else { return nil }
        return PretrainedVisits(between, producer: producer)
    }

    /// Replaces what was learned of visits over all users. What was learned of single users and objects stays. A planner that plans
    /// nothing between visits ignores it.
    public func adopt(_ learned: PretrainedVisits) { between?.adopt(learned) }
}

extension BetweenVisits {
    fileprivate func adopt(_ learned: PretrainedVisits) {
        model.adopt(weights: learned.weights, squares: learned.gradients.map { $0 * $0 }, examples: learned.examples)
        outcomes.list = learned.outcomes
        let (steps, stepsOfRest) = (repeats.reached.count, rest.hits.count)
        (repeats.reached, repeats.repeated) = (Array(learned.repeats[..<steps]), Array(learned.repeats[steps...]))
        (rest.hits, rest.later) = (Array(learned.rest[..<stepsOfRest]), Array(learned.rest[stepsOfRest...]))
        (duringVisits.gains, duringVisits.losses) = (learned.contests[0], learned.contests[1])
        (betweenVisits.gains, betweenVisits.losses) = (learned.contests[2], learned.contests[3])
    }
}
