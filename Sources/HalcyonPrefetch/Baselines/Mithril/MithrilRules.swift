import HalcyonEviction
import HalcyonLearning

/// What to fetch when a block is asked for: Mithril's prefetching table.
///
/// A block has up to P others; another one takes the place of the one that came first. So it is with the rows. Adding is O(P).
/// Bytes: 4 a block number, at most 64 MB; 4 P + 8 a row.
struct MithrilRules: ~Copyable {
    private let length: Int
    private var blocks: HeapArray<UInt32>
    private var sizes: HeapArray<UInt32>
    private var others: HeapArray<UInt32>
    private var hand = 0
    private var rows = SlotArray<UInt32>(repeating: .none)

    init(_ parameters: MithrilParameters) {
        length = parameters.listLength
        blocks = HeapArray(repeating: .none, count: parameters.prefetchingRows)
        sizes = HeapArray(repeating: 0, count: parameters.prefetchingRows)
        others = HeapArray(repeating: 0, count: parameters.prefetchingRows * parameters.listLength)
    }

    var byteCount: Int { blocks.byteCount + sizes.byteCount + others.byteCount + rows.byteCount }

    /// The blocks associated with `block`, the latest last.
    subscript(block: UInt32) -> UnsafeBufferPointer<UInt32> {
        let row = rows[block]
        guard row != .none else { return UnsafeBufferPointer(start: others.base, count: 0) }
        return UnsafeBufferPointer(start: others.base + Int(row) * length, count: Int(sizes[Int(row)]))
    }

    /// From now on `other` is fetched when `block` is asked for.
    mutating func add(_ other: UInt32, to block: UInt32) {
        let row = row(for: block)
        let list = others.base + row * length
        let size = Int(sizes[row])
        for place in 0..<size where list[place] == other { return }
        if size < length {
            list[size] = other
            sizes[row] += 1
        } else {
            for place in 1..<length { list[place - 1] = list[place] }
            list[length - 1] = other
        }
    }

    private mutating func row(for block: UInt32) -> Int {
        if rows[block] != .none { return Int(rows[block]) }
        if blocks[hand] != .none { rows[blocks[hand]] = .none }
        let row = hand
        blocks[row] = block
        sizes[row] = 0
        rows[block] = UInt32(row)
        hand = hand + 1 == blocks.count ? 0 : hand + 1
        return row
    }
}
