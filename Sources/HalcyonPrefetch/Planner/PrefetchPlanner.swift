import HalcyonEviction

/// The learned prefetch policy: it fetches what the user will probably ask for, and only where that is worth the fetch.
///
/// After each access it gathers candidates from nine sources: what the user went on to from the last object in the past, what
/// came after the last two over all users (``Follower``), what uses to come after each of these two and has lately, what is popular in
/// the categories that are active, that use to come next and that the user likes best, what is popular over all (at two time
/// scales, and among requests that were not a user's first), what was announced and nobody has asked for yet (the newest in the
/// categories that are active and that the user likes best, and of all), and what left the user's cache last. A network scores them in one product: the probability that the user asks for the object within ``PlannerParameters/horizon`` of
/// the user's requests. To its logit comes by how much it was wrong about the object after the user's last one (``Successions``). Once it is known what became of them it learns online from those that were asked for and a sample of the others
/// (``CaseControl``).
///
/// A candidate is worth fetching where that probability exceeds the price of a fetch in hits, which follows what the best
/// candidates promise on average (``FetchPrice``), in proportion to the object's size; where an entry must leave, it must
/// exceed what that entry is worth (``DisplacedWorth``) as well; the sum of both where each user has a cache.
/// What is asked for before a fetch would have arrived (``PrefetchContext/fetchLatency``) counts as not wanted.
/// Among those that are worth it the budget goes to what is likely to be asked for next (``Promptness``). What was fetched and
/// waits is likely enough to keep as long as its probability is no less than what an evicted entry is worth.
///
/// Of users, categories and time the network is told what the eviction model is told (``HabitFeatures``).
///
/// O(candidates × categories of each) a plan, at most ``CandidateList/bound`` of them. Bytes: 6 MB beside 286 an object (298 where one cache serves all), 280 a
/// category, 128 to 256 a user, 40 for each pair of user and object, 47 for each of objects that came one after the other, 40 for each of user and category, 20 for each of a set of categories and one
/// that came after it.
public final class PrefetchPlanner: PrefetchPolicy {
    /// Kept behind a pointer, so that it is reached without exclusivity checks.
    private let state: UnsafeMutablePointer<PlannerState>

    /// A planner that has learnt nothing yet.
    public init(_ parameters: PlannerParameters = PlannerParameters(), context: PrefetchContext = PrefetchContext()) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        state = .allocate(capacity: 1)
        state.initialize(to: PlannerState(parameters, context))
    }

    /// A planner that starts with what another learnt, and goes on learning. Horizon and hidden units are the other's.
    public convenience init(
        _ pretrained: PretrainedPlanner, parameters: PlannerParameters = PlannerParameters(),
        context: PrefetchContext = PrefetchContext()
    ) {
        var parameters = parameters
        parameters.hidden = pretrained.hidden
        parameters.horizon = pretrained.horizon
        self.init(parameters, context: context)
        state.pointee.trainer.adopt(pretrained)
    }

    /// What it has learnt; `nil` before it has learnt enough to be asked.
    ///
    /// - Parameter producer: the version of Halcyon that writes it down.
    public func snapshot(producer: String) -> PretrainedPlanner? {
        guard state.pointee.trainer.isReady else { return nil }
        let (parameters, calibration) = (state.pointee.parameters, state.pointee.trainer.calibration)
        return PretrainedPlanner(
            weights: state.pointee.trainer.weights, scale: calibration.scale, shift: calibration.shift,
            hidden: parameters.hidden, horizon: parameters.horizon, trainingSteps: state.pointee.trainer.steps,
            producer: producer)
    }

    deinit {
        state.deinitialize(count: 1)
        state.deallocate()
    }

    public func define(categorySet: CategorySetID, members: [UInt32]) {
        state.pointee.habits.sets.define(categorySet, members: members)
    }

    public func announce(_ object: AnnouncedObject) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        state.pointee.announce(object)
    }

    public func note(_ access: Access, isHit: Bool) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        state.pointee.note(access, isHit: isHit)
    }

    public func evicted(_ object: UInt32, from user: UInt32) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        state.pointee.evicted(object, from: user)
    }

    public func dropped(_ object: UInt32) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        state.pointee.dropped(object)
    }

    public func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        state.pointee.plan(after: access, outlook: outlook, into: &plan)
    }

    public var calibration: [CalibrationBin] { state.pointee.trainer.calibration.bins }

    public var metadataBytes: Int { state.pointee.byteCount }

    public var metrics: [PolicyMetric] {
        [
            PolicyMetric("planner_steps", Double(state.pointee.trainer.steps)),
            PolicyMetric("planner_price", Double(state.pointee.price.now)),
            PolicyMetric("planner_regret", Double(state.pointee.displaced.regret)),
            PolicyMetric("planner_displaced", Double(state.pointee.displaced.chance)),
            PolicyMetric("planner_yield", Double(state.pointee.trainer.calibration.yield(of: 0.1))),
            PolicyMetric("planner_scale", Double(state.pointee.trainer.calibration.scale)),
            PolicyMetric("planner_shift", Double(state.pointee.trainer.calibration.shift)),
        ]
    }
}
