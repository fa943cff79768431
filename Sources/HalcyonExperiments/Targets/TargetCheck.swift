import Foundation
import HalcyonBoosting
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTrace
import Synchronization

/// A check that replays the traces of a target file and compares the results with its targets.
///
/// Each file is loaded once for each way to read it. Each policy runs once at each capacity for each seed, on all cores.
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
    public init(_ file: TargetFile, path: String, catalogue: PolicyCatalogue = .laboratory) {
        self.file = file
        self.path = path
        self.catalogue = catalogue
    }

    /// Returns a progress for ``run(workers:progress:)``.
    ///
    /// - Throws: `PolicyError` or `ReplayError` as ``run(workers:progress:)``.
    public func makeProgress() throws -> TargetProgress {
        TargetProgress(runs: try file.groups.reduce(0) { try $0 + jobs(of: $1).jobs.count })
    }

    /// Runs all targets.
    ///
    /// - Parameters:
    ///   - workers: the number of parallel runs; by default one per core. The result does not depend on it.
    ///   - progress: receives the share of the runs that are done.
    /// - Throws: `ReplayError`, `PolicyError` or `TraceError`.
    public func run(workers: Int? = nil, progress: TargetProgress? = nil) async throws -> TargetReport {
        var outcomes: [[TargetOutcome]] = Array(repeating: [], count: file.groups.count)
        var done: Set<TraceReference> = []
        for group in file.groups {
            let reading = group.source.wholeFile
            guard done.insert(reading).inserted else { continue }
            let trace = try reading.load(inFileAt: path)
            for (number, group) in file.groups.enumerated() where group.source.wholeFile == reading {
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
        let trace = try group.source.selection(of: whole, mode: group.mode)
        if trace.sizeUnit == .objects, let target = group.targets.first(where: { $0.byteFloor != nil }) {
            throw ReplayError.data(
                "\(group.trace): every object counts 1, so that the byte hit ratio of \(target.policy) is its hit ratio: leave "
                    + "out 'byte_floor'.")
        }
        let plan = try jobs(of: group)
        let sweep = try Sweep(trace: trace, jobs: plan.jobs)
        let runs = sweep.makeProgress()
        progress?.start(sweep.jobs.count, runs)
        let results = await sweep.run(workers: workers, progress: runs)
        return try group.targets.enumerated().map { place, target in
            let policy = try catalogue.policy(target.policy)
            guard let own = plan.places[Key(policy: policy.label, capacity: target.capacity)].map({ results[$0] }),
                let first = own.first
            else { preconditionFailure("every target has a job") }
            let baseline = try target.baseline.map { try catalogue.policy($0).label }
            let rival = baseline.flatMap { plan.places[Key(policy: $0, capacity: target.capacity)] }.map { results[$0] }
            return TargetOutcome(
                group: number, number: place, trace: group.trace + group.setting, file: group.trace, mode: group.mode,
                target: target, policyName: policy.info.name,
                tierCapacity: group.tiers == nil ? nil : group.capacity(of: target),
                hits: own.reduce(0) { $0 + $1.hits }, requests: own.reduce(0) { $0 + $1.requests },
                byteHitRatio: first.capacityUnit == .bytes ? Self.mean(own.map(\.byteHitRatio)) : nil,
                meanLatency: first.tiers == nil ? nil : Self.mean(own.compactMap { $0.tiers?.meanLatency }),
                baselineHitRatio: rival.map { Self.mean($0.map(\.objectHitRatio)) },
                systemKernels: first.allKernels.first(where: \.dependsOnProcessor),
                seconds: own.reduce(0) { $0 + $1.seconds })
        }
    }

    private static func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(max(1, values.count)) }

    /// Returns the runs of a group, and the place of each policy's runs among them: one for each seed.
    private func jobs(of group: TargetGroup) throws -> (jobs: [ReplayJob], places: [Key: Range<Int>]) {
        var jobs: [ReplayJob] = []
        var places: [Key: Range<Int>] = [:]
        for target in group.targets {
            for name in [target.policy] + (target.baseline.map { [$0] } ?? []) {
                let policy = try catalogue.policy(name)
                let key = Key(policy: policy.label, capacity: target.capacity)
                if places[key] != nil { continue }
                let options = ReplayOptions(warmup: group.warmup, windows: 1, prefetch: group.prefetch)
                var job = ReplayJob(
                    policy: policy, capacity: try group.tiers?.disk ?? CapacityRequest(parsing: target.capacity),
                    mode: group.mode, models: group.models, tiers: group.tiers, options: options)
                job.comparesWithoutPrefetching = false
                let start = jobs.count
                for seed in job.isRandomised ? group.seeds : Array(group.seeds.prefix(1)) {
                    job.options.seed = seed
                    jobs.append(job)
                }
                places[key] = start..<jobs.count
            }
        }
        return (jobs, places)
    }

    /// A policy at a capacity, which is empty with tiers.
    private struct Key: Hashable {
        let policy: String
        let capacity: String
    }
}

extension TraceReference {
    /// The same file, read in the same way, without a selection: the key for loading it once.
    fileprivate var wholeFile: TraceReference {
        var reference = self
        (reference.skip, reference.limit, reference.split) = (0, nil, nil)
        reference.name = ""
        return reference
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
