/// Estimates how often an entry was asked for lately, in 8 bytes an entry of the cache however many others pass by.
///
/// A count-min sketch of 4-bit counters: four counters an entry, all in one 64-byte line, of which the smallest is the
/// estimate; at most 15. Once `sampleFactor` counts were added for each entry of the cache, all counters are halved, so
/// that old popularity fades. Every operation is O(1), halving O(size) once a sample. Between two halvings an
/// estimate is never too small.
///
/// Cormode, Muthukrishnan: An improved data stream summary, 2005; halving after Einziger, Friedman, Manes: TinyLFU, 2017.
public struct FrequencySketch: ~Copyable {
    private var words: UnsafeMutablePointer<UInt64>
    private var wordCount: Int
    private let sampleFactor: Int
    private var sampleSize: Int
    private var added = 0

    /// An empty sketch for a cache that is small as yet; see ``ensure(entries:)``.
    ///
    /// - Parameter sampleFactor: after how many counts for each entry of the cache the counters are halved.
    public init(sampleFactor: Int) {
        self.sampleFactor = sampleFactor
        wordCount = 64
        sampleSize = 16 * sampleFactor
        words = .allocate(capacity: wordCount)
        words.initialize(repeating: 0, count: wordCount)
    }

    deinit { words.deallocate() }

    /// The heap bytes held.
    public var byteCount: Int { wordCount * 8 }

    /// Makes the sketch large enough for a cache of `entries` entries. What was counted is kept.
    @inline(__always)
    public mutating func ensure(entries: Int) {
        sampleSize = max(sampleSize, entries &* sampleFactor)
        if entries > wordCount { double() }
    }

    /// How often `entry` was counted since a while ago, 0 to 15.
    @inline(__always)
    public func estimate(_ entry: EntryID) -> Int {
        let hash = SplitMix64.mix(UInt64(entry) &+ 1)
        let block = block(of: hash)
        var least: UInt64 = 15
        for row in 0..<4 {
            let (word, shift) = FrequencySketch.place(hash, row: row)
            least = min(least, (block[word] >> shift) & 15)
        }
        return Int(least)
    }

    /// Counts `entry` once more.
    @inline(__always)
    public mutating func add(_ entry: EntryID) {
        let hash = SplitMix64.mix(UInt64(entry) &+ 1)
        let block = block(of: hash)
        var changed = false
        for row in 0..<4 {
            let (word, shift) = FrequencySketch.place(hash, row: row)
            if (block[word] >> shift) & 15 != 15 {
                block[word] &+= 1 << shift
                changed = true
            }
        }
        guard changed else { return }
        added &+= 1
        if added >= sampleSize { halve() }
    }

    @inline(__always)
    private func block(of hash: UInt64) -> UnsafeMutablePointer<UInt64> {
        words + (Int(truncatingIfNeeded: hash >> 32) & (wordCount / 8 &- 1)) &* 8
    }

    /// The word of the block and the shift in it of a row's counter: rows have two words each, so they never share one.
    @inline(__always)
    private static func place(_ hash: UInt64, row: Int) -> (word: Int, shift: UInt64) {
        let bits = hash >> UInt64(truncatingIfNeeded: row &* 8)
        return (row &* 2 &+ Int(truncatingIfNeeded: bits & 1), (bits >> 1 & 15) << 2)
    }

    @inline(never)
    private mutating func halve() {
        for index in 0..<wordCount { words[index] = words[index] >> 1 & 0x7777_7777_7777_7777 }
        added /= 2
    }

    /// Blocks are chosen by the low bits of a hash, so that a copy behind the original holds what each half needs.
    @inline(never)
    private mutating func double() {
        let larger = UnsafeMutablePointer<UInt64>.allocate(capacity: wordCount * 2)
        larger.initialize(from: words, count: wordCount)
        (larger + wordCount).initialize(from: words, count: wordCount)
        words.deallocate()
        words = larger
        wordCount *= 2
    }
}
