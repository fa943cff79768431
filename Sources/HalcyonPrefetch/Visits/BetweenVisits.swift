import HalcyonEviction
import HalcyonLearning
import HalcyonSupport

/// The part of a ``PrefetchPlanner`` that learns what each user requests in its next visit, and holds it when that visit begins.
///
/// At the end of a visit, and at the start of days until the user returns, a small network estimates the probability of a request in
/// the next visit. It does so for each object that the user has requested, and for those that all users request. An object is fetched
/// if there is room and its probability reaches a threshold: the least from which on a share ``PlannerParameters/visitPrice`` of a
/// sample of objects was requested, whether fetched or not. Without room, the probability must also exceed that of a resident by the
/// price, which then leaves.
///
/// During a visit it names the resident that leaves when room is needed: the one that this visit is least likely to request. The
/// probability of an object that the visit has requested is the learned frequency of repeats. That of another is the one of the last
/// plan, times the share of a visit's hits that is still to come.
///
/// One in 16 of these choices is left to the eviction policy. Whichever object is requested first decides which of the two chose
/// better; while the eviction policy does, it chooses alone.
///
/// It plans for caches of one user each, and does nothing in a cache for all users. It plans as for uniform sizes: a
/// fetch of a large object is no dearer.
///
/// An access and a plan are O(objects of the user), at most ``bound``, and ``popularBound``. Bytes: 80 a pair of user and object, 52 an
/// object, at most 6 kB a user for examples. Objects numbered 2²⁴ or more are ignored.
final class BetweenVisits {
    /// The most objects that are remembered of a user.
    static let bound = 512
    /// The most objects of all users that are considered for each.
    static let popularBound = 64
    private static let examplesPerPlan = 48
    /// The examples after which predictions are used.
    private static let enough = 2_000
    /// The exploration rate: the share of choices that are made by the chooser that is behind.
    private static let explorationRate: Float = 1 / 16

    private let context: PrefetchContext
    private let price: Float
    private var users: [VisitUser] = []
    private var history = VisitHistory()
    var model: OnlineNetwork
    var outcomes = OutcomesByProbability()
    var repeats = RepeatsInVisit()
    var rest = RestOfVisit()
    /// Whether this policy names better victims than the eviction policy during a visit.
    var duringVisits = VictimContest(usesPlannerAtFirst: false)
    /// Whether what it fetches between visits is requested more often than what leaves for it.
    var betweenVisits = VictimContest(usesPlannerAtFirst: true)
    private var generator: SplitMix64
    private var popular: [UInt32] = []
    private var isPopular: Set<UInt32> = []
    private var columns = VisitInputColumns()
    private var probabilities = [Float](repeating: 0, count: VisitInputColumns.length)
    /// The number of the last plan that listed each object, and of the last plan.
    private var listedIn: [UInt32] = []
    private var planNumber: UInt32 = 0
    private var candidates: [Scored] = []
    private var residents: [Scored] = []
    /// An object that a plan has scored, and its place among those of the plan.
    private struct Scored: BitwiseCopyable {
        var probability: Float
        var object: UInt32
        var place: Int
    }

    /// Whether enough examples were learned for predictions to be used.
    var isReady: Bool { model.examples >= Self.enough }

    init(price: Double, _ context: PrefetchContext) {
        self.context = context
        self.price = Float(price)
        generator = SplitMix64(seed: context.seed)
        model = OnlineNetwork(inputs: VisitInputColumns.inputCount, seed: context.seed &+ 1)
    }

    // MARK: - Requests

