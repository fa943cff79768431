import HalcyonPrefetch
import HalcyonTrace

/// The lists of a trace in the order in which a run hands them to prefetch policies.
///
/// Those of all users come in order of time, or those of one user come after the other.
struct ShownListQueue {
    private let lists: ShownLists
    private let unit: CacheUnit
    private let sizes: [UInt64]
    /// The lists of each user, if users are served one after another.
    private let byUser: [UInt32: [Int]]?
    /// The lists that are left, the last first.
    private var left: [Int]

    /// - Parameter isByUser: whether users are served one after another; see ``begin(user:)``.
    init(_ lists: ShownLists, of trace: Trace, isByUser: Bool) {
        self.lists = lists
        unit = CacheUnit(trace)
        sizes = trace.objectSizes + lists.shownOnlySizes
        byUser = isByUser ? Dictionary(grouping: 0..<lists.count) { lists.users[$0] } : nil
        left = isByUser ? [] : (0..<lists.count).reversed()
    }

    /// Goes on with the lists of a user.
    mutating func begin(user: Int) { left = (byUser?[UInt32(user)] ?? []).reversed() }

    /// The time of the next list that is shown before the request at a position; `nil` if there is none.
    func nextTime(before position: Int) -> Int64? {
        guard let next = left.last, lists.positions[next] <= position else { return nil }
        return lists.times[next]
    }

    /// Removes and returns the next list, with the objects and users as the trace numbers them, and the number of requests before it.
    mutating func popNext() -> (list: ShownList, position: Int)? {
        guard let next = left.popLast() else { return nil }
        let items = lists.items(of: next).map { item in
            let object = lists.objects[item]
            return ShownList.Item(
                object: object, categories: lists.categories.isEmpty ? 0 : lists.categories[item],
                size: unit.usesUniformSizes ? 1 : Int(clamping: sizes[Int(object)]))
        }
        let list = ShownList(user: lists.users[next], time: lists.times[next], items: items)
        return (list, lists.positions[next])
    }
}
