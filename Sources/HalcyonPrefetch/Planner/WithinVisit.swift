import HalcyonEviction
import HalcyonLearning
import HalcyonSupport

/// The part of a ``PrefetchPlanner`` that plans after requests.
struct WithinVisit: ~Copyable {
    /// The ratio of all re-requests of evicted objects to those within the mean stay of a prefetch, in one cache for
    /// all users.
    private static let laterReturns: Float = 1.5
    /// The number of announcements above which a `Float` no longer counts each of them.
    static let mostAnnouncements: Float = 0x1p24
    /// The indices of the lists of ``popular``.
    private static let (byFast, byMiddle, byInside) = (0, 1, 2)

    let parameters: PlannerParameters
    var habits: UserCategoryFeatures
    var objects = PlannerObjects()
    var successors = SuccessorStatistics()
    var categories = PlannerCategories()
    var users = PlannerUsers()
    var trainer: PlannerTrainer
    private(set) var evictionCost = EvictionCost()
    private let cachesPerUser: Bool
    private var popular = RankedLists(width: 16)
    private(set) var plans = PendingPlans()
    private var cases: CaseControl
    private var nextRequestShare = NextRequestShare()
    /// The places of the candidates worth a fetch that are most likely the next request.
    private var likeliest = TopK<Int, Float>()
    private(set) var candidates = CandidateList()
    private(set) var inputs: CandidateInputs
    /// The number of accesses.
    var requests = 0
    /// The same modulo 2³².
    private var now: UInt32 { UInt32(truncatingIfNeeded: requests) }
    private let fastClock = ScoreClock(halfLife: PlannerObjects.halfLives.0)
    private let middleClock = ScoreClock(halfLife: PlannerObjects.halfLives.1)
    private var meanSize: Float = 0
    private let price: Float
    private let usesCategories: Bool
    private let latency: Int64
    /// The objects that were announced last, newest first; of one list, by rank.
    private(set) var newest = RankedLists(width: PlannerCategories.announcedWidth)
    /// The number of announcements, of which a list has ``AnnouncedObject/longestList``; halved at ``mostAnnouncements``.
    var announcements: Float = 0

    init(_ parameters: PlannerParameters, _ context: PrefetchContext) {
        self.parameters = parameters
        latency = context.fetchLatency
        cachesPerUser = context.cachesPerUser
        let seed = context.seed
        usesCategories = parameters.categories == .on
        habits = UserCategoryFeatures(
            usesCategories ? [.category, .user, .session, .time, .activity] : [.time, .activity], bounds: .allUsers)
        inputs = CandidateInputs(matrix: plans.inputs(0))
        price = Float(parameters.price)
        trainer = PlannerTrainer(
            hidden: parameters.hidden, rate: Float(parameters.rate), blas: parameters.blas, seed: seed)
        cases = CaseControl(controls: parameters.controls, sampling: parameters.sampling, seed: seed ^ 0x9E7F)
    }

    var byteCount: Int {
        habits.byteCount + objects.byteCount + successors.byteCount + categories.byteCount + users.byteCount
            + trainer.byteCount
            + popular.byteCount + plans.byteCount + cases.byteCount + candidates.byteCount + inputs.byteCount
            + nextRequestShare.byteCount + newest.byteCount + evictionCost.byteCount
    }

    var metrics: [PolicyMetric] {
        [
            PolicyMetric("planner_steps", Double(trainer.steps)),
            PolicyMetric("re_request_ratio", Double(evictionCost.returnRate)),
            PolicyMetric("eviction_cost", Double(evictionCost.requiredProbability)),
            PolicyMetric("selection_ratio", Double(trainer.calibration.selectionRatio(at: 0.1))),
            PolicyMetric("planner_scale", Double(trainer.calibration.scale)),
            PolicyMetric("planner_shift", Double(trainer.calibration.shift)),
        ]
    }

    mutating func announce(_ object: AnnouncedObject) {
        // A list has the numbers of a whole one, the first object the highest.
        if object.rank == 0 { countAnnouncements(by: Float(AnnouncedObject.longestList)) }
        guard object.object < PlannerObjects.bound, objects[object.object].count == 0 else { return }
        objects.announce(object, now: now)
        if object.rank == nil { countAnnouncements(by: 1) }
        let number = announcements - Float(object.rank ?? 0)
        newest.raise(object.object, to: number, in: 0)
        guard usesCategories else { return }
        for member in habits.sets[object.categories].prefix(PlannerCategories.maxMembers) {
            categories.announce(object.object, in: member, number: number)
        }
    }

