/// Entries in the order of how often they were used, and among equals in the order in which they got there.
///
/// One list for each frequency that occurs, chained from the lowest to the highest, so that every operation is O(1): a
/// use moves an entry to the neighbouring list (Shah, Mitra, Matani: An O(1) algorithm for implementing the LFU cache
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

    /// No entries yet; `capacity` slots are made from the start.
    public init(capacity: Int = 0) {
        links = LinkArena(capacity: capacity)
        levelOf = SlotArray(repeating: .none, capacity: capacity)
    }

    /// The heap bytes held. The frequencies that occur at once count as fixed: there are few beside the entries.
    public var metadataBytes: MetadataBytes {
        MetadataBytes(fixed: levels.byteCount, perNumber: links.byteCount + levelOf.byteCount)
    }

    /// The entry that has been at the lowest frequency for longest, or `.none`.
    @inline(__always)
    public var leastFrequent: EntryID { lowest == .none ? .none : levels[lowest].list.tail }

    /// How often an entry of the lists was used.
    @inline(__always)
    public func frequency(of entry: EntryID) -> Int { levels[levelOf[entry]].frequency }

    /// Puts an entry that is on no list at frequency 1.
    @inline(__always)
    public mutating func insert(_ entry: EntryID) {
        if lowest == .none || levels[lowest].frequency != 1 { makeLevel(frequency: 1, above: .none) }
        links.pushHead(entry, to: &levels[lowest].list)
        levelOf[entry] = lowest
    }

    /// Moves an entry of the lists to the next frequency.
    @inline(__always)
    public mutating func raise(_ entry: EntryID) {
        let level = levelOf[entry]
        let (frequency, higher) = (levels[level].frequency &+ 1, levels[level].higher)
        if higher == .none || levels[higher].frequency != frequency {
            if levels[level].list.count == 1 {
                // Alone: the list itself rises.
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

    /// Takes an entry off the lists.
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
