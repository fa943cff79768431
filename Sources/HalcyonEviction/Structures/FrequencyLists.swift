/// Entries ordered by frequency of use; equals are in the order in which they reached their frequency.
///
/// There is one list for each frequency that occurs, linked from the lowest to the highest. A use moves an entry to
/// the next list, so every operation is O(1) (Shah, Mitra, Matani: An O(1) algorithm for implementing the LFU cache
/// eviction scheme, 2010). Bytes: 12 a slot, and 32 for each frequency that occurs at once.
public struct FrequencyLists: ~Copyable {
    struct Level: BitwiseCopyable {
        var frequency: Int
        var list: EntryList
        var lower: UInt32
        var higher: UInt32
    }

    private var links: LinkArena
    private var levelOf: SlotArray<UInt32>
    private var levels = SlotArray(
        repeating: Level(frequency: 0, list: EntryList(), lower: .none, higher: .none))
    private var levelCount: UInt32 = 0
    private var freeLevel: UInt32 = .none
    private var lowest: UInt32 = .none

    /// Creates empty lists with room for `capacity` slots.
    public init(capacity: Int = 0) {
        links = LinkArena(capacity: capacity)
        levelOf = SlotArray(repeating: .none, capacity: capacity)
    }

    /// The number of heap bytes in use. Those of the frequencies are counted as fixed, because there are few of them.
    public var metadataBytes: MetadataBytes {
        MetadataBytes(fixed: levels.byteCount, perNumber: links.byteCount + levelOf.byteCount)
    }

    /// The entry that has had the lowest frequency for the longest time, or `.none`.
    @inline(__always)
    public var leastFrequent: EntryID { lowest == .none ? .none : levels[lowest].list.tail }

    /// Returns the frequency of an entry.
    @inline(__always)
    public func frequency(of entry: EntryID) -> Int { levels[levelOf[entry]].frequency }

    /// Inserts an entry that is on no list at frequency 1.
    @inline(__always)
    public mutating func insert(_ entry: EntryID) {
        if lowest == .none || levels[lowest].frequency != 1 { makeLevel(frequency: 1, above: .none) }
        links.pushHead(entry, to: &levels[lowest].list)
        levelOf[entry] = lowest
    }

    /// Increases the frequency of an entry by 1.
    @inline(__always)
    public mutating func raise(_ entry: EntryID) {
        let level = levelOf[entry]
        let (frequency, higher) = (levels[level].frequency &+ 1, levels[level].higher)
        if higher == .none || levels[higher].frequency != frequency {
            if levels[level].list.count == 1 {
                // The entry is alone on its list, so the frequency of the list increases.
                levels[level].frequency = frequency
                return
            }
            makeLevel(frequency: frequency, above: level)
        }
        let next = levels[level].higher
        remove(entry)
        links.pushHead(entry, to: &levels[next].list)
        levelOf[entry] = next
    }

    /// Removes an entry.
    @inline(__always)
    public mutating func remove(_ entry: EntryID) {
        let level = levelOf[entry]
        links.remove(entry, from: &levels[level].list)
        levelOf[entry] = .none
        if levels[level].list.isEmpty { drop(level) }
    }

    private mutating func makeLevel(frequency: Int, above lower: UInt32) {
        var level = freeLevel
        if level == .none {
            level = levelCount
            levelCount &+= 1
        } else {
            freeLevel = levels[level].higher
        }
        let higher = lower == .none ? lowest : levels[lower].higher
        levels[level] = Level(frequency: frequency, list: EntryList(), lower: lower, higher: higher)
        if lower == .none { lowest = level } else { levels[lower].higher = level }
        if higher != .none { levels[higher].lower = level }
    }

    private mutating func drop(_ level: UInt32) {
        let (lower, higher) = (levels[level].lower, levels[level].higher)
        if lower == .none { lowest = higher } else { levels[lower].higher = higher }
        if higher != .none { levels[higher].lower = lower }
        levels[level].higher = freeLevel
        freeLevel = level
    }
}
