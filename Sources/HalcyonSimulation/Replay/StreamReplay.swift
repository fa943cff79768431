import HalcyonEviction
import HalcyonTrace

/// Replays a trace while reading it, for traces larger than memory.
///
/// All jobs are served in one pass. Memory: that of `TraceStream` for each distinct key, and that of
/// the caches; none per request. Jobs that need the whole trace in advance are refused; see
/// ``init(path:load:jobs:)``. Sizes are assumed to be uniform until one differs; see ``run(notes:)``.
public struct StreamReplay {
    private let path: String
    private let load: TraceLoadOptions
    private let jobs: [ResolvedJob]
    private let mode: ReplayMode
    private let users: UserPart?
    private let warmup: Warmup

    /// Creates a replay of the trace at `path`.
    ///
    /// - Parameters:
    ///   - load: the load options; with per-user caches, `skip` and `limit` count the requests that have a user.
    ///   - jobs: the runs, all with a shared cache or all with per-user caches, and all with the same users and
    ///     warm-up.
    /// - Throws: ``ReplayError`` for an offline policy, a capacity or a warm-up that is a share, and a prefetch
    ///   policy that needs all keys in advance.
    public init(path: String, load: TraceLoadOptions, jobs: [ReplayJob]) throws(ReplayError) {
        self.path = path
        self.load = load
        var resolved: [ResolvedJob] = []
        for job in jobs { resolved.append(try job.resolvedForStream()) }
        self.jobs = resolved
        mode = jobs.first?.mode ?? .shared
        users = jobs.first?.users
        warmup = jobs.first?.options.warmup ?? .none
        guard jobs.allSatisfy({ $0.mode == mode }) else {
            throw ReplayError.usage("One pass over a stream has either shared or per-user caches.")
        }
        guard jobs.allSatisfy({ $0.users == users }) else {
            throw ReplayError.usage("One pass over a stream serves the same part of the users in all runs.")
        }
        guard jobs.allSatisfy({ $0.options.warmup == warmup }) else {
            throw ReplayError.usage("One pass over a stream has the same warm-up in all runs.")
        }
    }

    /// Reads the trace and serves all jobs.
    ///
    /// Sizes are assumed to be uniform while all requests so far have the same size. When a request has a different
    /// size, the replay starts again with variable sizes and reads that part of the file twice. The requests of the
    /// first piece (about 1 MB of text) are checked before the first one is served.
    ///
    /// - Parameter notes: additional notes for the report.
    /// - Throws: `TraceError` if the trace cannot be read. ``ReplayError`` if it is empty, has no user
    ///   for per-user caches, or no sizes for a capacity in bytes. Also if sizes first vary after the first piece of
    ///   a source that can be read only once.
    public func run(notes: [String] = []) throws -> ReplayReport {
        switch try pass(expectsUniformSizes: true, notes) {
        case .finished(let report): return report
        case .sizeChanged(let sentence):
            guard ([path] + load.continuations).allSatisfy(TraceStream.canReadAgain) else {
                throw ReplayError.data("\(path): \(sentence)")
            }
        }
        guard case .finished(let report) = try pass(expectsUniformSizes: false, notes) else {
            preconditionFailure("A replay with variable sizes takes every size.")
        }
        return report
    }

    /// The end of a pass over the trace.
    private enum Ending {
        case finished(ReplayReport)
        /// The reason why the replay has to start again.
        case sizeChanged(String)
    }

    private func pass(expectsUniformSizes: Bool, _ notes: [String]) throws -> Ending {
        var source = try StreamRequests(path, load, mode: mode, part: users, warmup: warmup)
        guard try source.next() else {
            throw ReplayError.data(
                source.withoutUser > 0
                    ? "\(path): has no users, which per-user caches need" : "\(path): holds no request")
        }
        if case .time(let time) = warmup, time > 0, source.stream.report.noTimes { throw Warmup.noTimes(warmup) }
        let size = source.firstSize
        let isUniform = expectsUniformSizes && source.firstOther(than: size) == nil
        let unit = CacheUnit(uniformSize: isUniform ? size : nil)
        let runs = jobs.map { StreamedRun($0, unit: unit) }
        repeat {
            if isUniform, load.sizes != .unit, let other = source.firstOther(than: size) {
                let number = max(load.skip, 0) + source.requests + other.place + 1
                return .sizeChanged(
                    "request \(number) has the size \(other.size) and all before it have the size \(size); the "
                        + "replay has to start again with variable sizes, but this source can be read only once: save it as a file."
                )
            }
            source.withBlock(unit: unit) { block in
                for run in runs { run.serve(block) }
            }
        } while try source.next()
        let facts = source.facts(unit: unit)
        guard facts.warmup < facts.requests else { throw Warmup.nothingLeft(warmup, of: facts.requests) }
        for job in jobs { try verify(job.job, facts) }
        let trace = TraceSummary(
            source.stream, path: path, requests: facts.requests, identity: source.identity,
            notes: notes + (source.withoutUser > 0 ? [withoutUser(source.withoutUser)] : []))
        return .finished(
            ReplayReport(trace: trace, runs: runs.map { $0.finish(facts) }))
    }

    /// Refuses capacities in bytes without sizes, and tables of categories or users that the trace lacks.
    private func verify(_ job: ReplayJob, _ facts: SourceFacts) throws(ReplayError) {
        if job.options.byCategory, facts.categoryCount == 0 {
            throw ReplayError.data("\(path) has no categories for a table by category.")
        }
        if job.options.byUser, facts.userCount == 0 {
            throw ReplayError.data("\(path) has no users for a table by user.")
        }
        for capacity in job.tiers.map({ [$0.memory, $0.disk] }) ?? [job.capacity] {
            _ = try capacity.resolved(unit: facts.sizeUnit, distinct: nil)
        }
        try job.options.prefetch?.verify(unit: facts.sizeUnit)
        try job.options.prefetch?.verify(nil)
    }

    private func withoutUser(_ count: Int) -> String { "\(count.counted("request")) without a user left out." }
}

/// One job of a pass over a stream, and its processor time so far.
private final class StreamedRun {
    private var run: JobRun
    private var seconds = 0.0

    init(_ job: ResolvedJob, unit: CacheUnit) {
        run = JobRun(job, facts: SourceFacts(streamOf: unit))
    }

    func serve(_ block: borrowing RequestBlock) {
        let began = ThreadTime.seconds
        run.serve(block)
        seconds += ThreadTime.seconds - began
    }

    func finish(_ facts: SourceFacts) -> RunResult { run.finish(facts, seconds: seconds - run.otherSeconds).result }
}
