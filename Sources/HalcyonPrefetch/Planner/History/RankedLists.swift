import CProcessor
import HalcyonLearning

/// Many short lists of items with scores, each sorted, highest first: the successors of an object, the popular objects
/// of a category.
///
/// A list has its best ``width`` items. Operations are O(width). Bytes: 8 for each place of all lists up to the
/// largest one used.
struct RankedLists: ~Copyable {
    struct Item: BitwiseCopyable {
        var item = UInt32.max
        var score: Float = 0
    }

    let width: Int
    private var items: HeapArray<Item>

    init(width: Int) {
        self.width = width
        items = HeapArray(repeating: Item(), count: 0)
    }

    var byteCount: Int { items.byteCount }

    /// The items of a list, highest score first. Empty places at its end have the number `UInt32.max`.
    @inline(__always)
    subscript(list: Int) -> UnsafeBufferPointer<Item> {
        guard (list + 1) * width <= items.count else { return UnsafeBufferPointer(start: nil, count: 0) }
        return UnsafeBufferPointer(start: items.base + list * width, count: width)
    }

    /// Loads a list into the CPU's cache.
    @inline(__always)
    func prefetchIntoCPUCache(_ list: Int) {
        guard (list + 1) * width <= items.count else { return }
        let first = UnsafeRawPointer(items.base + list * width)
        for offset in stride(from: 0, to: width * MemoryLayout<Item>.stride, by: 64) {
            halcyon_prefetch(first + offset)
        }
    }

    /// Raises the score of an item, which must not fall. A new item replaces the last one if its score is higher.
    mutating func raise(_ item: UInt32, to score: Float, in list: Int) {
        let row = row(list)
        var place = find(item, in: row)
        if place == width {
            place = width - 1
            guard row[place].item == .max || row[place].score < score else { return }
        }
        move(Item(item: item, score: score), from: place, in: row)
    }

    /// Adds to the score of an item. If the list is full, a new item first lowers the score of the last one by `fade`.
    /// Once that score is at most 1, the new item replaces it.
    ///
    /// This is a slower replacement than that of Metwally et al.: Efficient computation of frequent and top-k
    /// elements, 2005.
    mutating func add(_ weight: Float, to item: UInt32, fade: Float, in list: Int) {
        let row = row(list)
        var place = find(item, in: row)
        if place < width { return move(Item(item: item, score: row[place].score + weight), from: place, in: row) }
        place = width - 1
        if row[place].item != .max && row[place].score > 1 {
            row[place].score -= fade * weight
        } else {
            move(Item(item: item, score: weight), from: place, in: row)
        }
    }

    /// Multiplies all scores of a list, which keeps its order.
    mutating func scale(by factor: Float, in list: Int) {
        let row = row(list)
        for place in 0..<width { row[place].score *= factor }
    }

    /// Lowers all scores of a list by the same amount, which keeps its order.
    mutating func lower(by amount: Float, in list: Int) {
        guard (list + 1) * width <= items.count else { return }
        let row = row(list)
        for place in 0..<width { row[place].score -= amount }
    }

    /// Lowers all scores of all lists by the same amount. O(lists × width).
    mutating func lowerAll(by amount: Float) {
        for place in 0..<items.count { items[place].score -= amount }
    }

    private mutating func row(_ list: Int) -> UnsafeMutablePointer<Item> {
        let end = (list + 1) * width
        if end > items.count { items.grow(to: max(end, items.count * 2), filling: Item()) }
        return items.base + list * width
    }

    private func find(_ item: UInt32, in row: UnsafeMutablePointer<Item>) -> Int {
        var place = 0
        while place < width && row[place].item != item { place &+= 1 }
        return place
    }

    private func move(_ item: Item, from start: Int, in row: UnsafeMutablePointer<Item>) {
        var place = start
        while place > 0 && (row[place - 1].item == .max || row[place - 1].score < item.score) {
            row[place] = row[place - 1]
            place &-= 1
        }
        row[place] = item
    }
}

/// The time that scores by decayed counts add to the logarithm of a count, so that scores of different times compare.
///
/// A count that was `c` at request `n` has decayed to c · 2^(−(now − n) / half-life), so log₂ c + n / half-life orders
/// counts of all times. The second term would grow without bound, and a score of 32 bits would no longer tell counts
/// apart: after 10⁹ requests its steps are an eighth of an octave. So time starts again at 0 whenever it reaches
/// ``longest`` half-lives, and the caller lowers all scores by as much. Scores are exact to 2⁻¹³ octaves.
struct ScoreClock {
    /// The half-lives after which time starts again.
    static let longest = 1_024

    private let halfLife: Int

    /// Creates the clock of counts with a half-life in requests.
    init(halfLife: Float) { self.halfLife = Int(halfLife) }

    /// Returns the time of a request in half-lives since the last start, below ``longest``.
    @inline(__always)
    func time(_ request: Int) -> Float {
        FastMath.float(UInt32(truncatingIfNeeded: request % (halfLife &* Self.longest))) / Float(halfLife)
    }

    /// Returns whether time starts again with a request, so that all scores must be lowered by ``longest`` before it.
    @inline(__always)
    func restarts(at request: Int) -> Bool { request > 0 && request % (halfLife &* Self.longest) == 0 }
}
