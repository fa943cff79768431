import HalcyonEvictionTestSupport
import Testing

/// GDSF against a sequence worked by hand; priorities are in millions of 1 / size.
@Suite("GDSF by hand", .timeLimit(.minutes(20)))
struct GDSFTests {
    /// Capacity 4; b has size 2, f and g have size 4, the others 1. L is the clock.
    ///
    ///     a b     a 1, b 0.5
    ///     b hit   b 2 / 2 = 1
    ///     c       c 1
    ///     e       e 1; a, b and c have the same: a, the oldest, evicted.         L = 1
    ///     f       f 1.25: b, c and e evicted.           L = 1
    ///     a       a 2: f evicted.                       L = 1.25
    ///     a a hit a 1.25 + 3 = 4.25
    ///     g       1.5, less than a: refused.            L = 1.5
    ///     g       1.75: refused.                        L = 1.75
    ///     b       b 2.25, fits
    ///     g       2, less than b: refused.              L = 2
    ///     g       2.25, as b, which is older and evicted; but a does not: refused.   L = 2.25
    ///     b       fits again
    @Test("GDSF evicts the lowest priority and refuses a new object of lower priority")
    func gdsfEvictsTheLowestPriorityOrRefuses() throws {
        let worked = WorkedSequence(
            "a- b- b+ c- e-a f-bce a-f a+ a+ g! g! b- g! g!b b-", sizes: ["b": 2, "f": 4, "g": 4])
        #expect(try worked.played(by: "gdsf", capacity: 4) == worked.expected)
    }
}
