import HalcyonEviction

/// The candidates of one plan, each once.
struct CandidateList: ~Copyable {
    /// The most candidates of a plan.
    static let bound = 24

    private var objects = HeapArray<UInt32>(repeating: 0, count: bound)
    private var places = MarkedPlaces()
    private(set) var count = 0

    var byteCount: Int { objects.byteCount + places.byteCount }

    subscript(index: Int) -> UInt32 {
        @inline(__always) get { objects[index] }
    }

    /// All of them.
    var all: UnsafePointer<UInt32> { UnsafePointer(objects.base) }

    /// Forgets the candidates of the plan before.
    mutating func begin() {
        places.begin()
        count = 0
    }

    /// The place of an object among the candidates, if it is one.
    @inline(__always)
    func place(of object: UInt32) -> Int? {
        guard let place = places.place(of: object), place != MarkedPlaces.nowhere else { return nil }
        return place
    }

    /// Adds an object, unless it is there or in the cache.
    @inline(__always)
    mutating func add(_ object: UInt32, unless isHeld: (UInt32) -> Bool) {
        guard count < Self.bound, object < PlannerObjects.bound, places.place(of: object) == nil else { return }
        if isHeld(object) { return places.mark(object, at: MarkedPlaces.nowhere) }
        places.mark(object, at: count)
        objects[count] = object
        count &+= 1
    }

    /// Adds the first items of a list.
    @inline(__always)
    mutating func add(_ items: UnsafeBufferPointer<RankedLists.Item>, most: Int, unless isHeld: (UInt32) -> Bool) {
        for index in 0..<min(most, items.count) {
            let item = items[index].item
            if item == .max { return }
            add(item, unless: isHeld)
        }
    }
}
