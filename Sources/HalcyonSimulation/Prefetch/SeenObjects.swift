import HalcyonEviction
import HalcyonTrace

/// The cost and the categories of each object at its last request so far.
///
/// An object that has not been requested yet has the cost of its first request, because a fetch reveals it. No policy
/// receives this cost.
final class SeenObjects {
    private var costs: [Int]
    private var sets: [CategorySetID]

    init(_ trace: Trace) {
        costs = Array(repeating: 1, count: trace.objectCount)
        sets = Array(repeating: 0, count: trace.objectCount)
        guard trace.uniformSize == nil else { return }
        for position in stride(from: trace.count - 1, through: 0, by: -1) {
            costs[Int(trace.entries[position])] = Int(clamping: trace.cost(ofRequest: position))
        }
    }

    func note(_ access: Access) {
        costs[Int(access.object)] = access.cost
        sets[Int(access.object)] = access.categories
    }

    func cost(of object: UInt32) -> Int { costs[Int(object)] }
    func categories(of object: UInt32) -> CategorySetID { sets[Int(object)] }
}
