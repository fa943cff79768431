import HalcyonEviction
import HalcyonExperiments
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

/// Misses on the bundled traces, equal to those of the authors' code.
///
/// - S4-FIFO: libCacheSim's `S4FIFO.c` at commit 06961b4, compiled with the rest of libCacheSim at commit aa0fc40.
/// - Clock2Q+ and admission: libCacheSim 0.3.5 (`Clock2QPlus`, `SizeAdmissioner`, `BloomFilterAdmissioner`).
/// - AdaptSize: the functions of `adaptsize.cpp` at commit 283853f, which print each value of c.
@Suite("Exact counts beside the authors' code", .timeLimit(.minutes(20)))
struct RivalCountTests {
    static let shop = Result { try Trace.load(BundledTrace.path("shop.csv")) }
    static let feed = Result { try Trace.load(BundledTrace.path("feed.csv")) }
    static let feedOfUnits = Result {
        var options = TraceLoadOptions()
        options.sizes = .unit
        return try Trace.load(BundledTrace.path("feed.csv"), options)
    }

    /// A policy, and its misses on shop and on feed with uniform sizes, at 40, 360 and 720 objects each.
    static let uniform: [(policy: String, shop: [Int], feed: [Int])] = [
        ("s4-fifo(refuse=as-large)", [102_579, 75_019, 65_083], [95_453, 75_360, 67_802]),
        ("s4-fifo(refuse=as-large,skip=0.25)", [102_643, 74_838, 64_884], [95_467, 75_427, 67_951]),
        ("s4-fifo(refuse=as-large,returns=1)", [103_992, 74_684, 65_315], [98_320, 78_948, 71_459]),
        (
            "s4-fifo(refuse=as-large,small=0.3,ghost=2,skip=0.25,threshold=1,returns=1)", [99_074, 74_853, 66_055],
            [95_152, 74_901, 67_148]
        ),
        ("clock2q-plus(refuse=as-large)", [102_623, 76_103, 65_842], [96_167, 75_343, 67_741]),
        ("clock2q-plus(refuse=as-large,window=0.25)", [102_386, 76_630, 66_078], [96_140, 75_242, 67_542]),
        (
            "clock2q-plus(refuse=as-large,small=0.25,ghost=0.5,window=0.8)", [100_642, 75_364, 66_388],
            [96_326, 75_583, 67_937]
        ),
        ("clock2q-plus(refuse=as-large,window=0)", [102_111, 77_459, 67_345], [96_100, 75_005, 67_301]),
    ]

    @Test("Misses with uniform sizes equal those of the authors' code", arguments: uniform.indices)
    func missesWithUniformSizesEqualTheAuthorsCode(index: Int) throws {
        let row = Self.uniform[index]
        let shop = try misses(row.policy, Self.shop.get(), [40, 360, 720])
        let feed = try misses(row.policy, Self.feedOfUnits.get(), [40, 360, 720])
        #expect(shop == row.shop && feed == row.feed, "\(row.policy)")
    }

    /// A policy, and its misses on feed at 3 and 30 million bytes.
    static let sized: [(policy: String, misses: [Int])] = [
        ("s4-fifo(refuse=as-large)", [97_453, 77_638]), ("s4-fifo(refuse=as-large,skip=0.25)", [97_457, 77_669]),
        ("s4-fifo(refuse=as-large,small=0.3,ghost=2,skip=0.25,threshold=1,returns=1)", [97_679, 77_103]),
    ]

    @Test("Misses with variable sizes equal those of the authors' code", arguments: sized.indices)
    func missesWithVariableSizesEqualTheAuthorsCode(index: Int) throws {
        let row = Self.sized[index]
        #expect(try misses(row.policy, Self.feed.get(), [3_000_000, 30_000_000]) == row.misses, "\(row.policy)")
    }

    @Test(
        "Misses behind size admission equal those of libCacheSim",
        arguments: [("lru", 86_269), ("s3-fifo", 85_868), ("gdsf", 84_903)])
    func missesBehindSizeAdmissionEqualLibCacheSim(policy: String, expected: Int) throws {
        let found = try misses("\(policy)(admit=size,admit-below=60000)", Self.feed.get(), [30_000_000])
        #expect(found == [expected])
    }

    /// The first 3,000 requests: no filter is full, so that libCacheSim, which forgets no object, makes the same
    /// decisions.
    @Test(
        "Misses behind Bloom admission equal those of libCacheSim",
        arguments: [("lru", 360, 2_029), ("lru", 100, 2_167), ("s3-fifo", 100, 2_171), ("arc", 100, 2_176)])
    func missesBehindBloomAdmissionEqualLibCacheSim(policy: String, capacity: Int, expected: Int) throws {
        let cache = try PolicyCatalogue.classical.policy("\(policy)(admit=bloom)")
            .makeCache(PolicyContext(capacity: capacity))
        var misses = 0
        for (number, entry) in try Self.shop.get().entries.prefix(3_000).enumerated() {
            misses += cache.access(Access(entry: entry, requestNumber: number)).isHit ? 0 : 1
        }
        #expect(misses == expected)
    }

    /// The last c of a run, which depends on the requests and the capacity alone.
    @Test(
        "AdaptSize chooses the c of the authors' code",
        arguments: [
            (300_000_000, 30_000, 52_011.307156240), (300_000_000, 10_000, 66_227.423501863),
            (1_000_000_000, 20_000, 81_124.124700746), (30_000_000, 30_000, 32_768),
        ])
    func adaptSizeChoosesTheAuthorsC(capacity: Int, interval: Int, expected: Double) throws {
        let policy = try PolicyCatalogue.standard.policy("lru(admit=adaptsize,admit-interval=\(interval))")
        let result = try ReplayJob(policy: policy, capacity: .number(capacity)).run(over: ReplayInput(Self.feed.get()))
        let scale = try #require(result.metrics["admission_scale"])
        #expect(abs(scale / expected - 1) < 1e-6, "\(scale)")
        let uniform = try ReplayJob(policy: policy, capacity: .number(360)).run(over: ReplayInput(Self.shop.get()))
        #expect(abs((uniform.metrics["admission_scale"] ?? 0) / 1.001016861 - 1) < 1e-6)
    }

    private func misses(_ policy: String, _ trace: Trace, _ capacities: [Int]) throws -> [Int] {
        let policy = try PolicyCatalogue.standard.policy(policy)
        return try capacities.map {
            let result = try ReplayJob(policy: policy, capacity: .number($0)).run(over: ReplayInput(trace))
            return result.requests - result.hits
        }
    }
}
