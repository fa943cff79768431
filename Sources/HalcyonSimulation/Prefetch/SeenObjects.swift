import HalcyonEviction

/// What is known of each object by now: what it cost and which categories it had when somebody last asked for it.
final class SeenObjects {
    private var costs: [Int]
    private var sets: [CategorySetID]

    init(count: Int) {
        costs = Array(repeating: 1, count: count)
        sets = Array(repeating: 0, count: count)
    }

    func note(_ access: Access) {
        costs[Int(access.object)] = access.cost
        sets[Int(access.object)] = access.categories
    }

    func cost(of object: UInt32) -> Int { costs[Int(object)] }
    func categories(of object: UInt32) -> CategorySetID { sets[Int(object)] }
}
