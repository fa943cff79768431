import HalcyonEviction
import HalcyonLearning

/// Mithril's recording table and mining table: the times at which blocks were recorded.
///
/// A block is in the recording table until it has R records. It is then in the mining table until that is full or the
/// block has more than S records. A full recording table replaces its oldest block. Recording is O(S). Bytes: 4 a
/// block number, at most 64 MB; 8 R + 8 a row of the recording table, 8 S + 8 a row of the mining table.
struct MithrilRecords: ~Copyable {
    /// Rows of blocks with the times of their records.
    private struct Table: ~Copyable {
        let width: Int
        var blocks: HeapArray<UInt32>
        var sizes: HeapArray<UInt32>
        var times: HeapArray<Int>

        init(rows: Int, width: Int) {
            self.width = width
            blocks = HeapArray(repeating: .none, count: rows)
            sizes = HeapArray(repeating: 0, count: rows)
            times = HeapArray(repeating: 0, count: rows * width)
        }

        var byteCount: Int { blocks.byteCount + sizes.byteCount + times.byteCount }

        mutating func append(_ time: Int, to row: Int) {
            times[row * width + Int(sizes[row])] = time
            sizes[row] += 1
        }
    }

    private static let mined: UInt32 = 1 << 31

    /// The number of blocks in the mining table.
    private(set) var ready = 0
    private let minSupport: Int
    private let maxSupport: Int
    private var recording: Table
    private var mining: Table
    /// The row of the next new block in the recording table.
    private var hand = 0
    /// The row of each block. The highest bit is set if it is a row of the mining table.
    private var rows = SlotArray<UInt32>(repeating: .none)

    init(_ parameters: MithrilParameters) {
        minSupport = parameters.minSupport
        maxSupport = parameters.maxSupport
        recording = Table(rows: parameters.recordingRows, width: parameters.minSupport)
        mining = Table(rows: parameters.miningRows, width: parameters.maxSupport)
    }

    var byteCount: Int { recording.byteCount + mining.byteCount + rows.byteCount }

    /// Whether the mining table is full.
    var isFull: Bool { ready == mining.blocks.count }

    /// Records `block` at `time`. The mining table must not be full.
    mutating func record(_ block: UInt32, at time: Int) {
        let place = rows[block]
        if place == .none { return begin(block, at: time) }
        if place >= MithrilRecords.mined { return extend(Int(place - MithrilRecords.mined), at: time) }
        recording.append(time, to: Int(place))
        if Int(recording.sizes[Int(place)]) == minSupport { promote(Int(place)) }
    }

    /// Returns the block of a row of the mining table.
    func block(at row: Int) -> UInt32 { mining.blocks[row] }

    /// Returns the recorded times of a row of the mining table.
    func times(at row: Int) -> UnsafeBufferPointer<Int> {
        UnsafeBufferPointer(start: mining.times.base + row * mining.width, count: Int(mining.sizes[row]))
    }

    /// Empties the mining table. Its blocks start again without records.
    mutating func forgetMined() {
        for row in 0..<ready { rows[mining.blocks[row]] = .none }
        ready = 0
    }

    private mutating func begin(_ block: UInt32, at time: Int) {
        let displaced = recording.blocks[hand]
        if displaced != .none { rows[displaced] = .none }
        recording.blocks[hand] = block
        recording.sizes[hand] = 0
        recording.append(time, to: hand)
        rows[block] = UInt32(hand)
        let row = hand
        hand = hand + 1 == recording.blocks.count ? 0 : hand + 1
        if minSupport == 1 { promote(row) }
    }

    private mutating func promote(_ row: Int) {
        let block = recording.blocks[row]
        recording.blocks[row] = .none
        mining.blocks[ready] = block
        mining.sizes[ready] = 0
        for record in 0..<minSupport { mining.append(recording.times[row * recording.width + record], to: ready) }
        rows[block] = UInt32(ready) | MithrilRecords.mined
        ready += 1
    }

    /// Adds a record to a row of the mining table. A block with more than S records is removed, and the last row takes
    /// its place.
    private mutating func extend(_ row: Int, at time: Int) {
        if Int(mining.sizes[row]) < maxSupport { return mining.append(time, to: row) }
        rows[mining.blocks[row]] = .none
        ready -= 1
        if row == ready { return }
        mining.blocks[row] = mining.blocks[ready]
        mining.sizes[row] = mining.sizes[ready]
        let width = mining.width
        (mining.times.base + row * width).update(from: mining.times.base + ready * width, count: width)
        rows[mining.blocks[row]] = UInt32(row) | MithrilRecords.mined
    }
}

/// Mithril's prefetching table: the blocks to prefetch when a block is requested.
///
/// A block has up to P associated blocks; a new one replaces the oldest. A new row replaces the oldest row. Adding is
/// O(P). Bytes: 4 a block number, at most 64 MB; 4 P + 8 a row.
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

    /// Adds `other` to the blocks that are prefetched when `block` is requested.
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
