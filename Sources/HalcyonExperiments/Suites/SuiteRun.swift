import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace
import Synchronization

/// Runs the cells of a suite whose results are not stored, on all cores.
///
/// ```swift
/// let run = SuiteRun(try Suite(path: "suite.yml"), store: ResultStore(folder: "results/suite"))
/// let schedule = try await run.schedule()
/// let outcome = try await run.run(schedule)
/// print(outcome.ran, outcome.failures)
/// ```
///
/// Each result is stored as soon as it is there, in a file of its own; at the end, the results are packed into one file
/// (`ResultStore.pack()`). A run that is interrupted loses the running cells; the next run goes on. Stored bytes do not
/// depend on the number of threads, the order of the cells or their distribution over machines.
public struct SuiteRun: Sendable {
    /// Which cells to run, and with what.
    public struct Options: Sendable {
        /// The part of the cells. Nil by default: all.
        package var shard: Shard?
        /// The names of the only cells to run; empty by default: all.
        public var cells: Set<String> = []
        /// The names of the only traces to use; empty by default: all.
        public var traces: Set<String> = []
        /// The part of the users whose caches are replayed; the cells of shared caches are left out. Nil by default:
        /// all users, and shared caches.
        public var users: UserPart?
        /// The number of parallel runs; by default one per core.
        public var workers: Int?
        /// The memory that the running cells may take together by estimate, in bytes. A cell above it runs alone. By
        /// default four fifths of the machine's.
        public var memory = Int(clamping: ProcessInfo.processInfo.physicalMemory / 5 * 4)

        /// Creates the default options.
        public init() {}
    }

    /// What a run did.
    public struct Outcome: Sendable {
        /// The number of cells that were run and stored.
        public var ran = 0
        /// The number of cells that were stored before.
        public var storedBefore = 0
        /// What could not be run.
        public var failures: [SuiteSchedule.Failure] = []
    }

    /// The suite.
    public let suite: Suite
    /// The results.
    public let store: ResultStore
    /// Which cells to run, and with what.
    public var options: Options

    /// Creates a run.
    public init(_ suite: Suite, store: ResultStore, options: Options = Options()) {
        self.suite = suite
        self.store = store
        self.options = options
    }

    /// Returns the cells of the suite. Reads every trace once, because a cell is named by its requests. O(requests).
    ///
    /// A trace that cannot be read, and a job that does not suit its trace, are failures of the schedule.
    ///
    /// - Throws: `ReplayError.usage(_:)` if the options name a trace or a cell that the suite does not have;
    ///   `ReplayError.data(_:)` if the pack of the results is damaged.
    public func schedule() throws -> SuiteSchedule {
        if let unknown = options.traces.sorted().first(where: { name in !suite.traces.contains { $0.name == name } }) {
            throw ReplayError.usage(
                "\(suite.path) has no trace '\(unknown)': it has \(suite.traces.map(\.name).joined(separator: ", ")).")
        }
        let stored = store.exists ? Set(try store.hashes()) : []
        let costs = CellCosts(store)
        var schedule = SuiteSchedule(suite: suite.name, cells: [], failures: [])
        var seen: Set<String> = []
        var fingerprints: [String: String] = [:]
        for reference in suite.traces where options.traces.isEmpty || options.traces.contains(reference.name) {
            let jobs = jobs(onTrace: reference.name)
            guard !jobs.isEmpty else { continue }
            do {
                let whole = try reference.load(inFileAt: suite.path, for: jobs.map(\.job))
                let warmup = try reference.loadWarmup(inFileAt: suite.path, for: jobs.map(\.job))
                for (mode, jobs) in Self.byMode(jobs) {
                    do {
                        let trace = try reference.selection(of: whole, warmup: warmup, mode: mode)
                        var requests = RequestIdentity(trace)
                        for (name, other) in try others(of: jobs, besides: Set(fingerprints.keys)) {
                            fingerprints[name] = other.fingerprint
                        }
                        requests.others = fingerprints
                        schedule.requests[.init(trace: reference.name, mode: mode)] = requests
                        for cell in cells(
                            jobs, on: trace, requests, of: reference, stored: stored, costs: costs,
                            failures: &schedule.failures)
                        where seen.insert(cell.hash).inserted && accepts(cell) {
                            schedule.cells.append(cell)
                        }
                    } catch {
                        schedule.failures.append(Self.failure(reference, nil, error))
                    }
                }
            } catch {
                schedule.failures.append(Self.failure(reference, nil, error))
            }
        }
        if let unknown = options.cells.sorted().first(where: { !seen.contains($0) }) {
            throw ReplayError.usage("\(suite.path) has no cell '\(unknown)': --dry-run lists its cells.")
        }
        return schedule
    }

