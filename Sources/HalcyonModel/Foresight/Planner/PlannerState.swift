import HalcyonEviction

/// The state of a ``PrefetchPlanner``.
struct PlannerState: ~Copyable {
    /// What an evicted entry is taken to be worth before any was seen to come back, and how fast that is learnt.
    private static let firstRegret: Float = 0.05
    private static let regretRate: Float = 0.001
    /// Which list of ``popular`` is which.
    private static let (byFast, byMiddle, byInside) = (0, 1, 2)

    let parameters: PlannerParameters
    var sets = CategorySetTable()
    var objects = PlannerObjects()
    var categories = PlannerCategories()
    var users = PlannerUsers()
    var trainer: PlannerTrainer
    /// The share of evicted entries that their users asked for again within the horizon.
    private(set) var regret = firstRegret
    private var popular = RankedLists(width: 16)
    private var plans = PendingPlans()
    private var cases: CaseControl
    private(set) var candidates = CandidateList()
    private(set) var inputs: CandidateInputs
    /// How many accesses there were.
    private var now: UInt32 = 0
    private var meanCost: Float = 0
    private(set) var price: FetchPrice
    private let usesCategories: Bool

    init(_ parameters: PlannerParameters, seed: UInt64) {
        self.parameters = parameters
        usesCategories = parameters.categories == .on
        inputs = CandidateInputs(matrix: plans.inputs(0))
        price = FetchPrice(least: parameters.price, most: parameters.mostPrice)
        trainer = PlannerTrainer(hidden: parameters.hidden, rate: Float(parameters.rate), seed: seed)
        cases = CaseControl(controls: parameters.controls, sampling: parameters.sampling, seed: seed ^ 0x9E7F)
    }

    var byteCount: Int {
        sets.byteCount + objects.byteCount + categories.byteCount + users.byteCount + trainer.byteCount
            + popular.byteCount + plans.byteCount + cases.byteCount + candidates.byteCount + inputs.byteCount
    }

    mutating func announce(_ object: AnnouncedObject) {
        guard object.object < PlannerObjects.bound, objects[object.object].count == 0 else { return }
        objects.announce(object, now: now)
        guard usesCategories else { return }
        // Worth less than anything that was asked for once, even long ago; the newest announcement counts most.
        let score = FastMath.float(now) / PlannerObjects.halfLives.1 - 1_000
        for member in sets[object.categories] { categories.announce(object.object, in: member, score: score) }
    }

    mutating func note(_ access: Access, isHit: Bool) {
        let slot = PlannerUsers.slot(access.user)
        users.prepare(slot)
        settle(access, slot)
        if !isHit, users.takeEviction(of: access.object, slot: slot, horizon: UInt32(parameters.horizon)) {
            regret += Self.regretRate
        }
        guard access.object < PlannerObjects.bound else { return }
        let seconds = UInt32(truncatingIfNeeded: access.time / 1_000_000)
        let user = users.records[slot]
        let isReturn = (users.visits.value(UInt32(slot), access.object)?.pointee.count ?? 0) > 0
        let record = objects.note(
            access, now: now, seconds: seconds, isNewToUser: !isReturn, isInside: user.requests > 0)
        meanCost += (Float(access.cost) - meanCost) * max(0.001, 1 / (FastMath.float(now) + 1))
        rank(access.object, record, isInside: user.requests > 0)
        if usesCategories { noteCategories(access, record, slot: slot, isReturn: isReturn, user) }
        if user.recent < PlannerObjects.bound { objects.note(access.object, after: user.recent, distance: 1, now: now) }
        if user.earlier < PlannerObjects.bound {
            objects.note(access.object, after: user.earlier, distance: 2, now: now)
        }
        users.finish(slot, access: access, seconds: seconds)
        now &+= 1
    }

    mutating func evicted(_ object: UInt32, from user: UInt32) {
        let slot = PlannerUsers.slot(user)
        users.prepare(slot)
        users.evicted(object, slot: slot)
        regret *= 1 - Self.regretRate
    }

