import HalcyonEvictionTestSupport
import Testing

@testable import HalcyonEviction

/// The admission rule that every policy of the catalogue accepts. Counts beside libCacheSim are in `RivalCountTests`.
@Suite("Admission rules around policies", .timeLimit(.minutes(20)))
struct AdmissionLayerTests {
    /// Capacity 3; a is of size 1, b of 2, c of 3.
    @Test("admit=size refuses objects from the given size on; the policy decides about the others")
    func admitSizeRefusesObjectsFromTheGivenSizeOn() throws {
        let worked = WorkedSequence("a- b- c! c! a+ d-b c!", sizes: ["a": 1, "b": 2, "c": 3, "d": 2])
        #expect(try worked.played(by: "lru(admit=size,admit-below=3)", capacity: 3) == worked.expected)
    }

    @Test("admit=bloom admits an object at its second request, and an object admitted before at once")
    func admitBloomAdmitsAtTheSecondRequest() throws {
        let worked = WorkedSequence("a! b! a- b- c! a+ c-b b-a a-c")
        #expect(try worked.played(by: "lru(admit=bloom)", capacity: 2) == worked.expected)
    }

    /// The filters hold 3,072 objects each in a small cache.
    @Test("admit=bloom forgets an object after two filters of other objects")
    func admitBloomForgetsAnObjectAfterTwoFilters() throws {
        let cache = try PolicyCatalogue.classical.policy("lru(admit=bloom)").makeCache(PolicyContext(capacity: 10))
        func refused(_ range: Range<EntryID>) -> Int {
            range.count { cache.access(Access(entry: $0)) == .refused }
        }
        let first = refused(0..<3_000)
        #expect(first > 2_970)
        #expect(refused(0..<3_000) == 0, "remembered in the young filter")
        #expect(refused(10_000..<13_000) > 2_940)
        #expect(cache.remembers(5))
        #expect(refused(100..<200) == 0, "remembered in the old filter")
        #expect(refused(20_000..<26_400) > 6_300)
        #expect(!cache.remembers(5))
        #expect(refused(0..<3_000) > 2_900, "forgotten")
    }

    /// Until c is chosen, it is 32,768. Each object is requested once, so nothing is hit.
    @Test("admit=adaptsize admits size s with the probability exp(−s/c)", arguments: [1_000, 32_768, 65_536])
    func admitAdaptSizeAdmitsWithExponentialProbability(size: Int) throws {
        let policy = try PolicyCatalogue.classical.policy("lru(admit=adaptsize)")
        let cache = policy.makeCache(PolicyContext(capacity: 1 << 40, usesUniformSizes: false, seed: 3))
        let count = 20_000
        let admitted = (0..<EntryID(count)).count { cache.access(Access(entry: $0, size: size)) == .miss }
        // The powers of e by another series: (1 − x/2²⁰)^(2²⁰).
        var expected = 1 - Double(size) / 32_768 / 1_048_576
        for _ in 0..<20 { expected *= expected }
        let deviation = (expected * (1 - expected) / Double(count)).squareRoot()
        #expect(abs(Double(admitted) / Double(count) - expected) < 4 * deviation)
    }

