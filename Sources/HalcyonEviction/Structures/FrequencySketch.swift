/// An estimator of the recent request frequency of entries that needs 8 bytes for each entry of the cache.
///
/// It is a count-min sketch of 4-bit counters. An entry has four counters in one 64-byte line, and the smallest is the
/// estimate, at most 15. After `sampleFactor` counts for each entry of the cache, all counters are halved, so past
/// popularity decays. Every operation is O(1), and halving is O(size) once a sample. Between two halvings, an estimate
/// is never too small.
///
/// Cormode, Muthukrishnan: An improved data stream summary, 2005; halving after Einziger, Friedman, Manes: TinyLFU,
/// 2017.
public struct FrequencySketch: ~Copyable {
    private var words: UnsafeMutablePointer<UInt64>
    private var wordCount: Int
    private let sampleFactor: Int
    private var sampleSize: Int
    private var added = 0

    /// Creates an empty sketch for a small cache; see ``ensure(entries:)``.
    ///
    /// - Parameter sampleFactor: The number of counts for each entry of the cache after which the counters are halved.
    public init(sampleFactor: Int) {
        self.sampleFactor = sampleFactor
        wordCount = 64
        sampleSize = 16 * sampleFactor
        words = .allocate(capacity: wordCount)
        words.initialize(repeating: 0, count: wordCount)
    }

    deinit { words.deallocate() }

    /// The number of heap bytes in use.
    public var byteCount: Int { wordCount * 8 }

    /// Enlarges the sketch for a cache of `entries` entries. Counts are preserved.
    @inline(__always)
    public mutating func ensure(entries: Int) {
        sampleSize = max(sampleSize, entries &* sampleFactor)
        if entries > wordCount { double() }
    }

    /// Returns the estimated recent count of `entry`, from 0 to 15.
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

    /// Adds 1 to the count of `entry`. Returns whether all counters were halved then.
    @inline(__always)
    @discardableResult
    public mutating func add(_ entry: EntryID) -> Bool {
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
        guard changed else { return false }
        added &+= 1
        guard added >= sampleSize else { return false }
        halve()
        return true
    }

    @inline(__always)
    private func block(of hash: UInt64) -> UnsafeMutablePointer<UInt64> {
        words + (Int(truncatingIfNeeded: hash >> 32) & (wordCount / 8 &- 1)) &* 8
    }

    /// Returns the word of the block and the shift of a row's counter. Each row has two words, so rows share none.
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

    /// Doubles the sketch by a copy: the low bits of a hash choose the block, so each half has the counts that it
    /// needs.
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
