import HalcyonEviction
import HalcyonLearning

/// What one plan is about, each object once: candidates to be fetched, and after them those that wait to be asked for.
struct CandidateList: ~Copyable {
    /// The most of all.
    static let bound = 12

    private var objects = HeapArray<UInt32>(repeating: 0, count: bound)
    private var places = MarkedPlaces()
    private(set) var count = 0
    /// How many of them may be fetched: the first.
    private(set) var newCount = 0
    /// The most that may.
    private var maxNewCount = bound

    /// Whether no more can be added that may be fetched.
    var isFull: Bool { count >= maxNewCount }

    var byteCount: Int { objects.byteCount + places.byteCount }

    subscript(index: Int) -> UInt32 {
        @inline(__always) get { objects[index] }
    }

    /// All of them.
    var all: UnsafePointer<UInt32> { UnsafePointer(objects.base) }

    /// Forgets those of the plan before.
    ///
    /// - Parameter waiting: how many places are kept for what waits.
    mutating func begin(unused: Int) {
        places.begin()
        (count, newCount) = (0, 0)
        maxNewCount = Self.bound - min(unused, UnusedPrefetches.maxPerRequest)
    }

    /// The place of an object among them, if it has one.
    @inline(__always)
    func place(of object: UInt32) -> Int? {
        guard let place = places.place(of: object), place != MarkedPlaces.nowhere else { return nil }
        return place
    }

    /// Adds an object, unless it is there or in the cache.
    @inline(__always)
    mutating func add(_ object: UInt32, unless isHeld: (UInt32) -> Bool) {
        guard !isFull, object < PlannerObjects.bound, places.place(of: object) == nil else { return }
        if isHeld(object) { return places.mark(object, at: MarkedPlaces.nowhere) }
        append(object)
        newCount &+= 1
    }

    /// Adds an object that was fetched and waits, after all that are to be fetched.
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

    /// Adds the first items of a list that are not in the cache.
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

    /// Adds those among the first items of a list that are not in the cache.
    @inline(__always)
    mutating func add(_ items: UnsafeBufferPointer<RankedLists.Item>, most: Int, unless isHeld: (UInt32) -> Bool) {
        for index in 0..<min(most, items.count) {
            let item = items[index].item
            if item == .max { return }
            add(item, unless: isHeld)
        }
    }
}
