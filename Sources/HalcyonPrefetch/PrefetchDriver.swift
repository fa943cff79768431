import HalcyonEviction
import HalcyonSupport

/// A user of a cache with a prefetch policy.
package struct PrefetchUser: Sendable {
    /// The number; `UInt32.max` for requests without a user.
    package var number = UInt32.max
    /// The name, where users have names.
    package var name: String?

    package init(number: UInt32 = .max, name: String? = nil) { (self.number, self.name) = (number, name) }

    /// Whether it is the user of this name, by bytes.
    package func isNamed(_ other: String) -> Bool { name.map { ByteName($0) == other } ?? false }
}

/// Drives a prefetch policy for one cache, in a replay and in a live cache.
///
/// Events go in: requests, removals, the ends of fetches, planning moments, conditions. Commands come out: ``takeCommands()`` returns
/// what is to be done at once, ``nextFetch(size:)`` the next object to fetch, and ``nextMoment`` is when the next moment is due. There
/// is no clock, cache, network or lock here: times are those of the events, and the owner says what its cache holds.
///
/// For each request the owner calls, in this order:
///
/// 1. ``plan(at:for:outlook:isHeld:)`` for the moments that are due before it;
/// 2. ``access(_:by:isHit:)``;
/// 3. ``removed(_:of:isEvicted:)`` for each object that left the cache;
/// 4. ``planAfterAccess(outlook:isCrowded:isHeld:)``, at once or after several requests;
/// 5. what the commands say, and ``nextFetch(size:)`` until it returns `nil`.
///
/// It holds what both owners need: the objects in flight and their users, the unused ones (``UnusedPrefetches``), and what is to be
/// fetched next. It also holds the spending, the timers of visits, and what leaves for a list (``LeavingOrder``).
///
/// A new plan after a request replaces the fetches of the last plan that have not started. A plan at a moment, or after a request that
/// follows a list, does so only if it proposes any.
///
/// A model checks every sequence of up to five events. See `PrefetchDriverTests.allShortSequencesFollowModel()`. An event is O(1)
/// beside what the policy takes, and a moment O(log users).
package final class PrefetchDriver {
    /// What the owner is to do at once.
    package enum Command: Equatable {
        /// The cache evicts these objects first, in this order, in place of those named before.
        case evictNext([UInt32])
        /// An unused object is likely enough to keep, or to be evicted first.
        case reconsider(UInt32, isLikely: Bool)
        /// Cancel the fetch of an object. It is in flight until the owner reports its end.
        case cancel(UInt32)
    }

    /// A fetch to start.
    package struct Start {
        package let object: UInt32
        package let user: PrefetchUser
        /// The most bytes that the budget allows for it; `nil` without a limit.
        package let bytes: Int?
        /// Whether it is of a plan on a list.
        package let isOfList: Bool
    }

    /// A fetch in flight.
    package struct Fetch {
        package let user: PrefetchUser
        /// Its payment from the budget; `nil` for a repeated fetch.
        let payment: PrefetchSpending.Payment?
        /// Whether the object was requested meanwhile.
        package fileprivate(set) var isWanted = false
    }

    package let policy: any PrefetchPolicy
    private let timers: VisitTimers?
    private let maxTimedUsers: Int
    private let maxConcurrent: Int
    package private(set) var spending: PrefetchSpending
    /// The fetched objects that were not requested since.
    private var unused = UnusedPrefetches()
    /// What leaves for the fetches of a list; `nil` for a cache of several users.
    private var leaving: LeavingOrder?
    /// The objects in flight.
    private var fetches: [UInt32: Fetch] = [:]
    /// The objects to fetch from ``head`` on, in this order, and their user.
    private var queue: [UInt32] = []
    private var head = 0
    private var queueUser = PrefetchUser()
    /// Whether they are of a list. The list is still shown after a request.
    private var isQueueOfList = false
    private var commands: [Command] = []
    /// The last plan.
    package private(set) var plan = PrefetchPlan()
    /// The unused objects that are due in a plan.
    private var due: [UInt32] = []
    /// Whether the last plan named entries for the cache to evict first.
    private var hasNamedVictims = false
    /// The last request, if there was no plan after it.
    package private(set) var unplanned: Access?
    /// The user of the last request.
    package private(set) var user = PrefetchUser()
    /// The user of the last request or list, for whom the cache evicts what it evicts next.
    package private(set) var served = PrefetchUser()
    /// The users whose visits are timed, and the times of their last requests. Empty if all are.
    private var timedUsers: [UInt32: (user: PrefetchUser, last: Int64)] = [:]
    /// The user for whom a condition held a plan or a fetch back.
    private var deferredUser: PrefetchUser?
    /// Whether a condition allows no fetches, and whether one allows fewer.
    private var (isHeldBack, isLimited) = (false, false)
    /// Whether fetching has ended.
    package var isStopped = false

    /// - Parameters:
    ///   - timers: the timers of the policy's users, which all caches under the policy share; `nil` if the policy plans nothing between
    ///     requests.
    ///   - maxTimedUsers: the maximum number of users whose visits are timed and paid for, those with the latest requests; `nil` for all.
    ///   - maxConcurrent: the maximum number of fetches in flight.
    ///   - servesOneUser: whether the cache has one user, so that what was shown says what leaves first.
    package init(
        _ policy: any PrefetchPolicy, budget: PrefetchBudget, idleTime: Int64, timers: VisitTimers?,
        maxTimedUsers: Int? = nil, maxConcurrent: Int = .max, servesOneUser: Bool
    ) {
        self.policy = policy
        self.timers = timers
        self.maxTimedUsers = maxTimedUsers ?? 0
        self.maxConcurrent = maxConcurrent
        leaving = servesOneUser && policy.plansOnLists ? LeavingOrder() : nil
        spending = PrefetchSpending(budget, idleTime: idleTime)
    }

    // MARK: - What is fetched and unused

    /// Returns whether an object is in flight.
    package func isFetching(_ object: UInt32) -> Bool { !fetches.isEmpty && fetches[object] != nil }

    /// Returns the user for whom an object is being fetched; `nil` if it is not in flight.
    package func user(ofFetch object: UInt32) -> PrefetchUser? { fetches[object]?.user }

    /// Whether nothing is in flight.
    package var isIdle: Bool { fetches.isEmpty }

    /// The unused objects and their prefetches.
    package var unusedPrefetches: [UInt32: UnusedPrefetches.Prefetch] { unused.prefetches }

    /// Whether nothing may be fetched: fetching has ended, or a condition holds it back.
    package var isPaused: Bool { isStopped || isHeldBack }

    /// Removes and returns the commands since the last call.
    package func takeCommands() -> [Command] {
        if commands.isEmpty { return [] }
        defer { commands.removeAll() }
        return commands
    }

    // MARK: - Requests and removals

    /// Records a request, which a plan may follow. The policy receives it.
    ///
    /// - Returns: the prefetch of the object, if it was unused until now.
    package func access(_ access: Access, by name: String? = nil, isHit: Bool) -> UnusedPrefetches.Prefetch? {
        user = PrefetchUser(number: access.user, name: name)
        served = user
        time(user, at: access.time)
        spending.begin(request: access.time, of: access.user)
        if !fetches.isEmpty { fetches[access.object]?.isWanted = true }
        policy.note(access, isHit: isHit)
        leaving?.noteRequest(access.object, size: access.size)
        unplanned = access
        return unused.remove(access.object)
    }

    /// Prepares the policy for a request of an earlier start, which it receives next. What was due before it is only learned from.
    package func prepare(recalled access: Access, by name: String?) {
        if policy.plansBetweenRequests { for (moment, _) in dueMoments(by: access.time) { learn(at: moment) } }
        time(PrefetchUser(number: access.user, name: name), at: access.time)
        spending.begin(request: access.time, of: access.user)
    }

    /// Continues with the spending of an earlier start. Moments that were planned before it are only learned from.
    package func resume(_ account: PrefetchAccount?, at time: Int64) {
        if let account { spending.resume(account, at: time) }
        guard policy.plansBetweenRequests else { return }
        for (user, _) in timedUsers.values.sorted(by: { $0.user.number < $1.user.number }) {
            guard let visit = spending.visit(of: user.number) else { continue }
            if visit.lastMoment >= visit.lastRequest {
                learn(at: PlanningMoment(.visitEnd, user: user.number, time: visit.lastMoment))
            }
            self.time(user, at: visit.lastRequest, lastMoment: visit.lastMoment)
        }
    }

    /// Records that an object left the cache. The policy receives it if the object was unused, or was evicted.
    ///
    /// - Returns: the prefetch of an unused object.
    @discardableResult
    package func removed(_ object: UInt32, of user: UInt32, isEvicted: Bool) -> UnusedPrefetches.Prefetch? {
        let prefetch = unused.remove(object)
        leaving?.noteRemoval(object)
        if prefetch != nil { policy.dropped(object) } else if isEvicted { policy.evicted(object, from: user) }
        return prefetch
    }

    /// Removes an object from the unused ones, which the policy does not learn, and returns its prefetch: it has expired and is fetched
    /// again, or a request waits for it.
    @discardableResult
    package func takeUnused(_ object: UInt32) -> UnusedPrefetches.Prefetch? { unused.remove(object) }

    /// Forgets a user: its last request, its visit, its timers, and what is fetched for it.
    package func forget(_ name: String, number: UInt32) {
        if user.isNamed(name) { (user, unplanned) = (PrefetchUser(), nil) }
        if served.isNamed(name) { served = PrefetchUser() }
        if queueUser.isNamed(name) {
            clearQueue()
            queueUser = PrefetchUser()
        }
        if deferredUser?.isNamed(name) == true { deferredUser = nil }
        forgetVisit(of: number)
        for (object, fetch) in fetches where fetch.user.isNamed(name) { commands.append(.cancel(object)) }
    }

    // MARK: - Moments

    /// When the next moment between requests is due, which may be past; `nil` for never.
    package var nextMoment: Int64? { isStopped || !policy.plansBetweenRequests ? nil : timers?.nextTime }

    /// Removes all moments that are due by a time, and returns the last of each user.
    package func dueMoments(by time: Int64) -> [(moment: PlanningMoment, user: PrefetchUser)] {
        var last: [(moment: PlanningMoment, user: PrefetchUser)] = []
        while let moment = timers?.next(by: time) {
            guard let user = timedUsers[moment.user]?.user else { continue }
            last.removeAll { $0.user.number == moment.user }
            last.append((moment, user))
        }
        return last
    }

    private func time(_ user: PrefetchUser, at time: Int64, lastMoment: Int64 = .min) {
        guard let timers else { return }
        timers.note(user.number, at: time, lastMoment: lastMoment)
        guard maxTimedUsers > 0 else { return }
        timedUsers[user.number] = (user, time)
        guard timedUsers.count > maxTimedUsers,
            let oldest = timedUsers.min(by: { ($0.value.last, $0.key) < ($1.value.last, $1.key) })?.key
        else { return }
        forgetVisit(of: oldest)
    }

    private func forgetVisit(of user: UInt32) {
        timers?.forget(user)
        timedUsers[user] = nil
        spending.forget(visitOf: user)
    }

    /// Passes a past moment to the policy, which may learn from its outcome. Nothing is proposed.
    private func learn(at moment: PlanningMoment) {
        plan.removeAll()
        policy.plan(at: moment, outlook: PrefetchOutlook(limit: 0, room: 0, holds: { _ in false }), into: &plan)
        plan.removeAll()
    }

    // MARK: - Plans

    /// Plans after the last request. The policy plans even if nothing may be fetched, because it may learn from that.
    ///
    /// - Parameters:
    ///   - outlook: without ``PrefetchOutlook/limit`` and ``PrefetchOutlook/unused``, which are set here.
    ///   - isCrowded: whether an object of the last request's size would not find room.
    ///   - isHeld: returns whether the cache holds an object, for what is to be evicted next.
    /// - Returns: the number of objects that could be fetched; `nil` if there was a plan after the last request.
    package func planAfterAccess(
        outlook: PrefetchOutlook, isCrowded: Bool, isHeld: (UInt32) -> Bool
    ) -> Int? {
        guard let access = unplanned else { return nil }
        unplanned = nil
        if !isQueueOfList || head == queue.count {
            clearQueue()
            (queueUser, isQueueOfList) = (user, false)
        }
        if isCrowded { unused.next(of: access.user, into: &due) } else { due.removeAll(keepingCapacity: true) }
        spending.spend(ofList: false)
        var outlook = outlook
        (outlook.limit, outlook.unused) = (limit, due)
        plan.removeAll()
        policy.plan(after: access, outlook: outlook, into: &plan)
        for verdict in plan.reconsiderations {
            commands.append(.reconsider(verdict.object, isLikely: verdict.isLikely))
        }
        carryOut(for: user, limit: outlook.limit, isHeld)
        return outlook.limit
    }

    /// Plans at a moment between requests, which may spend what the user's visit has left.
    ///
    /// - Parameter outlook: as in ``planAfterAccess(outlook:isCrowded:isHeld:)``; `nil` if nothing can be fetched for the user. Then the
    ///   policy only learns.
    /// - Returns: the number of objects that could be fetched; `Int.max` without an outlook.
    package func plan(
        at moment: PlanningMoment, for user: PrefetchUser, outlook: PrefetchOutlook?, isHeld: (UInt32) -> Bool
    ) -> Int {
        spending.begin(momentAt: moment.time, of: moment.user)
        guard var outlook else {
            learn(at: moment)
            return .max
        }
        outlook.limit = limit
        plan.removeAll()
        policy.plan(at: moment, outlook: outlook, into: &plan)
        carryOut(for: user, limit: outlook.limit, isHeld)
        return outlook.limit
    }

    /// Plans on a list that is shown to a user, which may spend what a list may.
    ///
    /// - Parameter outlook: as in ``plan(at:for:outlook:isHeld:)``.
    /// - Returns: the number of objects that could be fetched; 0 without an outlook.
    package func plan(
        on list: ShownList, for user: PrefetchUser, outlook: PrefetchOutlook?, isHeld: (UInt32) -> Bool
    ) -> Int {
        spending.begin(listAt: list.time, of: list.user)
        served = user
        let limit = outlook == nil ? 0 : limit
        var outlook = outlook ?? PrefetchOutlook(limit: 0, room: 0, holds: { _ in false })
        outlook.limit = limit
        plan.removeAll()
        policy.plan(on: list, outlook: outlook, into: &plan)
        let victims = leaving?.victims(
            of: list, rankedAs: plan.ranking, for: plan.proposals.prefix(limit).map(\.object), room: outlook.room,
            isHeld: isHeld)
        if plan.releases.isEmpty { for victim in victims ?? [] { plan.release(victim) } }
        clearQueue()
        carryOut(for: user, limit: limit, isHeld)
        isQueueOfList = true
        return limit
    }

    /// Ends the list of the last plan on one, which is no longer shown: its fetches that have not started are dropped.
    package func endList() { if isQueueOfList { clearQueue() } }

    private var limit: Int { isPaused ? 0 : spending.objectsLeft }

    private func carryOut(for user: PrefetchUser, limit: Int, _ isHeld: (UInt32) -> Bool) {
        let victims = plan.releases.isEmpty ? [] : plan.releases.filter(isHeld)
        if hasNamedVictims || !victims.isEmpty { commands.append(.evictNext(victims)) }
        hasNamedVictims = !victims.isEmpty
        if limit > 0, !plan.proposals.isEmpty {
            clearQueue()
            (queueUser, isQueueOfList) = (user, false)
            for proposal in plan.proposals.prefix(limit) { queue.append(proposal.object) }
        }
        if isHeldBack && !isStopped || isLimited && plan.proposals.count >= limit { deferredUser = user }
    }

    private func clearQueue() {
        queue.removeAll(keepingCapacity: true)
        head = 0
    }

    // MARK: - Fetches

    /// Returns the next fetch to start, which is paid for; `nil` if none may start now.
    ///
    /// - Parameter size: returns the bytes that are expected of an object, 0 if they are not known before it arrives; `nil` if it cannot
    ///   be fetched for the user.
    package func nextFetch(size: (_ object: UInt32, _ user: PrefetchUser) -> Int?) -> Start? {
        if isPaused { clearQueue() }
        spending.spend(ofList: isQueueOfList)
        while fetches.count < maxConcurrent, head < queue.count {
            let object = queue[head]
            head += 1
            guard spending.objectsLeft > 0, let size = size(object, queueUser), spending.allows(size: size)
            else { continue }
            let bytesLeft = spending.bytesLeft
            fetches[object] = Fetch(user: queueUser, payment: spending.spend(size: size))
            return Start(object: object, user: queueUser, bytes: bytesLeft, isOfList: isQueueOfList)
        }
        return nil
    }

    /// Records a fetch that is repeated as it was recorded, and is not paid for.
    package func repeated(_ object: UInt32, for user: UInt32) {
        fetches[object] = Fetch(user: PrefetchUser(number: user), payment: nil)
    }

    /// Corrects the payment for an object in flight once its size is known.
    package func correct(_ object: UInt32, to bytes: Int) {
        if let payment = fetches[object]?.payment { spending.correct(payment, to: bytes) }
    }

    /// Records that an object has arrived. It is unused if the cache holds it and no request waited for it.
    ///
    /// - Parameters:
    ///   - bytes: the bytes to pay for; `nil` for those that were paid.
    ///   - number, isCounted: what is kept with an unused object.
    @discardableResult
    package func arrived(
        _ object: UInt32, bytes: Int?, isHeld: Bool, number: Int, isCounted: Bool = true
    ) -> Fetch? {
        guard let fetch = ended(object, bytes: bytes) else { return nil }
        if isHeld, !fetch.isWanted {
            unused.add(
                object,
                UnusedPrefetches.Prefetch(
                    user: fetch.user.number, number: number, bytes: bytes ?? 0, isCounted: isCounted))
        }
        return fetch
    }

    /// Records that a fetch ended without the object.
    ///
    /// - Parameter bytes: the bytes to pay for; `nil` for those that were paid.
    @discardableResult
    package func ended(_ object: UInt32, bytes: Int?) -> Fetch? {
        if let bytes { correct(object, to: bytes) }
        return fetches.isEmpty ? nil : fetches.removeValue(forKey: object)
    }

    /// Records that a fetch was not started after all, and refunds it.
    package func withdrawn(_ object: UInt32) {
        if let payment = fetches.removeValue(forKey: object)?.payment { spending.refund(payment) }
    }

    // MARK: - Conditions

    /// Sets what the conditions allow. If they allow nothing, the fetches in flight are cancelled.
    ///
    /// - Parameters:
    ///   - isHeldBack: whether nothing may be fetched.
    ///   - isLimited: whether the budget is smaller than usual.
    ///   - hasEased: whether a condition has ended that held fetches back or made the budget smaller.
    /// - Returns: the user to plan for at a moment `connected`; `nil` for none.
    package func set(isHeldBack: Bool, isLimited: Bool, budget: PrefetchBudget, hasEased: Bool) -> PrefetchUser? {
        (self.isHeldBack, self.isLimited, spending.budget) = (isHeldBack, isLimited, budget)
        if isPaused {
            if !fetches.isEmpty || head < queue.count { deferredUser = queueUser }
            cancelFetches()
            return nil
        }
        guard hasEased, let user = deferredUser else { return nil }
        deferredUser = nil
        return policy.plansBetweenRequests ? user : nil
    }

    /// Cancels all fetches, also those that have not started.
    package func cancelFetches() {
        clearQueue()
        for object in fetches.keys.sorted() { commands.append(.cancel(object)) }
    }
}
