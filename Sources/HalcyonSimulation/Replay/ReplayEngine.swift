import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace

/// The one loop of all replays: requests come in blocks from a ``RequestSource``, a ``CacheSet`` serves them, a ``Recorder``
/// counts the outcomes.
final class JobRun {
    let resolved: ResolvedJob
    private let caches: CacheSet
    private var recorder: Recorder
    /// The same caches without prefetching, to compare.
    private let baseline: (caches: CacheSet, total: Tally)?
    private var baselineTotal = Tally()
    private let timer: RunTimer?
    private var outcomes: [AccessOutcome] = []
    private var baselineOutcomes: [AccessOutcome] = []
    private var hasCounted = false
    /// The time that serving and counting took.
    private(set) var seconds = 0.0
    /// The time that is no part of the run: the comparison, looking at all caches at the end of the warm-up.
    private(set) var otherSeconds = 0.0

    init(_ resolved: ResolvedJob, facts: SourceFacts, model: AnyObject? = nil) {
        self.resolved = resolved
        let job = resolved.job
        timer = job.options.timings ? RunTimer() : nil
        caches = CacheSet(resolved, facts: facts, timer: timer, model: model, prefetch: job.options.prefetch)
        baseline =
            job.options.prefetch != nil && job.comparesWithoutPrefetching
            ? (CacheSet(resolved, facts: facts, timer: nil, model: nil, prefetch: nil), Tally()) : nil
        recorder = Recorder(job, facts: facts)
    }

    /// The columns that the caches and the recorder read.
    var columns: RequestColumns { caches.columns.union(recorder.columns) }

    /// Serves the requests of a block and counts their outcomes.
    func serve(_ block: borrowing RequestBlock) {
        let clock = ContinuousClock()
        var start = clock.now
        if !block.isWarmup, !hasCounted {
            hasCounted = true
            caches.endWarmup()
            let now = clock.now
            otherSeconds += (now - start).inSeconds
            start = now
        }
        if outcomes.count < block.count {
            outcomes = Array(repeating: .miss, count: block.count)
            if baseline != nil { baselineOutcomes = outcomes }
        }
        outcomes.withUnsafeMutableBufferPointer { outcomes in
            caches.serve(block, outcomes: outcomes)
            recorder.count(block, UnsafeBufferPointer(outcomes))
        }
        timer?.collect(isCounted: !block.isWarmup)
        let end = clock.now
        seconds += (end - start).inSeconds
        if let baseline {
            baselineOutcomes.withUnsafeMutableBufferPointer { baseline.caches.serve(block, outcomes: $0) }
            recorder.compare(block, outcomes, without: baselineOutcomes)
            otherSeconds += (clock.now - end).inSeconds
        }
    }

    /// The result.
    ///
    /// - Parameters:
    ///   - facts: those of the source at its end.
    ///   - seconds: the time that the run took.
    func finish(_ facts: SourceFacts, seconds: Double) -> ReplayOutcome {
        let summary = caches.finish()
        let result = RunResult(
            resolved, facts: facts, recorder: recorder, caches: summary, seconds: seconds, timings: timer?.timings)
        return ReplayOutcome(result: result, recorder: recorder, prefetchPolicy: caches.prefetchPolicy)
    }
}

/// What came of a run, for those who look further than its result.
package struct ReplayOutcome {
    package var result: RunResult
    /// All counts.
    package let recorder: Recorder
    /// The prefetch policy as it is at the end; `nil` without prefetching.
    package let prefetchPolicy: (any PrefetchPolicy)?
}

extension ResolvedJob {
    /// Runs the job over a loaded trace, on this thread.
    ///
    /// - Parameter model: the model for the caches to share; `nil` for those that ``ReplayJob/models`` asks for.
    package func run(over input: ReplayInput, model: AnyObject? = nil, progress: ReplayProgress? = nil) -> ReplayOutcome {
        let facts = SourceFacts(input, job: job)
        let clock = ContinuousClock()
        let began = clock.now
        let run = JobRun(self, facts: facts, model: model)
        let isByUser = job.mode == .perUser && !sharesModel && model == nil && job.options.prefetch == nil
        let source = TraceRequests(
            input, columns: run.columns, warmup: facts.warmup, order: isByUser ? .byUser : .byTime, mode: job.mode)
        source.forEachBlock { block in
            run.serve(block)
            progress?.advance(by: block.count)
        }
        return run.finish(facts, seconds: (clock.now - began).inSeconds - run.otherSeconds)
    }
}

extension Duration {
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
