import Foundation
import HalcyonEviction
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonTestSupport
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite("Suites: stored results", .timeLimit(.minutes(20)))
struct ResultStoreTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var store: ResultStore { ResultStore(folder: "\(folder.path)/results") }

    private static func identity() throws -> CellIdentity {
        var options = ReplayOptions(warmup: 0.25)
        options.prefetch = try PrefetchOptions(
            policy: "popular", budget: try PrefetchBudget(parsing: "1/request"), latency: .fixed(500_000))
        let job = ReplayJob(
            policy: try PolicyCatalogue.classical.policy("s3-fifo(small=0.2)"),
            capacity: try CapacityRequest(parsing: "1%"),
            mode: .perUser, knowledge: .server, options: options)
        var identity = CellIdentity(job, labels: .without, requests: RequestIdentity(fingerprint: "0123456789abcdef"))
        identity.resultVersion = 2
        return identity
    }

    @Test("The name of a cell is the digest of its identity, as Python computes it")
    func nameOfACellIsTheDigestOfItsIdentity() throws {
        let identity = try Self.identity()
        #expect(
            String(decoding: identity.canonicalJSON, as: UTF8.self)
                == """
                {"capacity":"1%","fingerprint":"0123456789abcdef","knowledge":"server","labels":"without",\
                "mode":"per_user",\
                "parameters":{"fill":"main","ghost":"0.9","refuse":"larger","small":"0.2","threshold":"2"},"policy":"s3-fifo",\
                "prefetch":{"budget":"1/request","latency_us":500000,"parameters":{},"policy":"popular"},\
                "result_version":2,"warmup":"0.25"}
                """)
        // Python: hashlib.sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:32]
        #expect(identity.hash == "38fae987c5553fbcef64961be81c17e0")
    }

    @Test("An identity differs in every field that decides a result, and in no other")
    func identityDiffersInEveryDecidingField() throws {
        var jobs: [(ReplayJob, LabelControl, String)] = []
        let lru = ConfiguredPolicy(LRU.self)
        let base = ReplayJob(policy: lru, capacity: .number(10))
        jobs.append((base, .given, "a"))
        jobs.append((base, .given, "b"))
        jobs.append((base, .without, "a"))
        jobs.append((ReplayJob(policy: lru, capacity: .number(11)), .given, "a"))
        jobs.append((ReplayJob(policy: lru, capacity: .number(10), mode: .perUser), .given, "a"))
        var warm = base
        warm.options.warmup = 0.5
        jobs.append((warm, .given, "a"))
        for warmup: Warmup in [.requests(5), .time(5_000_000), .time(5_000)] {
            warm.options.warmup = warmup
            jobs.append((warm, .given, "a"))
        }
        for name in ["random", "s3-fifo", "s3-fifo(small=0.3)"] {
            jobs.append(
                (ReplayJob(policy: try PolicyCatalogue.classical.policy(name), capacity: .number(10)), .given, "a"))
        }
        var seeded = ReplayJob(policy: try PolicyCatalogue.classical.policy("random"), capacity: .number(10))
        seeded.options.seed = 9
        jobs.append((seeded, .given, "a"))
        for text in ["memory=1,disk=10", "memory=2,disk=10", "memory=1,disk=10:lfu", "memory=1:lfu,disk=10"] {
            jobs.append(
                (ReplayJob(policy: lru, capacity: .number(1), tiers: try TierOptions(parsing: text)), .given, "a"))
        }
        for latency in [0, 500_000] as [Int64] {
            for budget in ["1/request", "2/request"] {
                var prefetching = base
                prefetching.options.prefetch = try PrefetchOptions(
                    policy: "popular", budget: try PrefetchBudget(parsing: budget), latency: .fixed(latency))
                jobs.append((prefetching, .given, "a"))
            }
        }
        let hashes = jobs.map { CellIdentity($0.0, labels: $0.1, requests: RequestIdentity(fingerprint: $0.2)).hash }
        #expect(Set(hashes).count == jobs.count)
        // The identity has no field that decides nothing: the seed of a run without random numbers, and timings.
        var same = base
        same.options.seed = 7
        same.options.timings = true
        same.options.windows = 3
        #expect(CellIdentity(same, labels: .given, requests: RequestIdentity(fingerprint: "a")).hash == hashes[0])
    }

    private func stored() throws -> StoredCell {
        let trace = TinyTraces.scrambled(count: 2_000, objects: 60, users: 40)
        let job = ReplayJob(
            policy: ConfiguredPolicy(KingfisherDisk.self), capacity: .number(10),
            tiers: try TierOptions(parsing: "memory=2:kingfisher-memory,disk=10:kingfisher-disk"))
        let units = UnitCounter(trace, warmup: .none)
        var counted = job
        counted.options = units.options(job.options)
        let input = ReplayInput(trace)
        let outcome = try counted.resolved(for: input).run(over: input)
        let facts = StoredCell.TraceFacts(
            requests: trace.count, objects: trace.objectCount, users: trace.userCount, categories: 0, distinctSize: 60,
            sizeUnit: .objects, name: "tiny")
        return StoredCell(
            outcome, identity: CellIdentity(job, labels: .given, requests: RequestIdentity(trace)), trace: facts,
            units: units.counts(outcome.recorder))
    }

    @Test("A cell is read as it was written, and written only once")
    func cellIsReadAsWrittenAndWrittenOnce() throws {
        let cell = try stored()
        try store.prepare()
        try store.add(cell, nil)
        let hash = cell.identity.hash
        #expect(try store.hashes() == [hash])
        #expect(try store.cell(hash) == cell)
        #expect(cell.identity.parameters["memory_expiration"] != nil)
        #expect(try store.provenance(hash) == nil)
        // The same result again is no fault; a different one is, and does not replace it.
        try store.add(cell, nil)
        // Nor is another name of the trace, or a default that is written out.
        var renamed = cell
        renamed.trace.name = "another"
        renamed.label = "kingfisher(expiration=7d)"
        try store.add(renamed, nil)
        #expect(try store.cell(hash) == cell)
        var other = cell
        other.counts.hits += 1
        #expect(
            throws: ReplayError.data(
                "\(store.path(ofCell: hash)): a different result of the same cell is stored; one of the builds has "
                    + "changed its counts without a new result version, or a file was edited.")
        ) { try store.add(other, nil) }
        #expect(try store.cell(hash) == cell)
    }

    @Test("A file that is damaged or does not match its name is refused")
    func fileThatDoesNotMatchItsNameIsRefused() throws {
        let cell = try stored()
        try store.prepare()
        try store.add(cell, nil)
        let path = store.path(ofCell: cell.identity.hash)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        func expect(_ content: String, _ sentence: String) throws {
            try content.write(toFile: path, atomically: true, encoding: .utf8)
            #expect(throws: ReplayError.data("\(path): \(sentence)")) { try store.cell(cell.identity.hash) }
        }
        try expect("", "is not JSON; JSON with the schema halcyon.cell/1 is needed.")
        try expect(String(text.prefix(200)), "is not JSON; JSON with the schema halcyon.cell/1 is needed.")
        try expect(
            text.replacing("halcyon.cell/1", with: "halcyon.cell/9"),
            "has the schema 'halcyon.cell/9'; halcyon.cell/1 is needed.")
        try expect(
            text.replacing("\"hits\":", with: "\"hit\":"),
            "does not have the fields of halcyon.cell/1: 'counts.hits' is missing.")
        var edited = cell
        edited.identity.warmup = "0.5"
        try expect(
            String(decoding: edited.json(), as: UTF8.self),
            "is not the cell of its name, but \(edited.identity.hash): it was renamed or edited.")
    }

    @Test("A folder without results is an error that names it")
    func folderWithoutResultsIsAnError() {
        let store = ResultStore(folder: "\(folder.path)/nowhere")
        #expect(
            throws: ReplayError.data(
                "\(store.folder): is no folder of results; 'replay sweep' makes one, with a file 'cells.jsonl.zst' or a "
                    + "folder 'cells' in it.")
        ) { try store.hashes() }
    }
}
