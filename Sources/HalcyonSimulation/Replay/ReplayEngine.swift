import Foundation
import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace

/// The main loop of all replays: a source (``TraceRequests``, ``StreamRequests``) delivers blocks of requests, a
/// ``CacheSet`` serves them, and a ``Recorder`` counts the outcomes.
struct JobRun {
    let resolved: ResolvedJob
    private var caches: CacheSet
    private var recorder: Recorder
    /// The same caches without prefetching, for comparison.
    private var baseline: CacheSet?
    private let timer: RunTimer?
    private var outcomes = OutcomeBuffer(capacity: TraceRequests.blockLength)
    private var hasCounted = false
    /// The time that is not part of the run: the comparison, and reading the state of all caches at the end of the
    /// warm-up.
    private(set) var otherSeconds = 0.0
    /// The resolution of the times so far. Nil without prefetching.
    private var timeResolution: TimeResolution?

    /// - Parameter model: the model of the caches; `nil` for the models that ``ReplayJob/knowledge`` specifies.
    init(_ resolved: ResolvedJob, facts: SourceFacts, model: AnyObject? = nil) {
        self.resolved = resolved
        let job = resolved.job
        timer = job.options.timings ? RunTimer() : nil
        caches = CacheSet(
            resolved, facts: facts, timer: timer, model: model, prefetch: job.options.prefetch)
        if job.options.prefetch != nil, job.comparesWithoutPrefetching {
            baseline = CacheSet(resolved, facts: facts, timer: nil, model: nil, prefetch: nil)
        } else {
            baseline = nil
        }
        recorder = Recorder(resolved, facts: facts)
        timeResolution = job.options.prefetch == nil ? nil : TimeResolution()
    }

    /// The columns that the caches and the recorder read.
    var columns: RequestColumns { caches.columns.union(recorder.columns) }

    /// Serves the requests of a block and counts their outcomes.
    mutating func serve(_ block: borrowing RequestBlock) {
        if !block.isWarmup, !hasCounted {
            hasCounted = true
            let start = ThreadTime.seconds
            caches.endWarmup()
            otherSeconds += ThreadTime.seconds - start
        }
        if outcomes.capacity < block.count { outcomes = OutcomeBuffer(capacity: block.count) }
        if baseline != nil {
            let start = ThreadTime.seconds
            baseline?.serve(block, outcomes.first)
            recorder.countWithout(block, outcomes.first)
            otherSeconds += ThreadTime.seconds - start
        }
        caches.serve(block, outcomes.first)
        recorder.count(block, outcomes.first)
        if timeResolution != nil, let times = block.times {
            for index in 0..<block.count { timeResolution?.note(times[index]) }
        }
        timer?.collect(isCounted: !block.isWarmup)
    }

    /// Returns the outcome of the run.
    ///
    /// - Parameters:
    ///   - facts: the facts of the source at its end.
    ///   - seconds: the processor time of the run.
    mutating func finish(_ facts: SourceFacts, seconds: Double) -> ReplayOutcome {
        recorder.finish(requests: facts.requests)
        let summary = caches.finish(facts)
        var result = RunResult(
            resolved, facts: facts, recorder: recorder, caches: summary, seconds: seconds, timings: timer?.timings)
        if facts.hasTimes { result.prefetch?.timeResolution = timeResolution?.microseconds }
        return ReplayOutcome(result: result, recorder: recorder, planner: caches.planner)
    }
}

/// Memory for the outcomes of a block.
private final class OutcomeBuffer {
    let capacity: Int
    let first: UnsafeMutablePointer<AccessOutcome>

    init(capacity: Int) {
        self.capacity = capacity
        first = .allocate(capacity: capacity)
    }

    deinit { first.deallocate() }
}

/// The outcome of a run: its result, and the state that further analysis needs.
package struct ReplayOutcome {
    package var result: RunResult
    /// All counts.
    package let recorder: Recorder
    /// What the planner has learned at the end. Nil without a planner, and if it had too little to learn from.
    package let planner: PretrainedPlanner?
}

extension ResolvedJob {
    /// Runs the job over a loaded trace on the current thread, a short one up to five times, and returns its outcome
    /// with the processor time of the fastest run.
    ///
    /// One run of some milliseconds says little of a policy's speed: the first one finds cold caches. Runs of at least
    /// 50 ms of processor time, those with ``ReplayOptions/timings`` and those with `kernels=system` are not repeated,
    /// and no run begins
    /// after 100 ms.
    package func measured(over input: ReplayInput, progress: ReplayProgress? = nil) -> ReplayOutcome {
        var outcome = run(over: input, progress: progress)
        // The last digits of the system's matrix routines may differ from run to run.
        if job.options.timings || outcome.result.allKernels.contains(where: \.dependsOnProcessor) { return outcome }
        var (fastest, spent, runs) = (outcome.result.seconds, outcome.result.seconds, 1)
        guard fastest < 0.05 else { return outcome }
        while runs < 5, spent < 0.1 {
            let again = run(over: input).result
            precondition(
                again.hits == outcome.result.hits && again.evictions == outcome.result.evictions,
                "\(outcome.result.label): the same run again has other results")
            fastest = min(fastest, again.seconds)
            spent += again.seconds
            runs += 1
        }
        outcome.result.setSeconds(fastest)
        return outcome
    }

    /// Whether the caches of a loaded trace are served one after another: each has a user and nothing in common with the others.
    func servesUsersInTurn(model: AnyObject?) -> Bool {
        job.mode == .perUser && !sharesModel && (model == nil || job.knowledge == .device)
            && (job.options.prefetch == nil || job.hasPrefetchPolicyPerUser)
    }

    /// Runs the job over a loaded trace on the current thread.
    ///
    /// - Parameter model: the model of the caches; `nil` for the models that ``ReplayJob/knowledge`` specifies.
    package func run(over input: ReplayInput, model: AnyObject? = nil, progress: ReplayProgress? = nil) -> ReplayOutcome
    {
        precondition((job.statedPretraining == nil) == (models == nil), "\(job.label): models that were not trained")
        let facts = SourceFacts(input, job: job)
        let began = ThreadTime.seconds
        var run = JobRun(self, facts: facts, model: model)
        let source = TraceRequests(
            input, columns: run.columns, warmup: facts.warmup,
            order: servesUsersInTurn(model: model) ? .byUser : .byTime, mode: job.mode, part: job.users,
            namesObjects: job.namesObjects)
        var served = 0
        source.forEachBlock { block in
            run.serve(block)
            served += block.count
            progress?.advance(by: block.count)
        }
        progress?.advance(by: facts.requests - served)
        return run.finish(facts, seconds: ThreadTime.seconds - began - run.otherSeconds)
    }
}

/// The processor time of the current thread. Other threads and processes do not add to it, although they can slow the
/// thread down by sharing its core and its caches.
enum ThreadTime {
    /// The processor time so far, in seconds.
    static var seconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}

extension Duration {
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
