import HalcyonEviction
import HalcyonTrace

/// The size and the categories of each object at its last request so far.
///
/// An object that has not been requested yet has the size of its first request, because a fetch reveals it. No policy
/// receives this size.
final class SeenObjects {
    private var sizes: [Int]
    private var sets: [CategorySetID]

    init(_ trace: Trace) {
        sizes = Array(repeating: 1, count: trace.objectCount)
        sets = Array(repeating: 0, count: trace.objectCount)
        guard trace.uniformSize == nil else { return }
        for position in stride(from: trace.count - 1, through: 0, by: -1) {
            sizes[Int(trace.entries[position])] = Int(clamping: trace.size(ofRequest: position))
        }
    }

    func note(_ access: Access) {
        sizes[Int(access.object)] = access.size
        sets[Int(access.object)] = access.categories
    }

    func size(of object: UInt32) -> Int { sizes[Int(object)] }
    func categories(of object: UInt32) -> CategorySetID { sets[Int(object)] }
}