    private mutating func countAnnouncements(by step: Float) {
        if announcements >= Self.mostAnnouncements {
            // Their numbers stay exact in 32 bits; the order does not change.
            announcements /= 2
            newest.lowerAll(by: announcements)
            categories.lowerAnnounced(by: announcements)
        }
        announcements += step
    }

    mutating func note(_ access: Access, isHit: Bool) {
        let slot = PlannerUsers.slot(access.user)
        users.prepare(slot)
        if access.object < PlannerObjects.bound { successors.prefetchIntoCPUCache(access.object) }
        settle(access, slot)
        // A hit on an evicted object means that it was fetched again. If one cache serves all users, the user of that
        // fetch is not known.
        let isBack =
            (cachesPerUser || !isHit)
            && users.takeEviction(of: access.object, slot: slot, labelWindow: UInt32(parameters.labelWindow))
        if isBack && cachesPerUser { evictionCost.returned() }
        guard access.object < PlannerObjects.bound else { return }
        if !cachesPerUser { evictionCost.requested(access.object, isHit: isHit, now: now) }
        let seconds = UInt32(truncatingIfNeeded: access.time / 1_000_000)
        let user = users.records[slot]
        let visit = users.visits.value(UInt32(slot), access.object)?.pointee
        let record = objects.note(
            access, now: now, seconds: seconds, isNewToUser: visit == nil, isInside: user.requests > 0)
        meanSize += (Float(access.size) - meanSize) * max(0.001, 1 / (Float(requests) + 1))
        rank(access.object, record, isInside: user.requests > 0)
        if usesCategories { rankInCategories(access, record) }
        var featureAccess = access
        featureAccess.user = PlannerContext.featureUserID(access.user)
        let gap = visit.map { min(FastMath.octaves(user.requests &- $0.last), 254) }
        habits.note(featureAccess, second: seconds, gap: gap ?? .max, isRepeat: gap != nil)
        if usesCategories { rankCategories(access, slot) }
        if access.object != user.recent {
            successors.note(access.object, after: user.recent, and: user.earlier, now: now)
        }
        users.finish(slot, access: access, seconds: seconds)
        requests += 1
        restartClocks()
    }

    /// Lowers the scores by decayed counts when their time starts again, and limits all ages once in 2³⁰ requests.
    private mutating func restartClocks() {
        if fastClock.restarts(at: requests) {
            popular.lower(by: Float(ScoreClock.longest), in: Self.byFast)
            popular.lower(by: Float(ScoreClock.longest), in: Self.byInside)
        }
        if middleClock.restarts(at: requests) {
            popular.lower(by: Float(ScoreClock.longest), in: Self.byMiddle)
            categories.lowerScores(by: Float(ScoreClock.longest))
        }
        guard WrappingClock.isSweepDue(requests) else { return }
        objects.limitAges(at: now)
        successors.limitAges(at: now)
        evictionCost.limitAges(at: now)
    }

    mutating func evicted(_ object: UInt32, from user: UInt32) {
        let slot = PlannerUsers.slot(user)
        users.prepare(slot)
        users.evicted(object, slot: slot)
        if cachesPerUser {
            evictionCost.evicted(size: FastMath.float(objects[object].size))
        } else if object < PlannerObjects.bound {
            evictionCost.evicted(object, size: FastMath.float(objects[object].size), now: now)
        }
    }

    mutating func dropped(_ object: UInt32) {
        if !cachesPerUser && object < PlannerObjects.bound { evictionCost.dropped(object, now: now) }
    }

