/// How each category is used over all users, what is popular in it, and which category comes after it.
///
/// Categories beyond ``bound`` share with those before them. O(1) an access and category. Bytes: 24 a category, 160 for its
/// popular objects and the categories after it.
struct PlannerCategories: ~Copyable {
    static let bound: UInt32 = 1 << 16
    static let popularWidth = 16
    static let nextWidth = 16

    struct Record: BitwiseCopyable {
        var count: UInt32 = 0
        var returns: UInt32 = 0
        var last: UInt32 = 0
        /// Accesses, decayed with the middle half-life of ``PlannerObjects``.
        var middle: Float = 0
        /// How often any category came after it.
        var followed: Float = 0
    }

    private var records = HeapArray(repeating: Record(), count: 0)
    /// Popular objects of each category, by what ``PlannerObjects/Record/middle`` was, brought to a common time.
    private(set) var popular = RankedLists(width: popularWidth)
    /// How often each category came after one.
    private(set) var next = RankedLists(width: nextWidth)

    var byteCount: Int { records.byteCount + popular.byteCount + next.byteCount }

    @inline(__always)
    static func slot(_ category: UInt32) -> Int { Int(category & (bound - 1)) }

    @inline(__always)
    subscript(category: UInt32) -> Record {
        let slot = Self.slot(category)
        return slot < records.count ? records[slot] : Record()
    }

    /// Takes an access to `object` of a category into account; `score` is the object's popularity.
    mutating func note(_ category: UInt32, object: UInt32, score: Float, isReturn: Bool, now: UInt32) {
        let slot = Self.slot(category)
        if slot >= records.count { records.grow(to: max(slot + 1, records.count * 2), filling: Record()) }
        var record = records[slot]
        record.count &+= 1
        record.returns &+= isReturn ? 1 : 0
        record.middle =
            record.middle * FastMath.exp2(-FastMath.float(now &- record.last) / PlannerObjects.halfLives.1) + 1
        record.last = now
        records[slot] = record
        popular.raise(object, to: score, in: slot)
    }

    /// An object of nobody's is in a category: a candidate as long as the category has few.
    mutating func announce(_ object: UInt32, in category: UInt32, score: Float) {
        popular.raise(object, to: score, in: Self.slot(category))
    }

    /// A user moved from one category to another, or stayed.
    mutating func note(_ category: UInt32, after last: UInt32) {
        let slot = Self.slot(last)
        guard slot < records.count else { return }
        records[slot].followed += 1
        next.add(1, to: category, fade: 2 / Float(Self.nextWidth), in: slot)
    }
}
