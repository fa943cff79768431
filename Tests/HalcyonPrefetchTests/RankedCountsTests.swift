import HalcyonEviction
import Testing

@testable import HalcyonPrefetch

@Suite("Counts of the most frequent items of a key", .timeLimit(.minutes(20)))
struct RankedCountsTests {
    private func read(_ counts: borrowing RankedCounts, _ key: UInt64) -> [UInt32: UInt8] {
        guard let row = counts.row(of: key) else { return [:] }
        return Dictionary(uniqueKeysWithValues: (0..<row.size).map { (row.items[$0], row.counts[$0]) })
    }

    @Test("A new item replaces the least frequent one and counts one more")
    func newItemReplacesTheLeastFrequentOne() {
        var counts = RankedCounts(width: 2, bound: 1)
        for item: UInt32 in [1, 1, 1, 2, 3] { counts.add(item, to: 7) }
        #expect(read(counts, 7) == [1: 3, 3: 2])
        counts.add(2, to: 7)
        #expect(read(counts, 7) == [1: 3, 2: 3])
        let first = counts.row(of: 7)?.items[0]
        #expect(first == 2, "equally frequent, the latest first")
    }

    @Test("Counts of a row are halved when one reaches the limit")
    func rowIsHalvedAtTheLimit() {
        var counts = RankedCounts(width: 4, bound: 16)
        for _ in 0..<9 { counts.add(5, to: 1) }
        for _ in 0..<254 { counts.add(6, to: 1) }
        #expect(read(counts, 1) == [5: 9, 6: 254])
        counts.add(6, to: 1)
        #expect(read(counts, 1) == [5: 4, 6: 127])
    }

    @Test("Counts equal those of dictionaries, for thousands of keys")
    func countsEqualDictionariesForManyKeys() {
        var random = SplitMix64(seed: 4)
        var counts = RankedCounts(width: 8, bound: 1 << 14)
        var expected: [UInt64: [UInt32: UInt8]] = [:]
        for _ in 0..<40_000 {
            let key = UInt64(random.next(below: 9_000)) << 32 | 0xFFFF_FFFF
            let item = UInt32(random.next(below: 8))
            counts.add(item, to: key)
            expected[key, default: [:]][item, default: 0] += 1
        }
        let wrong = expected.filter { read(counts, $0.key) != $0.value }
        #expect(wrong.isEmpty)
        #expect(read(counts, 3).isEmpty)
    }

    @Test("With more keys than rows, frequently used rows are kept")
    func frequentRowsAreKeptWithMoreKeysThanRows() {
        var counts = RankedCounts(width: 1, bound: 512)
        for key in UInt64(0)..<10_000 {
            counts.add(1, to: key)
            for favourite in UInt64(0)..<8 { counts.add(1, to: favourite) }
        }
        #expect(counts.byteCount <= 512 * (18 + 5))
        let kept = (UInt64(0)..<10_000).filter { !read(counts, $0).isEmpty }
        #expect(kept.count == 512 && kept.prefix(8) == [0, 1, 2, 3, 4, 5, 6, 7] && kept.last == 9_999)
    }
}
