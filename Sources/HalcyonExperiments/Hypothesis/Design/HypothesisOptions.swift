import HalcyonSimulation

/// How the hypothesis is tested.
public struct HypothesisOptions: Sendable, Equatable, Codable {
    /// The share of the requests, 0…1, that is served first and left out of every count.
    public var warmup = 0.25
    /// How many seeds of the learner are run and averaged, with and without categories.
    public var seeds = 6
    /// How many of these seeds are run and averaged under each permutation of the labels; at most ``seeds`` are.
    public var permutedSeeds = 2
    /// How many permutations of the labels are run; fewer than 19 cannot support anything at 95 %.
    public var permutations = 19
    /// How many draws the bootstrap makes.
    public var resamples = 2_000
    /// The confidence of the intervals; 1 less this is the level of the permutation test.
    public var confidence = 0.95
    /// The smallest gain in hit ratio that matters: where a larger one is ruled out, the hypothesis is not supported.
    public var margin = 0.005
    /// What the caches of a fleet learn together.
    public var models = ModelSharing.shared
    /// At most so many requests of a trace are replayed; `nil` is all. It is written down, and the traces of the fields are
    /// those that were cut already.
    public var limit: Int?
    /// The first seed, of the learner and of everything else that is random.
    public var seed: UInt64 = 1

    /// The defaults.
    public init() {}

    /// The largest p-value that counts as evidence.
    var level: Double { 1 - confidence }

    func validate() throws(ReplayError) {
        if !(0..<1).contains(warmup) {
            throw .usage("A warm-up of \(warmup) is not a share: give a number from 0 to less than 1.")
        }
        if !(1...1_000).contains(seeds) { throw .usage("\(seeds) seeds: give 1 to 1000.") }
        if !(1...1_000).contains(permutedSeeds) {
            throw .usage("\(permutedSeeds) seeds under each permutation: give 1 to 1000.")
        }
        if !(2...10_000).contains(permutations) {
            throw .usage("\(permutations) permutations: give 2 to 10000, and 19 or more to find support.")
        }
        if !(200...100_000).contains(resamples) { throw .usage("\(resamples) resamples: give 200 to 100000.") }
        if !(0.5..<1).contains(confidence) {
            throw .usage("A confidence of \(confidence): give a number from 0.5 to less than 1.")
        }
        if !(0...1).contains(margin) {
            throw .usage("A margin of \(margin) is not a hit ratio: give a number from 0 to 1.")
        }
    }
}