    func note(_ access: Access) {
        guard access.object < BaselineBounds.objects, context.cachesPerUser else { return }
        let slot = Int(BaselineBounds.slot(ofUser: access.user))
        while users.count <= slot { users.append(VisitUser()) }
        if context.endsVisit(users[slot].lastRequest, at: access.time) {
            begin(slot)
        }
        users[slot].lastRequest = max(users[slot].lastRequest, access.time)
        users[slot].requests += 1
        settlePairs(access.object, slot)
        let (visit, requests) = (users[slot].visit, users[slot].requests)
        let place = users[slot].items.firstIndex { $0.object == access.object } ?? addItem(access, slot)
        if users[slot].items[place].lastVisit == visit, users[slot].items[place].visits > 0 {
            repeats.note(after: Int(requests - users[slot].items[place].lastPlace), isRepeated: true)
            users[slot].items[place].lastPlace = requests
            return
        }
        var item = users[slot].items[place]
        let isReturn = item.visits > 0
        history.count(access, isReturn: isReturn)
        let age = VisitHistory.days(from: item.lastTime, to: access.time)
        for scale in 0..<3 {
            item.counts[scale] = item.counts[scale] * FastMath.exp2(-age / VisitHistory.ownHalfLives[scale]) + 1
        }
        if !isReturn { (item.firstTime, item.firstVisit) = (access.time, visit) }
        (item.lastTime, item.lastVisit, item.firstPlace, item.lastPlace) = (access.time, visit, requests, requests)
        item.visits += 1
        users[slot].items[place] = item
        users[slot].distinct += 1
        if isReturn { users[slot].returned += 1 }
        count(access.categories, slot)
        if VisitHistory.popularity(history.objects[Int(access.object)], at: access.time).y > 8,
            isPopular.insert(access.object).inserted
        {
            popular.append(access.object)
        }
    }

    /// Begins a visit: the last one is over, whether or not its end was planned for.
    private func begin(_ slot: Int) {
        end(slot)
        users[slot].visit += 1
        users[slot].requests = 0
    }

    /// Learns from a visit that has ended. Does nothing if it was done.
    private func end(_ slot: Int) {
        guard users[slot].distinct > 0 else { return }
        let visit = users[slot].visit
        let share = max(0.2, 1 / Float(visit))
        users[slot].size += (users[slot].distinct - users[slot].size) * share
        users[slot].returning += (users[slot].returned / users[slot].distinct - users[slot].returning) * share
        (users[slot].distinct, users[slot].returned) = (0, 0)
        var places: [Int32] = []
        for item in users[slot].items where item.lastVisit == visit && item.visits > 0 {
            repeats.note(after: Int(users[slot].requests - item.lastPlace) + 1, isRepeated: false)
            if item.probability >= 0 { places.append(item.firstPlace) }
        }
        rest.note(places: places, requests: Int(users[slot].requests))
        let user = users[slot]
        guard user.exampleVisit == visit - 1 else { return }
        var requested: Set<UInt32> = []
        for item in user.items where item.lastVisit == visit && item.visits > 0 { requested.insert(item.object) }
        user.examples.withUnsafeBufferPointer { examples in
            guard let first = examples.baseAddress else { return }
            for (number, object) in user.exampleObjects.enumerated() {
                let isRequested = requested.contains(object)
                let probability = model.learn(first + number * VisitInputColumns.inputCount, isRequested: isRequested)
                outcomes.note(probability, isRequested: isRequested)
            }
        }
        users[slot].exampleVisit = -1
    }

    /// Settles the pairs that contain a requested object.
    private func settlePairs(_ object: UInt32, _ slot: Int) {
        if users[slot].pendingPairs.isEmpty { return }
        let visit = users[slot].visit
        users[slot].pendingPairs.removeAll { pair in
            if visit > pair.visit + 1 { return true }
            if object != pair.victim && object != pair.kept { return false }
            // An object evicted during a visit is fetched again at its end if its probability is high enough.
            if object == pair.victim, !pair.isBetweenVisits, visit > pair.visit, betweenVisits.usesPlanner {
                return false
            }
            if pair.isBetweenVisits {
                betweenVisits.note(isGain: object == pair.kept)
            } else {
                duringVisits.note(isGain: object == pair.kept)
            }
            return true
        }
    }

    func evicted(_ object: UInt32, from user: UInt32) {
        let slot = Int(BaselineBounds.slot(ofUser: user))
        guard slot < users.count, let victim = users[slot].shadowVictim else { return }
        users[slot].shadowVictim = nil
        if victim != object { addPair(victim: victim, kept: object, slot) }
    }

    private func addPair(victim: UInt32, kept: UInt32, _ slot: Int, isBetweenVisits: Bool = false) {
        guard users[slot].pendingPairs.count < VisitUser.maxPendingPairs else { return }
        users[slot].pendingPairs.append(
            VisitUser.VictimPair(victim: victim, kept: kept, visit: users[slot].visit, isBetweenVisits: isBetweenVisits)
        )
    }

    private func explores() -> Bool { Float(generator.next() >> 40) * 0x1p-24 < Self.explorationRate }

