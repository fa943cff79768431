import HalcyonEviction

/// The candidates of one plan, each once.
struct CandidateList: ~Copyable {
    /// The most candidates of a plan.
    static let bound = 40

    private var objects = HeapArray<UInt32>(repeating: 0, count: bound)
    private var marks = SlotArray<UInt32>(repeating: 0)
    private var stamp: UInt32 = 0
    private(set) var count = 0

    var byteCount: Int { objects.byteCount + marks.byteCount }

    subscript(index: Int) -> UInt32 {
        @inline(__always) get { objects[index] }
    }

    /// Forgets the candidates of the plan before.
    mutating func begin() {
        stamp &+= 1
        count = 0
        if stamp == 0 {
            marks.reset()
            stamp = 1
        }
    }

    /// Adds an object, unless it is there or in the cache.
    @inline(__always)
    mutating func add(_ object: UInt32, unless isHeld: (UInt32) -> Bool) {
        guard count < Self.bound, object < PlannerObjects.bound, marks[object] != stamp else { return }
        marks[object] = stamp
        if isHeld(object) { return }
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
