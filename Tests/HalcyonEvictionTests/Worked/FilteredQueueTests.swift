import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

/// S4-FIFO and Clock2Q+ against sequences worked by hand. S is the small queue, M the main one, G the ghosts, oldest
/// first; ' marks a hit that counts.
@Suite("S4-FIFO and Clock2Q+ by hand", .timeLimit(.minutes(20)))
struct FilteredQueueTests {
    /// Capacity 5: 2 for S, 3 for M, 4 for G; a hit on the newest entry of S does not count.
    ///
    ///     a, a hit        a is the newest: not counted.              S a
    ///     b, a hit        b was inserted after a: counted.           S a' b
    ///     b hit           not counted.
    ///     c d e           S is full: to M.                           S a' b, M c d e
    ///     f               a moves to M, b evicted.                   S f, M c d e a, G b
    ///     g               M holds more than 3: c evicted.            S f g, M d e a, G b
    ///     h               f evicted.                                 S g h, M d e a, G b f
    ///     b               remembered: to M; g evicted.               S h, M d e a b, G f g
    ///     c               not remembered; M holds too much: d evicted.  S h c, M e a b
    static let skipping = "a- a+ b- a+ b+ c- d- e- f-b g-c h-f b-g c-d"

    @Test("S4-FIFO does not count hits on the newest entries")
    func s4fifoIgnoresHitsOnTheNewestEntries() throws {
        let worked = WorkedSequence(Self.skipping)
        #expect(try worked.played(by: "s4-fifo(small=0.4,skip=0.5,threshold=1)", capacity: 5) == worked.expected)
    }

    /// Capacity 5: 1 for S, 4 for M, 4 for G.
    ///
    ///     a b c d e       S a, M b c d e
    ///     f g             a and f evicted.                           S g, M b c d e, G a f
    ///     a               one ghost hit: to S again; g evicted.      S a, M b c d e, G f g
    ///     h               a evicted; it keeps its count.             S h, M b c d e, G f g a
    ///     a               two ghost hits: to M; h evicted.           M b c d e a, G f g h
    ///     i               M holds more than 4: b evicted.            S i, M c d e a
    @Test("S4-FIFO returns an object to the small queue until it has enough ghost hits")
    func s4fifoReturnsObjectsUntilEnoughGhostHits() throws {
        let worked = WorkedSequence("a- b- c- d- e- f-a g-f a-g h-a a-h i-b a+")
        #expect(try worked.played(by: "s4-fifo(small=0.2,returns=1)", capacity: 5) == worked.expected)
        // At once to M, as S3-FIFO: then h evicts b.
        let direct = WorkedSequence("a- b- c- d- e- f-a g-f a-g h-b")
        #expect(try direct.played(by: "s4-fifo(small=0.2)", capacity: 5) == direct.expected)
    }

    /// As ``skipping`` up to `S h c, M e a b, G f g`; then
    ///
    ///     a hit twice, e hit      one bit each.                      M e' a' b
    ///     i               h evicted.                                 S c i, M e' a' b, G f g h
    ///     f               remembered: to M; c evicted.               S i, M e' a' b f, G g h c
    ///     j               M holds too much: e and a are spared, b evicted.   S i j, M f e a
    ///     k               i evicted.                                 S j k, G g h c i
    ///     c               remembered; j evicted.                     S k, M f e a c, G g h i j
    ///     l               f evicted.                                 S k l, M e a c
    ///     m               k evicted.                                 S l m, G h i j k
    ///     h               remembered; l evicted.                     S m, M e a c h, G i j k l
    ///     n               e evicted.                                 S m n, M a c h
    ///     i               remembered; m evicted.                     S n, M a c h i
    ///     p               a, though it was hit twice, has no bit left: evicted.
    @Test("Clock2Q+ ignores hits in its correlation window and keeps one bit an entry")
    func clock2qPlusUsesAWindowAndOneBit() throws {
        let worked = WorkedSequence(Self.skipping + " a+ a+ e+ i-h f-c j-b k-i c-j l-f m-k h-l n-e i-m p-a")
        #expect(try worked.played(by: "clock2q-plus(small=0.4,window=0.5)", capacity: 5) == worked.expected)
    }

    @Test("With default parameters S4-FIFO decides exactly as S3-FIFO", arguments: S3FIFO.Refusal.allCases)
    func s4fifoAtItsDefaultsDecidesAsS3FIFO(refusal: S3FIFO.Refusal) throws {
        let s3 = try PolicyCatalogue.classical.policy("s3-fifo(refuse=\(refusal.rawValue))")
        let s4 = try PolicyCatalogue.classical.policy("s4-fifo(refuse=\(refusal.rawValue))")
        var evictions = 0
        for trace in MicroTrace.all {
            for capacity in PolicyRule.capacities {
                let three = CheckedRun(s3, trace.context(for: s3, capacity: capacity))
                let four = CheckedRun(s4, trace.context(for: s4, capacity: capacity))
                #expect(three.serve(trace.accesses) == four.serve(trace.accesses), "\(trace) at \(capacity)")
                #expect(three.record.events == four.record.events, "\(trace) at \(capacity)")
                evictions += three.record.victims.count
            }
        }
        #expect(evictions > 10_000)
    }
}
