import HalcyonBoosting
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTrace
import Synchronization

/// Searches a policy's parameters on the training traces of a suite, chooses on the validation traces, and reports on the
/// test traces.
///
/// ```swift
/// let suite = try Suite(path: "Experiments/suites/tuning.yml")
/// let tuning = try TuningRun("s3-fifo", suite: suite, store: ResultStore(folder: "results/tuning"))
/// print(try await tuning.run().text())
/// ```
///
/// The policies of the suite's experiments are ignored; their traces, modes, capacities, tiers, prefetching, seeds and
/// warm-up are those of every candidate. No request is in two splits. The test traces are replayed after the choice is
/// written down, with the chosen parameters, the policy as given and LRU only. Each replay is stored as a cell, so a
/// tuning that is interrupted goes on where it was.
///
/// The budget is a number of passes: one pass replays the training cells of one candidate, all seeds included, at full
/// length. It is the same for every policy. The policy as given is always a candidate, in every round and among the
/// finalists, free of charge; so are LRU, the validation and the test.
public struct TuningRun: Sendable {
    /// The parameters of a tuning.
    public struct Options: Sendable {
        /// The search. Nil by default: grid if ``space`` is given, otherwise random.
        public var search: TuningSearch?
        /// The searched values. Nil by default: those of the suite, or the default space of the policy.
        public var space: String?
        /// The number of passes over the training cells. The default is 36.
        public var budget = 36
        /// The number of candidates that are replayed on the validation traces, besides the policy as given. The default
        /// is 3.
        public var finalists = 3
        /// The seed of the search. The default is 1.
        public var seed: UInt64 = 1
        /// The number of parallel runs; by default one per core.
        public var workers: Int?

        /// Creates the default options.
        public init() {}
    }

    /// What a tuning found.
    public struct Outcome: Sendable {
        /// The tuning as it is stored.
        public var record: TuningRecord
        /// The file of the tuning.
        public var file: String
        /// The number of cells that were run now; the others were stored.
        public var ran = 0
    }

    private let policy: ConfiguredPolicy
    private let suite: Suite
    private let store: ResultStore
    private let options: Options
    private let search: TuningSearch
    private let space: TuningSpace
    private let candidates: [ConfiguredPolicy]

    /// Creates a tuning.
    ///
    /// - Parameters:
    ///   - text: the policy, perhaps with parameters, which are then the same for all candidates.
    ///   - suite: the traces with their splits, and the experiments.
    ///   - store: receives the results and the tuning.
    ///   - catalogue: the accepted policies.
    /// - Throws: `PolicyError` for an unknown policy; `ReplayError.usage(_:)` if the options do not suit the policy.
    public init(
        _ text: String, suite: Suite, store: ResultStore, options: Options = Options(),
        catalogue: PolicyCatalogue = .laboratory
    ) throws {
        let policy = try catalogue.policy(text)
        guard let entry = catalogue.entries.first(where: { $0.info.name == policy.info.name }) else {
            throw PolicyError.unknownPolicy(policy.info.name, nearest: [])
        }
        if options.budget < 1 { throw ReplayError.usage("--budget \(options.budget): give at least 1.") }
        if options.finalists < 1 { throw ReplayError.usage("--choose \(options.finalists): give at least 1.") }
        let space: TuningSpace
        if let text = options.space {
            space = try TuningSpace(parsing: text, of: entry)
        } else if let listed = suite.tuning[policy.info.name] {
            space = listed
        } else {
            space = try TuningSpace(of: entry, except: policy.settings)
        }
        if let twice = policy.settings.first(where: { setting in space.parameters.contains { $0.name == setting.name } }
        ) {
            throw ReplayError.usage(
                "\(policy.label) sets '\(twice.name)', which is searched as well: leave it out of one of them.")
        }
        let search = options.search ?? (options.space == nil ? .random : .grid)
        candidates = try TuningCandidates(
            policy, space: space, search: search, budget: options.budget, seed: options.seed, catalogue: catalogue
        ).policies
        self.policy = policy
        self.space = space
        self.search = search
        self.suite = suite
        self.store = store
        self.options = options
    }

    /// Returns a progress for ``run(progress:)``.
    public func makeProgress() -> TuningProgress { TuningProgress() }