    @Test("Without an admission rule the cache is that of the policy alone")
    func withoutARuleTheCacheIsThePolicyAlone() throws {
        let context = PolicyContext(capacity: 10)
        for text in ["lru", "lru(admit=none)"] {
            let policy = try PolicyCatalogue.classical.policy(text)
            #expect(ObjectIdentifier(policy.makeCache(context).policy) == ObjectIdentifier(LRU.self))
            #expect(policy.parameters.isEmpty && policy.info.traits == LRU.info.traits)
        }
        let layered = try PolicyCatalogue.classical.policy("lru(admit=bloom)")
        #expect(
            ObjectIdentifier(layered.makeCache(context).policy)
                == ObjectIdentifier(AdmissionLayer<LRU, BloomAdmission>.self))
    }

    @Test("The label, the parameters and the info name the admission rule")
    func labelParametersAndInfoNameTheRule() throws {
        let size = try PolicyCatalogue.classical.policy("s3-fifo(admit=size,small=0.2,admit-below=70)")
        #expect(size.label == "s3-fifo(admit=size,small=0.2,admit-below=70)")
        let own = PolicyCatalogue.classical.entries.first { $0.info.name == "s3-fifo" }?.parameters.count
        #expect(size.parameters.suffix(2).map(\.name) == ["admit", "admit-below"])
        #expect(size.parameters.count - 2 == own)
        #expect(
            size.info.admissionRule
                == "refuses a new object larger than its small queue (small × capacity), and refuses an object of 70 bytes "
                + "or more (admit=size)")
        let random = try PolicyCatalogue.classical.policy("lru(admit=adaptsize,admit-interval=9)")
        #expect(random.info.traits == [.hasAdmission, .usesSizes, .isRandomised])
        #expect(random.parameters.map(\.value) == ["adaptsize", "9"])
        #expect(try PolicyCatalogue.classical.policy("lru(admit=bloom)").decidesByNumber)
    }

    @Test("Results name a parameter that was added later only where it is set")
    func resultsNameALaterParameterOnlyWhereItIsSet() throws {
        let plain = try PolicyCatalogue.classical.policy("w-tinylfu")
        #expect(plain.recordedParameters.map(\.name) == ["window", "protected", "sample"])
        #expect(plain.parameters.map(\.name) == ["window", "protected", "sample", "adapt", "doorkeeper"])
        let adaptive = try PolicyCatalogue.classical.policy("w-tinylfu(adapt=simple,admit=bloom)")
        #expect(adaptive.recordedParameters.map(\.name) == ["window", "protected", "sample", "adapt", "admit"])
    }

    @Test(
        "Parameters that do not go together are refused with a sentence",
        arguments: [
            ("lru(admit=size)", "admit=size also needs admit-below: the size from which it refuses."),
            ("lru(admit-below=5)", "admit-below belongs to admit=size, which is not set."),
            ("lru(admit=bloom,admit-interval=5)", "admit-interval belongs to admit=adaptsize, which is not set."),
            ("lru(admit=bloom,admit=size)", "lru is given 'admit' twice: give it once."),
            ("lru(admit=tiny)", "lru cannot take admit=tiny: admit is one of none, bloom, size, adaptsize."),
            ("lru(x=1)", "lru has no parameter 'x': it has none at all."),
        ])
    func incompatibleParametersAreRefusedWithASentence(text: String, sentence: String) {
        #expect {
            try PolicyCatalogue.classical.policy(text)
        } throws: {
            "\($0)" == sentence
        }
    }
}

@Suite("Bloom filter", .timeLimit(.minutes(20)))
struct BloomFilterTests {
    @Test("The filter finds every member, also after doubling, and few other objects")
    func bloomFilterFindsEveryMemberAndFewOthers() {
        var filter = BloomFilter(entries: 1_000)
        #expect(filter.byteCount == 4_096)
        var added = 0
        for entry in EntryID(0)..<3_000 where filter.insert(entry) { added += 1 }
        #expect(added > 2_970)
        #expect((EntryID(0)..<3_000).allSatisfy { filter.contains($0) })
        #expect((EntryID(0)..<3_000).allSatisfy { !filter.insert($0) })
        // (1 − e^(−4 · 3000 / 32768))^4 = 0.9 %
        #expect((EntryID(10_000)..<110_000).count { filter.contains($0) } < 1_200)
        filter.ensure(entries: 4_000)
        #expect(filter.byteCount == 16_384)
        #expect((EntryID(0)..<3_000).allSatisfy { filter.contains($0) })
        filter.clear()
        #expect((EntryID(0)..<3_000).allSatisfy { !filter.contains($0) })
    }
}
