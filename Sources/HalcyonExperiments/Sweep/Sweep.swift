import Foundation
import HalcyonBoosting
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTrace

/// Several jobs over one loaded trace, on all cores.
///
/// ```swift
/// let trace = try Trace.load("shop.csv")
/// let sweep = try Sweep(
///     trace: trace, policies: ["lru", "s3-fifo(small=0.2)"], capacities: ["1%", "10%"])
/// for run in await sweep.run() { print(run.label, run.capacity, run.objectHitRatio) }
/// ```
///
/// Results do not depend on the number of threads.
public struct Sweep: Sendable {
    /// The jobs, in the order of their results.
    public let jobs: [ReplayJob]
    private let input: ReplayInput
    private var resolved: [ResolvedJob]

    /// Creates a sweep over jobs.
    ///
    /// - Parameter trace: with per-user caches every request must have a user, see
    ///   `Trace.selection(skip:limit:withUserOnly:)`.
    /// - Throws: `ReplayError` if the trace is empty or has no users for per-user caches. Also if a capacity or a
    ///   prefetch budget is in bytes but objects are counted, or an offline policy is combined with tiers or
    ///   prefetching.
    public init(trace: Trace, jobs: [ReplayJob]) throws(ReplayError) {
        self.jobs = jobs
        input = ReplayInput(trace, for: jobs)
        var resolved: [ResolvedJob] = []
        for job in jobs { resolved.append(try job.resolved(for: input)) }
        self.resolved = resolved
    }

    /// Creates a sweep over policies × capacities. Results are ordered by policy, then by capacity.
    ///
    /// - Parameters:
    ///   - capacities: ignored if there are tiers.
    ///   - knowledge: what the learners and the prefetch policies of per-user caches see.
    ///   - tiers: the two tiers that replace each cache.
    /// - Throws: `ReplayError` as ``init(trace:jobs:)``.
    public init(
        trace: Trace, policies: [ConfiguredPolicy], capacities: [CapacityRequest],
        options: ReplayOptions = ReplayOptions(), mode: ReplayMode = .shared, knowledge: Knowledge = .device,
        tiers: TierOptions? = nil
    ) throws(ReplayError) {
        try self.init(
            trace: trace,
            jobs: ReplayJob.grid(
                policies: policies, capacities: capacities, options: options, mode: mode, knowledge: knowledge,
                tiers: tiers))
    }

    /// Creates a sweep over policies × capacities as text.
    ///
    /// - Throws: `PolicyError` or `ReplayError`.
    public init(
        trace: Trace, policies: [String], capacities: [String], catalogue: PolicyCatalogue = .laboratory,
        options: ReplayOptions = ReplayOptions()
    ) throws {
        try self.init(
            trace: trace, policies: policies.map { try catalogue.policy($0) },
            capacities: capacities.map { try CapacityRequest(parsing: $0) }, options: options)
    }

    /// Trains the models that devices begin with, before the jobs are run: once for the jobs that share them.
    ///
    /// - Parameters:
    ///   - traces: the other traces that the jobs name, by these names.
    ///   - workers: the number of models to train in parallel; by default one per core.
    /// - Throws: `ReplayError` if users give too little to learn from.
    package mutating func train(on traces: [String: Trace], workers: Int?) async throws(ReplayError) {
        let models = await TrainedModels(for: jobs.map { ($0, .given) }, over: input, others: traces, workers: workers)
        for index in resolved.indices {
            resolved[index] = resolved[index].beginning(with: try models.models(of: jobs[index], labels: .given))
        }
    }

    /// Returns a progress for ``run(workers:progress:)``.
    public func makeProgress() -> ReplayProgress { ReplayProgress(total: jobs.count * input.trace.count) }

    /// Runs all jobs and returns their results in order.
    ///
    /// - Parameters:
    ///   - workers: the number of parallel runs; by default one per core.
    ///   - progress: receives the number of requests served.
    public func run(workers: Int? = nil, progress: ReplayProgress? = nil) async -> [RunResult] {
        await concurrentMap(resolved, workers: workers) { $0.measured(over: input, progress: progress).result }
    }

    /// Runs each job once and returns the counts in order; speeds are those of one run.
    func runOnce(workers: Int?, progress: ReplayProgress?) async -> [RunResult] {
        await concurrentMap(resolved, workers: workers) { $0.run(over: input, progress: progress).result }
    }

    /// Runs all jobs and returns a report with their results in order.
    ///
    /// - Parameters:
    ///   - summary: the summary of the trace. Creating it hashes every column of the trace. It is complete before the
    ///     first run, so hashing takes no time from runs that are timed.
    ///   - workers: the number of parallel runs; by default one per core.
    ///   - progress: receives the number of requests served.
    public func report(
        on summary: TraceSummary, workers: Int? = nil, progress: ReplayProgress? = nil
    ) async -> ReplayReport {
        ReplayReport(trace: summary, runs: await run(workers: workers, progress: progress))
    }
}

/// The default number of parallel runs: one for each core that this process may use.
package var coreCount: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }

/// Transforms values on several threads. Results are in the order of the values.
func concurrentMap<Value: Sendable, Result: Sendable>(
    _ values: [Value], workers: Int?, _ transform: @escaping @Sendable (Value) -> Result
) async -> [Result] {
    var results = [Result?](repeating: nil, count: values.count)
    await withTaskGroup(of: (Int, Result).self) { group in
        var next = 0
        func start() {
            guard next < values.count else { return }
            let (number, value) = (next, values[next])
            next += 1
            group.addTask { (number, transform(value)) }
        }
        for _ in 0..<max(1, workers ?? coreCount) { start() }
        for await (number, result) in group {
            results[number] = result
            start()
        }
    }
    return results.compactMap { $0 }
}