    /// Searches, chooses and tests; what is stored is not run again.
    ///
    /// - Throws: `ReplayError.data(_:)` if two splits share requests, a split has no trace or a cell cannot be run.
    ///   `TraceError` if a trace cannot be read or a result cannot be written.
    public func run(progress: TuningProgress? = nil) async throws -> Outcome {
        let traces = try TuningTraces(suite)
        var cellOptions = SuiteRun.Options()
        cellOptions.workers = options.workers
        let scorer = try TuningScorer(suite: suite, store: store, traces: traces, options: cellOptions)
        let identity = identity(scorer)
        var outcome = Outcome(
            record: try store.tuning(identity.hash)
                ?? TuningRecord(
                    identity: identity, suite: suite.name, traces: traces.selections, spent: 0, candidates: [],
                    choice: 0,
                    isRandomised: policy.info.traits.contains(.isRandomised), hasRunNoise: false),
            file: store.path(ofTuning: identity.hash))
        if outcome.record.candidates.isEmpty {
            try await choose(scorer, into: &outcome, progress: progress)
            // The choice is written down before any test trace is replayed.
            try store.write(outcome.record)
        }
        if outcome.record.test == nil {
            try await test(scorer, into: &outcome, progress: progress)
            try store.write(outcome.record)
        }
        progress?.finish()
        return outcome
    }

    private func identity(_ scorer: TuningScorer) -> TuningIdentity {
        TuningIdentity(
            policy: policy.info.name,
            fixed: Dictionary(policy.settings.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }), search: search,
            space: Dictionary(space.parameters.map { ($0.name, $0.text) }, uniquingKeysWith: { $1 }),
            budget: options.budget, finalists: options.finalists, seed: search.isRandomised ? options.seed : nil,
            cells: Dictionary(
                TraceReference.Split.allCases.map { ($0.rawValue, scorer.hashes(policy, split: $0)) },
                uniquingKeysWith: { $1 }))
    }

    /// Scores the candidates on the training traces and the finalists on the validation traces.
    private func choose(_ scorer: TuningScorer, into outcome: inout Outcome, progress: TuningProgress?) async throws {
        var records = candidates.map { policy in
            TuningRecord.Candidate(
                policy: policy.label,
                parameters: Dictionary(policy.recordedParameters.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }),
                training: [])
        }
        let rungs = search.rungs(candidates: candidates.count - 1)
        let passes = Double(rungs.reduce(0) { $0 + $1.quarters }) / 4
        progress?.plan(passes: passes + Double(rungs.count + min(options.finalists, candidates.count - 1) + 3))
        // The candidates of the round, the best first; the policy as given is replayed in each.
        var remaining = Array(1..<candidates.count)
        for rung in rungs {
            remaining = Array(remaining.prefix(rung.candidates))
            let round = [0] + remaining.sorted()
            progress?.start(passes: Double(round.count * 4 / rung.divisor) / 4)
            let scores = try await scorer.scores(
                round.map { candidates[$0] }, split: .training, divisor: rung.divisor, progress: progress,
                ran: &outcome.ran)
            for (number, score) in zip(round, scores) {
                records[number].training.append(TuningRecord.Rung(share: rung.share, score: score.score))
            }
            remaining = Self.ranked(remaining) { records[$0].training.last?.score }
        }
        let finalists = [0] + remaining.prefix(options.finalists)
        progress?.start(passes: Double(finalists.count))
        let scores = try await scorer.scores(
            finalists.map { candidates[$0] }, split: .validation, progress: progress, ran: &outcome.ran)
        for (number, score) in zip(finalists, scores) { records[number].validation = score.score }
        outcome.record.candidates = records
        outcome.record.spent = passes
        outcome.record.hasRunNoise = scores.contains { $0.places.contains { $0.cells.count > 1 } }
        // Of equal scores, the policy as given is kept, then the better one on the training traces is chosen.
        outcome.record.choice = Self.ranked(finalists) { records[$0].validation }.first ?? 0
    }

    /// Returns numbers in the order of their scores. Equal scores keep their order.
    private static func ranked(_ numbers: [Int], _ score: (Int) -> Double?) -> [Int] {
        numbers.enumerated().sorted { one, other in
            let (left, right) = (score(one.element) ?? .infinity, score(other.element) ?? .infinity)
            return (left, one.offset) < (right, other.offset)
        }.map(\.element)
    }

    /// Replays the chosen parameters and the policy as given on the test traces.
    private func test(_ scorer: TuningScorer, into outcome: inout Outcome, progress: TuningProgress?) async throws {
        let record = outcome.record
        guard let chosen = candidates.first(where: { $0.label == record.chosen.policy }) else {
            throw ReplayError.data(
                "\(outcome.file): chooses \(record.chosen.policy.shortened), which the search does not have: delete the file "
                    + "to tune again.")
        }
        progress?.start(passes: 2)
        let scores = try await scorer.scores([policy, chosen], split: .test, progress: progress, ran: &outcome.ran)
        let (given, best) = (scores[0], scores[1])
        let cells = zip(zip(given.places, best.places), given.lru).map { pair, lru in
            TuningRecord.TestCell(
                trace: pair.0.place.trace, mode: pair.0.place.mode, capacity: pair.0.place.capacity,
                models: pair.0.place.models, prefetch: pair.0.place.prefetch, lru: lru.hitRatio,
                defaults: pair.0.hitRatio, chosen: pair.1.hitRatio,
                contrast: Self.contrast(pair.1, pair.0, cells: given.places.count))
        }
        outcome.record.test = TuningRecord.Test(
            defaults: given.score, chosen: best.score, cells: cells,
            look: try looks(at: outcome.record) + 1)
    }

    /// Returns the number of other tunings of the policy that reported a test on requests of the test traces.
    private func looks(at record: TuningRecord) throws(ReplayError) -> Int {
        let own = record.traces.filter { $0.split == .test }
        return try store.tunings().count { other in
            other.identity != record.identity && other.identity.policy == record.identity.policy && other.test != nil
                && other.traces.contains { trace in trace.split == .test && own.contains { $0.overlaps(trace) } }
        }
    }

    /// Returns the difference of the hit ratios of two policies over the same requests, by user or by stretch of time.
    private static func contrast(_ first: TuningCells, _ second: TuningCells, cells: Int) -> Contrast {
        let units = first.cells[0].units
        let weights = units.requests.map(Double.init)
        let (one, two) = (first.meanHits, second.meanHits)
        let series = zip(one, two).map { $0 - $1 }
        let variance: UnitVariance
        switch units.kind {
        case .users: variance = UnitVariance(independent: weights)
        case .timeBlocks:
            let ratios = zip(series, weights).map { $1 > 0 ? $0 / $1 : 0 }
            variance = UnitVariance(series: weights, dependence: BlockLength.automatic(ratios))
        }
        // Equal cells have the same runs, and no noise.
        let isSame = first.cells == second.cells
        let noise = isSame ? RunNoise.none : RunNoise.ofRuns([first.hitRatios, second.hitRatios]) ?? .none
        return Contrast(
            first.hitRatio - second.hitRatio, series: series, units: variance,
            noise: noise.scaled(by: (2 / Double(max(1, first.cells.count))).squareRoot()), confidence: 0.95,
            cells: cells)
    }
}

