import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite("Suites: runs", .timeLimit(.minutes(20)))
struct SuiteRunTests {
    private let folder: TemporaryFolder
    private let text = """
        schema: halcyon.suite/1
        traces:
          - {path: a.csv, limit: 3000}
          - {path: b.csv, skip: 100}
        experiments:
          - name: shared
            policies: [lru, random, {policy: s3-fifo, grid: {small: [0.1, 0.3]}}, belady, learned]
            capacities: [5%, 20%]
            seeds: 2
            labels: [given, without, permuted uniform, permuted within=popularity]
            warmup: 0.2
          - name: users
            modes: per_user
            policies: [lru, kingfisher]
            capacities: 10
            prefetch: [none, popular]
        """

    init() throws {
        folder = try TemporaryFolder()
        for (name, seed) in [("a", 3), ("b", 4)] as [(String, UInt64)] {
            var generator = SeededGenerator(seed: seed, stream: 1)
            var csv = "time,key,size,category,user\n"
            for time in 0..<4_000 {
                let key = min(generator.below(300), generator.below(300))
                csv += "\(time),k\(key),\(key % 50 + 1),c\(key % 7),u\(generator.below(60))\n"
            }
            _ = try folder.file("\(name).csv", csv)
        }
        _ = try folder.file("suite.yml", text)
    }

    private func suite() throws -> Suite { try Suite(path: "\(folder.path)/suite.yml") }

    private func run(_ name: String, _ options: SuiteRun.Options = .init()) async throws -> SuiteRun.Outcome {
        let run = SuiteRun(try suite(), store: ResultStore(folder: "\(folder.path)/\(name)"), options: options)
        return try await run.run(run.schedule())
    }

