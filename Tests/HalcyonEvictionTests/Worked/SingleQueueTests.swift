import HalcyonEvictionTestSupport
import Testing

/// The policies of one order, against sequences worked by hand.
@Suite("Policies with one order by hand", .timeLimit(.minutes(20)))
struct SingleQueueTests {
    /// The hit does not keep a, which was inserted first.
    @Test("FIFO evicts the entry inserted first, whether it was hit or not")
    func fifoEvictsTheOldestInsertion() throws {
        let worked = WorkedSequence("a- b- c- a+ d-a a-b b-c")
        #expect(try worked.played(by: "fifo", capacity: 3) == worked.expected)
    }

    @Test("MRU evicts the entry hit last")
    func mruEvictsTheEntryHitLast() throws {
        let worked = WorkedSequence("a- b- c- a+ d-a b+ e-b c+ f-c")
        #expect(try worked.played(by: "mru", capacity: 3) == worked.expected)
    }

    @Test("Random evicts the only entry of a cache for one entry")
    func randomEvictsTheOnlyEntryOfASmallCache() throws {
        let worked = WorkedSequence("a- b-a b+ a-b")
        #expect(try worked.played(by: "random", capacity: 1) == worked.expected)
    }

    /// After `d+` a and d have 2 accesses and e has 1. After `f+` all have 2, and a has had them for longest.
    @Test("LFU evicts, of equal counts, the entry that reached its count first")
    func lfuBreaksTiesByWhenTheCountWasReached() throws {
        let worked = WorkedSequence("a- b- c- a+ d-b e-c d+ f-e f+ g-a")
        #expect(try worked.played(by: "lfu", capacity: 3) == worked.expected)
    }

    /// Capacity 2; L is the age.
    ///
    ///     a a a   a 3
    ///     b       b 1
    ///     c       b evicted.                     L = 1, c 2
    ///     d       c evicted.                     L = 2, d 3
    ///     e       a and d are worth 3, and a was accessed before d: a is evicted, which LFU would keep forever.
    @Test("LFU-DA evicts an entry that was popular in the past")
    func lfudaAgesPastPopularity() throws {
        let worked = WorkedSequence("a- a+ a+ b- c-b d-c e-a")
        #expect(try worked.played(by: "lfuda", capacity: 2) == worked.expected)
    }

    /// Capacity 6; a has size 3, b 1, the others 2. Among equals, the least recently used is evicted.
    @Test("Size evicts the largest entry")
    func sizeEvictsTheLargestEntry() throws {
        let worked = WorkedSequence("a- b- c- d-a e-c d+ f-e", sizes: ["a": 3, "c": 2, "d": 2, "e": 2, "f": 2])
        #expect(try worked.played(by: "size", capacity: 6) == worked.expected)
    }
}