    mutating func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout [PrefetchProposal]) {
        let slot = PlannerUsers.slot(access.user)
        users.prepare(slot)
        let user = users.records[slot]
        let active = usesCategories ? sets[user.categories] : sets[0]
        let context = PlannerContext(
            now: now, seconds: UInt32(truncatingIfNeeded: access.time / 1_000_000), slot: slot, user: user,
            active: active)
        gather(context, outlook.holds)
        guard candidates.count > 0 else { return }
        makeRoom()
        let logits = plans.logits(plans.upcoming)
        inputs.describe(
            candidates, context, into: plans.inputs(plans.upcoming), usesCategories: usesCategories, sets: sets,
            objects: objects, categories: categories, users: users)
        trainer.predict(inputs.matrix, count: candidates.count, logits: logits)
        let chosen = trainer.isReady ? choose(logits, outlook, into: &plan) : 0
        plans.add(
            candidates, user: UInt32(slot), request: user.requests, chosen: chosen,
            drawn: cases.draw(logits, count: candidates.count), to: users.chain(slot))
    }

    // MARK: - Learning

    private mutating func settle(_ access: Access, _ slot: Int) {
        cases.noteRequest()
        plans.settle(
            users.chain(slot), object: access.object, request: users.records[slot].requests,
            horizon: UInt32(parameters.horizon))
        learn()
    }

    /// Learns from the candidates of which it has just become known what became of them.
    private mutating func learn() {
        for index in 0..<plans.outcomeCount {
            let outcome = plans[index]
            let logit = plans.logits(outcome.plan)[outcome.place]
            if outcome.isChosen { trainer.noteChosen(logit: logit, isPositive: outcome.isWanted) }
            guard outcome.isDrawn, cases.takes() else { continue }
            trainer.add(
                plans.inputs(outcome.plan) + outcome.place, stride: plans.count(outcome.plan), logit: logit,
                share: cases.share(logit), isPositive: outcome.isWanted)
        }
    }

    /// Makes room for the next plan.
    private mutating func makeRoom() {
        guard let user = plans.expiring else { return }
        plans.close(users.chain(Int(user)))
        learn()
    }

    private mutating func noteCategories(
        _ access: Access, _ record: PlannerObjects.Record, slot: Int, isReturn: Bool, _ user: PlannerUsers.Record
    ) {
        let members = sets[access.categories]
        let score = FastMath.log2(record.middle) + FastMath.float(now) / PlannerObjects.halfLives.1
        for member in members.prefix(PlannerContext.mostMembers) {
            for last in sets[user.categories].prefix(PlannerContext.mostMembers) {
                categories.note(UInt32(PlannerCategories.slot(member)), after: last)
            }
            categories.note(member, object: access.object, score: score, isReturn: isReturn, now: now)
            users.note(slot, category: UInt32(PlannerCategories.slot(member)), isReturn: isReturn)
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

    private mutating func gather(_ context: PlannerContext, _ isHeld: (UInt32) -> Bool) {
        candidates.begin()
        let user = context.user
        addSuccessors(of: user.recent, isHeld)
        addSuccessors(of: user.earlier, isHeld)
        expect(from: 0, context)
        let successors = candidates.count
        if usesCategories {
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
        let others = candidates.count
        for list in [Self.byFast, Self.byMiddle, Self.byInside] {
            candidates.add(popular[list], most: 6, unless: isHeld)
        }
        expect(from: others, context)
        for index in 0..<6 {
            let object = users.eviction(index, slot: context.slot).object
            if object != .max { candidates.add(object, unless: isHeld) }
        }
    }

    private mutating func addSuccessors(of object: UInt32, _ isHeld: (UInt32) -> Bool) {
        guard object < PlannerObjects.bound else { return }
        candidates.add(objects.recentSuccessors[Int(object)], most: 4, unless: isHeld)
        candidates.add(objects.successors[Int(object)], most: 4, unless: isHeld)
    }

    /// Has what will be looked up of the candidates from `first` on on its way from memory, while others are gathered.
    @inline(__always)
    private func expect(from first: Int, _ context: PlannerContext) {
        for index in first..<candidates.count {
            objects.expect(candidates[index])
            users.visits.expectPlace(UInt32(context.slot), candidates[index])
        }
    }

    /// Proposes the best candidates, and returns a bit for each of them that is worth its price.
    private mutating func choose(
        _ logits: UnsafePointer<Float>, _ outlook: PrefetchOutlook, into plan: inout [PrefetchProposal]
    ) -> UInt32 {
        var chosen: UInt32 = 0
        let price = price.now
        let displaced = outlook.hasRoom ? 0 : regret
        var limit = Float.infinity
        for rank in 0..<outlook.limit {
            // The best that is not proposed yet; few are, so that sorting would cost more.
            var (best, bestLogit) = (-1, -Float.infinity)
            for index in 0..<candidates.count where logits[index] < limit && logits[index] > bestLogit {
                (best, bestLogit) = (index, logits[index])
            }
            guard best >= 0 else { return chosen }
            limit = bestLogit
            let object = candidates[best]
            let probability = trainer.calibration.probability(bestLogit)
            let likely = probability * trainer.calibration.yield(of: probability)
            if rank == 0 { self.price.note(best: likely) }
            let size = meanCost > 0 ? FastMath.float(objects[object].cost) / meanCost : 1
            guard probability - displaced * size >= price * size else { continue }
            chosen |= 1 << UInt32(best)
            guard likely - displaced * size >= price * size else { continue }
            plan.append(PrefetchProposal(object: object, probability: likely))
        }
        return chosen
    }
}
