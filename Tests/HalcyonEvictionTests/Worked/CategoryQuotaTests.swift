import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

/// Shares of categories, worked by hand. Entries are written with their category: a1 is a of category 1.
@Suite("Category quota by hand", .timeLimit(.minutes(20)))
struct CategoryQuotaTests {
    private func play(_ words: String, by policy: String, capacity: Int) throws -> CheckedRun {
        let run = CheckedRun(try PolicyCatalogue.classical.policy(policy), PolicyContext(capacity: capacity))
        for (index, word) in words.split(separator: " ").enumerated() {
            let bytes = Array(word.utf8)
            let entry = EntryID(bytes[0] - UInt8(ascii: "a"))
            let set = CategorySetID(bytes[1] - UInt8(ascii: "0"))
            _ = run.cache.access(Access(entry: entry, requestNumber: index, categories: set))
        }
        #expect(run.record.breaches == [])
        return run
    }

    /// Capacity 5. Category 1 borrows until category 2 uses its share:
    /// f: 4 against 1, a is evicted; b is hit; g: 3 against 2, c is evicted; h: 2 against 3, e is evicted.
    @Test("With equal shares unused room is lent and the victim is the category's LRU entry")
    func equalSharesLendUnusedRoomAndEvictByLRU() throws {
        let run = try play("a1 b1 c1 d1 e2 f2 b1 g2 h1", by: "category-quota(share=equal)", capacity: 5)
        #expect(run.record.victims == [0, 2, 4])
    }

    /// Capacity 4. Category 1 has 8 requests and uses 3. e: category 2 has 2 requests and uses 1, more for its share:
    /// d is evicted. f: 1 / 2 is more than 3 / 9: e is evicted.
    @Test("With share=requests the victim is of the category furthest above its share of requests")
    func sharesFollowRequestCounts() throws {
        let run = try play(
            "a1 a1 a1 a1 a1 a1 b1 c1 d2 e2 f1", by: "category-quota(share=requests,half-life=0)", capacity: 4)
        #expect(run.record.victims == [3, 4])
    }

    /// As above, but hits do not count: category 1 has 3 misses and uses 3, category 2 has 2 and uses 1: a is
    /// evicted.
    @Test("With share=misses hits do not count towards a category's share")
    func sharesFollowMissCounts() throws {
        let run = try play(
            "a1 a1 a1 a1 a1 a1 b1 c1 d2 e2", by: "category-quota(share=misses,half-life=0)", capacity: 4)
        #expect(run.record.victims == [0])
    }

    /// a moves to category 2 at its hit, so category 1 uses 1 and category 2 uses 2, of which b is older.
    @Test("An entry whose category changes at a hit counts for the new category")
    func entryMovesToItsNewCategory() throws {
        let run = try play("a1 b2 c1 a2 d1", by: "category-quota(share=equal)", capacity: 3)
        #expect(run.record.victims == [1])
    }
}
