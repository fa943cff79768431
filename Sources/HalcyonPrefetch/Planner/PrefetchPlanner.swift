import HalcyonEviction

/// The learned prefetch policy. It fetches objects that the user will probably request, if the expected gain exceeds
/// the cost.
///
/// After each access it gathers at most 12 candidates from these sources:
///
/// - likely successors of the user's last object for this user, and of the last two objects over all users;
/// - frequent and recent successors of each of these two objects;
/// - announced objects without a request, the newest of the active and the favourite categories and of all;
/// - popular objects of the active, the next and the favourite categories;
/// - objects that were evicted last from the user's cache;
/// - popular objects over all users, at two time scales and without the first requests of users.
///
/// A network computes the probability that the user requests each candidate within the label window
/// (``PlannerParameters/labelWindow``). A learned bias for the pair of the last object and the candidate is added to its
/// logit. Once the outcomes are known, the network is trained online on the requested candidates and on a sample of
/// the others. Of users, categories and time its inputs are those of the eviction model.
///
/// A candidate is worth fetching if its probability exceeds the prefetch threshold. The threshold is proportional to
/// the object's size and follows the best candidates of recent plans. If an entry must be evicted, the eviction cost
/// counts as well. It is added with per-user caches; with one cache for all users the larger of both applies.
///
/// A candidate that is requested no later than its fetch would have completed (``PrefetchContext/fetchLatency``)
/// counts as not requested. Of the candidates worth fetching, the budget goes to those that are most likely the next
/// request. An
/// unused prefetch is likely enough to keep while its probability is at least the eviction cost.
///
/// With ``PlannerParameters/visits``, it also plans between visits for caches of one user each. It learns what each user requests in its
/// next visit, and fetches at the end of a visit and at the start of days what is more probable than the price. During a visit it names
/// the resident that leaves next, as long as its choices prove better than those of the eviction policy.
///
/// A plan is O(candidates × categories of each). Memory is 6 MB and, in bytes:
///
/// - 286 an object (298 if one cache serves all users) and 280 a category;
/// - 128 to 256 a user;
/// - 40 a pair of user and object, and 47 a pair of successive objects;
/// - 40 a pair of user and category, and 20 a pair of a category set and its successor;
/// - between visits, 80 more a pair of user and object, 52 an object, and at most 6 kB a user.
public final class PrefetchPlanner: PrefetchPolicy {
    /// The plans after requests. Behind a pointer, so that an access needs no exclusivity checks.
    let state: UnsafeMutablePointer<WithinVisit>
    /// The plans between visits; `nil` for none.
    let between: BetweenVisits?
    private let cachesPerUser: Bool

    /// Creates a planner that has learned nothing.
    public init(_ parameters: PlannerParameters = PlannerParameters(), context: PrefetchContext = PrefetchContext()) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        state = .allocate(capacity: 1)
        state.initialize(to: WithinVisit(parameters, context))
        between = parameters.visits == .on ? BetweenVisits(price: parameters.visitPrice, context) : nil
        cachesPerUser = context.cachesPerUser
    }

    /// Creates a planner that starts with what another has learned, and continues to learn. The label window and the hidden
    /// units are those of `pretrained`. What was learned of visits is used by a planner that plans between them.
    public convenience init(
        _ pretrained: PretrainedPlanner, parameters: PlannerParameters = PlannerParameters(),
        context: PrefetchContext = PrefetchContext()
    ) {
        var parameters = parameters
        parameters.hidden = pretrained.hidden
        parameters.labelWindow = pretrained.labelWindow
        self.init(parameters, context: context)
        state.pointee.trainer.adopt(pretrained)
        adoptVisits(of: pretrained)
    }

    /// Replaces what was learned of visits over all users by that of `pretrained`. What was learned of single users and objects
    /// stays: after accesses of an earlier run were noted again, which `pretrained` has learned from.
    public func adoptVisits(of pretrained: PretrainedPlanner) { pretrained.visits.map { between?.adopt($0) } }

    /// Returns what was learned over all users; `nil` before the network has enough training steps to be used.
    ///
    /// - Parameter producer: the version of Halcyon that is stated in the file.
    public func snapshot(producer: String) -> PretrainedPlanner? {
        guard state.pointee.trainer.isReady else { return nil }
        let (parameters, calibration) = (state.pointee.parameters, state.pointee.trainer.calibration)
        return PretrainedPlanner(
            weights: state.pointee.trainer.weights, scale: calibration.scale, shift: calibration.shift,
            hidden: parameters.hidden, labelWindow: parameters.labelWindow, trainingSteps: state.pointee.trainer.steps,
            visits: between.flatMap { $0.model.examples > 0 ? PretrainedVisits($0) : nil }, producer: producer)
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
        between?.note(access)
    }

    public func evicted(_ object: UInt32, from user: UInt32) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        state.pointee.evicted(object, from: user)
        between?.evicted(object, from: user)
    }

    public func dropped(_ object: UInt32) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        state.pointee.dropped(object)
    }

    public func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        var within = outlook
        if let between { within.unused = between.reconsiderable(outlook.unused, of: access.user) }
        state.pointee.plan(after: access, outlook: within, into: &plan)
        between?.plan(after: access, outlook: outlook, into: &plan)
    }

    public func plan(at moment: PlanningMoment, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        between?.plan(at: moment, outlook: outlook, into: &plan)
    }

    public var plansBetweenRequests: Bool { between != nil && cachesPerUser }

    public var isReady: Bool { state.pointee.trainer.isReady }

    public var isReadyBetweenRequests: Bool { between?.model.isReady ?? true }

    public var calibration: [CalibrationBin] { state.pointee.trainer.calibration.bins }

    public var metadataBytes: Int { state.pointee.byteCount + (between?.byteCount ?? 0) }

    public var metrics: [PolicyMetric] {
        [
            PolicyMetric("planner_steps", Double(state.pointee.trainer.steps)),
            PolicyMetric("prefetch_threshold", Double(state.pointee.threshold.current)),
            PolicyMetric("re_request_ratio", Double(state.pointee.evictionCost.returnRate)),
            PolicyMetric("eviction_cost", Double(state.pointee.evictionCost.requiredProbability)),
            PolicyMetric("selection_ratio", Double(state.pointee.trainer.calibration.selectionRatio(at: 0.1))),
            PolicyMetric("planner_scale", Double(state.pointee.trainer.calibration.scale)),
            PolicyMetric("planner_shift", Double(state.pointee.trainer.calibration.shift)),
        ] + (between?.metrics ?? [])
    }
}
