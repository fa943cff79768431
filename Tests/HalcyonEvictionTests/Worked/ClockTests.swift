import HalcyonEvictionTestSupport
import Testing

/// Clocks and filters before them, against sequences worked by hand; queues are written oldest first, ' marks a hit that
/// counts.
@Suite("Clocks by hand", .timeLimit(.minutes(20)))
struct ClockTests {
    /// Capacity 3.
    ///
    ///     a b c, a hit    a' b c
    ///     d               a is spared, b goes.    c a d
    ///     e               c goes.                 a d e
    ///     d hit, f        a goes.                 d' e f
    ///     g               d is spared, e goes.
    @Test("Clock: a second chance for entries that were hit")
    func clock() throws {
        let worked = WorkedSequence("a- b- c- a+ d-b e-c d+ f-a g-e")
        #expect(try worked.played(by: "clock", capacity: 3) == worked.expected)
    }

    @Test("Clock with two bits: two hits, two rounds")
    func clockOfTwoBits() throws {
        let twoBits = WorkedSequence("a- a+ a+ b- c-b d-c e-a")
        #expect(try twoBits.played(by: "clock(bits=2)", capacity: 2) == twoBits.expected)
        let oneBit = WorkedSequence("a- a+ a+ b- c-b d-a")
        #expect(try oneBit.played(by: "clock", capacity: 2) == oneBit.expected)
    }

    /// Capacity 3.
    ///
    ///     a b c, a hit    a' b c
    ///     d               a is spared where it is, b goes; the hand is at c.      a c d
    ///     e               c goes; the hand is at d.                               a d e
    ///     f               d goes; the hand is at e.                               a e f
    ///     a, e hit        a' e' f
    ///     g               e is spared, f goes; the hand is through.               a' e g
    ///     h               from the oldest again: a is spared, e goes.
    @Test("SIEVE: the hand continues where it stopped")
    func sieve() throws {
        let worked = WorkedSequence("a- b- c- a+ d-b e-c f-d a+ e+ g-f h-e")
        #expect(try worked.played(by: "sieve", capacity: 3) == worked.expected)
    }

    /// Capacity 5: 1 for the small queue S, 4 for the main one M, 4 for the ghosts G.
    ///
    ///     a b c d e; a hit twice, b once      S a'' b' c d e
    ///     f       a moves to M, b had one hit only and goes.     S c d e f, M a, G b
    ///     b       remembered: to M; c goes.                      S d e f, M a b, G c
    ///     g h     d and e go.                                    S f g h, M a b, G c d e
    ///     c d     remembered; f and g go.                        S h, M a b c d, G e f g
    ///     i       h goes.                                        S i, M a b c d, G e f g h
    ///     e       remembered; i goes.                            M a b c d e
    ///     a hit, j    M holds more than 4: a goes round, b goes.
    @Test("S3-FIFO as in the paper")
    func s3fifo() throws {
        let worked = WorkedSequence("a- b- c- d- e- a+ a+ b+ f-b b-c g-d h-e c-f d-g i-h e-i a+ j-b")
        #expect(try worked.played(by: "s3-fifo(small=0.2,fill=small)", capacity: 5) == worked.expected)
    }

    /// S holds one: b to e go to M while the cache fills.
    @Test("S3-FIFO as in the authors' later code")
    func s3fifoFillingMain() throws {
        let worked = WorkedSequence("a- b- c- d- e- f-a g-f")
        #expect(try worked.played(by: "s3-fifo(small=0.2)", capacity: 5) == worked.expected)
    }

    /// Capacity 5: 1 for the small queue S, 4 for the clock C, 4 for the ghosts G.
    ///
    ///     a b c d e; a hit        S a' b c d e
    ///     f       a moves to C, b goes.              S c d e f, C a, G b
    ///     b       remembered: to C; c goes.          S d e f, C a b, G c
    ///     d e f a hit             S d' e' f', C a' b
    ///     g       d and e move to C; f would, too, but C is full: a is spared, b goes.       S g, C d e a f
    ///     h       g goes.
    @Test("QD-LP-FIFO: the clock makes room for a promoted entry")
    func qdlpfifo() throws {
        let worked = WorkedSequence("a- b- c- d- e- a+ f-b b-c d+ e+ f+ a+ g-b h-g")
        #expect(try worked.played(by: "qd-lp-fifo(small=0.2)", capacity: 5) == worked.expected)
    }
}
