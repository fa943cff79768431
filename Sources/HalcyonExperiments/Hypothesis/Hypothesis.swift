import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// A test of whether categories raise a learner's hit ratio. The learner is compared with the same learner without
/// categories, and with itself under permuted labels.
///
/// ```swift
/// let trace = try Trace.load("shop.csv")
/// let hypothesis = try Hypothesis(
///     fields: [HypothesisField(mode: .shared, trace: trace)], learner: HypothesisLearner())
/// for result in await hypothesis.run() { print(result.sentence) }
/// ```
///
/// All fields use one trace, and the verdicts hold for all its cells together. `Experiments/methods.md` states the
/// method, its assumptions and its limits. Results do not depend on the number of threads.
package struct Hypothesis: Sendable {
    /// The trace, in each mode.
    package let fields: [HypothesisField]
    /// The learner and its controls.
    package let learner: HypothesisLearner
    /// The options of the test.
    package let options: HypothesisOptions

    private let runners: [FieldRunner]

    /// Creates a test. O(requests + objects · log objects).
    ///
    /// - Throws: `ReplayError` if an option is out of range or the warm-up leaves too few requests. Also if a prefetch
    ///   budget is in bytes but objects are counted, or if all objects share the property within which labels are to be
    ///   permuted.
    package init(
        fields: [HypothesisField], learner: HypothesisLearner, options: HypothesisOptions = HypothesisOptions()
    ) throws(ReplayError) {
        try options.validate()
        var runners: [FieldRunner] = []
        for field in fields {
            try learner.prefetch?.withCategories.verify(unit: field.trace.sizeUnit)
            let warmup = Warmup.share(options.warmup).requests(of: field.trace)
            if field.trace.count - warmup < ResamplingUnits.timeBlockCount {
                throw .data(
                    "Only \(field.trace.count - warmup) requests are counted after the warm-up, and "
                        + "at least \(ResamplingUnits.timeBlockCount) are needed.")
            }
            runners.append(try FieldRunner(field, learner: learner, options: options))
        }
        self.fields = fields
        self.learner = learner
        self.options = options
        self.runners = runners
    }

    /// The number of replays that are run in any case.
    package var runCount: Int { cells.count * (basicArms.count + firstArms.count) }

    /// The number of replays if all permutations are needed.
    package var mostRunCount: Int { runCount + cells.count * laterArms.count }

    /// Returns a progress for ``run(workers:progress:)``. Its total grows if more permutations are needed.
    package func makeProgress() -> ReplayProgress {
        ReplayProgress(total: requests(basicArms + firstArms))
    }

    /// Runs all replays and returns a result for each field and capacity.
    ///
    /// - Parameters:
    ///   - workers: the number of parallel replays; by default one per core.
    ///   - progress: receives the number of requests served.
    /// - Throws: `ReplayError` if the users give too little to train a model on.
    package func run(
        workers: Int? = nil, progress: ReplayProgress? = nil
    ) async throws(ReplayError) -> [HypothesisResult] {
        var gathered = cells.map { _ in
            var cell = CellHits()
            cell.permuted = options.permute.map { _ in [] }
            return cell
        }
        try await run(basicArms + firstArms, into: &gathered, workers: workers, progress: progress)
        var evidence = analysed(gathered)
        // All cells need the same permutations, because each is compared with the largest of all cells.
        for (before, now) in zip(options.schedule.stages, options.schedule.stages.dropFirst())
        where evidence.contains(where: \.needsPermutations) {
            let arms = permutedArms(scheme: 0, before..<now)
            progress?.expect(requests(arms))
            try await run(arms, into: &gathered, workers: workers, progress: progress)
            evidence = analysed(gathered)
        }
        return zip(cells, evidence).map { cell, evidence in
            HypothesisResult(
                evidence, field: fields[cell.field], capacity: fields[cell.field].capacities[cell.capacity],
                learner: learner, knowledge: options.knowledge,
                permutations: permutationResults(evidence, runner: runners[cell.field]))
        }
    }

    /// Measures the learner and the baselines on the first requests, and returns the expected duration of
    /// ``run(workers:progress:)``.
    ///
    /// The measurement runs in each mode at most 20,000 requests with each policy. The estimate is rough: a learner's
    /// speed varies over a trace.
    ///
    /// - Parameter workers: the number of parallel replays; by default one per core.
    package func estimate(workers: Int? = nil) -> HypothesisEstimate {
        let clock = ContinuousClock()
        var (least, most) = (0.0, 0.0)
        for (number, runner) in runners.enumerated() {
            let (input, share) = runner.sample(limit: 20_000)
            func seconds(_ arm: HypothesisJob.Arm) -> Double {
                let job = HypothesisJob(field: number, capacity: 0, arm: arm)
                let parts = clock.measure { runner.run(job, over: input) }.components
                return (Double(parts.seconds) + Double(parts.attoseconds) * 1e-18) / share
            }
            let cells = Double(fields[number].capacities.count)
            let first = HypothesisJob(field: number, capacity: 0, arm: .withCategories(seed: 0))
            let training = clock.measure { runner.train(first) }.inSeconds
            let learner = training + seconds(.withCategories(seed: 0))
            let baselines = self.learner.baselines.indices.reduce(0) { $0 + seconds(.baseline($1)) }
            let learned = Double(basicArms.count - self.learner.baselines.count + firstArms.count)
            least += cells * (learned * learner + baselines)
            most += cells * Double(laterArms.count) * learner
        }
        let parallel = Double(max(1, min(workers ?? coreCount, runCount)))
        return HypothesisEstimate(
            replays: runCount, mostReplays: mostRunCount, requests: requests(basicArms + firstArms),
            seconds: least / parallel, mostSeconds: (least + most) / parallel)
    }

    /// The cells in the order of the results.
    private var cells: [(field: Int, capacity: Int)] {
        fields.indices.flatMap { field in fields[field].capacities.indices.map { (field, $0) } }
    }

    /// The arms without permuted labels. They do not depend on the number of permutations and are run once.
    private var basicArms: [HypothesisJob.Arm] {
        let seeds = 0..<options.seeds
        return seeds.map { .withCategories(seed: $0) } + seeds.map { .withoutCategories(seed: $0) }
            + learner.baselines.indices.map { .baseline($0) }
    }

    /// The permutations of the first stage. The ways that do not decide are run a fixed number of times.
    private var firstArms: [HypothesisJob.Arm] {
        options.permute.indices.flatMap { scheme in
            permutedArms(scheme: scheme, 0..<(scheme == 0 ? options.schedule.stages[0] : options.permutations))
        }
    }

    /// The permutations of all later stages.
    private var laterArms: [HypothesisJob.Arm] {
        let stages = options.schedule.stages
        return permutedArms(scheme: 0, stages[0]..<stages[stages.count - 1])
    }

    private func permutedArms(scheme: Int, _ numbers: Range<Int>) -> [HypothesisJob.Arm] {
        numbers.flatMap { number in
            (0..<min(options.seeds, options.permutedSeeds)).map { .permuted(scheme: scheme, number: number, seed: $0) }
        }
    }

    private func requests(_ arms: [HypothesisJob.Arm]) -> Int {
        cells.reduce(0) { $0 + fields[$1.field].trace.count * arms.count }
    }

    /// Runs the same arms in all cells and adds their hits.
    private func run(
        _ arms: [HypothesisJob.Arm], into gathered: inout [CellHits], workers: Int?, progress: ReplayProgress?
    ) async throws(ReplayError) {
        let jobs = cells.flatMap { cell in
            arms.map { HypothesisJob(field: cell.field, capacity: cell.capacity, arm: $0) }
        }
        let hits = await concurrentMap(jobs, workers: workers) { [runners] job in
            Result { () throws(ReplayError) in try runners[job.field].run(job, progress: progress) }
        }
        for (index, job) in jobs.enumerated() {
            gathered[index / max(1, arms.count)].add(try hits[index].get(), of: job.arm)
        }
    }

    private func analysed(_ gathered: [CellHits]) -> [CellEvidence] {
        func mean(_ runs: [ArmHits]) -> Double { runs.reduce(0) { $0 + $1.hitRatio } / Double(max(1, runs.count)) }
        let observed = gathered.map { mean($0.withCategories) }
        let findings = options.permute.indices.map { scheme in
            let permuted = gathered.map { $0.permuted[scheme].map(mean) }
            return scheme == 0
                ? options.schedule.findings(observed: observed, permuted: permuted)
                : PermutationTest.findings(observed: observed, permuted: permuted)
        }
        return zip(cells, gathered).enumerated().map { number, pair in
            CellEvidence(
                pair.1, units: runners[pair.0.field].units, learner: learner, options: options, cells: cells.count,
                optimum: learner.optimum(
                    inSmallCache: fields[pair.0.field].isSmall(
                        fields[pair.0.field].capacities[pair.0.capacity])),
                permutations: findings.map { $0[number] }, schemes: runners[pair.0.field].strata.map(\.scheme))
        }
    }

    private func permutationResults(
        _ evidence: CellEvidence, runner: FieldRunner
    ) -> [HypothesisResult.Permutation] {
        runner.strata.indices.map { scheme in
            // The share is nearly the same in each permutation.
            let first = runner.permutation(0, scheme: scheme)
            return HypothesisResult.Permutation(
                evidence, scheme: scheme, strata: runner.strata[scheme],
                shareChanged: first.shareChanged(in: runner.field.trace))
        }
    }
}

/// The expected duration of a test.
package struct HypothesisEstimate: Sendable, Equatable {
    /// The number of replays that are run in any case.
    package var replays: Int
    /// The number of replays if all permutations are needed.
    package var mostReplays: Int
    /// The number of requests of ``replays`` together.
    package var requests: Int
    /// The expected duration of ``replays`` in seconds.
    package var seconds: Double
    /// The expected duration of ``mostReplays`` in seconds.
    package var mostSeconds: Double

    /// The estimate as a sentence.
    package var sentence: String {
        let more =
            mostReplays > replays
            ? "; up to \(mostReplays.grouped) replays and \(Self.words(mostSeconds)) if a gain needs more permutations"
            : ""
        return
            "\(replays.grouped) replays of \(requests.grouped) requests together, about \(Self.words(seconds))\(more)."
    }

    private static func words(_ seconds: Double) -> String {
        if seconds < 90 { return "\(Int(seconds.rounded(.up)).counted("second"))" }
        return seconds < 5_400
            ? "\(Int((seconds / 60).rounded())) minutes" : "\((seconds / 3_600).decimals(1)) hours"
    }
}
