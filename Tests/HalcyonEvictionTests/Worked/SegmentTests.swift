import HalcyonEvictionTestSupport
import Testing

/// SLRU and 2Q against sequences worked by hand; lists are written latest first.
@Suite("Segments by hand", .timeLimit(.minutes(20)))
struct SegmentTests {
    /// Capacity 4, two segments of 2.
    ///
    ///     a b, a hit      lower b, upper a
    ///     c d     all the room that is left is the lower one's.      lower d c b, upper a
    ///     e       b evicted.                                         lower e d c, upper a
    ///     c, d hit        upper d c; a moves down.                   lower a e
    ///     f       e evicted.                                         lower f a
    ///     g       a evicted.
    @Test("SLRU with entry=lowest inserts new objects into the lowest segment")
    func slruInsertsIntoTheLowestSegment() throws {
        let worked = WorkedSequence("a- b- a+ c- d- e-b c+ d+ f-e g-a")
        #expect(try worked.played(by: "slru(segments=2,entry=lowest)", capacity: 4) == worked.expected)
    }

    /// c and d enter the upper segment, for the lower one is full.
    @Test("SLRU inserts new objects into the lowest segment with room by default")
    func slruInsertsIntoTheLowestSegmentWithRoom() throws {
        let worked = WorkedSequence("a- b- c- d- e-a f-b g-e c+ d+")
        #expect(try worked.played(by: "slru(segments=2)", capacity: 4) == worked.expected)
    }

    /// Capacity 10, two segments of 5; a and c have size 4, b and d 1.
    ///
    ///     a b         lower b a: 5
    ///     c           upper c: 4
    ///     b hit       upper b c: 5, lower a: 4
    ///     d           lower d a: 5
    ///     d hit       upper d b c: 6, so c moves down; lower c a: 8, so a is evicted, in a cache that has room.
    @Test("With variable sizes a hit in SLRU can evict")
    func slruHitCanEvictWithVariableSizes() throws {
        let worked = WorkedSequence("a- b- c- b+ d- d+a", sizes: ["a": 4, "c": 4])
        #expect(try worked.played(by: "slru(segments=2)", capacity: 10) == worked.expected)
    }

    /// Capacity 4: Kin is 1, Kout is 2.
    ///
    ///     a b c d     A1in d c b a
    ///     e f         a and b evicted.                A1in f e d c, A1out b a
    ///     a           remembered: to Am; c evicted.   A1in f e d, A1out c b, Am a
    ///     g           d evicted, b is forgotten.      A1in g f e, A1out d c, Am a
    ///     b           is new; e evicted, c is forgotten. A1in b g f, A1out e d, Am a
    ///     a hit
    ///     d           remembered; f evicted.          A1in b g, A1out f e, Am d a
    ///     e           remembered; g evicted.          A1in b, A1out g f, Am e d a
    ///     g           remembered; A1in is down to Kin, so a is evicted from Am.
    @Test("2Q inserts new objects into A1in and remembered objects into Am")
    func twoQInsertsRememberedObjectsIntoAm() throws {
        let worked = WorkedSequence("a- b- c- d- e-a f-b a-c g-d b-e a+ d-f e-g g-a")
        #expect(try worked.played(by: "2q", capacity: 4) == worked.expected)
    }
}
