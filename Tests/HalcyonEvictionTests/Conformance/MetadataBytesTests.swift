import HalcyonEviction
import HalcyonTestSupport
import Testing

/// What a policy keeps in mind about an entry, measured against what its doc comment states.
@Suite("Bytes per entry")
struct MetadataBytesTests {
    /// Bytes an entry at most, as in the doc comments: (for every entry ever seen, for each resident on top of that).
    static let stated: [String: (entry: Double, resident: Double)] = [
        "2q": (9, 0),
        "arc": (9, 0),
        "belady": (13, 4),
        "belady-size": (12, 20),
        "cacheus": (27, 16),
        "car": (10, 0),
        "category-quota": (12, 0),
        "clock": (9, 0),
        "fifo": (8, 0),
        "gdsf": (8, 16),
        "hyperbolic": (4, 16),
        "kingfisher-disk": (16, 0),
        "kingfisher-memory": (16, 0),
        "lecar": (25, 0),
        "lfu": (12, 0),
        "lhd": (4, 20),
        "lfuda": (8, 24),
        "lirs": (18, 0),
        "lru": (8, 0),
        "lru-k": (29, 16),
        "mq": (21, 0),
        "mru": (8, 0),
        "qd-lp-fifo": (10, 0),
        "random": (4, 4),
        "s3-fifo": (10, 0),
        "sieve": (9, 0),
        "size": (4, 24),
        "slru": (9, 0),
        "w-tinylfu": (9, 16),
    ]

    @Test("No more than stated", arguments: ConformanceTests.names)
    func bytes(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        guard let stated = Self.stated[name] else {
            Issue.record("\(name) has no line in the table of stated bytes")
            return
        }
        // What grows with the number of entries, so that tables of fixed size do not count.
        let small = measure(policy, objects: 1 << 13)
        let large = measure(policy, objects: 1 << 14)
        let perEntry = Double(large - small) / Double(1 << 13)
        // A tenth of the entries is resident; arrays that grow by themselves may be half empty.
        let allowed = stated.entry + stated.resident * 0.1 * 2
        #expect(perEntry <= allowed, "\(name): \(perEntry) bytes an entry, stated \(stated)")
        #expect(perEntry > 0, "\(name) states nothing")
    }

    /// The policy's own bytes after two rounds over `objects` objects in a cache for a tenth of them.
    private func measure(_ policy: ConfiguredPolicy, objects: Int) -> Int {
        let capacity = objects / 10
        var random = SplitMix64(seed: 5)
        let entries = (0..<objects * 2).map { index in
            index % 2 == 0 ? EntryID(index / 2) : EntryID(random.next(below: index / 2 + 1))
        }
        let future =
            policy.card.traits.contains(.needsFuture)
            ? FutureKnowledge(entries: entries, entryCount: objects) : nil
        let cache = policy.makeCache(PolicyContext(capacity: capacity, entries: objects, future: future))
        for (index, entry) in entries.enumerated() {
            _ = cache.access(Access(entry: entry, index: index, time: Int64(index)))
        }
        // The index keeps a byte an entry of its own, and a deadline where entries expire.
        return cache.state().metadataBytes - objects
    }
}