    mutating func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let slot = PlannerUsers.slot(access.user)
        users.prepare(slot)
        let user = users.records[slot]
        let featureUserID = PlannerContext.featureUserID(access.user)
        let context = PlannerContext(
            now: now, seconds: UInt32(truncatingIfNeeded: access.time / 1_000_000), slot: slot, user: user,
            featureUserID: featureUserID, active: active(featureUserID), ownSuccessors: users.likelySuccessors(slot),
            secondOrderSuccessor: successors.pairs.value(user.earlier, user.recent)?.pointee.successor
                ?? MajoritySuccessor())
        gather(context, unused: outlook.unused.count, outlook.holds)
        for object in outlook.unused { candidates.add(unused: object) }
        guard candidates.count > 0 else { return }
        makeRoom()
        let (logits, pairBiases) = (plans.logits(plans.nextNumber), plans.pairBiases(plans.nextNumber))
        inputs.describe(
            candidates, context, into: plans.inputs(plans.nextNumber), pairBiases: pairBiases, objects: objects,
            successors: successors, users: &users, habits: &habits)
        trainer.predict(inputs.matrix, count: candidates.count, logits: logits)
        for index in 0..<candidates.count { logits[index] += pairBiases[index] }
        var chosen: UInt32 = 0
        if trainer.isReady {
            chosen = choose(logits, outlook, into: &plan)
            reconsiderUnused(logits, into: &plan)
        }
        let (end, isNever) = access.time.addingReportingOverflow(latency)
        plans.add(
            candidates, user: UInt32(slot), request: user.requests, previous: user.recent, chosen: chosen,
            drawn: cases.draw(logits, count: candidates.count), arrival: latency == 0 ? .min : isNever ? .max : end,
            to: users.chain(slot))
    }

    // MARK: - Learning

    private mutating func settle(_ access: Access, _ slot: Int) {
        cases.noteRequest()
        plans.settle(
            users.chain(slot), object: access.object, request: users.records[slot].requests,
            labelWindow: UInt32(parameters.labelWindow), time: access.time)
        learn()
    }

    /// Trains on the candidates whose outcome has just become known.
    private mutating func learn() {
        for index in 0..<plans.outcomeCount {
            let outcome = plans[index]
            let logit = plans.logits(outcome.plan)[outcome.place]
            let (column, stride) = (plans.inputs(outcome.plan) + outcome.place, plans.count(outcome.plan))
            if outcome.isRequested {
                nextRequestShare.note(succession: column[PlannerInput.succession &* stride], isNext: outcome.isNext)
            }
            if outcome.isChosen { trainer.noteChosen(logit: logit, isPositive: outcome.isRequested) }
            guard outcome.isDrawn, cases.accepts() else { continue }
            let share = cases.share(logit)
            trainer.add(column, stride: stride, logit: logit, share: share, isPositive: outcome.isRequested)
            guard trainer.hasWarmedUp else { continue }
            let logitOfNetwork = trainer.calibration.corrected(logit - plans.pairBiases(outcome.plan)[outcome.place])
            successors.note(
                plans.objects(outcome.plan)[outcome.place], after: plans.previous(outcome.plan),
                probability: FastMath.sigmoid(logitOfNetwork + CaseControl.offset(ofShare: share)),
                isPositive: outcome.isRequested)
        }
    }

    /// Makes room for the next plan.
    private mutating func makeRoom() {
        guard let user = plans.expiring else { return }
        plans.close(users.chain(Int(user)))
        learn()
    }

    /// Returns the categories of the user's last request that had any.
    private mutating func active(_ featureUserID: UInt32) -> UnsafeBufferPointer<UInt32> {
        habits.sets[usesCategories ? habits.profile(of: featureUserID)?.active ?? 0 : 0]
    }

    private mutating func rankInCategories(_ access: Access, _ record: PlannerObjects.Record) {
        let score = FastMath.log2(record.middle) + middleClock.time(requests)
        let last = active(PlannerContext.featureUserID(access.user)).prefix(PlannerCategories.maxMembers)
        for member in habits.sets[access.categories].prefix(PlannerCategories.maxMembers) {
            for last in last { categories.note(member, after: last) }
            categories.note(access.object, in: member, score: score)
        }
    }

    /// Updates the scores of an access's categories among the user's, after the access is recorded.
    private mutating func rankCategories(_ access: Access, _ slot: Int) {
        let featureUserID = PlannerContext.featureUserID(access.user)
        for member in habits.sets[access.categories].prefix(PlannerCategories.maxMembers) {
            users.updateFavourite(
                UInt32(PlannerCategories.slot(member)), weight: habits.weight(featureUserID, member), slot: slot)
        }
    }

    private mutating func rank(_ object: UInt32, _ record: PlannerObjects.Record, isInside: Bool) {
        let fast = fastClock.time(requests)
        popular.raise(object, to: FastMath.log2(record.fast) + fast, in: Self.byFast)
        popular.raise(object, to: FastMath.log2(record.middle) + middleClock.time(requests), in: Self.byMiddle)
        if isInside { popular.raise(object, to: FastMath.log2(record.fastInside) + fast, in: Self.byInside) }
    }

    // MARK: - Selection

    private mutating func gather(_ context: PlannerContext, unused: Int, _ isHeld: (UInt32) -> Bool) {
        candidates.begin(unused: unused)
        let user = context.user
        candidates.add(context.ownSuccessors.first.object, unless: isHeld)
        candidates.add(context.ownSuccessors.second.object, unless: isHeld)
        candidates.add(context.secondOrderSuccessor.object, unless: isHeld)
        addSuccessors(of: user.recent, most: 4, isHeld)
        if announcements > 0 { addAnnounced(context, isHeld) }
        addSuccessors(of: user.earlier, most: 1, isHeld)
        prefetchIntoCPUCache(from: 0, context)
        let afterSuccessors = candidates.count
        if usesCategories && !candidates.isFull {
            for last in context.active.prefix(2) {
                let slot = PlannerCategories.slot(last)
                candidates.add(categories.popular[slot], most: 4, unless: isHeld)
                for next in categories.next[slot].prefix(4) where next.item != .max {
                    candidates.add(categories.popular[Int(next.item)], most: 2, unless: isHeld)
                }
            }
            for habit in users.favourites[context.slot] where habit.item != .max {
                candidates.add(categories.popular[PlannerCategories.slot(habit.item)], most: 2, unless: isHeld)
            }
            prefetchIntoCPUCache(from: afterSuccessors, context)
        }
        if candidates.isFull { return }
        let others = candidates.count
        for index in 0..<6 {
            let object = users.evicted(index, slot: context.slot)
            if object != .max { candidates.add(object, unless: isHeld) }
        }
        for list in [Self.byFast, Self.byMiddle, Self.byInside] {
            candidates.add(popular[list], most: 6, unless: isHeld)
        }
        prefetchIntoCPUCache(from: others, context)
    }

    /// Adds successors of an object that the cache does not hold, at most `most` recent ones and as many of all time.
    private mutating func addSuccessors(of object: UInt32, most: Int, _ isHeld: (UInt32) -> Bool) {
        guard object < PlannerObjects.bound else { return }
        candidates.add(missing: successors.late[Int(object)], most: most, unless: isHeld)
        candidates.add(missing: successors.ever[Int(object)], most: most, unless: isHeld)
    }

    /// Adds objects that were announced recently and have not been requested.
    private mutating func addAnnounced(_ context: PlannerContext, _ isHeld: (UInt32) -> Bool) {
        if usesCategories {
            for last in context.active.prefix(2) {
                addNew(categories.announced[PlannerCategories.slot(last)], most: 2, isHeld)
            }
            for habit in users.favourites[context.slot].prefix(2) where habit.item != .max {
                addNew(categories.announced[PlannerCategories.slot(habit.item)], most: 1, isHeld)
            }
        }
        addNew(newest[0], most: 1, isHeld)
    }

    private mutating func addNew(
        _ items: UnsafeBufferPointer<RankedLists.Item>, most: Int, _ isHeld: (UInt32) -> Bool
    ) {
        var left = most
        for entry in items {
            if entry.item == .max || left == 0 { return }
            if objects[entry.item].count > 0 || isHeld(entry.item) { continue }
            candidates.add(entry.item, unless: { _ in false })
            left -= 1
        }
    }

    /// Loads into the CPU's cache the records that candidates from `first` on will need, while others are gathered.
    @inline(__always)
    private mutating func prefetchIntoCPUCache(from first: Int, _ context: PlannerContext) {
        let (recent, earlier) = (successors.pairs[context.user.recent], successors.pairs[context.user.earlier])
        let visits = users.visits[UInt32(context.slot)]
        for index in first..<candidates.count {
            objects.prefetchIntoCPUCache(candidates[index])
            successors.pairs.expect(candidates[index], in: recent)
            successors.pairs.expect(candidates[index], in: earlier)
            users.visits.expect(candidates[index], in: visits)
        }
    }

    /// Proposes the candidates worth a fetch that are most likely the next request. Returns a bit for each of them.
    private mutating func choose(
        _ logits: UnsafePointer<Float>, _ outlook: PrefetchOutlook, into plan: inout PrefetchPlan
    ) -> UInt32 {
        likeliest.reset(limit: min(outlook.limit, candidates.newCount))
        for index in 0..<candidates.newCount {
            let probability = trainer.calibration.probability(logits[index])
            let succession = inputs.matrix[PlannerInput.succession &* candidates.count &+ index]
            guard probability >= requiredProbability(of: candidates[index], outlook) else { continue }
            let nextProbability = probability * nextRequestShare.share(succession: succession)
            if nextProbability > 0 { likeliest.insert(index, score: nextProbability) }
        }
        var chosen: UInt32 = 0
        for (place, _) in likeliest.entries {
            chosen |= 1 << UInt32(place)
            let (probability, object) = (trainer.calibration.selectedProbability(logits[place]), candidates[place])
            guard probability >= requiredProbability(of: object, outlook) else { continue }
            plan.propose(object, probability: probability)
            if !cachesPerUser { evictionCost.proposed(object, probability: probability, now: now) }
        }
        return chosen
    }

    /// States of each unused prefetch whether its probability is at least the eviction cost.
    private mutating func reconsiderUnused(_ logits: UnsafePointer<Float>, into plan: inout PrefetchPlan) {
        for index in candidates.newCount..<candidates.count {
            let object = candidates[index]
            let probability = trainer.calibration.probability(logits[index])
            plan.reconsider(
                object,
                isLikely: probability >= evictionCost.requiredProbability(forSize: FastMath.float(objects[object].size))
            )
        }
    }

    /// Returns the probability at which an object is worth a fetch: infinity if the cache would not admit it.
    ///
    /// The price of a small object is that of one of mean size, because each fetch uses one of the few that the
    /// budget allows.
    @inline(__always)
    private mutating func requiredProbability(of object: UInt32, _ outlook: PrefetchOutlook) -> Float {
        let size = Int(objects[object].size)
        if size > outlook.capacity { return .infinity }
        let fetch = price * max(relativeSize(of: object), 1)
        if size <= outlook.room { return fetch }
        let entries = evictionCost.requiredProbability(forSize: FastMath.float(objects[object].size))
        // In one cache for all users, both terms state the value of the same capacity.
        return cachesPerUser ? fetch + entries : max(fetch, Self.laterReturns * entries)
    }

    /// Returns the object's size relative to the mean size.
    @inline(__always)
    private mutating func relativeSize(of object: UInt32) -> Float {
        meanSize > 0 ? FastMath.float(objects[object].size) / meanSize : 1
    }
}

