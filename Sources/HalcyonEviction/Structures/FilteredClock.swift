/// The queues of S3-FIFO, S4-FIFO, Clock2Q+ and QD-LP-FIFO: a small FIFO queue that filters new objects, a main queue and a
/// ghost queue. The main queue is a 2-bit clock, or a 1-bit clock for Clock2Q+: at its tail, an entry with a count above
/// 0 is reinserted with its count reduced by 1.
///
/// The policy decides which queue an entry enters and when it moves. A hit is O(1), an eviction is amortised O(1).
/// Bytes a slot: 10, and 8 more for variable sizes.
public struct FilteredClock: ~Copyable {
    private static let small: UInt8 = 0, main: UInt8 = 1, ghost: UInt8 = 2

    /// The capacity of the small queue; at least 1 for uniform sizes.
    public private(set) var smallLimit = 0
    /// The capacity of the main queue.
    public private(set) var mainLimit = 0

    private var ghostLimit = 0
    private let smallShare: Double
    private let ghostShare: Double
    private let leastSmall: Int
    private let mostHits: UInt8
    private var queues: ListFamily
    private var counts: SlotArray<UInt8>

    /// Creates empty queues.
    ///
    /// - Parameters:
    ///   - small: The share of the capacity for the small queue; the main queue has the rest.
    ///   - ghost: The size of the ghost queue, as a share of the capacity.
    ///   - mostHits: The largest count of an entry.
    public init(small: Double, ghost: Double, mostHits: UInt8 = 3, context: PolicyContext) {
        queues = ListFamily(count: 3, context: context)
        counts = SlotArray(repeating: 0, capacity: context.entries)
        (smallShare, ghostShare, leastSmall) = (small, ghost, context.usesUniformSizes ? 1 : 0)
        self.mostHits = mostHits
        resize(to: context.capacity)
    }

    /// Sets the capacities of the queues to their shares of another capacity.
    public mutating func resize(to capacity: Int) {
        smallLimit = max(Int(Double(capacity) * smallShare), leastSmall)
        mainLimit = capacity - smallLimit
        ghostLimit = Int(Double(capacity) * ghostShare)
    }

    /// The number of heap bytes in use.
    public var metadataBytes: MetadataBytes {
        queues.metadataBytes + MetadataBytes(perNumber: counts.byteCount)
    }

    /// The total size of the small queue.
    @inline(__always)
    public var smallSize: Int { queues.size(ofList: FilteredClock.small) }

    /// The total size of the main queue.
    @inline(__always)
    public var mainSize: Int { queues.size(ofList: FilteredClock.main) }

    /// The number of entries in the ghost queue.
    public var ghostCount: Int { queues.count(ofList: FilteredClock.ghost) }

    /// The oldest entry of the small queue, or `.none`.
    @inline(__always)
    public var smallTail: EntryID { queues.tail(ofList: FilteredClock.small) }

    /// Whether the main queue is empty.
    @inline(__always)
    public var isMainEmpty: Bool { queues.isEmpty(FilteredClock.main) }

    /// Returns whether an entry is in the small queue.
    @inline(__always)
    public func isInSmall(_ entry: EntryID) -> Bool { queues.list(of: entry) == FilteredClock.small }

    /// Returns whether an entry is in the ghost queue.
    @inline(__always)
    public func remembers(_ entry: EntryID) -> Bool { queues.list(of: entry) == FilteredClock.ghost }

    /// Returns the size of an entry in one of the queues.
    @inline(__always)
    public func size(of entry: EntryID) -> Int { queues.size(of: entry) }

    /// Returns the count of an entry: its hits, at most `mostHits`.
    @inline(__always)
    public func count(of entry: EntryID) -> UInt8 { counts[entry] }

    /// Counts a hit, up to `mostHits`.
    @inline(__always)
    public mutating func hit(_ entry: EntryID) {
        // Always stored: a store is faster than an unpredictable branch.
        counts[entry] = min(counts[entry] &+ 1, mostHits)
    }

    /// Inserts the entry of an access, which is in no queue, into the main or the small queue.
    @inline(__always)
    public mutating func insert(_ access: Access, intoMain: Bool) {
        counts[access.entry] = 0
        queues.pushHead(access.entry, size: access.size, to: intoMain ? FilteredClock.main : FilteredClock.small)
    }

    /// Moves an entry from the small queue to the main queue and resets its count.
    @inline(__always)
    public mutating func promote(_ entry: EntryID) {
        counts[entry] = 0
        queues.moveToHead(entry, of: FilteredClock.main)
    }

    /// Evicts an entry from the small queue and adds it to the ghost queue.
    @inline(__always)
    public mutating func evictFromSmall(_ entry: EntryID) {
        queues.remember(entry, on: FilteredClock.ghost, limit: ghostLimit)
    }

    /// Evicts by the rule of S3-FIFO and returns the victim; the queues hold an entry.
    ///
    /// A main queue above its capacity evicts. Otherwise entries at the tail of the small queue with at least `threshold`
    /// hits move to the main queue, and the first other one is evicted and added to the ghost queue.
    @inline(__always)
    public mutating func evict(threshold: UInt8) -> EntryID {
        if mainSize > mainLimit { return evictFromMain() }
        while smallTail != .none {
            let oldest = smallTail
            if count(of: oldest) < threshold {
                evictFromSmall(oldest)
                return oldest
            }
            promote(oldest)
        }
        return evictFromMain()
    }

    /// Removes the first entry with a count of 0 from the main queue, which is not empty, and returns it.
    public mutating func evictFromMain() -> EntryID {
        var tail = queues.tail(ofList: FilteredClock.main)
        while counts[tail] > 0 {
            counts[tail] &-= 1
            queues.moveToHead(tail, of: FilteredClock.main)
            tail = queues.tail(ofList: FilteredClock.main)
        }
        queues.remove(tail)
        return tail
    }

    /// Removes an entry from its queue, which may be the ghost queue.
    @inline(__always)
    public mutating func remove(_ entry: EntryID) { queues.remove(entry) }
}
