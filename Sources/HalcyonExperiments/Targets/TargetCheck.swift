import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTrace
import Synchronization

/// A check that replays the traces of a target file and compares the results with its targets.
///
/// Each trace is loaded once per size rule and column names. Each policy runs once at each capacity, on all cores.
///
/// ```swift
/// let file = try TargetFile(path: "Experiments/targets.yml")
/// let report = try await TargetCheck(file, path: "Experiments/targets.yml").run()
/// print(report.text())
/// ```
public struct TargetCheck: Sendable {
    private let file: TargetFile
    private let path: String
    private let catalogue: PolicyCatalogue
    /// The result version of this build.
    var resultVersion = Halcyon.resultVersion

    /// Creates a check.
    ///
    /// - Parameters:
    ///   - file: the targets.
    ///   - path: the path of the file; traces are relative to its folder.
    ///   - catalogue: the policies to run; they may differ from those that recorded the file.
    public init(_ file: TargetFile, path: String, catalogue: PolicyCatalogue = .standard) {
        self.file = file
        self.path = path
        self.catalogue = catalogue
    }

    /// Returns a progress for ``run(workers:progress:)``.
    ///
    /// - Throws: `PolicyError` or `ReplayError` as ``run(workers:progress:)``.
    public func makeProgress() throws -> TargetProgress {
        TargetProgress(
            runs: try file.groups.reduce(0) { sum, group in
                try sum + batches(of: group).reduce(0) { $0 + $1.policies.count * $1.capacities.count }
            })
    }

    /// Runs all targets.
    ///
    /// - Parameters:
    ///   - workers: the number of parallel runs; by default one per core. The result does not depend on it.
    ///   - progress: receives the share of the runs that are done.
    /// - Throws: `ReplayError`, `PolicyError` or `TraceError`.
    public func run(workers: Int? = nil, progress: TargetProgress? = nil) async throws -> TargetReport {
        var outcomes: [[TargetOutcome]] = Array(repeating: [], count: file.groups.count)
        var done: Set<TraceReading> = []
        for group in file.groups {
            let reading = TraceReading(group)
            guard done.insert(reading).inserted else { continue }
            let trace = try reading.load(from: group.tracePath(inFileAt: path))
            for (number, group) in file.groups.enumerated() where TraceReading(group) == reading {
                outcomes[number] = try await run(
                    group, number: number, over: trace, workers: workers, progress: progress)
            }
        }
        return TargetReport(
            file: path, recordedVersion: file.resultVersion, resultVersion: resultVersion,
            outcomes: outcomes.flatMap { $0 })
    }

    private func run(
        _ group: TargetGroup, number: Int, over whole: Trace, workers: Int?, progress: TargetProgress?
    ) async throws -> [TargetOutcome] {
        let perUser = group.mode == .perUser
        if perUser, !whole.hasUsers {
            throw ReplayError.data("\(group.trace) has no users, which per-user caches need.")
        }
        let trace =
            perUser || group.limit != nil ? whole.selection(limit: group.limit, withUserOnly: perUser).trace : whole
        let options = ReplayOptions(warmup: group.warmup, seed: group.seed, windows: 1, prefetch: group.prefetch)
        let prefetch = group.prefetch.map { " + \($0.policy)" } ?? ""
        var results: [Job: RunResult] = [:]
        for batch in try batches(of: group) {
            let sweep = try Sweep(
                trace: trace, policies: batch.policies, capacities: batch.capacities, options: options,
                mode: group.mode)
            let runs = sweep.makeProgress()
            progress?.start(sweep.jobs.count, runs)
            for result in await sweep.run(workers: workers, progress: runs) {
                results[Job(policy: result.label, capacity: result.capacityAsked)] = result
            }
        }
        return try group.targets.enumerated().map { place, target in
            let policy = try catalogue.policy(target.policy)
            guard let result = results[Job(policy: policy.label, capacity: target.capacity)] else {
                preconditionFailure("every target is in a batch")
            }
            let baseline = try target.baseline.map { try catalogue.policy($0).label }
            return TargetOutcome(
                group: number, number: place, trace: group.trace + prefetch, mode: group.mode, target: target,
                policyName: policy.info.name, hits: result.hits, requests: result.requests,
                baselineHitRatio: baseline.flatMap {
                    results[Job(policy: $0, capacity: target.capacity)]?.objectHitRatio
                },
                systemKernels: result.allKernels.first(where: \.dependsOnProcessor), seconds: result.seconds)
        }
    }

    /// Returns the runs of a group. Policies with the same capacities are in one batch.
    private func batches(of group: TargetGroup) throws -> [(
        policies: [ConfiguredPolicy], capacities: [CapacityRequest]
    )] {
        var policies: [ConfiguredPolicy] = []
        var capacities: [String: [String]] = [:]
        for target in group.targets {
            for name in [target.policy] + (target.baseline.map { [$0] } ?? []) {
                let policy = try catalogue.policy(name)
                if capacities[policy.label] == nil { policies.append(policy) }
                if capacities[policy.label, default: []].contains(target.capacity) { continue }
                capacities[policy.label, default: []].append(target.capacity)
            }
        }
        var batches: [(policies: [ConfiguredPolicy], capacities: [String])] = []
        for policy in policies {
            let wanted = (capacities[policy.label] ?? []).sorted()
            if let place = batches.firstIndex(where: { $0.capacities == wanted }) {
                batches[place].policies.append(policy)
            } else {
                batches.append(([policy], wanted))
            }
        }
        return try batches.map { ($0.policies, try $0.capacities.map { try CapacityRequest(parsing: $0) }) }
    }

    private struct Job: Hashable {
        let policy: String
        let capacity: String
    }
}

/// A trace with its load options: the key for loading it once.
private struct TraceReading: Hashable {
    let trace: String
    let sizes: String
    let columns: String?

    init(_ group: TargetGroup) {
        trace = group.trace
        sizes = group.sizes
        columns = group.columns
    }

    func load(from path: String) throws -> Trace {
        var options = LoadOptions()
        options.sizes = SizeRule(argument: sizes) ?? .firstRequest
        if let columns {
            do { options.columns = try ColumnNames(parsing: columns) } catch {
                throw ReplayError.data("\(trace): \(error.description)")
            }
        }
        return try Trace.load(path, options)
    }
}

/// The progress of a check, readable from other threads while it runs.
public final class TargetProgress: Sendable {
    private struct State {
        /// The number of finished runs.
        var finished = 0
        /// The number of runs of the current sweep, and its progress.
        var current: (runs: Int, progress: ReplayProgress)?
    }

    private let runs: Int
    private let state = Mutex(State())

    init(runs: Int) { self.runs = runs }

    /// Counts the runs of the sweep before as finished, and follows this one.
    fileprivate func start(_ count: Int, _ progress: ReplayProgress) {
        state.withLock { state in
            state.finished += state.current?.runs ?? 0
            state.current = (count, progress)
        }
    }

    /// The share of the runs that are done, 0…1.
    public var share: Double {
        state.withLock { state in
            var done = Double(state.finished)
            if let (count, progress) = state.current, progress.total > 0 {
                done += Double(count) * Double(progress.completed) / Double(progress.total)
            }
            return runs == 0 ? 1 : min(1, done / Double(runs))
        }
    }
}
