import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

/// The offline policies against sequences worked by hand, and the bitmap that they use.
@Suite("Offline policies by hand", .timeLimit(.minutes(20)))
struct OfflineTests {
    /// Capacity 2. At c, the next request of a is at 3 and of b at 4: b is evicted. At b, c is never requested again
    /// and is evicted; so is b at d.
    @Test("Belady evicts the entry with the furthest next use")
    func beladyEvictsTheFurthestNextUse() throws {
        let worked = WorkedSequence("a- b- c-b a+ b-c d-b a+")
        #expect(try worked.played(by: "belady", capacity: 2) == worked.expected)
    }

    /// Capacity 1: b is never used before a again, so it is not admitted.
    @Test("Belady with bypass refuses an object that is used later than all residents")
    func beladyWithBypassRefusesObjectsUsedLater() throws {
        let with = WorkedSequence("a- b! a+ b! a+")
        #expect(try with.played(by: "belady(bypass=on)", capacity: 1) == with.expected)
        let without = WorkedSequence("a- b-a a-b b-a a-b")
        #expect(try without.played(by: "belady", capacity: 1) == without.expected)
        // Capacity 2. c is used after a and b: refused. Later it is never used again: refused, although a and b are done with.
        let longer = WorkedSequence("a- b- c! a+ b+ c!")
        #expect(try longer.played(by: "belady(bypass=on)", capacity: 2) == longer.expected)
    }

    /// Capacity 4; b has size 3, c, d and e have size 2. Accesses are numbered from 0.
    ///
    ///     2 c     a 1 × 2, b 3 × 1, c itself 2 × 3: refused.
    ///     3 b hit, 4 a hit      for the last time.
    ///     5 c     never again: refused.
    ///     6 d     a and b are never requested again: a, the last, evicted, then b.
    ///     8 f     d 2 × 3, e 2 × 1, f itself 1 × 2: d evicted.
    ///     11 d    never again: refused.
    @Test("belady-size evicts the entry with the largest size × distance to the next use")
    func beladySizeEvictsTheLargestSizeTimesDistance() throws {
        let worked = WorkedSequence(
            "a- b- c! b+ a+ c! d-ab e- f-d e+ f+ d!", sizes: ["b": 3, "c": 2, "d": 2, "e": 2])
        #expect(try worked.played(by: "belady-size", capacity: 4) == worked.expected)
    }

    @Test("Belady without a future keeps to the capacity")
    func beladyWithoutAFutureKeepsTheCapacity() throws {
        let cache = try PolicyCatalogue.classical.policy("belady").makeCache(PolicyContext(capacity: 2))
        for index in 0..<10 { _ = cache.access(Access(entry: EntryID(index % 5), requestNumber: index)) }
        #expect(cache.state.used == 2)
    }

    @Test(
        "A hierarchical bitmap reports its largest member after insertions and removals",
        arguments: [1, 63, 64, 65, 4096, 4097, 300_000])
    func bitmapReportsItsLargestMember(capacity: Int) {
        var bitmap = HierarchicalBitmap(capacity: capacity)
        var members: Set<UInt32> = []
        var random = SplitMix64(seed: 3)
        for _ in 0..<500 {
            let member = UInt32(random.next(below: capacity))
            if members.remove(member) == nil {
                members.insert(member)
                bitmap.insert(member)
            } else {
                bitmap.remove(member)
            }
            #expect(bitmap.largest == members.max())
        }
        while let member = bitmap.largest {
            #expect(members.remove(member) != nil)
            bitmap.remove(member)
        }
        #expect(members.isEmpty)
    }
}
