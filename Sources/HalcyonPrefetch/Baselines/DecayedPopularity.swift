import HalcyonEviction
import HalcyonLearning

/// Counts of items that halve every ``halfLife`` requests, up to a common factor.
///
/// Later counts weigh more, instead of earlier ones weighing less (Cormode, Shkapenyuk, Srivastava, Xu: Forward decay,
/// 2009). So a score changes only when its item is counted, and rankings stay valid. Counting is O(1); once in 64
/// half-lives all scores are scaled down. Bytes: 4 an item up to the largest number.
struct DecayedPopularity: ~Copyable {
    /// The half-life, in requests.
    let halfLife: Int
    /// The weight of a count now.
    private(set) var weight: Float = 1
    /// The sum of all counts.
    private(set) var total: Float = 0
    private(set) var scores = SlotArray<Float>(repeating: 0)

    private let growth: Double
    private var preciseWeight = 1.0

    /// Creates an empty table.
    init(halfLife: Int) {
        self.halfLife = halfLife
        // Two to the power of a small number: three terms are exact to the last two digits.
        let exponent = 0.693_147_180_559_945_3 / Double(halfLife)
        growth = 1 + exponent * (1 + exponent * (0.5 + exponent / 6))
    }

    var byteCount: Int { scores.byteCount }

    /// Counts an item, once or by a fraction.
    @inline(__always)
    mutating func count(_ item: UInt32, share: Float = 1) {
        scores[item] += weight * share
        total += weight * share
    }

    /// Advances the time by one request.
    @inline(__always)
    mutating func advance() {
        preciseWeight *= growth
        if _slowPath(preciseWeight > 0x1p64) { rescale() }
        weight = Float(preciseWeight)
    }

    @inline(never)
    private mutating func rescale() {
        preciseWeight *= 0x1p-64
        total *= 0x1p-64
        for item in 0..<UInt32(scores.capacity) { scores[item] *= 0x1p-64 }
    }
}

/// Many lists of items, each with the items of the highest scores, highest first. The scores are stored elsewhere.
///
/// The order stays valid while scores change only by rising, or by decaying alike. An item that is not on a full list
/// can enter it only when its own score rises. Raising is O(``width``), mostly O(1). Bytes: 4 for each place of every
/// list up to the largest one used, and 2 a list.
struct PopularityLists: ~Copyable {
    /// The maximum number of items of a list.
    let width: Int
    private var items = HeapArray<UInt32>(repeating: 0, count: 0)
    private var sizes = SlotArray<UInt16>(repeating: 0)

    /// Creates empty lists of at most `width` items.
    init(width: Int) { self.width = width }

    var byteCount: Int { items.byteCount + sizes.byteCount }

    /// The items of a list, the highest score first. The buffer is valid until an item is raised.
    @inline(__always)
    subscript(list: UInt32) -> UnsafeBufferPointer<UInt32> {
        UnsafeBufferPointer(start: items.base + Int(list) &* width, count: Int(sizes[list]))
    }

    /// Moves an item whose score has risen to its place on a list. It is placed after items of an equal score.
    @inline(__always)
    mutating func raise(_ item: UInt32, on list: UInt32, scores: borrowing SlotArray<Float>) {
        if (Int(list) &+ 1) &* width > items.count { makeRoom(for: list) }
        let members = items.base + Int(list) &* width
        let score = scores[item]
        var size = Int(sizes[list])
        if size == width && scores[members[size &- 1]] >= score && members[size &- 1] != item { return }
        var place = 0
        while place < size && members[place] != item { place &+= 1 }
        if place == size {
            if size == width {
                place = width &- 1
            } else {
                size &+= 1
                sizes[list] = UInt16(size)
            }
        }
        while place > 0 && scores[members[place &- 1]] < score {
            members[place] = members[place &- 1]
            place &-= 1
        }
        members[place] = item
    }

    @inline(never)
    private mutating func makeRoom(for list: UInt32) {
        items.grow(to: max((Int(list) + 1) * width, items.count * 3 / 2), filling: 0)
    }
}
