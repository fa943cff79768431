/// A small FIFO queue that filters newcomers for a main one, and a memory of those it turned away: what S3-FIFO and
/// QD-LP-FIFO are made of. The main queue is a 2-bit clock: an entry with a count above 0 goes round once more, its count
/// one less.
///
/// Which queue an entry enters and when it moves is the policy's to say. A hit is O(1), an eviction amortised O(1). Bytes
/// a slot: 10, and 8 more where sizes vary.
public struct FilteredClock: ~Copyable {
    private static let small: UInt8 = 0, main: UInt8 = 1, ghost: UInt8 = 2
    private static let mostHits: UInt8 = 3

    /// What the small queue is meant to hold at most; 1 at least where every object sizes 1.
    public private(set) var smallLimit = 0
    /// What the main queue is meant to hold at most.
    public private(set) var mainLimit = 0

    private var ghostLimit = 0
    private let smallShare: Double
    private let ghostShare: Double
    private let leastSmall: Int
    private var queues: ListFamily
    private var counts: SlotArray<UInt8>

    /// Empty queues.
    ///
    /// - Parameters:
    ///   - small: the share of the capacity for the small queue; the main one has the rest.
    ///   - ghost: what is remembered, as a share of the capacity.
    public init(small: Double, ghost: Double, context: PolicyContext) {
        queues = ListFamily(count: 3, context: context)
        counts = SlotArray(repeating: 0, capacity: context.entries)
        (smallShare, ghostShare, leastSmall) = (small, ghost, context.usesUniformSizes ? 1 : 0)
        resize(to: context.capacity)
    }

    /// Takes the shares of another capacity.
    public mutating func resize(to capacity: Int) {
        smallLimit = max(Int(Double(capacity) * smallShare), leastSmall)
        mainLimit = capacity - smallLimit
        ghostLimit = Int(Double(capacity) * ghostShare)
    }

    /// The heap bytes held.
    public var metadataBytes: MetadataBytes {
        queues.metadataBytes + MetadataBytes(perNumber: counts.byteCount)
    }

    /// What the entries of the small queue size together.
    @inline(__always)
    public var smallSize: Int { queues.size(ofList: FilteredClock.small) }

    /// What the entries of the main queue size together.
    @inline(__always)
    public var mainSize: Int { queues.size(ofList: FilteredClock.main) }

    /// How many entries are remembered.
    public var ghostCount: Int { queues.count(ofList: FilteredClock.ghost) }

    /// The oldest entry of the small queue, or `.none`.
    @inline(__always)
    public var oldestNewcomer: EntryID { queues.tail(ofList: FilteredClock.small) }

    /// Whether the main queue is empty.
    @inline(__always)
    public var isMainEmpty: Bool { queues.isEmpty(FilteredClock.main) }

    /// Whether an entry was turned away and is remembered.
    @inline(__always)
    public func remembers(_ entry: EntryID) -> Bool { queues.list(of: entry) == FilteredClock.ghost }

    /// What an entry on any of the queues sizes.
    @inline(__always)
    public func size(of entry: EntryID) -> Int { queues.size(of: entry) }

    /// The hits of an entry that count, from 0 to 3.
    @inline(__always)
    public func count(of entry: EntryID) -> UInt8 { counts[entry] }

    /// Counts a hit, up to 3.
    @inline(__always)
    public mutating func hit(_ entry: EntryID) {
        // Written in any case: a store costs less than a branch that nobody can foresee.
        counts[entry] = min(counts[entry] &+ 1, FilteredClock.mostHits)
    }

    /// Puts an access's entry, which is on no queue, into the main or the small one.
    @inline(__always)
    public mutating func insert(_ access: Access, intoMain: Bool) {
        counts[access.entry] = 0
        queues.pushHead(access.entry, size: access.size, to: intoMain ? FilteredClock.main : FilteredClock.small)
    }

    /// Moves an entry of the small queue to the main one, its hits forgotten.
    @inline(__always)
    public mutating func promote(_ entry: EntryID) {
        counts[entry] = 0
        queues.moveToHead(entry, of: FilteredClock.main)
    }

    /// Turns an entry of the small queue away and remembers it.
    @inline(__always)
    public mutating func turnAway(_ entry: EntryID) {
        queues.remember(entry, on: FilteredClock.ghost, limit: ghostLimit)
    }

    /// Takes the first entry off the main queue, which is not empty, whose count is 0, and returns it.
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

    /// Takes an entry off whichever queue it is on, the memory included.
    @inline(__always)
    public mutating func remove(_ entry: EntryID) { queues.remove(entry) }
}