/// The values that all candidates of a plan share.
struct PlannerContext {
    var now: UInt32
    var seconds: UInt32
    var slot: Int
    var user: PlannerUsers.Record
    /// The user's number in ``UserCategoryFeatures``, where unknown users share a number.
    var featureUserID: UInt32
    /// The categories of the user's last request that had any.
    var active: UnsafeBufferPointer<UInt32>
    /// The likely successor of the user's last object for this user, and the successor of that.
    var ownSuccessors: (first: MajoritySuccessor, second: MajoritySuccessor)
    /// The likely successor of the user's last two objects over all users.
    var secondOrderSuccessor: MajoritySuccessor

    /// Returns the number of a user in ``UserCategoryFeatures``.
    @inline(__always)
    static func featureUserID(_ user: UInt32) -> UInt32 { user &+ 1 }
}

/// The sources of candidates by category: the popular objects and the next categories of each.
///
/// Categories beyond ``bound`` share lists with smaller numbers. O(1) an access and category. Bytes: 256 a category,
/// and 64 for one with an announced object.
struct PlannerCategories: ~Copyable {
    static let bound: UInt32 = 1 << 16
    /// The maximum number of categories of an object that are used.
    static let maxMembers = 4
    static let popularWidth = 16
    static let nextWidth = 16
    static let announcedWidth = 8

