import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTrace

extension LearnerReplay {
    /// A replay and the planner that came out of it.
    public struct PlannerTraining: Sendable {
        /// What was learnt.
        public let planner: PretrainedPlanner
        /// What came of prefetching while learning.
        public let result: PrefetchResult
        /// Hits by requests with prefetching, 0…1.
        public let objectHitRatio: Double
        /// The requests replayed.
        public let requests: Int
    }

    /// Replays the trace with prefetching by the planner, beside `learned`, and keeps what the planner has learnt. O(requests).
    ///
    /// - Parameter options: prefetching by the planner.
    /// - Throws: ``ReplayError`` if the trace gave too little to learn from.
    public func trainPlanner(
        _ options: PrefetchOptions, progress: ReplayProgress? = nil
    ) throws(ReplayError) -> PlannerTraining {
        let replay = PrefetchReplay(
            trace: trace, options: ReplayOptions(seed: seed), prefetch: options, mode: mode, progress: progress)
        let (measured, result, policy) = replay.run(
            {
                let model = makeModel()
                var maker = CacheMaker(traits: LearnedPolicy.info.traits) { model.makeCache(parameters, context: $0) }
                maker.sharesModel = true
                return maker
            }, capacity: capacity)
        guard let planner = (policy as? PrefetchPlanner)?.snapshot(producer: Halcyon.version) else {
            throw .data("\(trace.count) requests gave too little to learn from: give a longer trace.")
        }
        return PlannerTraining(
            planner: planner, result: result, objectHitRatio: measured.counts.total.objectHitRatio,
            requests: measured.counts.total.requests)
    }
}
