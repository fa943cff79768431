import HalcyonEviction
import Testing

/// The bytes that a policy keeps about an entry, compared with the bytes that its doc comment states.
@Suite("Metadata bytes per entry", .timeLimit(.minutes(20)))
struct MetadataBytesTests {
    /// Bytes as in the doc comments: (for each entry number, for each resident on top of that at most).
    static let stated: [String: (entry: Double, resident: Double)] = [
        "2q": (9, 0),
        "arc": (9, 0),
        "belady": (4, 4),
        "belady-size": (4, 20),
        "cacheus": (27, 16),
        "car": (10, 0),
        "category-quota": (12, 0),
        "clock": (9, 0),
        "clock2q-plus": (18, 0),
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
        "s4-fifo": (10, 0),
        "sieve": (9, 0),
        "size": (4, 24),
        "slru": (9, 0),
        "w-tinylfu": (9, 16),
    ]

    @Test(
        "Bytes an entry number are as stated, bytes a resident no more, and the rest is fixed",
        arguments: ConformanceTests.names)
    func metadataBytesMatchTheStatedBytes(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        guard let stated = Self.stated[name] else {
            Issue.record("\(name) has no line in the table of stated bytes")
            return
        }
        let (small, large) = (measure(policy, objects: 1 << 13), measure(policy, objects: 1 << 14))
        #expect(Double(small.perNumber) == stated.entry * Double(1 << 13), "\(name): \(small)")
        #expect(Double(large.perNumber) == stated.entry * Double(1 << 14), "\(name): \(large)")
        let perResident = Double(large.perResident) / Double((1 << 14) / 10)
        if stated.resident == 0 {
            #expect(large.perResident == 0, "\(name): \(large)")
        } else {
            // Memory grows by a 128th; an array of Swift's own, which the offline policies have, doubles.
            let reserve = policy.info.traits.contains(.needsFuture) ? 2 : 1.02
            #expect(perResident <= stated.resident * reserve, "\(name): \(perResident) bytes a resident")
            #expect(perResident >= stated.resident / 2, "\(name): \(perResident) bytes a resident")
        }
        #expect(large.total == large.fixed + large.perNumber + large.perResident && large.total > 0)
        // The future of offline policies grows with the requests. Few frequencies occur at the same time.
        if !policy.info.traits.contains(.needsFuture) {
            #expect(abs(large.fixed - small.fixed) < 4_096, "\(name): \(small.fixed) and \(large.fixed) bytes")
        }
    }

    @Test(
        "Parameters of S4-FIFO, W-TinyLFU and admit=adaptsize need the stated additional bytes",
        arguments: [
            ("s4-fifo(skip=0.25)", 18, 0), ("s4-fifo(returns=1)", 11, 0), ("w-tinylfu(doorkeeper=on)", 9, 24),
            ("lru(admit=adaptsize)", 40, 4),
        ])
    func someParametersNeedMoreBytes(text: String, perNumber: Int, perResident: Int) throws {
        let policy = try PolicyCatalogue.classical.policy(text)
        let bytes = measure(policy, objects: 1 << 14)
        #expect(bytes.perNumber == perNumber << 14, "\(text): \(bytes)")
        if perResident != 4 { #expect(bytes.perResident <= perResident * (1 << 14) / 10) }
    }

    @Test("The parts of metadata bytes add up, and so do the bytes of two caches")
    func metadataBytesAddUp() {
        let left = MetadataBytes(fixed: 1, perNumber: 20, perResident: 300)
        let right = MetadataBytes(fixed: 4_000, perResident: 5)
        #expect(left.total == 321 && right.perNumber == 0 && MetadataBytes().total == 0)
        #expect(left + right == MetadataBytes(fixed: 4_001, perNumber: 20, perResident: 305))
    }

    @Test("An index needs a byte an entry number, 8 more with variable sizes and 8 more with lifetimes")
    func indexBytesGrowWithSizesAndLifetimes() {
        func perNumber(uniform: Bool, lifetime: Int64?) -> Int {
            let context = PolicyContext(
                capacity: 10, entries: 100, usesUniformSizes: uniform, lifetime: lifetime)
            return CacheCore(LRU(NoParameters(), context: context), context).metadataBytes.perNumber
        }
        #expect(perNumber(uniform: true, lifetime: nil) == 900 && perNumber(uniform: false, lifetime: nil) == 1_700)
        #expect(perNumber(uniform: true, lifetime: 5) == 1_700)
    }

    /// The policy's own bytes after two rounds over `objects` objects in a cache for a tenth of them.
    private func measure(_ policy: ConfiguredPolicy, objects: Int) -> MetadataBytes {
        let capacity = objects / 10
        var random = SplitMix64(seed: 5)
        let entries = (0..<objects * 2).map { index in
            index % 2 == 0 ? EntryID(index / 2) : EntryID(random.next(below: index / 2 + 1))
        }
        let future =
            policy.info.traits.contains(.needsFuture)
            ? FutureKnowledge(entries: entries, entryCount: objects) : nil
        let cache = policy.makeCache(PolicyContext(capacity: capacity, entries: objects, future: future))
        for (index, entry) in entries.enumerated() {
            _ = cache.access(Access(entry: entry, requestNumber: index, time: Int64(index)))
        }
        // The index keeps another byte an entry number, and a deadline if entries expire.
        var bytes = cache.state.metadataBytes
        bytes.perNumber -= objects
        return bytes
    }
}
