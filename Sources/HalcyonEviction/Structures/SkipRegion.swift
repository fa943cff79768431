/// The newest part of a FIFO queue, in which hits do not count: a burst of requests directly after the insertion of an
/// object says little about its later use.
///
/// An entry is in the region while less than `limit` was inserted into the queue after it. The unit is that of sizes:
/// with uniform sizes, the number of insertions. Every operation is O(1). Bytes an entry number: 8; none while the
/// region is empty.
///
/// Xia, Nixon, Marthen, Bhandari, Yang: Learning-augmented heuristics, OSDI 2026 (the skip ratio of S4-FIFO); Zhai et
/// al.: Clock2Q+, VLDB 2026 (the correlation window).
public struct SkipRegion: ~Copyable {
    /// The size of the region: hits at a smaller distance from the head of the queue do not count.
    public var limit = 0
    /// The total size of all insertions so far.
    private var inserted = 0
    /// For each entry, `inserted` directly after its own insertion.
    private var positions: SlotArray<Int>
    private let isUsed: Bool

    /// Creates the region of an empty queue.
    ///
    /// - Parameters:
    ///   - isUsed: Whether the region may ever be larger than 0. If not, no memory is allocated.
    ///   - context: The number of entries to make room for.
    public init(isUsed: Bool, context: PolicyContext) {
        self.isUsed = isUsed
        positions = SlotArray(repeating: 0, capacity: isUsed ? context.entries : 0)
    }

    /// Records that an entry was inserted at the head of the queue.
    @inline(__always)
    public mutating func insert(_ entry: EntryID, size: Int) {
        guard isUsed else { return }
        inserted &+= size
        positions[entry] = inserted
    }

    /// Returns whether an entry of the queue is in the region.
    @inline(__always)
    public func contains(_ entry: EntryID) -> Bool {
        isUsed && inserted &- positions[entry] < limit
    }

    /// The number of heap bytes in use.
    public var metadataBytes: MetadataBytes { MetadataBytes(perNumber: positions.byteCount) }
}
