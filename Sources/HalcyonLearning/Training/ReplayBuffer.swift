import CProcessor
import HalcyonEviction

/// The last labelled samples, from which batches are drawn at random. O(1) a sample; 42 bytes each; grows to its bound.
struct ReplayBuffer: ~Copyable {
    /// The samples that are drawn as often as all together: what users want changes faster than a long memory follows.
    static let recent = 1_024

    private var rows: HeapArray<UInt8>
    private var next = 0
    private(set) var count = 0
    private let bound: Int

    /// Room for at most `bound` samples.
    init(bound: Int) {
        self.bound = bound
        rows = HeapArray(repeating: 0, count: 0)
    }

    var byteCount: Int { rows.byteCount }

    /// Keeps a sample, in place of the oldest if the buffer is full.
    mutating func add(_ row: UnsafePointer<UInt8>) {
        if next == bound { next = 0 }
        if (next + 1) * Sample.width > rows.count {
            rows.grow(to: min(max(next * 2, 256), bound) * Sample.width, filling: 0)
        }
        (rows.base + next * Sample.width).update(from: row, count: Sample.width)
        next += 1
        count = max(count, next)
    }

    /// A sample drawn at random, which is on its way from memory when this returns, every other time among the newest ``recent``; only of a buffer that is not empty.
    func draw(_ generator: inout SplitMix64) -> UnsafePointer<UInt8> {
        let isRecent = generator.next(below: 2) == 0
        let back = generator.next(below: isRecent ? min(count, ReplayBuffer.recent) : count) + 1
        let place = next >= back ? next - back : next - back + count
        let row = UnsafePointer(rows.base + place * Sample.width)
        halcyon_prefetch(row)
        halcyon_prefetch(row + Sample.width - 1)
        return row
    }
}
