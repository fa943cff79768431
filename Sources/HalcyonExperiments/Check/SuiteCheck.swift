import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace
import Synchronization

/// A check that runs a suite and compares its results with the stored cells and the limits of the suite.
///
/// Every cell is run, stored or not. Its counts must equal those of the stored cell with the same identity, on every
/// machine and to the digit. Cells with `kernels=system` depend on the processor and are compared with limits only. A
/// trace whose requests are not those of the stored cells is named as another trace. What cannot be run is an error of
/// the report; everything else is run.
///
/// ```swift
/// let suite = try Suite(path: "Experiments/suites/regression.yml", keepsUnusable: true)
/// let check = SuiteCheck(suite, store: ResultStore(folder: suite.resultsFolder()))
/// let report = try await check.run(check.schedule())
/// print(report.text())
/// ```
package struct SuiteCheck: Sendable {
    /// The suite.
    package let suite: Suite
    /// The stored cells. Nil to check limits only.
    package let store: ResultStore?
    /// The number of parallel runs. The default is one per core. The report does not depend on it.
    package var workers: Int?

    /// Creates a check.
    ///
    /// - Parameter store: the stored cells, which need not exist yet; `nil` to check limits only.
    package init(_ suite: Suite, store: ResultStore?) {
        self.suite = suite
        self.store = store
    }

    private var suiteRun: SuiteRun {
        var options = SuiteRun.Options()
        options.workers = workers
        return SuiteRun(suite, store: store ?? ResultStore(folder: suite.resultsFolder()), options: options)
    }

    /// Returns the cells of the suite. Reads every trace once. O(requests).
    ///
    /// - Throws: `ReplayError.data(_:)` if there is neither a cell nor one that cannot be run, or the pack of the
    ///   stored results is damaged.
    package func schedule() throws -> SuiteSchedule {
        let schedule = try suiteRun.schedule()
        if schedule.cells.isEmpty, schedule.failures.isEmpty, suite.experiments.allSatisfy(\.unusable.isEmpty) {
            throw ReplayError.data("\(suite.path): has no cell, so that nothing would be checked.")
        }
        return schedule
    }

    /// Returns a progress for ``run(_:progress:)``.
    package func makeProgress(_ schedule: SuiteSchedule) -> SuiteProgress { SuiteProgress(schedule.cells) }

    /// Runs all cells of a schedule and compares their results. Stores nothing.
    ///
    /// - Throws: `ReplayError.data(_:)` if stored cells cannot be read, or a limit holds for no run or does not suit
    ///   its run.
    package func run(_ schedule: SuiteSchedule, progress: SuiteProgress? = nil) async throws -> CheckReport {
        let recorded = try store.map(RecordedCells.init)
        let measured = MeasuredCells()
        let outcome = try await suiteRun.run(schedule.cells, progress: progress) { measured.add($0, $1) }
        var errors: [CheckError] = suite.experiments.flatMap { experiment in
            experiment.unusable.map { CheckError(name: "\(experiment.name), \($0.name)", sentence: $0.sentence) }
        }
        for failure in schedule.failures + outcome.failures where !errors.contains(CheckError(failure)) {
            errors.append(CheckError(failure))
        }
        let cells = measured.all
        var runs: [CheckedRun] = []
        for experiment in suite.experiments {
            let groups = groups(of: experiment, schedule: schedule, cells: cells)
            // Where something could not be run, a limit may be of that.
            if errors.isEmpty { try verifyLimits(of: experiment, groups) }
            for group in groups {
                let run = try checkedRun(
                    group, in: experiment, among: groups, recorded: recorded, isComplete: errors.isEmpty)
                runs.append(run)
            }
        }
        let exact = schedule.cells.filter { $0.identity.kernels == nil }.compactMap { cells[$0.hash] }
        let names = Set(exact.map { $0.cell.identity.unversioned })
        var report = CheckReport(
            suite: suite.path, folder: store?.folder, resultVersion: Halcyon.resultVersion, runs: runs, errors: errors,
            leftovers: 0, cells: exact.sorted { $0.cell.identity.hash < $1.cell.identity.hash })
        if let recorded {
            report.otherTraces = otherTraces(schedule, recorded)
            let leftovers = recorded.cells.filter { !names.contains($0.identity.unversioned) }
            report.replaced = leftovers.count { cell in report.otherTraces.contains { $0.hasBefore(cell) } }
            report.leftovers = leftovers.count - report.replaced
        }
        report.ownsFolder = store?.isAccepted ?? false
        return report
    }

    /// Returns the traces of which other requests are stored than they have now. O(cells).
    private func otherTraces(_ schedule: SuiteSchedule, _ recorded: RecordedCells) -> [OtherTrace] {
        suite.traces.flatMap { trace in
            [ReplayMode.shared, .perUser].compactMap { mode in
                let cells = schedule.cells.filter { $0.trace == trace.name && $0.mode == mode }
                guard let first = cells.first else { return nil }
                let found = OtherTrace.Requests(count: first.requests, fingerprint: first.identity.fingerprint)
                let expected = recorded.requests(of: cells, insteadOf: found, trace: trace.name)
                return expected.map { OtherTrace(trace: trace.name, mode: mode, expected: $0, found: found) }
            }
        }
    }

    /// The cells that differ only in their seed.
    private struct Group {
        let trace: String
        let job: SuiteJob
        let identity: CellIdentity
        var cells: [MeasuredCell]

        var hitRatio: Double {
            let counts = cells.map(\.cell.counts)
            return CheckedRun.ratio(counts.reduce(0) { $0 + $1.hits }, counts.reduce(0) { $0 + $1.requests })
        }

        /// Returns whether a limit holds for the run.
        func isCovered(by limit: RunLimit) -> Bool {
            limit.covers(
                policy: job.row, trace: trace, mode: job.job.mode, capacity: job.job.capacity.description)
        }

        /// Whether the two runs differ in nothing but their policies. A policy that does not learn has no knowledge, and
        /// one that does not look at categories has the labels of the trace.
        func isComparable(with other: Group) -> Bool {
            let (own, others) = (identity, other.identity)
            return trace == other.trace && own.mode == others.mode && job.job.capacityText == other.job.job.capacityText
                && own.prefetch == others.prefetch
                && (own.knowledge ?? others.knowledge) == (others.knowledge ?? own.knowledge)
                && (own.pretrain ?? others.pretrain) == (others.pretrain ?? own.pretrain)
                && (own.labels == others.labels || own.labels == "\(LabelControl.given)")
        }
    }

    /// Returns the runs of an experiment in the order of its lists, trace by trace.
    private func groups(of experiment: SuiteExperiment, schedule: SuiteSchedule, cells: [String: MeasuredCell])
        -> [Group]
    {
        suite.traces.filter { experiment.traces.isEmpty || experiment.traces.contains($0.name) }.flatMap { trace in
            var groups: [Group] = []
            var places: [CellIdentity: Int] = [:]
            for job in experiment.jobs(onTrace: trace.name) {
                guard let requests = schedule.requests[.init(trace: trace.name, mode: job.job.mode)] else {
                    continue
                }
                var identity = CellIdentity(job.job, labels: job.labels, requests: requests)
                guard let cell = cells[identity.hash] else { continue }
                identity.seed = nil
                if let place = places[identity] {
                    groups[place].cells.append(cell)
                } else {
                    places[identity] = groups.count
                    groups.append(Group(trace: trace.name, job: job, identity: identity, cells: [cell]))
                }
            }
            return groups
        }
    }

    private func checkedRun(
        _ group: Group, in experiment: SuiteExperiment, among groups: [Group], recorded: RecordedCells?,
        isComplete: Bool
    ) throws(ReplayError) -> CheckedRun {
        let (job, cells) = (group.job.job, group.cells.map(\.cell))
        var run = CheckedRun(
            experiment: experiment.name, trace: group.trace, setting: Self.setting(group.job, seeds: cells.count),
            mode: job.mode, policy: job.label, capacity: job.capacityText,
            hits: cells.reduce(0) { $0 + $1.counts.hits }, requests: cells.reduce(0) { $0 + $1.counts.requests },
            seconds: group.cells.reduce(0) { $0 + $1.provenance.seconds })
        if cells.allSatisfy({ $0.trace.sizeUnit == .bytes }) { run.byteHitRatio = Self.mean(cells.map(\.byteHitRatio)) }
        let latencies = cells.compactMap { $0.latency.flatMap { Double($0.meanMs) } }
        if latencies.count == cells.count { run.meanLatency = Self.mean(latencies) }
        if group.identity.kernels != nil {
            let kernels = job.policies.map { KernelInfo($0) } + [job.options.prefetch.flatMap { KernelInfo($0) }]
            run.systemKernels = kernels.lazy.compactMap { $0 }.first(where: \.dependsOnProcessor)
        } else if let recorded {
            run.compare(cells, with: cells.map { recorded.cell($0.identity) })
        }
        run.limit = experiment.limits.first { group.isCovered(by: $0) }
        if let baseline = run.limit?.baseline {
            run.baselineHitRatio = groups.first { $0.job.row == baseline && $0.isComparable(with: group) }?.hitRatio
            run.lacksBaseline = run.baselineHitRatio == nil && !isComplete
        }
        run.readsMoreThanRequests = group.identity.prefetch.map { $0.keys != nil || $0.recording != nil } ?? false
        run.policyVersion = job.policies.lazy.compactMap(\.info.version).first
        try verify(run)
        return run
    }

    /// Refuses a limit that holds for no run. A combination that the experiment names twice has its first name.
    private func verifyLimits(of experiment: SuiteExperiment, _ groups: [Group]) throws(ReplayError) {
        for limit in experiment.limits where !groups.contains(where: { $0.isCovered(by: limit) }) {
            throw .data("\(suite.path): the limit of \(limit.policy) in '\(experiment.name)' holds for no run.")
        }
    }

    /// Refuses a limit on a figure that the run does not have.
    private func verify(_ run: CheckedRun) throws(ReplayError) {
        guard let limit = run.limit else { return }
        if limit.byteFloor != nil, run.byteHitRatio == nil {
            throw .data(
                "\(suite.path): \(run.name): every object counts 1, so that the byte hit ratio is the hit ratio: leave out "
                    + "'byte_floor'.")
        }
        if limit.highestLatency != nil, run.meanLatency == nil {
            throw .data("\(suite.path): \(run.name): the run has no latencies: leave out 'highest_latency_ms'.")
        }
        if let baseline = limit.baseline, run.baselineHitRatio == nil, !run.lacksBaseline {
            throw .data("\(suite.path): \(run.name): there is no run of \(baseline) to compare with.")
        }
    }

    /// Returns what distinguishes a run from others of the same trace, mode, policy and capacity.
    private static func setting(_ job: SuiteJob, seeds: Int) -> String {
        var text = ""
        if let prefetch = job.job.options.prefetch {
            text += " + \(prefetch.policy)"
            if case .fixed(let latency) = prefetch.latency { text += " in \((Double(latency) / 1_000).decimals(0))ms" }
        }
        if let knowledge = job.job.statedKnowledge { text += ", \(knowledge.rawValue) knowledge" }
        if let pretraining = job.job.statedPretraining { text += ", trained on \(pretraining)" }
        if job.labels != .given { text += ", labels \(job.labels)" }
        if seeds > 1 { text += ", \(seeds) seeds" }
        return text
    }

    private static func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(max(1, values.count)) }
}

