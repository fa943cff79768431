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
    private let clock = ContinuousClock()

    /// - Parameter model: the model of the caches; `nil` for the models that ``ReplayJob/models`` specifies.
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
    }

    /// The columns that the caches and the recorder read.
    var columns: RequestColumns { caches.columns.union(recorder.columns) }

    /// Serves the requests of a block and counts their outcomes.
    mutating func serve(_ block: borrowing RequestBlock) {
        if !block.isWarmup, !hasCounted {
            hasCounted = true
            let start = clock.now
            caches.endWarmup()
            otherSeconds += (clock.now - start).inSeconds
        }
        if outcomes.capacity < block.count { outcomes = OutcomeBuffer(capacity: block.count) }
        if baseline != nil {
            let start = clock.now
            baseline?.serve(block, outcomes.first)
            recorder.countWithout(block, outcomes.first)
            otherSeconds += (clock.now - start).inSeconds
        }
        caches.serve(block, outcomes.first)
        recorder.count(block, outcomes.first)
        timer?.collect(isCounted: !block.isWarmup)
    }

    /// Returns the outcome of the run.
    ///
    /// - Parameters:
    ///   - facts: the facts of the source at its end.
    ///   - seconds: the duration of the run.
    mutating func finish(_ facts: SourceFacts, seconds: Double) -> ReplayOutcome {
        recorder.finish(requests: facts.requests)
        let summary = caches.finish(facts)
        let result = RunResult(
            resolved, facts: facts, recorder: recorder, caches: summary, seconds: seconds, timings: timer?.timings)
        return ReplayOutcome(result: result, recorder: recorder, prefetchPolicy: caches.prefetchPolicy)
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
    /// The prefetch policy at the end. Nil without prefetching.
    package let prefetchPolicy: (any PrefetchPolicy)?
}

extension ResolvedJob {
    /// Runs the job over a loaded trace on the current thread.
    ///
    /// - Parameter model: the model of the caches; `nil` for the models that ``ReplayJob/models`` specifies.
    package func run(over input: ReplayInput, model: AnyObject? = nil, progress: ReplayProgress? = nil) -> ReplayOutcome
    {
        let facts = SourceFacts(input, job: job)
        let clock = ContinuousClock()
        let began = clock.now
        var run = JobRun(self, facts: facts, model: model)
        let isByUser =
            job.mode == .perUser && !sharesModel && model == nil
            && (job.options.prefetch == nil || job.modelSharing == .own)
        let source = TraceRequests(
            input, columns: run.columns, warmup: facts.warmup, order: isByUser ? .byUser : .byTime, mode: job.mode,
            part: job.users)
        var served = 0
        source.forEachBlock { block in
            run.serve(block)
            served += block.count
            progress?.advance(by: block.count)
        }
        progress?.advance(by: facts.requests - served)
        return run.finish(facts, seconds: (clock.now - began).inSeconds - run.otherSeconds)
    }
}

extension Duration {
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
