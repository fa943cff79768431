import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// A cell of a tuning without its policy and its seed.
struct TuningPlace: Hashable {
    let experiment: Int
    let trace: String
    let mode: ReplayMode
    let capacity: String
    let prefetch: String?
    let models: ModelSharing?

    /// The place of LRU's cell, which shares no model.
    var ofLRU: TuningPlace {
        TuningPlace(
            experiment: experiment, trace: trace, mode: mode, capacity: capacity, prefetch: prefetch, models: nil)
    }
}

/// The stored cells of a policy at one place, one for each seed.
struct TuningCells {
    let place: TuningPlace
    var cells: [StoredCell]

    /// The object hit ratios by seed.
    var hitRatios: [Double] { cells.map(\.objectHitRatio) }
    /// The mean of the object hit ratios.
    var hitRatio: Double { hitRatios.reduce(0, +) / Double(max(1, cells.count)) }
}

/// The score of a policy on the traces of a split.
struct TuningScore {
    /// The miss ratio divided by LRU's, a mean over places. Lower is better.
    let score: Double
    let places: [TuningCells]
    let lru: [TuningCells]
}

/// Replays policies on the traces of a suite and scores them. All replays go through ``SuiteRun`` and its store.
struct TuningScorer {
    let suite: Suite
    let store: ResultStore
    let traces: TuningTraces
    let options: SuiteRun.Options
    private let lru = ConfiguredPolicy(LRU.self)

    init(suite: Suite, store: ResultStore, traces: TuningTraces, options: SuiteRun.Options) throws(ReplayError) {
        for experiment in suite.experiments where experiment.tiers.contains(where: \.namesBothPolicies) {
            throw .data(
                "\(suite.path): the tiers of '\(experiment.name)' name both policies, so that nothing is left to tune: leave "
                    + "out 'memory_policy' or 'disk_policy'.")
        }
        self.suite = suite
        self.store = store
        self.traces = traces
        self.options = options
    }

    /// Returns the scores of policies, in their order. Runs what is not stored.
    ///
    /// - Parameters:
    ///   - divisor: the part of the requests to replay, from the start: one in this number.
    ///   - ran: receives the number of cells that were run.
    /// - Throws: `ReplayError.data(_:)` if a cell cannot be run or LRU misses nothing; errors of ``SuiteRun``.
    func scores(
        _ policies: [ConfiguredPolicy], split: TraceReference.Split, divisor: Int = 1, progress: TuningProgress? = nil,
        ran: inout Int
    ) async throws -> [TuningScore] {
        var names: [ConfiguredPolicy] = policies
        names.append(lru)
        var places = [[TuningCells]](repeating: [], count: names.count)
        var seen = [Set<String>](repeating: [], count: names.count)
        for mode in [ReplayMode.shared, .perUser] {
            let selections = traces.selections(split).filter { $0.mode == mode }
            guard !selections.isEmpty else { continue }
            let part = part(selections, mode: mode, divisor: divisor, policies: names)
            let run = SuiteRun(part, store: store, options: options)
            let plan = try run.plan()
            try Self.verify(plan.failures)
            let runs = run.makeProgress(plan)
            progress?.follow(runs)
            let outcome = try await run.run(plan, progress: runs)
            ran += outcome.ran
            try Self.verify(outcome.failures)
            for trace in part.traces {
                guard let fingerprint = plan.cells.first(where: { $0.trace == trace.name })?.identity.fingerprint else {
                    continue
                }
                for (number, policy) in names.enumerated() {
                    for (place, identities) in Self.cells(part, policy, trace: trace.name, fingerprint: fingerprint) {
                        let hashes = identities.map(\.hash)
                        guard seen[number].insert(hashes.joined()).inserted else { continue }
                        var cells: [StoredCell] = []
                        for hash in hashes { cells.append(try store.cell(hash)) }
                        places[number].append(TuningCells(place: place, cells: cells))
                    }
                }
            }
        }
        let baseline = Dictionary(
            places.removeLast().map { ($0.place, $0) }, uniquingKeysWith: { first, _ in first })
        var scores: [TuningScore] = []
        for cells in places { scores.append(try Self.score(cells, baseline)) }
        return scores
    }