extension TuningCells {
    /// The hits of each unit, a mean over seeds.
    fileprivate var meanHits: [Double] {
        var hits = [Double](repeating: 0, count: cells.first?.units.hits.count ?? 0)
        for cell in cells {
            for (unit, count) in cell.units.hits.enumerated() { hits[unit] += Double(count) / Double(cells.count) }
        }
        return hits
    }
}

/// The progress of a tuning, readable from other threads while it runs. It counts passes over the training cells.
public final class TuningProgress: Sendable {
    private struct State {
        var planned = 1.0
        var finished = 0.0
        var current = 0.0
        var runs: SuiteProgress?
        var requests = 0
    }

    private let state = Mutex(State())

    fileprivate init() {}

    /// States the number of passes.
    fileprivate func plan(passes: Double) { state.withLock { $0.planned = max(1, passes) } }

    /// Counts the passes before as finished, and starts others.
    fileprivate func start(passes: Double) {
        state.withLock { state in
            state.finished += state.current
            state.current = passes
            state.requests += state.runs?.requests ?? 0
            state.runs = nil
        }
    }

    /// Follows the cells of the current passes.
    func follow(_ runs: SuiteProgress) {
        state.withLock { state in
            state.requests += state.runs?.requests ?? 0
            state.runs = runs
        }
    }

    fileprivate func finish() { state.withLock { $0.finished = $0.planned } }

    /// The share that is done, 0…1.
    public var share: Double {
        state.withLock { min(1, ($0.finished + $0.current * ($0.runs?.share ?? 0)) / $0.planned) }
    }

    /// The number of requests served so far.
    public var requests: Int { state.withLock { $0.requests + ($0.runs?.requests ?? 0) } }
}
