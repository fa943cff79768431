import HalcyonEviction
import HalcyonLearning

/// The state of a ``PrefetchPlanner``.
struct PlannerState: ~Copyable {
    /// How many of those that had to leave one cache for all are asked for again at all, by how many are soon.
    private static let laterReturns: Float = 1.5
    /// Which list of ``popular`` is which.
    private static let (byFast, byMiddle, byInside) = (0, 1, 2)

    let parameters: PlannerParameters
    var habits: UserCategoryFeatures
    var objects = PlannerObjects()
    var successions = Successions()
    var categories = PlannerCategories()
    var users = PlannerUsers()
    var trainer: PlannerTrainer
    private(set) var displaced = DisplacedWorth()
    private let cachesPerUser: Bool
    private var popular = RankedLists(width: 16)
    private(set) var plans = PendingPlans()
    private var cases: CaseControl
    private var promptness = Promptness()
    /// Of the candidates that are worth a fetch, how probably each is asked for next; below 0 of the others.
    private let urgencies = HeapArray<Float>(repeating: 0, count: CandidateList.bound)
    private(set) var candidates = CandidateList()
    private(set) var inputs: CandidateInputs
    /// How many accesses there were.
    private var now: UInt32 = 0
    private var meanCost: Float = 0
    private(set) var price: FetchPrice
    private let usesCategories: Bool
    private let latency: Int64
    /// The objects that were announced last, the newest first, and how many were.
    private var newest = RankedLists(width: PlannerCategories.announcedWidth)
    private var announcements: Float = 0

    init(_ parameters: PlannerParameters, _ context: PrefetchContext) {
        self.parameters = parameters
        latency = context.fetchLatency
        cachesPerUser = context.cachesPerUser
        let seed = context.seed
        usesCategories = parameters.categories == .on
        habits = UserCategoryFeatures(
            usesCategories ? .all : .all.subtracting([.category, .user, .session]), bounds: .allUsers)
        inputs = CandidateInputs(matrix: plans.inputs(0))
        price = FetchPrice(least: parameters.price, most: parameters.mostPrice)
        trainer = PlannerTrainer(
            hidden: parameters.hidden, rate: Float(parameters.rate), blas: parameters.blas, seed: seed)
        cases = CaseControl(controls: parameters.controls, sampling: parameters.sampling, seed: seed ^ 0x9E7F)
    }

    var byteCount: Int {
        habits.byteCount + objects.byteCount + successions.byteCount + categories.byteCount + users.byteCount
            + trainer.byteCount
            + popular.byteCount + plans.byteCount + cases.byteCount + candidates.byteCount + inputs.byteCount
            + promptness.byteCount + urgencies.byteCount + newest.byteCount + displaced.byteCount
    }

    mutating func announce(_ object: AnnouncedObject) {
        guard object.object < PlannerObjects.bound, objects[object.object].count == 0 else { return }
        objects.announce(object, now: now)
        announcements += 1
        newest.raise(object.object, to: announcements, in: 0)
        guard usesCategories else { return }
        for member in habits.sets[object.categories].prefix(PlannerCategories.mostMembers) {
            categories.announce(object.object, in: member, number: announcements)
        }
    }

    mutating func note(_ access: Access, isHit: Bool) {
        let slot = PlannerUsers.slot(access.user)
        users.prepare(slot)
        if access.object < PlannerObjects.bound { successions.expect(access.object) }
        settle(access, slot)
        // A hit on what had left means that it was fetched anew; by whom is not known where others ask the same cache.
        let isBack =
            (cachesPerUser || !isHit)
            && users.takeEviction(of: access.object, slot: slot, horizon: UInt32(parameters.horizon))
        if isBack && cachesPerUser { displaced.returned() }
        guard access.object < PlannerObjects.bound else { return }
        if !cachesPerUser { displaced.asked(for: access.object, isHit: isHit, now: now) }
        let seconds = UInt32(truncatingIfNeeded: access.time / 1_000_000)
        let user = users.records[slot]
        let visit = users.visits.value(UInt32(slot), access.object)?.pointee
        let record = objects.note(
            access, now: now, seconds: seconds, isNewToUser: visit == nil, isInside: user.requests > 0)
        meanCost += (Float(access.size) - meanCost) * max(0.001, 1 / (FastMath.float(now) + 1))
        rank(access.object, record, isInside: user.requests > 0)
        if usesCategories { rankInCategories(access, record) }
        var inhabited = access
        inhabited.user = PlannerContext.inhabitant(access.user)
        let gap = visit.map { min(FastMath.octaves(user.requests &- $0.last), 254) }
        habits.note(inhabited, second: seconds, gap: gap ?? .max, isRepeat: gap != nil)
        if usesCategories { rankCategories(access, slot) }
        if access.object != user.recent {
            successions.note(access.object, after: user.recent, and: user.earlier, now: now)
        }
        users.finish(slot, access: access, seconds: seconds)
        now &+= 1
    }

