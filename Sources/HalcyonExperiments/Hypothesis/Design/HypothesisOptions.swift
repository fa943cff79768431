import HalcyonSimulation

/// The options of a test of the hypothesis.
package struct HypothesisOptions: Sendable, Equatable, Codable {
    /// The share of the requests, 0…1, that warms up the cache and is not counted. The default is 0.25.
    package var warmup = 0.25
    /// The number of seeds of the learner to average, with and without categories. The default is 6.
    package var seeds = 6
    /// The number of these seeds to average under each permutation of the labels, at most ``seeds``. The default is 2.
    package var permutedSeeds = 2
    /// The ways to permute the labels. The verdict is by the first one; the others stand beside it. By default within
    /// strata of popularity, age and size, and uniform.
    package var permute = PermutationScheme.standard
    /// The number of permutations of each way to run at first. The default is 19.
    package var permutations = 19
    /// The maximum number of permutations of the first way. They are run while a cell's intervals show a gain, its
    /// p-value is not yet significant, and more permutations could make it so. The default is 199. At most
    /// ``permutations``: a fixed number.
    package var mostPermutations = 199
    /// The confidence of the intervals. The level of the permutation test is 1 minus this. The default is 0.95.
    package var confidence = 0.95
    /// The smallest relevant gain in hit ratio, the margin of the verdicts. The default is 0.005.
    package var margin = 0.005
    /// What the learners and the prefetch policies of per-user caches see. The default is device knowledge.
    package var knowledge = Knowledge.device
    /// The maximum number of requests of a trace. Nil by default: no limit. It is only recorded; the traces of the
    /// fields are already limited.
    package var limit: Int?
    /// The first seed of all random choices. The default is 1.
    package var seed: UInt64 = 1

    /// Creates the default options.
    package init() {}

    /// The schedule of the permutations that the verdict is based on.
    var schedule: PermutationSchedule {
        PermutationSchedule(first: permutations, most: mostPermutations, level: level)
    }

    /// The significance level: the largest p-value that counts as evidence.
    var level: Double { 1 - confidence }

    func validate() throws(ReplayError) {
        if !(0..<1).contains(warmup) {
            throw .usage("A warm-up of \(warmup) is not a share: give a number from 0 to less than 1.")
        }
        if !(1...1_000).contains(seeds) { throw .usage("\(seeds) seeds: give 1 to 1000.") }
        if !(1...1_000).contains(permutedSeeds) {
            throw .usage("\(permutedSeeds) seeds under each permutation: give 1 to 1000.")
        }
        if permute.isEmpty { throw .usage("No way to permute labels is given: give at least one.") }
        if Set(permute).count < permute.count { throw .usage("A way to permute labels is given twice: give it once.") }
        for number in [permutations, mostPermutations] where !(2...10_000).contains(number) {
            throw .usage("\(number) permutations: give 2 to 10000, and 19 or more to find support.")
        }
        if mostPermutations < permutations {
            throw .usage("At most \(mostPermutations) permutations are fewer than the first \(permutations).")
        }
        if !(0.5..<1).contains(confidence) {
            throw .usage("A confidence of \(confidence): give a number from 0.5 to less than 1.")
        }
        if !(0...1).contains(margin) {
            throw .usage("A margin of \(margin) is not a hit ratio: give a number from 0 to 1.")
        }
    }
}
