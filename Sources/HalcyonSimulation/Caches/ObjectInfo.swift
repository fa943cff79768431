import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace

/// The size and the categories of each object at its last request so far.
///
/// A fetch reveals the size of an object, no earlier. With variable sizes, the size of an object that was neither
/// requested nor fetched is therefore not known when a fetch of it starts (``knowsSize(of:)``). The fetch then transfers
/// the size of the first request. An object that never occurs in the trace is as large as the object that was requested
/// when it was first fetched. No policy receives a size that is not known. In a stream an object without a request has
/// the size 1; only `next-key` proposes such objects, and no stream supports it.
final class ObjectInfo {
    private var sizes: [Int]
    private var sets: [CategorySetID]
    /// Whether the size of each object is known. Empty if all sizes are.
    private var isKnown: [Bool]
    private let usesUniformSizes: Bool
    /// The objects of accesses since the last ``forget()``. Nil if they are never forgotten.
    private var noted: [UInt32]?

    /// - Parameters:
    ///   - trace: the loaded trace; `nil` for a stream.
    ///   - forgets: whether ``forget()`` will be called.
    init(_ trace: Trace?, forgets: Bool = false) {
        noted = forgets ? [] : nil
        let count = trace?.objectCount ?? 0
        sizes = Array(repeating: 1, count: count)
        sets = Array(repeating: 0, count: count)
        usesUniformSizes = trace.map { $0.uniformSize != nil } ?? true
        isKnown = Array(repeating: false, count: usesUniformSizes ? 0 : count)
        guard let trace, !usesUniformSizes else { return }
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
        if !usesUniformSizes { markKnown(object) }
        noted?.append(access.object)
    }

    /// Forgets which sizes and categories are known, for the next device. O(accesses since the last call).
    func forget() {
        for object in noted ?? [] {
            sets[Int(object)] = 0
            if !usesUniformSizes { isKnown[Int(object)] = false }
        }
        noted?.removeAll(keepingCapacity: true)
    }

    /// Whether the size of an object was revealed by a request or a fetch; always true with uniform sizes.
    func knowsSize(of object: UInt32) -> Bool {
        usesUniformSizes || (Int(object) < isKnown.count && isKnown[Int(object)])
    }

    /// Records the size of an object that a log states; in a trace of uniform sizes it has no effect.
    func reveal(_ object: UInt32, size: Int) {
        let place = Int(object)
        while sizes.count <= place {
            sizes.append(1)
            sets.append(0)
        }
        guard !usesUniformSizes else { return }
        sizes[place] = size
        markKnown(place)
    }

    /// Records a fetch of an object whose size was not known, after a request, and returns its size.
    func reveal(_ object: UInt32, after access: Access) -> Int {
        let place = Int(object)
        while sizes.count <= place {
            sizes.append(access.size)
            sets.append(0)
        }
        markKnown(place)
        noted?.append(object)
        return sizes[place]
    }

    /// Records what an announcement or a list states of an object.
    func announce(_ announced: AnnouncedObject) {
        let object = Int(announced.object)
        while sizes.count <= object {
            sizes.append(1)
            sets.append(0)
        }
        sets[object] = announced.categories
        if !usesUniformSizes {
            sizes[object] = announced.size
            markKnown(object)
        }
        noted?.append(announced.object)
    }

    private func markKnown(_ object: Int) {
        while isKnown.count <= object { isKnown.append(false) }
        isKnown[object] = true
    }

    func size(of object: UInt32) -> Int { Int(object) < sizes.count ? sizes[Int(object)] : 1 }
    func categories(of object: UInt32) -> CategorySetID { Int(object) < sets.count ? sets[Int(object)] : 0 }
}
