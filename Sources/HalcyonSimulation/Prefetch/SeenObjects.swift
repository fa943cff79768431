import HalcyonEviction
import HalcyonTrace

/// What is known of each object by now: what it cost the cache and which categories it had when somebody last asked for it.
///
/// Whoever fetches one that nobody has asked for yet learns what it costs by fetching it: what it will cost first. No policy
/// is told.
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