    @Test("Cells with models of other users or traces have the results of their jobs, with the labels of the cell")
    func modelsOfCellsAreTrainedWithTheirLabels() async throws {
        let text = """
            schema: halcyon.suite/1
            traces: [a.csv, b.csv]
            experiments:
              - {name: one, traces: a, modes: per_user, policies: [lru, learned(hidden=4)], capacities: 200,
                 pretrain: [other-users, b], labels: [given, without, permuted uniform]}
            """
        // Users with as many requests as a model needs to learn from.
        for (name, seed) in [("a", 3), ("b", 4)] as [(String, UInt64)] {
            var generator = SeededGenerator(seed: seed, stream: 1)
            var csv = "time,key,size,category,user\n"
            for time in 0..<4_000 {
                let key = min(generator.below(300), generator.below(300))
                csv += "\(time),k\(key),\(key % 50 + 1),c\(key % 7),u\(time % 8)\n"
            }
            _ = try folder.file("\(name).csv", csv)
        }
        let path = try folder.file("models.yml", text)
        let store = ResultStore(folder: "\(folder.path)/models")
        let run = SuiteRun(try Suite(path: path), store: store)
        let outcome = try await run.run(run.schedule())
        #expect(outcome.ran == 1 + 2 * 3, "\(outcome.failures)")
        let (a, b) = (try Trace.load("\(folder.path)/a.csv"), try Trace.load("\(folder.path)/b.csv"))
        let rows = try store.rows()
        for row in rows where row.cell.identity.policy == "learned" {
            let labels = try LabelControl(parsing: row.cell.identity.labels)
            var job = ReplayJob(
                policy: try PolicyCatalogue.standard.policy("learned(hidden=4)"), capacity: .number(200), mode: .perUser
            )
            job.pretraining = try Pretraining(parsing: try #require(row["pretrain"]?.text))
            let input = ReplayInput(try labels.applied(to: a))
            let models = try DeviceModels(for: job, over: input, others: [labels.applied(to: b)])
            let result = try job.resolved(for: input).beginning(with: models).run(over: input).result
            #expect(result.hits == row.cell.counts.hits && result.pretrain == row["pretrain"]?.text)
        }
        #expect(Set(rows.map(\.cell.counts.hits)).count > 3)
        let table = try ResultTable(rows).text(sortedBy: "pretrain")
        #expect(table.contains("trained on") && table.contains("other-users"))
        let part = try ResultCondition.filter(rows, by: [ResultCondition(parsing: "pretrain=b")])
        #expect(part.count == 3)
    }

    private func files(_ name: String) throws -> [String: Data] {
        let store = ResultStore(folder: "\(folder.path)/\(name)")
        let pairs = try store.hashes().map { hash in
            (hash, try #require(try store.data(ofCell: hash)))
        }
        return Dictionary(pairs, uniquingKeysWith: { $1 })
    }

    @Test("A stored cell has the counts of the replay; its units and series add up to them")
    func storedCellHasTheCountsOfTheReplay() async throws {
        let outcome = try await run("results")
        #expect(outcome.failures == [])
        // Each trace: lru, two of s3-fifo, belady, 2 seeds of random, 4 labels × 2 seeds of learned, at 2 capacities; and per
        // user 2 policies × 2 kinds of prefetching.
        #expect(outcome.ran == 2 * ((4 + 2 + 8) * 2 + 4))
        let store = ResultStore(folder: "\(folder.path)/results")
        var options = TraceLoadOptions()
        options.limit = 3_000
        let trace = try Trace.load("\(folder.path)/a.csv", options)
        for cell in try store.cells() {
            #expect(cell.units.requests.reduce(0, +) == cell.counts.requests)
            #expect(cell.units.hits.reduce(0, +) == cell.counts.hits)
            #expect(cell.units.sizes?.reduce(0, +) == cell.counts.size)
            #expect(cell.units.hitSizes?.reduce(0, +) == cell.counts.hitSize)
            #expect(cell.series.hits.reduce(0, +) == cell.counts.hits)
            #expect(cell.units.kind == .users)
            let provenance = try #require(try store.provenance(cell.identity.hash))
            #expect(provenance.buildId == BuildInfo.current.identifier)
            guard cell.trace.name == "a", cell.identity.mode == .shared, cell.identity.labels == "given" else {
                continue
            }
            let job = ReplayJob(
                policy: try PolicyCatalogue.standard.policy(cell.label),
                capacity: try CapacityRequest(parsing: try #require(cell.identity.capacity)),
                options: ReplayOptions(warmup: 0.2, seed: cell.identity.seed ?? 1))
            let result = try job.run(over: ReplayInput(trace))
            #expect(cell.counts.hits == result.hits)
            #expect(cell.byteHitRatio == result.byteHitRatio)
            #expect(cell.capacity == result.capacity)
        }
    }

    @Test("A cell with a label control has the hits of the relabelled trace")
    func labelsOfACellAreThoseOfTheControl() async throws {
        _ = try await run("results")
        var options = TraceLoadOptions()
        options.limit = 3_000
        let trace = try Trace.load("\(folder.path)/a.csv", options)
        let controls: [(String, Trace)] = [
            ("without", trace.withOneCategory()),
            (
                "permuted uniform #1",
                LabelPermutation(objects: trace.objectCount, seed: 1, number: 1).applied(to: trace)
            ),
        ]
        for (labels, relabelled) in controls {
            let cells = try ResultStore(folder: "\(folder.path)/results").cells().filter {
                $0.identity.labels == labels && $0.trace.name == "a"
            }
            #expect(cells.count == 4)
            for cell in cells {
                let job = ReplayJob(
                    policy: try PolicyCatalogue.standard.policy("learned"),
                    capacity: try CapacityRequest(parsing: try #require(cell.identity.capacity)),
                    options: ReplayOptions(warmup: 0.2, seed: cell.identity.seed ?? 1))
                #expect(cell.counts.hits == (try job.run(over: ReplayInput(relabelled)).hits))
            }
        }
    }

    @Test("Stored cells are not run again, removed ones are")
    func onlyMissingCellsAreRunAgain() async throws {
        let whole = try await run("results")
        let before = try files("results")
        #expect(try await run("results").ran == 0)
        #expect(try await run("results").storedBefore == whole.ran)
        let gone = Array(before.keys.sorted().prefix(5))
        try ResultStore(folder: "\(folder.path)/results").pack(without: Set(gone))
        #expect(try await run("results").ran == gone.count)
        #expect(try files("results") == before)
    }

    @Test("The shards of a suite make the bytes of one run, with any number of threads", arguments: [2, 5])
    func shardsMakeTheBytesOfOneRun(count: Int) async throws {
        var options = SuiteRun.Options()
        options.workers = 1
        _ = try await run("whole", options)
        var parts: [String: Data] = [:]
        for number in (1...count).reversed() {
            options.workers = number
            options.shard = try Shard(parsing: "\(number)/\(count)")
            _ = try await run("part\(number)", options)
            parts.merge(try files("part\(number)")) { first, second in
                Issue.record("a cell is in two parts")
                return first
            }
        }
        #expect(try files("whole") == parts)
    }

    @Test(
        "Parts of the users add up to the bytes of the whole cells; server knowledge is refused",
        arguments: [2, 3])
    func partsOfTheUsersAddUpToTheWholeCells(count: Int) async throws {
        _ = try folder.file(
            "suite.yml",
            """
            schema: halcyon.suite/1
            traces: [a.csv, b.csv]
            experiments:
              - {name: x, modes: [shared, per_user], policies: [lru, learned], knowledge: [device, server], capacities: 500, warmup: 0.2}
            """)
        var names: [String] = []
        for number in 1...count {
            var options = SuiteRun.Options()
            options.users = try UserPart(parsing: "\(number)/\(count)")
            let outcome = try await run("users\(number)", options)
            #expect(outcome.ran == 4)
            #expect(outcome.failures.count == 2 && outcome.failures.allSatisfy { $0.sentence.contains("model") })
            names.append("users\(number)")
        }
        let into = ResultStore(folder: "\(folder.path)/merged")
        _ = try ResultMerge(into: into, from: names.map { ResultStore(folder: "\(folder.path)/\($0)") }).run()
        _ = try await run("whole")
        let whole = try files("whole")
        let merged = try files("merged")
        #expect(merged.count == 4)
        for (hash, bytes) in merged { #expect(whole[hash] == bytes) }
    }

    @Test("Only the named cells are run; an unknown cell or trace is refused")
    func onlyNamedCellsAreRun() async throws {
        let schedule = try SuiteRun(suite(), store: ResultStore(folder: "\(folder.path)/none")).schedule()
        var options = SuiteRun.Options()
        options.cells = Set(schedule.cells.filter { $0.trace == "b" }.prefix(3).map(\.hash))
        options.traces = ["b"]
        #expect(try await run("chosen", options).ran == 3)
        #expect(Set(try files("chosen").keys) == options.cells)
        options.cells = ["0"]
        #expect(
            throws: ReplayError.usage("\(folder.path)/suite.yml has no cell '0': --dry-run lists its cells.")
        ) { try SuiteRun(suite(), store: ResultStore(folder: "\(folder.path)/none"), options: options).schedule() }
        options.traces = ["c"]
        #expect(throws: ReplayError.usage("\(folder.path)/suite.yml has no trace 'c': it has a, b.")) {
            try SuiteRun(suite(), store: ResultStore(folder: "\(folder.path)/none"), options: options).schedule()
        }
    }

    @Test("A cell that cannot be run is listed, and the others are run")
    func failedCellIsListedAndOthersAreRun() async throws {
        _ = try folder.file("plain.csv", "time,key\n" + (0..<500).map { "\($0),k\($0 % 20)\n" }.joined())
        _ = try folder.file(
            "suite.yml",
            """
            schema: halcyon.suite/1
            traces: [plain.csv, missing.csv, a.csv]
            experiments:
              - {name: a, policies: [lru, belady], capacities: [5, 1MB]}
              - {name: b, policies: lru, capacities: 5, modes: per_user}
              - {name: c, policies: learned, capacities: 5, labels: without}
              - {name: d, policies: belady, capacities: 5, prefetch: popular}
            """)
        let outcome = try await run("results")
        #expect(
            outcome.failures.map { "\($0.trace)|\($0.cell ?? "")" } == [
                "plain|lru at 1MB, shared", "plain|belady at 1MB, shared", "plain|learned at 5, shared, labels without",
                "plain|belady at 5, shared", "plain|", "missing|", "a|belady at 5, shared",
            ])
        #expect(outcome.failures[4].sentence == "plain.csv has no users, which per-user caches need.")
        #expect(outcome.failures[5].sentence.contains("missing.csv"))
        #expect(outcome.ran == 2 + 6)
    }

    @Test("A cell that needs more than the memory limit is still run")
    func cellBeyondTheMemoryLimitIsRun() async throws {
        var options = SuiteRun.Options()
        options.memory = 1
        options.workers = 4
        _ = try await run("small", options)
        _ = try await run("large")
        #expect(try files("small") == files("large"))
    }

    @Test("Groups of users have sizes within the range of chance")
    func groupsOfUsersHaveSimilarSizes() {
        var counts = [Int](repeating: 0, count: UnitCounter.groups)
        for user in 0..<100_000 { counts[UnitCounter.group(ofUser: user)] += 1 }
        // A thousand users a group, with a standard deviation of 31.
        #expect(counts.allSatisfy { (850...1_150).contains($0) })
    }

    @Test("Cells of a warm-up trace and of each kind of warm-up have results and identities of their own")
    func cellsOfEachWarmUpHaveTheirOwnResults() async throws {
        let text = """
            schema: halcyon.suite/1
            traces:
              - {path: b.csv, name: plain}
              - {path: b.csv, name: warmed, warmup_trace: a.csv}
            experiments:
            """
        let warmups = ["0.25", "25%", "1000", "1k", "1000s"]
        let experiments = warmups.enumerated().map { number, warmup in
            "  - {name: e\(number), policies: [lru], capacities: [40], warmup: \(warmup)}"
        }
        _ = try folder.file("warm.yml", ([text] + experiments).joined(separator: "\n") + "\n")
        let store = ResultStore(folder: "\(folder.path)/warm")
        let run = SuiteRun(try Suite(path: "\(folder.path)/warm.yml"), store: store, options: .init())
        _ = try await run.run(run.schedule())
        let cells = try store.cells()
        // A share and its percentage, and a number and its thousands, are one cell each; times are one a second.
        #expect(cells.count == 6 && Set(cells.map(\.identity.warmup)) == ["0.25", "1000", "1000s"])
        #expect(Set(cells.map(\.identity.fingerprint)).count == 2)
        for cell in cells {
            let first = cell.trace.name == "warmed" ? 4_000 : 0
            #expect(cell.counts.warmupRequests == first + 1_000 && cell.counts.requests == 3_000)
        }
        let hits = Dictionary(grouping: cells, by: \.trace.name).mapValues { Set($0.map(\.counts.hits)) }
        #expect(hits["plain"]?.count == 1 && hits["warmed"]?.count == 1)
    }
}
