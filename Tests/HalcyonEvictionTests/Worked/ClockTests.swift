import HalcyonEvictionTestSupport
import Testing

/// Clocks and filters before them, against sequences worked by hand; queues are written oldest first, ' marks a hit that
/// counts.
@Suite("Clocks by hand", .timeLimit(.minutes(20)))
struct ClockTests {
    /// Capacity 3.
    ///
    ///     a b c, a hit    a' b c
    ///     d               a is spared, b evicted. c a d
    ///     e               c evicted.              a d e
    ///     d hit, f        a evicted.              d' e f
    ///     g               d is spared, e evicted.
    @Test("Clock spares entries that were hit once")
    func clockSparesEntriesThatWereHit() throws {
        let worked = WorkedSequence("a- b- c- a+ d-b e-c d+ f-a g-e")
        #expect(try worked.played(by: "clock", capacity: 3) == worked.expected)
    }

    @Test("Clock with two bits spares an entry that was hit twice for two rounds")
    func clockWithTwoBitsSparesAnEntryTwice() throws {
        let twoBits = WorkedSequence("a- a+ a+ b- c-b d-c e-a")
        #expect(try twoBits.played(by: "clock(bits=2)", capacity: 2) == twoBits.expected)
        let oneBit = WorkedSequence("a- a+ a+ b- c-b d-a")
        #expect(try oneBit.played(by: "clock", capacity: 2) == oneBit.expected)
    }

    /// Capacity 3.
    ///
    ///     a b c, a hit    a' b c
    ///     d               a is spared where it is, b evicted; the hand is at c.   a c d
    ///     e               c evicted; the hand is at d.                            a d e
    ///     f               d evicted; the hand is at e.                            a e f
    ///     a, e hit        a' e' f
    ///     g               e is spared, f evicted; the hand is through.            a' e g
    ///     h               from the oldest again: a is spared, e evicted.
    @Test("The hand of SIEVE continues where it stopped")
    func sieveHandContinuesWhereItStopped() throws {
        let worked = WorkedSequence("a- b- c- a+ d-b e-c f-d a+ e+ g-f h-e")
        #expect(try worked.played(by: "sieve", capacity: 3) == worked.expected)
    }

    /// Capacity 5: 1 for the small queue S, 4 for the main one M, 4 for the ghosts G.
    ///
    ///     a b c d e; a hit twice, b once      S a'' b' c d e
    ///     f       a moves to M, b had one hit only: evicted.     S c d e f, M a, G b
    ///     b       remembered: to M; c evicted.                   S d e f, M a b, G c
    ///     g h     d and e evicted.                               S f g h, M a b, G c d e
    ///     c d     remembered; f and g evicted.                   S h, M a b c d, G e f g
    ///     i       h evicted.                                     S i, M a b c d, G e f g h
    ///     e       remembered; i evicted.                         M a b c d e
    ///     a hit, j    M holds more than 4: a is reinserted, b evicted.
    @Test("S3-FIFO with fill=small decides as in the paper")
    func s3fifoFillsTheSmallQueueAsInThePaper() throws {
        let worked = WorkedSequence("a- b- c- d- e- a+ a+ b+ f-b b-c g-d h-e c-f d-g i-h e-i a+ j-b")
        #expect(try worked.played(by: "s3-fifo(small=0.2,fill=small)", capacity: 5) == worked.expected)
    }

    /// S holds one: b to e are inserted into M while the cache fills.
    @Test("S3-FIFO fills the main queue first by default, as in the authors' later code")
    func s3fifoFillsTheMainQueueByDefault() throws {
        let worked = WorkedSequence("a- b- c- d- e- f-a g-f")
        #expect(try worked.played(by: "s3-fifo(small=0.2)", capacity: 5) == worked.expected)
    }

    /// Capacity 5: 1 for the small queue S, 4 for the clock C, 4 for the ghosts G.
    ///
    ///     a b c d e; a hit        S a' b c d e
    ///     f       a moves to C, b evicted.           S c d e f, C a, G b
    ///     b       remembered: to C; c evicted.       S d e f, C a b, G c
    ///     d e f a hit             S d' e' f', C a' b
    ///     g       d and e move to C; f would, too, but C is full: a is spared, b evicted.    S g, C d e a f
    ///     h       g evicted.
    @Test("The clock of QD-LP-FIFO makes room for a promoted entry")
    func qdlpfifoMakesRoomForAPromotedEntry() throws {
        let worked = WorkedSequence("a- b- c- d- e- a+ f-b b-c d+ e+ f+ a+ g-b h-g")
        #expect(try worked.played(by: "qd-lp-fifo(small=0.2)", capacity: 5) == worked.expected)
    }
}