/// A result that was measured, and how.
struct MeasuredCell: Sendable, Equatable {
    var cell: StoredCell
    var provenance: CellProvenance
}

/// The results of a running check, by the names of the cells.
private final class MeasuredCells: Sendable {
    private let cells = Mutex<[String: MeasuredCell]>([:])

    var all: [String: MeasuredCell] { cells.withLock { $0 } }

    func add(_ cell: StoredCell, _ provenance: CellProvenance) {
        cells.withLock { $0[provenance.cell] = MeasuredCell(cell: cell, provenance: provenance) }
    }
}

/// The stored cells that a check compares with.
struct RecordedCells {
    /// All stored cells.
    let cells: [StoredCell]
    /// For each identity without its version the cell of this build's version, or else of the highest.
    private let byIdentity: [CellIdentity: StoredCell]

    /// Reads a store. A folder without results has no cells. O(cells).
    init(_ store: ResultStore) throws(ReplayError) {
        cells = store.exists ? try store.cells() : []
        byIdentity = Dictionary(
            cells.map { ($0.identity.unversioned, $0) },
            uniquingKeysWith: { Self.rank($0) > Self.rank($1) ? $0 : $1 })
    }

    private static func rank(_ cell: StoredCell) -> Int {
        cell.identity.resultVersion == Halcyon.resultVersion ? .max : cell.identity.resultVersion
    }

