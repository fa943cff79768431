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
    /// The plans after requests; `nil` for none. Behind a pointer, so that an access needs no exclusivity checks.
    let within: UnsafeMutablePointer<WithinVisit>?
    /// The plans between visits; `nil` for none.
    let between: BetweenVisits?
    /// The plans on lists; `nil` for none.
    let lists: OnLists?
    private let cachesPerUser: Bool

    /// Creates a planner that has learned nothing.
    public init(_ parameters: PlannerParameters = PlannerParameters(), context: PrefetchContext = PrefetchContext()) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        within = parameters.requests == .on ? .allocate(capacity: 1) : nil
        within?.initialize(to: WithinVisit(parameters, context))
        between = parameters.visits == .on ? BetweenVisits(price: parameters.visitPrice, context) : nil
        lists = parameters.lists == .on ? OnLists(parameters, context) : nil
        if context.servesOneUser, parameters.model == .auto {
            lists?.adopt(.shipped, weight: PretrainedLists.weight)
            lists?.isAsShipped = true
        }
        cachesPerUser = context.cachesPerUser
    }

    /// Creates a planner that starts with what another has learned, and continues to learn. The label window and the hidden
    /// units are those of `pretrained`. What was learned of visits and lists is used by a planner that plans there.
    public convenience init(
        _ pretrained: PretrainedPlanner, parameters: PlannerParameters = PlannerParameters(),
        context: PrefetchContext = PrefetchContext()
    ) {
        var parameters = parameters
        if let requests = pretrained.requests {
            (parameters.hidden, parameters.labelWindow) = (requests.hidden, requests.labelWindow)
        }
        self.init(parameters, context: context)
        if let requests = pretrained.requests { within?.pointee.trainer.adopt(requests) }
        adoptVisits(of: pretrained)
        pretrained.lists.map { lists?.adopt($0) }
    }

    /// Replaces what was learned of visits over all users by that of `pretrained`. What was learned of single users and objects
    /// stays: after accesses of an earlier run were noted again, which `pretrained` has learned from.
    public func adoptVisits(of pretrained: PretrainedPlanner) { pretrained.visits.map { between?.adopt($0) } }

    /// Returns what was learned over all users; `nil` before a network has learned enough to be used.
    ///
    /// - Parameter producer: the version of Halcyon that is stated in the file.
    public func snapshot(producer: String) -> PretrainedPlanner? {
        let requests = within.flatMap { $0.pointee.trainer.isReady ? PretrainedRequests($0.pointee) : nil }
        let lists = lists.flatMap { $0.model.examples > 0 && !$0.isAsShipped ? PretrainedLists($0) : nil }
        // Without the network for requests, a planner that has one would start with half of what it needs.
        guard within == nil ? lists != nil : requests != nil else { return nil }
        return PretrainedPlanner(
            requests: requests, visits: between.flatMap { $0.model.examples > 0 ? PretrainedVisits($0) : nil },
            lists: lists, producer: producer)
    }

    deinit {
        within?.deinitialize(count: 1)
        within?.deallocate()
    }

    public func define(categorySet: CategorySetID, members: [UInt32]) {
        within?.pointee.habits.sets.define(categorySet, members: members)
        lists?.define(categorySet: categorySet, members: members)
    }

    public func announce(_ object: AnnouncedObject) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        within?.pointee.announce(object)
        lists?.announce(object)
    }

    public func announce(_ rates: CategoryRates) { lists?.announce(rates) }

    public func note(_ access: Access, isHit: Bool) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        within?.pointee.note(access, isHit: isHit)
        between?.note(access)
        lists?.note(access, isHit: isHit)
    }

    public func evicted(_ object: UInt32, from user: UInt32) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        within?.pointee.evicted(object, from: user)
        between?.evicted(object, from: user)
        lists?.evicted(object, from: user)
    }

    public func dropped(_ object: UInt32) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        within?.pointee.dropped(object)
    }

    public func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        var rest = outlook
        if let between { rest.unused = between.reconsiderable(outlook.unused, of: access.user) }
        within?.pointee.plan(after: access, outlook: rest, into: &plan)
        between?.plan(after: access, outlook: outlook, into: &plan)
    }

    public func plan(at moment: PlanningMoment, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        between?.plan(at: moment, outlook: outlook, into: &plan)
    }

    public func plan(on list: ShownList, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        lists?.plan(on: list, outlook: outlook, into: &plan)
    }

    public var plansOnLists: Bool { lists != nil }

    public var plansBetweenRequests: Bool { between != nil && cachesPerUser }

    public var isReady: Bool { within?.pointee.trainer.isReady ?? lists?.isReady ?? true }

    public var isReadyBetweenRequests: Bool { between?.isReady ?? true }

    public var calibration: [CalibrationBin] { within?.pointee.trainer.calibration.bins ?? [] }

    public var metadataBytes: Int {
        (within?.pointee.byteCount ?? 0) + (between?.byteCount ?? 0) + (lists?.byteCount ?? 0)
    }

    public var metrics: [PolicyMetric] {
        let onLists = lists.flatMap { $0.hasLists ? $0.metrics : nil }
        return (within?.pointee.metrics ?? []) + (between?.metrics ?? []) + (onLists ?? [])
    }
}
