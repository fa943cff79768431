import HalcyonEviction
import HalcyonLearning

/// The part of a ``PrefetchPlanner`` that learns which items of a list a user opens, and fetches them when the list is shown.
///
/// A small network estimates for each item the probability that this user requests it while the list is shown. Its inputs are those of
/// ``ListInputs``: place, what the user has done with the object and with its categories, what all users have, and the counts that a
/// server announces. Items are fetched in the order of their probability, as long as it reaches a threshold: the least from which on a
/// share ``PlannerParameters/listPrice`` of the items was requested. If something must be evicted for an item, the probability must
/// also exceed the eviction cost (``EvictionCost``).
///
/// The outcome of a list is known when another is shown after the idle time, when ``ListUser/mostPending`` lists were shown after it,
/// or after a day: until then its items can still be opened. The network learns from every item: those that were shown and not opened
/// are its negative examples.
///
/// A plan is O(items × ``ListInputs/count``). Bytes: some 100 an object and a category of each user and of all, and 250 an item of a list
/// whose outcome is not known.
final class OnLists {
    /// The examples before the network ranks. Until then the order of the list does.
    static let enough = 500

    private let context: PrefetchContext
    private let price: Float
    private var inputs: ListInputs
    private var users: [ListUser] = []
    private var all = ListHistory()
    /// The counts of the last list that a server announced.
    private var announced: [UInt32: Int] = [:]
    private var evictionCost = EvictionCost()
    var model: OnlineNetwork
    var outcomes = OutcomesByProbability()

    init(_ parameters: PlannerParameters, _ context: PrefetchContext) {
        self.context = context
        price = Float(parameters.listPrice)
        inputs = ListInputs(usesCategories: parameters.categories == .on, profile: parameters.profile)
        model = OnlineNetwork(inputs: ListInputs.count, seed: context.seed &+ 2, silent: ListInputs.silent)
    }

    /// Whether the network is the shipped one, and nothing was learned since.
    var isAsShipped = false
    /// Whether a list was shown.
    private(set) var hasLists = false

    /// Whether the network ranks.
    var isReady: Bool { model.examples >= Self.enough }

    func define(categorySet: CategorySetID, members: [UInt32]) {
        inputs.sets.define(categorySet, members: members)
    }

    func announce(_ rates: CategoryRates) { all.adopt(rates) }

    func announce(_ object: AnnouncedObject) {
        if object.rank == 0 { announced.removeAll(keepingCapacity: true) }
        if object.rank != nil, let count = object.count { announced[object.object] = max(count, 0) }
    }

    func note(_ access: Access, isHit: Bool) {
        let slot = slot(of: access.user)
        settle(slot, by: access.time, after: ListUser.longestShown)
        if !isHit, users[slot].takeEvicted(access.object) { evictionCost.returned() }
        guard access.object < BaselineBounds.objects else { return }
        let members = members(of: access.categories)
        users[slot].noteOpened(access, members)
        all.noteOpened(access.object, members, at: access.time)
    }

    func evicted(_ object: UInt32, from user: UInt32) {
        users[slot(of: user)].noteEvicted(object)
        evictionCost.evicted(size: 1)
    }

    func plan(on list: ShownList, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        var list = list
        list.items.removeAll { $0.object >= BaselineBounds.objects }
        guard !list.items.isEmpty else { return }
        hasLists = true
        let slot = slot(of: list.user)
        settle(slot, by: list.time, after: context.idleTime)
        let rows = inputs.rows(list, of: users[slot], all: all, announced: announced)
        propose(list, probabilities(rows, count: list.items.count), outlook, into: &plan)
        users[slot].noteShown(list, rows: rows, inputs.sets)
        for item in list.items { all.noteShown(item, members(of: item.categories), at: list.time) }
        settle(slot, by: list.time, after: context.idleTime)
    }

    private func slot(of user: UInt32) -> Int {
        let slot = Int(BaselineBounds.slot(ofUser: user))
        while users.count <= slot { users.append(ListUser()) }
        return slot
    }

    private func members(of set: CategorySetID) -> UnsafeBufferPointer<UInt32> {
        inputs.usesCategories ? inputs.sets[set] : UnsafeBufferPointer(start: nil, count: 0)
    }

    /// Returns the probability of each item; `nil` before the network ranks.
    private func probabilities(_ rows: [Float], count: Int) -> [Float]? {
        guard isReady else { return nil }
        let model = model
        return rows.withUnsafeBufferPointer { rows in
            rows.baseAddress.map { first in (0..<count).map { model.probability(first + $0 * ListInputs.count) } }
        }
    }

    private func propose(
        _ list: ShownList, _ probabilities: [Float]?, _ outlook: PrefetchOutlook, into plan: inout PrefetchPlan
    ) {
        let order = list.items.indices.sorted { first, second in
            let (one, other) = (probabilities?[first] ?? 0, probabilities?[second] ?? 0)
            return (other, first) < (one, second)
        }
        plan.ranking = order.map { list.items[$0].object }
        let threshold = outcomes.threshold(forShare: price)
        var (room, left) = (outlook.room, outlook.limit)
        var proposed: Set<UInt32> = []
        for place in order {
            if left == 0 { return }
            let (item, probability) = (list.items[place], probabilities?[place])
            if item.size > outlook.capacity || outlook.holds(item.object) { continue }
            let size = max(item.size, 1)
            if let probability {
                let cost = size > room ? price + evictionCost.requiredProbability : 0
                guard probability >= max(threshold, cost) else { return }
            }
            guard proposed.insert(item.object).inserted else { continue }
            plan.propose(item.object, probability: probability)
            (room, left) = (room - size, left - 1)
        }
    }

    /// Learns from the lists of a user whose outcome is known at a time: those shown a span before.
    private func settle(_ slot: Int, by time: Int64, after span: Int64) {
        if users[slot].pending.isEmpty { return }
        for list in users[slot].takeEnded(by: time, after: span) {
            list.rows.withUnsafeBufferPointer { rows in
                guard let first = rows.baseAddress else { return }
                isAsShipped = false
                for (place, isOpened) in list.isOpened.enumerated() {
                    let probability = model.learn(first + place * ListInputs.count, isRequested: isOpened)
                    outcomes.note(probability, isRequested: isOpened)
                }
            }
        }
    }

    var metrics: [PolicyMetric] {
        [
            PolicyMetric("list_examples", Double(model.examples)),
            PolicyMetric("list_threshold", Double(outcomes.threshold(forShare: price))),
            PolicyMetric("list_eviction_cost", Double(evictionCost.requiredProbability)),
        ]
    }

    var byteCount: Int {
        inputs.sets.byteCount + all.byteCount + announced.capacity * MemoryLayout<(UInt32, Int)>.stride
            + users.reduce(0) { $0 + MemoryLayout<ListUser>.stride + $1.byteCount }
    }
}
