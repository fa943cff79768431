import HalcyonEviction
import HalcyonLearning

/// The objects of one plan, each once: candidates for a fetch, then unused prefetches to reconsider.
struct CandidateList: ~Copyable {
    /// The maximum number of objects.
    static let bound = 12

    private var objects = HeapArray<UInt32>(repeating: 0, count: bound)
    private var places = MarkedPlaces()
    private(set) var count = 0
    /// The number of candidates for a fetch, which come first.
    private(set) var newCount = 0
    /// The maximum of ``newCount``.
    private var maxNewCount = bound

    /// Whether no candidate for a fetch can be added.
    var isFull: Bool { count >= maxNewCount }

    var byteCount: Int { objects.byteCount + places.byteCount }

    subscript(index: Int) -> UInt32 {
        @inline(__always) get { objects[index] }
    }

    /// The objects.
    var all: UnsafePointer<UInt32> { UnsafePointer(objects.base) }

    /// Removes the objects of the plan before.
    ///
    /// - Parameter unused: the number of places to reserve for unused prefetches.
    mutating func begin(unused: Int) {
        places.begin()
        (count, newCount) = (0, 0)
        maxNewCount = Self.bound - min(unused, UnusedPrefetches.maxPerRequest)
    }

    /// Returns the place of an object, if it is in the list.
    @inline(__always)
    func place(of object: UInt32) -> Int? {
        guard let place = places.place(of: object), place != MarkedPlaces.nowhere else { return nil }
        return place
    }

    /// Adds an object, unless the list or the cache contains it.
    @inline(__always)
    mutating func add(_ object: UInt32, unless isHeld: (UInt32) -> Bool) {
        guard !isFull, object < PlannerObjects.bound, places.place(of: object) == nil else { return }
        if isHeld(object) { return places.mark(object, at: MarkedPlaces.nowhere) }
        append(object)
        newCount &+= 1
    }

    /// Adds an unused prefetch, after all candidates for a fetch.
    mutating func add(unused object: UInt32) {
        guard count < Self.bound, object < PlannerObjects.bound, place(of: object) == nil else { return }
        append(object)
    }

    @inline(__always)
    private mutating func append(_ object: UInt32) {
        places.mark(object, at: count)
        objects[count] = object
        count &+= 1
    }

    /// Adds the first `most` items of a list that are not in the cache.
    @inline(__always)
    mutating func add(missing items: UnsafeBufferPointer<RankedLists.Item>, most: Int, unless isHeld: (UInt32) -> Bool)
    {
        var left = most
        for entry in items {
            if entry.item == .max || left == 0 { return }
            if isHeld(entry.item) { continue }
            add(entry.item, unless: { _ in false })
            left -= 1
        }
    }

    /// Adds those of the first `most` items of a list that are not in the cache.
    @inline(__always)
    mutating func add(_ items: UnsafeBufferPointer<RankedLists.Item>, most: Int, unless isHeld: (UInt32) -> Bool) {
        for index in 0..<min(most, items.count) {
            let item = items[index].item
            if item == .max { return }
            add(item, unless: isHeld)
        }
    }
}
