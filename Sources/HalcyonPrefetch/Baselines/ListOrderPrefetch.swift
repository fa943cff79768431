import HalcyonEviction
import HalcyonLearning
import HalcyonSupport

/// Prefetches the first items of a list that the cache lacks, in one of six orders: the baselines of the planner on lists.
///
/// A plan is O(items · log items), an access O(categories). Bytes: 16 an object and 8 a category of each user.
public final class ListOrderPrefetch: PrefetchPolicy {
    /// The order in which items are fetched; equal ones stay in the order of the list.
    public enum Order: Sendable {
        /// As shown.
        case shown
        /// At random.
        case random
        /// Those that were first shown or requested last come first.
        case newest
        /// By the requests of all users that the policy serves, halved every three hours.
        case popular
        /// Those that the user requested last come first.
        case lastOpened
        /// By the user's requests for objects with the item's categories.
        case affinity
    }

    private static let halfLife: Float = 3 * 3_600e6

    private let order: Order
    private var generator: SplitMix64
    private var sets: [CategorySetID: [UInt32]] = [:]
    private var firstTimes: [UInt32: Int64] = [:]
    private var popularity: [UInt32: (count: Float, time: Int64)] = [:]
    private var lastOpenings: [UInt64: Int64] = [:]
    private var affinity: [UInt64: Int] = [:]

    /// Creates a policy that has seen nothing.
    public init(_ order: Order, _ context: PrefetchContext) {
        self.order = order
        generator = SplitMix64(seed: context.seed)
    }

    public var plansOnLists: Bool { true }

    public func define(categorySet: CategorySetID, members: [UInt32]) {
        if order == .affinity { sets[categorySet] = members }
    }

    public func note(_ access: Access, isHit: Bool) {
        switch order {
        case .shown, .random: break
        case .newest: noteFirst(access.object, at: access.time)
        case .popular:
            popularity[access.object] = (count(access.object, at: access.time) + 1, access.time)
        case .lastOpened: lastOpenings[Self.pair(access.user, access.object)] = access.time
        case .affinity:
            for member in sets[access.categories] ?? [] { affinity[Self.pair(access.user, member), default: 0] += 1 }
        }
    }

    public func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {}

    public func plan(on list: ShownList, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        if order == .newest { for item in list.items { noteFirst(item.object, at: list.time) } }
        let scores = list.items.map { score($0, list) }
        var proposed: Set<UInt32> = []
        let order = scores.indices.sorted { (scores[$1], $0) < (scores[$0], $1) }
        plan.ranking = order.map { list.items[$0].object }
        for place in order {
            let item = list.items[place]
            if proposed.count == outlook.limit { return }
            if item.size > outlook.capacity || outlook.holds(item.object) { continue }
            if proposed.insert(item.object).inserted { plan.propose(item.object) }
        }
    }

    private func score(_ item: ShownList.Item, _ list: ShownList) -> Double {
        switch order {
        case .shown: 0
        case .random: generator.nextUnit()
        case .newest: Double(firstTimes[item.object] ?? .min)
        case .popular: Double(count(item.object, at: list.time))
        case .lastOpened: Double(lastOpenings[Self.pair(list.user, item.object)] ?? .min)
        case .affinity:
            (sets[item.categories] ?? []).reduce(0) { $0 + Double(affinity[Self.pair(list.user, $1)] ?? 0) }
        }
    }

    private func noteFirst(_ object: UInt32, at time: Int64) {
        if firstTimes[object] == nil { firstTimes[object] = time }
    }

    private func count(_ object: UInt32, at time: Int64) -> Float {
        guard let known = popularity[object] else { return 0 }
        return known.count * FastMath.exp2(-Float(max(time &- known.time, 0)) / Self.halfLife)
    }

    private static func pair(_ user: UInt32, _ other: UInt32) -> UInt64 { UInt64(user) << 32 | UInt64(other) }

    public var metadataBytes: Int {
        16 * (firstTimes.capacity + lastOpenings.capacity + affinity.capacity) + 24 * popularity.capacity
    }
}
