/// A set of entries that never misses a member and takes few others for one: a Bloom filter with four bits an entry.
///
/// It has 32 to 64 bits for each entry that it is made for. With three times as many members, 0.1 to 1 % of the other
/// entries are taken for members. It keeps its members when it doubles. Every operation is O(1); clearing and
/// doubling are O(size).
///
/// Bloom: Space/time trade-offs in hash coding with allowable errors, CACM 1970. The sizes are those of the doorkeeper
/// in Caffeine's simulator (commit ccef955, three insertions an entry, 1 % false positives, four hashes).
public struct BloomFilter: ~Copyable {
    private var words: UnsafeMutablePointer<UInt64>
    private var wordCount: Int

    /// Creates an empty set.
    ///
    /// - Parameter entries: The number of entries that it is made for; the set has room for three times as many members.
    public init(entries: Int = 0) {
        wordCount = BloomFilter.words(for: entries)
        words = .allocate(capacity: wordCount)
        words.initialize(repeating: 0, count: wordCount)
    }

    deinit { words.deallocate() }

    /// The number of heap bytes in use.
    public var byteCount: Int { wordCount * 8 }

    /// Doubles the set until it is large enough for `entries` entries. Members are kept.
    @inline(__always)
    public mutating func ensure(entries: Int) {
        while entries &* 32 > wordCount &* 64 { double() }
    }

    /// Returns whether an entry is a member, or taken for one.
    @inline(__always)
    public func contains(_ entry: EntryID) -> Bool {
        let hash = SplitMix64.mix(UInt64(entry) &+ 1)
        for probe in 0..<4 where words[index(hash, probe)] >> bit(hash, probe) & 1 == 0 { return false }
        return true
    }

    /// Adds an entry. Returns whether it was not a member, nor taken for one.
    @inline(__always)
    public mutating func insert(_ entry: EntryID) -> Bool {
        let hash = SplitMix64.mix(UInt64(entry) &+ 1)
        var changed: UInt64 = 0
        for probe in 0..<4 {
            let mask = UInt64(1) << bit(hash, probe)
            changed |= ~words[index(hash, probe)] & mask
            words[index(hash, probe)] |= mask
        }
        return changed != 0
    }

    /// Removes every member and keeps the memory.
    @inline(never)
    public mutating func clear() { words.update(repeating: 0, count: wordCount) }

    @inline(__always)
    private func index(_ hash: UInt64, _ probe: Int) -> Int {
        Int(truncatingIfNeeded: BloomFilter.spread(hash, probe) >> 6) & (wordCount &- 1)
    }

    @inline(__always)
    private func bit(_ hash: UInt64, _ probe: Int) -> UInt64 { BloomFilter.spread(hash, probe) & 63 }

    /// Double hashing (Kirsch, Mitzenmacher 2006): the low half of the hash plus multiples of an odd number from the high
    /// half.
    @inline(__always)
    private static func spread(_ hash: UInt64, _ probe: Int) -> UInt64 {
        hash &+ UInt64(truncatingIfNeeded: probe) &* ((hash >> 32) | 1)
    }

    /// Doubles the set by a copy: the low bits choose the word, so each half has the bits that it needs.
    @inline(never)
    private mutating func double() {
        let larger = UnsafeMutablePointer<UInt64>.allocate(capacity: wordCount * 2)
        larger.initialize(from: words, count: wordCount)
        (larger + wordCount).initialize(from: words, count: wordCount)
        words.deallocate()
        words = larger
        wordCount *= 2
    }

    /// The smallest power of two with at least 32 bits an entry, at least 2.
    private static func words(for entries: Int) -> Int {
        var count = 2
        while count &* 64 < entries &* 32 { count &*= 2 }
        return count
    }
}