    /// Returns the jobs on a trace; for a part of the users, those of per-user caches.
    private func jobs(onTrace trace: String) -> [SuiteJob] {
        let jobs = suite.jobs(onTrace: trace)
        guard let users = options.users else { return jobs }
        return jobs.filter { $0.job.mode == .perUser }.map { job in
            var part = job
            part.job.users = users
            return part
        }
    }

    /// Reads the other traces that the models of jobs are trained on, by their names, with the requests that per-user caches serve.
    private func others(of jobs: [SuiteJob], besides known: Set<String> = []) throws -> [String: Trace] {
        var traces: [String: Trace] = [:]
        let names = Set(jobs.flatMap { $0.job.statedPretraining?.traceNames ?? [] }).subtracting(known)
        for reference in suite.traces where names.contains(reference.name) {
            traces[reference.name] = try reference.selection(
                of: reference.load(inFileAt: suite.path, for: []), mode: .perUser)
        }
        return traces
    }

    private func accepts(_ cell: SuiteSchedule.Cell) -> Bool {
        (options.cells.isEmpty || options.cells.contains(cell.hash)) && options.shard?.contains(cell.hash) != false
    }

    /// Returns the cells of one trace in one mode, the longest first.
    private func cells(
        _ jobs: [SuiteJob], on trace: Trace, _ requests: RequestIdentity, of reference: TraceReference,
        stored: Set<String>, costs: CellCosts, failures: inout [SuiteSchedule.Failure]
    ) -> [SuiteSchedule.Cell] {
        let input = ReplayInput(trace, for: [])
        var cells: [SuiteSchedule.Cell] = []
        for job in jobs {
            do throws(ReplayError) {
                if job.labels != .given, !trace.hasCategories { _ = try job.labels.applied(to: trace) }
                let resolved = try job.job.resolved(for: input)
                let identity = CellIdentity(job.job, labels: job.labels, requests: requests)
                let hash = identity.hash
                cells.append(
                    SuiteSchedule.Cell(
                        hash: hash, trace: reference.name, label: job.job.label, capacity: job.job.capacityText,
                        mode: job.job.mode, knowledge: identity.knowledge,
                        prefetch: job.job.options.prefetch?.policy.description, pretrain: identity.pretrain,
                        labels: identity.labels, seed: identity.seed, requests: trace.count,
                        estimatedSeconds: costs.seconds(identity, job: job.job, requests: trace.count),
                        estimatedBytes: CellCosts.bytes(job.job, trace: trace, capacity: resolved.capacity),
                        stored: stored.contains(hash), job: job, identity: identity))
            } catch {
                failures.append(Self.failure(reference, job, error))
            }
        }
        return cells.sorted { ($1.estimatedSeconds, $0.hash) < ($0.estimatedSeconds, $1.hash) }
    }

    /// Returns a progress for ``run(_:progress:)``.
    public func makeProgress(_ schedule: SuiteSchedule) -> SuiteProgress { SuiteProgress(schedule.missing) }

    /// Runs the cells of a schedule that are not stored, and packs the stored cells when all have been run.
    ///
    /// - Throws: `TraceError` if a result cannot be written, or `ReplayError` if a different result of a cell is
    ///   stored. Other errors are failures of their cell.
    public func run(_ schedule: SuiteSchedule, progress: SuiteProgress? = nil) async throws -> Outcome {
        try store.prepare()
        var outcome = try await run(schedule.missing, progress: progress) { try store.add($0, $1) }
        outcome.storedBefore = schedule.cells.count - schedule.missing.count
        outcome.failures = schedule.failures + outcome.failures
        try store.pack()
        return outcome
    }