    mutating func evicted(_ object: UInt32, from user: UInt32) {
        let slot = PlannerUsers.slot(user)
        users.prepare(slot)
        users.evicted(object, slot: slot)
        if cachesPerUser {
            displaced.evicted(cost: FastMath.float(objects[object].cost))
        } else if object < PlannerObjects.bound {
            displaced.evicted(object, cost: FastMath.float(objects[object].cost), now: now)
        }
    }

    mutating func dropped(_ object: UInt32) {
        if !cachesPerUser && object < PlannerObjects.bound { displaced.dropped(object, now: now) }
    }

    mutating func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let slot = PlannerUsers.slot(access.user)
        users.prepare(slot)
        let user = users.records[slot]
        let inhabitant = PlannerContext.inhabitant(access.user)
        let context = PlannerContext(
            now: now, seconds: UInt32(truncatingIfNeeded: access.time / 1_000_000), slot: slot, user: user,
            inhabitant: inhabitant, active: active(inhabitant), own: users.followers(slot),
            third: successions.pairs.value(user.earlier, user.recent)?.pointee.follower ?? Follower())
        gather(context, waiting: outlook.waiting.count, outlook.holds)
        for object in outlook.waiting { candidates.add(waiting: object) }
        guard candidates.count > 0 else { return }
        makeRoom()
        let (logits, leanings) = (plans.logits(plans.upcoming), plans.leanings(plans.upcoming))
        inputs.describe(
            candidates, context, into: plans.inputs(plans.upcoming), leanings: leanings, objects: objects,
            successions: successions, users: &users, habits: &habits)
        trainer.predict(inputs.matrix, count: candidates.count, logits: logits)
        for index in 0..<candidates.count { logits[index] += leanings[index] }
        var chosen: UInt32 = 0
        if trainer.isReady {
            chosen = choose(logits, outlook, into: &plan)
            judge(logits, into: &plan)
        }
        let (arrival, isNever) = access.time.addingReportingOverflow(latency)
        plans.add(
            candidates, user: UInt32(slot), request: user.requests, previous: user.recent, chosen: chosen,
            drawn: cases.draw(logits, count: candidates.count), arrival: isNever ? .max : arrival,
            to: users.chain(slot))
    }

    // MARK: - Learning

    private mutating func settle(_ access: Access, _ slot: Int) {
        cases.noteRequest()
        plans.settle(
            users.chain(slot), object: access.object, request: users.records[slot].requests,
            horizon: UInt32(parameters.horizon), time: access.time)
        learn()
    }

    /// Learns from the candidates of which it has just become known what became of them.
    private mutating func learn() {
        for index in 0..<plans.outcomeCount {
            let outcome = plans[index]
            let logit = plans.logits(outcome.plan)[outcome.place]
            let (column, stride) = (plans.inputs(outcome.plan) + outcome.place, plans.count(outcome.plan))
            if outcome.isWanted {
                promptness.note(succession: column[PlannerInput.succession &* stride], isNext: outcome.isNext)
            }
            if outcome.isChosen {
                trainer.noteChosen(logit: logit, isPositive: outcome.isWanted)
                price.note(isUsed: outcome.isWanted)
            }
            guard outcome.isDrawn, cases.takes() else { continue }
            let share = cases.share(logit)
            trainer.add(column, stride: stride, logit: logit, share: share, isPositive: outcome.isWanted)
            guard trainer.isSettled else { continue }
            let told = trainer.calibration.corrected(logit - plans.leanings(outcome.plan)[outcome.place])
            successions.note(
                plans.objects(outcome.plan)[outcome.place], after: plans.previous(outcome.plan),
                probability: FastMath.sigmoid(told + CaseControl.offset(ofShare: share)), isPositive: outcome.isWanted)
        }
    }

    /// Makes room for the next plan.
    private mutating func makeRoom() {
        guard let user = plans.expiring else { return }
        plans.close(users.chain(Int(user)))
        learn()
    }

    /// The categories of the user's last request that had any.
    private mutating func active(_ inhabitant: UInt32) -> UnsafeBufferPointer<UInt32> {
        habits.sets[usesCategories ? habits.profile(of: inhabitant)?.active ?? 0 : 0]
    }

    private mutating func rankInCategories(_ access: Access, _ record: PlannerObjects.Record) {
        let score = FastMath.log2(record.middle) + FastMath.float(now) / PlannerObjects.halfLives.1
        let last = active(PlannerContext.inhabitant(access.user)).prefix(PlannerCategories.mostMembers)
        for member in habits.sets[access.categories].prefix(PlannerCategories.mostMembers) {
            for last in last { categories.note(member, after: last) }
            categories.note(access.object, in: member, score: score)
        }
    }

    /// Ranks the categories of an access among the user's, once they are taken into account.
    private mutating func rankCategories(_ access: Access, _ slot: Int) {
        let inhabitant = PlannerContext.inhabitant(access.user)
        for member in habits.sets[access.categories].prefix(PlannerCategories.mostMembers) {
            users.favour(
                UInt32(PlannerCategories.slot(member)), weight: habits.weight(inhabitant, member), slot: slot)
        }
    }

    private mutating func rank(_ object: UInt32, _ record: PlannerObjects.Record, isInside: Bool) {
        let (fast, middle, _) = PlannerObjects.halfLives
        let time = FastMath.float(now)
        popular.raise(object, to: FastMath.log2(record.fast) + time / fast, in: Self.byFast)
        popular.raise(object, to: FastMath.log2(record.middle) + time / middle, in: Self.byMiddle)
        if isInside {
            popular.raise(object, to: FastMath.log2(record.fastInside) + time / fast, in: Self.byInside)
        }
    }

    // MARK: - Choosing

    private mutating func gather(_ context: PlannerContext, waiting: Int, _ isHeld: (UInt32) -> Bool) {
        candidates.begin(waiting: waiting)
        let user = context.user
        candidates.add(context.own.first.object, unless: isHeld)
        candidates.add(context.own.second.object, unless: isHeld)
        candidates.add(context.third.object, unless: isHeld)
        addSuccessors(of: user.recent, most: 4, isHeld)
        if announcements > 0 { addAnnounced(context, isHeld) }
        addSuccessors(of: user.earlier, most: 1, isHeld)
        expect(from: 0, context)
        let successors = candidates.count
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
            expect(from: successors, context)
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
        expect(from: others, context)
    }

    /// Adds what uses to come after an object and is not held, at most so many as of late and as many of all time.
    private mutating func addSuccessors(of object: UInt32, most: Int, _ isHeld: (UInt32) -> Bool) {
        guard object < PlannerObjects.bound else { return }
        candidates.add(missing: successions.late[Int(object)], most: most, unless: isHeld)
        candidates.add(missing: successions.ever[Int(object)], most: most, unless: isHeld)
    }

    /// Adds what was announced lately and nobody has asked for yet.
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

    /// Has what will be looked up of the candidates from `first` on on its way from memory, while others are gathered.
    @inline(__always)
    private mutating func expect(from first: Int, _ context: PlannerContext) {
        let (recent, earlier) = (successions.pairs[context.user.recent], successions.pairs[context.user.earlier])
        let visits = users.visits[UInt32(context.slot)]
        for index in first..<candidates.count {
            objects.expect(candidates[index])
            successions.pairs.expect(candidates[index], in: recent)
            successions.pairs.expect(candidates[index], in: earlier)
            users.visits.expect(candidates[index], in: visits)
        }
    }

    /// Proposes those of the candidates that are worth their price which are most urgent, and returns a bit for each of these.
    private mutating func choose(
        _ logits: UnsafePointer<Float>, _ outlook: PrefetchOutlook, into plan: inout PrefetchPlan
    ) -> UInt32 {
        let price = self.price.now
        var best = -Float.infinity
        for index in 0..<candidates.newCount {
            best = max(best, logits[index])
            let probability = trainer.calibration.probability(logits[index])
            let succession = inputs.matrix[PlannerInput.succession &* candidates.count &+ index]
            urgencies[index] =
                probability >= asked(of: candidates[index], at: price, outlook)
                ? probability * promptness.share(succession: succession) : -1
        }
        if candidates.newCount > 0 && outlook.limit > 0 { self.price.note(best: trainer.calibration.likelihood(best)) }
        var chosen: UInt32 = 0
        for _ in 0..<outlook.limit {
            // The most urgent that is not chosen yet; few are, so that sorting would cost more.
            var most = -1
            for index in 0..<candidates.newCount where urgencies[index] > (most < 0 ? 0 : urgencies[most]) {
                most = index
            }
            guard most >= 0 else { return chosen }
            urgencies[most] = -1
            chosen |= 1 << UInt32(most)
            let (likely, object) = (trainer.calibration.likelihood(logits[most]), candidates[most])
            guard likely >= asked(of: object, at: price, outlook) else { continue }
            plan.propose(object, probability: likely)
            if !cachesPerUser { displaced.proposed(object, probability: likely, now: now) }
        }
        return chosen
    }

    /// Says of what waits whether it is at least as likely to be asked for as what would leave in its place.
    private mutating func judge(_ logits: UnsafePointer<Float>, into plan: inout PrefetchPlan) {
        for index in candidates.newCount..<candidates.count {
            let object = candidates[index]
            let probability = trainer.calibration.probability(logits[index])
            plan.judge(object, isLikely: probability >= displaced.chance(ofCost: FastMath.float(objects[object].cost)))
        }
    }

    /// How probably an object must be asked for to be worth a fetch: more than anything where it would not be let in.
    ///
    /// A fetch costs no less than one of mean size does, because it takes one of the few that may be made.
    @inline(__always)
    private mutating func asked(of object: UInt32, at price: Float, _ outlook: PrefetchOutlook) -> Float {
        let cost = Int(objects[object].cost)
        if cost > outlook.capacity { return .infinity }
        let fetch = price * max(size(of: object), 1)
        if cost <= outlook.room { return fetch }
        let entries = displaced.chance(ofCost: FastMath.float(objects[object].cost))
        // In one cache for all both say what the same room is worth.
        return cachesPerUser ? fetch + entries : max(fetch, Self.laterReturns * entries)
    }

    /// What an object costs, in those of mean size.
    @inline(__always)
    private mutating func size(of object: UInt32) -> Float {
        meanCost > 0 ? FastMath.float(objects[object].cost) / meanCost : 1
    }
}