    private func count(_ set: CategorySetID, _ slot: Int) {
        guard set > 0 else { return }
        users[slot].categoryTotal += 1
        if let place = users[slot].categories.firstIndex(where: { $0.set == set }) {
            users[slot].categories[place].count += 1
        } else if users[slot].categories.count < 64 {
            users[slot].categories.append((set, 1))
        }
    }

    private func addItem(_ access: Access, _ slot: Int) -> Int {
        let item = VisitItem(object: access.object)
        guard users[slot].items.count >= Self.bound else {
            users[slot].items.append(item)
            return users[slot].items.count - 1
        }
        let items = users[slot].items
        let oldest = items.indices.min { items[$0].lastTime < items[$1].lastTime } ?? 0
        users[slot].items[oldest] = item
        return oldest
    }

    // MARK: - Plans

    /// Returns which objects a plan within a visit may reconsider: not what was fetched between visits, which waits for its turn.
    func reconsiderable(_ unused: [UInt32], of user: UInt32) -> [UInt32] {
        let slot = Int(BaselineBounds.slot(ofUser: user))
        guard slot < users.count, !unused.isEmpty else { return unused }
        return unused.filter { object in
            !users[slot].items.contains { $0.object == object && $0.probability >= 0 }
        }
    }

    /// Names the resident that leaves next during a visit.
    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let slot = Int(BaselineBounds.slot(ofUser: access.user))
        guard context.cachesPerUser, isReady, outlook.room < access.size, slot < users.count else { return }
        let (visit, requests) = (users[slot].visit, users[slot].requests)
        let (share, repeats) = (rest.share(after: Int(requests)), repeats)
        var least: (value: Float, object: UInt32)?
        for item in users[slot].items {
            let value =
                item.lastVisit == visit && item.visits > 0
                ? repeats.probability(since: Int(requests - item.lastPlace))
                : max(item.probability, 0) * share
            if value < least?.value ?? .infinity, outlook.isResident(item.object) { least = (value, item.object) }
        }
        // The eviction policy refused the requested object.
        if let victim = users[slot].shadowVictim, !outlook.isResident(access.object) {
            addPair(victim: victim, kept: access.object, slot)
        }
        users[slot].shadowVictim = nil
        guard let least else { return }
        if duringVisits.usesPlanner, !explores() {
            for verdict in plan.reconsiderations where !verdict.isLikely { plan.release(verdict.object) }
            plan.release(least.object)
        } else {
            users[slot].shadowVictim = least.object
        }
    }

    func plan(at moment: PlanningMoment, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let slot = Int(BaselineBounds.slot(ofUser: moment.user))
        guard slot < users.count, users[slot].visit > 0 else { return }
        // Before its end, a visit has no outcome to learn from yet, and the examples of the last plan are still to be learned.
        let isOver = context.endsVisit(users[slot].lastRequest, at: moment.time)
        if isOver { end(slot) }
        // Taken out while they are scored, so that they are changed in place.
        var items: [VisitItem] = []
        swap(&items, &users[slot].items)
        items.removeAll { $0.visits == 0 && !outlook.isResident($0.object) }
        let ownCount = items.count
        refreshPopular(at: moment.time)
        addPopular(to: &items)
        // The examples are a sample of what is scored, the same size for all.
        let wanted = Float(Self.examplesPerPlan) / Float(max(items.count, 1))
        if isOver {
            users[slot].examples.removeAll(keepingCapacity: true)
            users[slot].exampleObjects.removeAll(keepingCapacity: true)
            users[slot].exampleVisit = users[slot].visit
        }
        let scene = history.moment(of: users[slot], at: moment.time)
        let threshold = outcomes.threshold(forShare: price)
        candidates.removeAll(keepingCapacity: true)
        residents.removeAll(keepingCapacity: true)
        // Local copies: each access to a property of a class is checked for exclusivity.
        let (history, model) = (self.history, self.model)
        var (candidates, residents, probabilities): ([Scored], [Scored], [Float]) = ([], [], [])
        swap(&candidates, &self.candidates)
        swap(&residents, &self.residents)
        swap(&probabilities, &self.probabilities)
        defer {
            swap(&candidates, &self.candidates)
            swap(&residents, &self.residents)
            swap(&probabilities, &self.probabilities)
        }
        columns.begin(scene, sets: history.sets.count)
        for place in items.indices {
            let column = place % VisitInputColumns.length
            if column == 0 {
                let count = min(VisitInputColumns.length, items.count - place)
                items.withUnsafeBufferPointer { items in
                    guard let first = items.baseAddress else { return }
                    columns.describe(first + place, count: count, known: items.count - place, of: history, at: scene)
                }
                model.predict(
                    columns.matrix, count: count, length: VisitInputColumns.length, into: &probabilities)
            }
            let (probability, object) = (probabilities[column], items[place].object)
            if isOver || place >= ownCount { items[place].probability = probability }
            if isOver, Float(generator.next() >> 40) * 0x1p-24 < wanted {
                columns.append(column, to: &users[slot].examples)
                users[slot].exampleObjects.append(object)
            }
            if outlook.isResident(object) {
                residents.append(Scored(probability: probability, object: object, place: place))
            } else if probability >= threshold, !outlook.holds(object) {
                candidates.append(Scored(probability: probability, object: object, place: place))
            }
        }
        columns.end(scene)
        let popular = Array(items[ownCount...])
        items.removeSubrange(ownCount...)
        defer { swap(&items, &users[slot].items) }
        guard isReady else { return }
        candidates.sort { ($1.probability, $0.object) < ($0.probability, $1.object) }
        residents.sort { ($0.probability, $0.object) < ($1.probability, $1.object) }
        let replaces = betweenVisits.usesPlanner || explores()
        users[slot].shadowVictim = nil
        var (room, place) = (outlook.room, 0)
        for candidate in candidates.prefix(outlook.limit) {
            let size = history.objects[Int(candidate.object)].size
            if size > outlook.capacity { continue }
            var (made, end) = (room, place)
            while replaces, made < size, end < residents.count,
                residents[end].probability + price < candidate.probability
            {
                made += history.objects[Int(residents[end].object)].size
                end += 1
            }
            guard made >= size else { break }
            for resident in residents[place..<end] {
                plan.release(resident.object)
                addPair(victim: resident.object, kept: candidate.object, slot, isBetweenVisits: true)
            }
            (room, place) = (made - size, end)
            plan.propose(candidate.object, probability: candidate.probability)
            if candidate.place >= ownCount { items.append(popular[candidate.place - ownCount]) }
        }
        // The first victim of the next visit.
        if duringVisits.usesPlanner, place < residents.count { plan.release(residents[place].object) }
    }

    /// Adds the objects that all users request, unless they are in the list.
    private func addPopular(to items: inout [VisitItem]) {
        planNumber &+= 1
        if listedIn.count < history.objects.count {
            listedIn.append(contentsOf: repeatElement(0, count: history.objects.count - listedIn.count))
        }
        let planNumber = planNumber
        listedIn.withUnsafeMutableBufferPointer { listedIn in
            for item in items where Int(item.object) < listedIn.count { listedIn[Int(item.object)] = planNumber }
            for object in popular.prefix(Self.popularBound) where listedIn[Int(object)] != planNumber {
                items.append(VisitItem(object: object))
            }
        }
    }

    private func refreshPopular(at time: Int64) {
        guard popular.count > 2 * Self.popularBound else { return }
        let counts = popular.map { (VisitHistory.popularity(history.objects[Int($0)], at: time).y, $0) }
        popular = counts.sorted { ($1.0, $0.1) < ($0.0, $1.1) }.prefix(Self.popularBound).map(\.1)
        isPopular = Set(popular)
    }

    var metrics: [PolicyMetric] {
        [
            PolicyMetric("visit_gains", Double(duringVisits.counts.gains)),
            PolicyMetric("visit_losses", Double(duringVisits.counts.losses)),
            PolicyMetric("refill_gains", Double(betweenVisits.counts.gains)),
            PolicyMetric("refill_losses", Double(betweenVisits.counts.losses)),
            PolicyMetric("fetch_threshold", Double(outcomes.threshold(forShare: price))),
        ]
    }

    var byteCount: Int {
        listedIn.capacity * 4 + columns.byteCount
            + users.reduce(history.objects.capacity * MemoryLayout<VisitObject>.stride) {
                $0 + MemoryLayout<VisitUser>.stride + $1.items.capacity * MemoryLayout<VisitItem>.stride
                    + $1.examples.capacity * 4
            }
    }
}