    /// Runs cells of a schedule.
    ///
    /// - Parameter keep: receives each result, on several threads at once.
    /// - Throws: the errors of `keep`. Other errors are failures of their cell.
    func run(
        _ cells: [SuiteSchedule.Cell], progress: SuiteProgress? = nil,
        keep: @escaping @Sendable (StoredCell, CellProvenance) throws -> Void
    ) async throws -> Outcome {
        var outcome = Outcome()
        for reference in suite.traces {
            let cells = cells.filter { $0.trace == reference.name }
            guard !cells.isEmpty else { continue }
            do {
                let whole = try reference.load(inFileAt: suite.path, for: cells.map(\.job.job))
                let warmup = try reference.loadWarmup(inFileAt: suite.path, for: cells.map(\.job.job))
                for mode in [ReplayMode.shared, .perUser] {
                    let cells = cells.filter { $0.mode == mode }
                    guard !cells.isEmpty else { continue }
                    let trace = try reference.selection(of: whole, warmup: warmup, mode: mode)
                    var work = CellWork(cells, trace: trace, name: reference.name, suite: suite.name, keep: keep)
                    await work.train(cells, on: try others(of: cells.map(\.job)), workers: options.workers)
                    try await run(cells, by: work, of: reference, progress: progress, into: &outcome)
                }
            } catch let error as StoringFailed {
                throw error.reason
            } catch {
                outcome.failures.append(Self.failure(reference, nil, error))
            }
        }
        return outcome
    }

    /// Runs cells of one trace in one mode.
    private func run(
        _ cells: [SuiteSchedule.Cell], by work: CellWork, of reference: TraceReference, progress: SuiteProgress?,
        into outcome: inout Outcome
    ) async throws {
        guard work.fingerprint == cells[0].identity.fingerprint else {
            throw ReplayError.data("\(reference.path): the file changed while the suite ran; run it again.")
        }
        let workers = max(1, options.workers ?? coreCount)
        var waiting = cells[...]
        var (running, memory) = (0, 0)
        try await withThrowingTaskGroup(of: (cell: SuiteSchedule.Cell, failure: ReplayError?).self) { group in
            repeat {
                while running < workers,
                    let next = waiting.firstIndex(where: {
                        running == 0 || memory + $0.estimatedBytes <= options.memory
                    })
                {
                    let cell = waiting.remove(at: next)
                    running += 1
                    memory += cell.estimatedBytes
                    let part = progress?.start(cell)
                    group.addTask { (cell, try work.run(cell, progress: part)) }
                }
                guard let (cell, failure) = try await group.next() else { break }
                running -= 1
                memory -= cell.estimatedBytes
                progress?.finish(cell)
                if let failure {
                    outcome.failures.append(Self.failure(reference, cell.job, failure))
                } else {
                    outcome.ran += 1
                }
            } while running > 0 || !waiting.isEmpty
        }
    }

    private static func byMode(_ jobs: [SuiteJob]) -> [(ReplayMode, [SuiteJob])] {
        [ReplayMode.shared, .perUser].compactMap { mode in
            let part = jobs.filter { $0.job.mode == mode }
            return part.isEmpty ? nil : (mode, part)
        }
    }

    private static func failure(_ trace: TraceReference, _ job: SuiteJob?, _ error: any Error) -> SuiteSchedule.Failure
    {
        let cell = job.map { job in
            let labels = job.labels == .given ? "" : ", labels \(job.labels)"
            return "\(job.job.label) at \(job.job.capacityText), \(job.job.mode.words)\(labels)"
        }
        return SuiteSchedule.Failure(trace: trace.name, cell: cell, sentence: SystemReason.text(of: error))
    }
}

/// An error that ends the whole run: a result could not be stored.
private struct StoringFailed: Error {
    let reason: any Error
}

/// The work on the cells of one trace in one mode.
private struct CellWork: Sendable {
    let fingerprint: String
    private let input: ReplayInput
    private let facts: StoredCell.TraceFacts
    private let suite: String
    private let keep: @Sendable (StoredCell, CellProvenance) throws -> Void
    private var models: TrainedModels?

