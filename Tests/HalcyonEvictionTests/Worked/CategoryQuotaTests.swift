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

    /// Capacity 5. Category 1 borrows until category 2 wants its share:
    /// f: 4 against 1, a goes; b is hit; g: 3 against 2, c goes; h: 2 against 3, e goes.
    @Test("Equal shares, unused room borrowed, LRU within")
    func equalShares() throws {
        let run = try play("a1 b1 c1 d1 e2 f2 b1 g2 h1", by: "category-quota(share=equal)", capacity: 5)
        #expect(run.record.victims == [0, 2, 4])
    }

    /// Capacity 4. Category 1 has 8 requests and uses 3. e: category 2 has 2 requests and uses 1, more for its share: d goes.
    /// f: 1 / 2 is more than 3 / 9: e goes.
    @Test("Shares by requests")
    func sharesByRequests() throws {
        let run = try play(
            "a1 a1 a1 a1 a1 a1 b1 c1 d2 e2 f1", by: "category-quota(share=requests,half-life=0)", capacity: 4)
        #expect(run.record.victims == [3, 4])
    }

    /// As above, but hits do not count: category 1 has 3 misses and uses 3, category 2 has 2 and uses 1: a goes.
    @Test("Shares by misses")
    func sharesByMisses() throws {
        let run = try play(
            "a1 a1 a1 a1 a1 a1 b1 c1 d2 e2", by: "category-quota(share=misses,half-life=0)", capacity: 4)
        #expect(run.record.victims == [0])
    }

    /// a moves to category 2 at its hit, so category 1 uses 1 and category 2 uses 2, of which b is older.
    @Test("An entry follows its category")
    func changedCategory() throws {
        let run = try play("a1 b2 c1 a2 d1", by: "category-quota(share=equal)", capacity: 3)
        #expect(run.record.victims == [1])
    }
}