    /// Returns the stored cell of an identity, perhaps of another result version.
    func cell(_ identity: CellIdentity) -> StoredCell? { byIdentity[identity.unversioned] }

    /// Returns the requests of a trace's stored cells that equal scheduled cells in all but their requests. Nil if
    /// there are none, or if cells of the found requests are stored, too. O(cells).
    ///
    /// If cells of several requests are stored, those of the most cells are returned.
    func requests(
        of scheduled: [SuiteSchedule.Cell], insteadOf found: OtherTrace.Requests, trace: String
    ) -> OtherTrace.Requests? {
        if cells.contains(where: { $0.identity.fingerprint == found.fingerprint }) { return nil }
        let wanted = Set(scheduled.map { $0.identity.unversioned.withoutRequests })
        var counts: [String: (cells: Int, requests: Int)] = [:]
        for cell in cells
        where cell.trace.name == trace && wanted.contains(cell.identity.unversioned.withoutRequests) {
            counts[cell.identity.fingerprint, default: (0, cell.trace.requests)].cells += 1
        }
        // Of equally many cells, the order of the fingerprints decides.
        let most = counts.max { ($0.value.cells, $1.key) < ($1.value.cells, $0.key) }
        return most.map { OtherTrace.Requests(count: $0.value.requests, fingerprint: $0.key) }
    }
}

extension OtherTrace {
    /// Whether a cell is one of the requests that the trace had before.
    fileprivate func hasBefore(_ cell: StoredCell) -> Bool {
        cell.trace.name == trace && cell.identity.mode == mode && cell.identity.fingerprint == expected.fingerprint
    }
}

extension CellIdentity {
    /// The identity without its result version.
    var unversioned: CellIdentity {
        var identity = self
        identity.resultVersion = 0
        return identity
    }

    /// The identity without the hashes of its requests, keys and recording.
    var withoutRequests: CellIdentity {
        var identity = self
        identity.fingerprint = ""
        identity.prefetch?.keys = nil
        identity.prefetch?.recording = nil
        return identity
    }
}
