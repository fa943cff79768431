import HalcyonEviction
import HalcyonTrace

/// The size and the categories of each object at its last request so far.
///
/// An object of a loaded trace that was not requested yet has the size of its first request, because a fetch reveals it; no
/// policy receives this size. In a stream it has the size 1.
final class ObjectInfo {
    private var sizes: [Int]
    private var sets: [CategorySetID]

    /// - Parameter trace: the loaded trace; `nil` for a stream.
    init(_ trace: Trace?) {
        sizes = Array(repeating: 1, count: trace?.objectCount ?? 0)
        sets = Array(repeating: 0, count: trace?.objectCount ?? 0)
        guard let trace, trace.uniformSize == nil else { return }
        for position in stride(from: trace.count - 1, through: 0, by: -1) {
            sizes[Int(trace.entries[position])] = Int(clamping: trace.size(ofRequest: position))
        }
    }

    /// Updates the object of an access.
    func note(_ access: Access) {
        let object = Int(access.object)
        while sizes.count <= object {
            sizes.append(1)
            sets.append(0)
        }
        sizes[object] = access.size
        sets[object] = access.categories
    }

    func size(of object: UInt32) -> Int { Int(object) < sizes.count ? sizes[Int(object)] : 1 }
    func categories(of object: UInt32) -> CategorySetID { Int(object) < sets.count ? sets[Int(object)] : 0 }
}
