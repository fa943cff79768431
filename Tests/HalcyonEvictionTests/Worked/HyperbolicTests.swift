import HalcyonEvictionTestSupport
import Testing

/// Hyperbolic caching against sequences worked by hand; a cache this small is examined as a whole.
@Suite("Hyperbolic caching by hand", .timeLimit(.minutes(20)))
struct HyperbolicTests {
    /// Capacity 3; n is the number of accesses, t the time since insertion.
    ///
    ///     1-3    a b c    in at 1, 2, 3
    ///     4-6    a a b    a 3, b 2
    ///     7      d        n / t: a 3/6, b 2/5, c 1/4: c evicted
    ///     8      d        d 2
    ///     9      c        a 3/8, b 2/7, d 2/2: b evicted
    ///     10-11  d d      d 4
    ///     12     b        a 3/11, c 1/3, d 4/5: a evicted, though it was used more often than c
    ///     13     a        b 1/1, c 1/4, d 4/6: c evicted
    @Test("Hyperbolic caching evicts the entry with the fewest accesses per time in the cache")
    func hyperbolicEvictsTheLowestRequestRate() throws {
        let worked = WorkedSequence("a- b- c- a+ a+ b+ d-c d+ c-b d+ d+ b-a a-c")
        #expect(try worked.played(by: "hyperbolic", capacity: 3) == worked.expected)
    }

    /// Capacity 5; a has size 4, the others 1.
    ///
    ///     1-2    a b      in at 1, 2
    ///     3-4    a a      a 3
    ///     5      c        without sizes: a 3/4, b 1/3: b evicted. With sizes: a 3/16, b 1/3: a evicted.
    @Test("With size=divides the priority of hyperbolic caching is divided by the size")
    func hyperbolicCanDivideByTheSize() throws {
        let ignored = WorkedSequence("a- b- a+ a+ c-b", sizes: ["a": 4])
        #expect(try ignored.played(by: "hyperbolic", capacity: 5) == ignored.expected)
        let divided = WorkedSequence("a- b- a+ a+ c-a", sizes: ["a": 4])
        #expect(try divided.played(by: "hyperbolic(size=divides)", capacity: 5) == divided.expected)
    }
}
