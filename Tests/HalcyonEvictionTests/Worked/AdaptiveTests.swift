import HalcyonEvictionTestSupport
import Testing

/// ARC and CAR against sequences worked by hand from the pseudo-code of their papers.
@Suite("ARC and CAR by hand", .timeLimit(.minutes(20)))
struct AdaptiveTests {
    /// Capacity 2; p is the target for T1. Lists are written latest first.
    ///
    ///     a b     T1 b a
    ///     a hit   T1 b, T2 a
    ///     c       T1 is above p = 0: b evicted.     T1 c, T2 a, B1 b
    ///     b       in B1: p = 1; T1 is not above it, so a is evicted from T2.  T1 c, T2 b, B2 a
    ///     d       T1 is not above p: b evicted.     T1 d c, B2 b a
    ///     a       in B2: p = 0; c evicted.          T1 d, T2 a, B1 c, B2 b
    ///     e       T1 and B1 have 2: c is forgotten; d evicted.          T1 e, T2 a, B1 d, B2 b
    ///     c       d is forgotten; e evicted. c is new: T1.              T1 c, T2 a, B1 e, B2 b
    ///     f       e is forgotten; c evicted.
    @Test("ARC handles its four cases as in the worked sequence")
    func arcHandlesItsFourCases() throws {
        let worked = WorkedSequence("a- b- a+ c-b b-a d-b a-c e-d c-e a+ f-c")
        #expect(try worked.played(by: "arc", capacity: 2) == worked.expected)
    }

    /// Capacity 2; clocks are written latest first, ' marks the reference bit.
    ///
    ///     a b     T1 b a
    ///     a hit   T1 b a'
    ///     c       a moves to T2, b evicted.         T1 c, T2 a, B1 b
    ///     b       c evicted; then b is found in B1: p = 1.              T2 b a, B1 c
    ///     d       T1 is below p: a evicted from T2.    T1 d, T2 b, B1 c, B2 a
    ///     b hit   T2 b'
    ///     a       T1 has reached p: d evicted; a is found in B2, |B1| / |B2| = 2: p = 0.    T2 a b', B1 d c
    ///     e       T1 is empty: b has a second turn, a evicted; B1 is full: c is forgotten.  T1 e, T2 b, B1 d, B2 a
    ///     d       e evicted; d is found in B1 and joins T2.
    @Test("CAR uses both clocks and both ghost lists as in the worked sequence")
    func carUsesBothClocksAndBothGhosts() throws {
        let worked = WorkedSequence("a- b- a+ c-b b-c d-a b+ a-d e-a d-e d+")
        #expect(try worked.played(by: "car", capacity: 2) == worked.expected)
    }
}