    /// The popular objects of each category, by ``PlannerObjects/Record/middle`` scaled to a common time.
    private(set) var popular = RankedLists(width: popularWidth)
    /// The number of transitions from each category to others.
    private(set) var next = RankedLists(width: nextWidth)

    /// The announced objects of each category, newest first.
    private(set) var announced = RankedLists(width: announcedWidth)

    var byteCount: Int { popular.byteCount + next.byteCount + announced.byteCount }

    @inline(__always)
    static func slot(_ category: UInt32) -> Int { Int(category & (bound - 1)) }

    /// Records that an object of a category was announced, the `number`-th of all.
    mutating func announce(_ object: UInt32, in category: UInt32, number: Float) {
        announced.raise(object, to: number, in: Self.slot(category))
    }

    /// Records a request for an object of a category; `score` is its popularity.
    mutating func note(_ object: UInt32, in category: UInt32, score: Float) {
        popular.raise(object, to: score, in: Self.slot(category))
    }

    /// Lowers the popularity of all objects alike; see ``ScoreClock``.
    mutating func lowerScores(by amount: Float) { popular.lowerAll(by: amount) }

    /// Lowers the numbers of all announced objects alike.
    mutating func lowerAnnounced(by amount: Float) { announced.lowerAll(by: amount) }

    /// Records a user's transition from a category to another or the same one.
    mutating func note(_ category: UInt32, after last: UInt32) {
        next.add(1, to: UInt32(Self.slot(category)), fade: 2 / Float(Self.nextWidth), in: Self.slot(last))
    }
}