    init(
        _ cells: [SuiteSchedule.Cell], trace: Trace, name: String, suite: String,
        keep: @escaping @Sendable (StoredCell, CellProvenance) throws -> Void
    ) {
        fingerprint = trace.fingerprint
        input = ReplayInput(trace, for: cells.map(\.job.job))
        facts = StoredCell.TraceFacts(
            requests: trace.count, objects: trace.objectCount, users: trace.userCount,
            categories: trace.categoryCount, distinctSize: Int(clamping: trace.distinctSize),
            sizeUnit: trace.sizeUnit, name: name)
        self.suite = suite
        self.keep = keep
    }

    /// Trains the models that the devices of the cells begin with.
    mutating func train(_ cells: [SuiteSchedule.Cell], on others: [String: Trace], workers: Int?) async {
        models = await TrainedModels(
            for: cells.map { ($0.job.job, $0.job.labels) }, over: input, others: others, workers: workers)
    }

    /// Runs a cell and keeps its result. Returns why the cell cannot be run, if so.
    func run(_ cell: SuiteSchedule.Cell, progress: ReplayProgress?) throws -> ReplayError? {
        var job = cell.job.job
        let units = UnitCounter(input.trace, warmup: job.options.warmup)
        job.options = units.options(job.options)
        job.comparesWithoutPrefetching = false
        let outcome: ReplayOutcome
        do throws(ReplayError) {
            let labelled = input.relabelled(try cell.job.labels.applied(to: input.trace))
            let models = try models?.models(of: cell.job.job, labels: cell.job.labels)
            outcome = try job.resolved(for: labelled).beginning(with: models).measured(
                over: labelled, progress: progress)
        } catch {
            return error
        }
        var facts = facts
        facts.timeResolutionUs = outcome.result.prefetch?.timeResolution
        let stored = StoredCell(
            outcome, identity: cell.identity, trace: facts, units: units.counts(outcome.recorder))
        do {
            try keep(stored, CellProvenance(outcome.result, cell: cell.hash, suite: suite))
        } catch {
            throw StoringFailed(reason: error)
        }
        return nil
    }
}

extension ReplayJob {
    /// The capacity, or the capacities of the tiers and the lifetimes of their entries, as requested.
    var capacityText: String {
        guard let tiers, name == nil else { return capacity.description }
        return CellIdentity.Tiers.text(
            memory: tiers.memory.description, disk: tiers.disk.description,
            lifetimes: [tiers.memoryLifetime, tiers.diskLifetime])
    }
}

/// The progress of a suite, readable from other threads while it runs. Cells count by their expected duration.
public final class SuiteProgress: Sendable {
    private struct State {
        var finished = 0.0
        var finishedRequests = 0
        var running: [String: (seconds: Double, progress: ReplayProgress)] = [:]
    }

    private let total: Double
    private let state = Mutex(State())

    init(_ cells: [SuiteSchedule.Cell]) { total = cells.reduce(0) { $0 + $1.estimatedSeconds } }

    fileprivate func start(_ cell: SuiteSchedule.Cell) -> ReplayProgress {
        let progress = ReplayProgress(total: cell.requests)
        state.withLock { $0.running[cell.hash] = (cell.estimatedSeconds, progress) }
        return progress
    }

    fileprivate func finish(_ cell: SuiteSchedule.Cell) {
        state.withLock { state in
            state.running[cell.hash] = nil
            state.finished += cell.estimatedSeconds
            state.finishedRequests += cell.requests
        }
    }

    /// The share that is done, 0…1.
    public var share: Double {
        state.withLock { state in
            let done = state.running.values.reduce(state.finished) {
                $0 + $1.seconds * min(1, Double($1.progress.completed) / Double(max(1, $1.progress.total)))
            }
            return total == 0 ? 1 : min(1, done / total)
        }
    }

    /// The number of requests served so far.
    public var requests: Int {
        state.withLock { state in state.running.values.reduce(state.finishedRequests) { $0 + $1.progress.completed } }
    }
}
