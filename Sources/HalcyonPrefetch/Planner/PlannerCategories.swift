/// Where to look for candidates: what is popular in each category, and which categories come after it.
///
/// Categories beyond ``bound`` share with those before them. O(1) an access and category. Bytes: 256 a category, and 64 for one of which
/// anything was announced.
struct PlannerCategories: ~Copyable {
    static let bound: UInt32 = 1 << 16
    /// Categories of an object that are taken account of.
    static let mostMembers = 4
    static let popularWidth = 16
    static let nextWidth = 16
    static let announcedWidth = 8

    /// Popular objects of each category, by what ``PlannerObjects/Record/middle`` was, brought to a common time.
    private(set) var popular = RankedLists(width: popularWidth)
    /// How often each category came after one.
    private(set) var next = RankedLists(width: nextWidth)

    /// Objects of each category that were announced, the newest first.
    private(set) var announced = RankedLists(width: announcedWidth)

    var byteCount: Int { popular.byteCount + next.byteCount + announced.byteCount }

    @inline(__always)
    static func slot(_ category: UInt32) -> Int { Int(category & (bound - 1)) }

    /// An object of a category is announced, the `number`-th of all.
    mutating func announce(_ object: UInt32, in category: UInt32, number: Float) {
        announced.raise(object, to: number, in: Self.slot(category))
    }

    /// An object of a category was asked for; `score` is how popular it is.
    mutating func note(_ object: UInt32, in category: UInt32, score: Float) {
        popular.raise(object, to: score, in: Self.slot(category))
    }

    /// A user moved from one category to another, or stayed.
    mutating func note(_ category: UInt32, after last: UInt32) {
        next.add(1, to: UInt32(Self.slot(category)), fade: 2 / Float(Self.nextWidth), in: Self.slot(last))
    }
}