    /// Returns the names of a policy's cells on the traces of a split, without running them.
    func hashes(_ policy: ConfiguredPolicy, split: TraceReference.Split) -> [String] {
        var hashes: Set<String> = []
        for selection in traces.selections(split) {
            let part = part([selection], mode: selection.mode, divisor: 1, policies: [policy])
            let cells = Self.cells(part, policy, trace: selection.name, fingerprint: selection.fingerprint)
            for (_, identities) in cells { hashes.formUnion(identities.map(\.hash)) }
        }
        return hashes.sorted()
    }

    /// Returns the suite with these traces, one kind of caches and these policies.
    private func part(
        _ selections: [TuningTrace], mode: ReplayMode, divisor: Int, policies: [ConfiguredPolicy]
    ) -> Suite {
        var part = suite
        let renamed = { (name: String) in divisor == 1 ? name : "\(name) (first 1/\(divisor))" }
        part.traces = selections.compactMap { selection in
            guard var trace = suite.traces.first(where: { $0.name == selection.name }) else { return nil }
            if divisor > 1 {
                trace.name = renamed(trace.name)
                trace.limit = max(1, selection.requests / divisor)
            }
            return trace
        }
        part.experiments = suite.experiments.compactMap { experiment in
            guard experiment.modes.contains(mode) else { return nil }
            var experiment = experiment
            experiment.modes = [mode]
            experiment.rows = policies.map { .policy($0) }
            experiment.labels = [.given]
            let wanted = Set(selections.map(\.name))
            if !experiment.traces.isEmpty {
                experiment.traces = experiment.traces.filter(wanted.contains).map(renamed)
                if experiment.traces.isEmpty { return nil }
            }
            return experiment
        }
        return part
    }

    /// Returns the cells of one policy of a suite on a trace, by place.
    private static func cells(
        _ suite: Suite, _ policy: ConfiguredPolicy, trace: String, fingerprint: String
    ) -> [(place: TuningPlace, identities: [CellIdentity])] {
        var cells: [(place: TuningPlace, identities: [CellIdentity])] = []
        for (number, experiment) in suite.experiments.enumerated()
        where experiment.traces.isEmpty || experiment.traces.contains(trace) {
            var experiment = experiment
            experiment.rows = [.policy(policy)]
            for job in experiment.jobs {
                let identity = CellIdentity(job.job, labels: job.labels, fingerprint: fingerprint)
                let prefetch = job.job.options.prefetch.map { "\($0.policy) \($0.budget) \($0.latency)" }
                let place = TuningPlace(
                    experiment: number, trace: trace, mode: job.job.mode, capacity: job.job.capacityText,
                    prefetch: prefetch, models: identity.models)
                if cells.last?.place == place {
                    cells[cells.count - 1].identities.append(identity)
                } else {
                    cells.append((place, [identity]))
                }
            }
        }
        return cells
    }

    private static func score(
        _ places: [TuningCells], _ baseline: [TuningPlace: TuningCells]
    ) throws(ReplayError) -> TuningScore {
        var sum = 0.0
        var lru: [TuningCells] = []
        for cells in places {
            guard let reference = baseline[cells.place.ofLRU], reference.hitRatio < 1 else {
                throw .data(
                    "LRU misses nothing on \(cells.place.trace) at \(cells.place.capacity), so that no policy can be compared "
                        + "with it there: leave that capacity out.")
            }
            sum += (1 - cells.hitRatio) / (1 - reference.hitRatio)
            lru.append(reference)
        }
        return TuningScore(score: sum / Double(max(1, places.count)), places: places, lru: lru)
    }

    private static func verify(_ failures: [SuitePlan.Failure]) throws(ReplayError) {
        guard let first = failures.first else { return }
        let rest = failures.count - 1
        throw .data(
            "\([first.trace, first.cell ?? ""].filter { !$0.isEmpty }.joined(separator: ", ")): \(first.sentence)"
                + (rest > 0 ? " \(rest.counted("other cell")) failed as well." : ""))
    }
}

extension TierOptions {
    /// Whether the policy of the job decides nothing.
    fileprivate var namesBothPolicies: Bool { memoryPolicy != nil && diskPolicy != nil }
}
