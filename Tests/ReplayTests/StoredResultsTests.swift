import Foundation
import HalcyonTestSupport
import HalcyonTrace
import Testing

/// `replay results`, `replay compare` and `replay merge` on the results of a suite.
@Suite("replay results, compare, merge", .timeLimit(.minutes(20)))
struct StoredResultsTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", SampleTrace(count: 3_000).csv)
        _ = try folder.file("suite.yml", Self.suite(capacities: "[5%, 20%]"))
    }

    private static func suite(capacities: String, policies: String = "[lru, fifo, random, s3-fifo]") -> String {
        """
        schema: halcyon.suite/1
        traces: [t.csv]
        experiments:
          - {name: shared, policies: \(policies), capacities: \(capacities), seeds: 2}
          - {name: users, modes: [per_user], policies: [lru], capacities: [2000]}
        """
    }

    /// Runs the suite, or a part of it, into a folder.
    private func sweep(_ results: String, _ arguments: String...) throws {
        let outcome = try Replay.run(["sweep", "suite.yml", "--results", results] + arguments, in: folder)
        #expect(outcome.code == 0, "\(outcome.errors)")
    }

    private func files(_ name: String) -> [String: Data] {
        let root = "\(folder.path)/\(name)"
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: root)) ?? []
        return Dictionary(
            uniqueKeysWithValues: paths.compactMap { path in
                FileManager.default.contents(atPath: "\(root)/\(path)").map { (path, $0) }
            })
    }

    private func cells(_ name: String) throws -> Set<[UInt8]> {
        try StoredCells.lines(in: "\(folder.path)/\(name)")
    }

    @Test("results lists, filters, sorts and exports the stored cells")
    func resultsListsFiltersSortsAndExports() throws {
        try sweep("out")
        let table = try Replay.run("results", "out", in: folder)
        #expect((table.code, table.errors) == (0, ""))
        #expect(table.lines.count == 11 && table.lines.last?.hasPrefix("11 cells in 9 rows") == true)
        let lru = SampleTrace.lruHits(
            SampleTrace(count: 3_000).requests, capacity: SampleTrace(count: 3_000).distinctBytes / 20)
        let rows = try Replay.run("results", "out", "--where", "policy=lru,capacity=5%", "--format", "json", in: folder)
            .json()
        let row = try #require((rows["rows"] as? [[String: Any]])?.first)
        #expect(row["hits"] as? Int == lru && row["trace"] as? String == "t")
        let csv = try Replay.run("results", "out", "--format", "csv", "--output", "out.csv", in: folder)
        #expect((csv.code, csv.text) == (0, ""))
        #expect(try folder.text("out.csv").split(separator: "\n").count == 12)
        let random = try Replay.run("results", "out", "--where", "policy=random", "--format", "jsonl", in: folder)
        #expect(random.lines.count == 4)
        let sorted = try Replay.run("results", "out", "--sort-by", "hit_ratio", in: folder)
        #expect(sorted.lines.count == 11 && sorted.lines[1].contains("20%"))
    }

    @Test(
        "results refuses invalid options in one sentence",
        arguments: [
            (
                ["none"], 65,
                "none: is no folder of results; 'replay sweep' makes one, with a file 'cells.jsonl.zst' or a folder 'cells' "
                    + "in it."
            ),
            (
                ["out", "--format", "parquet"], 64,
                "Parquet is written by the Python package: python -m lab export out out.parquet."
            ),
            (["out", "--where", "trace=x"], 65, "No cell has trace=x: trace is t."),
            (["out", "--where", "lru"], 64, "'lru' is not a condition: write field=value, such as trace=shop."),
            (
                ["out", "--sort-by", "speed"], 64,
                "--sort-by has no column 'speed': write one of trace, mode, policy, capacity, prefetch, knowledge, pretrain, labels, "
                    + "seeds, hit_ratio, byte_hit_ratio, requests_per_second."
            ),
            (["out", "--sort-by", "trace", "--format", "csv"], 64, "--sort-by needs --format table."),
            (
                ["out", "--pack", "--format", "csv"], 64,
                "--pack packs all cells and lists none: leave the other options out."
            ),
        ] as [([String], Int32, String)])
    func resultsRefusesInvalidOptions(arguments: [String], code: Int32, sentence: String) throws {
        try sweep("out", "--trace", "t")
        let outcome = try Replay.run(["results"] + arguments, in: folder)
        #expect((outcome.code, outcome.text, outcome.errors) == (code, "", "replay: \(sentence)\n"))
    }

    @Test("compare pairs two policies, fails if one is worse, and finds a single results folder")
    func comparePairsPoliciesAndFailsIfWorse() throws {
        try sweep("results/only")
        let found = try Replay.run("compare", "fifo", "lru", "--format", "json", in: folder).json()
        #expect(found["schema"] as? String == "halcyon.comparison/1" && (found["cells"] as? [Any])?.count == 2)
        for measure in ["object", "byte"] {
            let arguments = ["compare", "lru", "fifo", "--measure", measure, "--results", "results/only"]
            let text = try Replay.run(arguments, in: folder)
            #expect(text.code == 0 && text.text.contains("A won"))
            #expect(try Replay.run(arguments + ["--fail-if-worse"], in: folder).code == 0)
        }
        let random = try Replay.run("compare", "random", "lru", in: folder)
        #expect(random.code == 0 && random.text.contains("2 / -"))
        // The capacity 5 % is significantly worse than 20 %.
        let worse = try Replay.run("compare", "capacity=5%", "capacity=20%", "--fail-if-worse", in: folder)
        #expect(worse.code == 1 && worse.text.contains("lost significantly"))
        #expect(worse.errors.hasPrefix("replay: A is worse over all traces: -"))
        #expect(worse.errors.contains("replay: A is significantly worse in t, shared, lru, 5% / 20%: -"))
    }

    @Test("compare --pairs compares the cells that a file names, as two policies would select them")
    func comparePairsComparesNamedCells() throws {
        try sweep("out")
        let selected = try Replay.run("compare", "random", "lru", "--results", "out", "--format", "json", in: folder)
        let cells = try #require(try selected.json()["cells"] as? [[String: Any]])
        func names(_ cell: [String: Any], _ side: String) throws -> [String] {
            try #require((cell[side] as? [String: Any])?["cells"] as? [String])
        }
        // The last pair first, to see that the order is kept.
        let pairs = try cells.reversed().map { ["a": try names($0, "a"), "b": try names($0, "b")] }
        let request: [String: Any] = [
            "schema": "halcyon.comparison-request/1", "folders": ["out"],
            "comparisons": [["pairs": pairs], ["pairs": [pairs[0]], "measure": "byte", "confidence": 0.9]],
        ]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: request), as: UTF8.self)
        _ = try folder.file("pairs.json", text)
        let report = try Replay.run("compare", "--pairs", "pairs.json", "--format", "json", in: folder).json()
        let found = try #require(report["comparisons"] as? [[String: Any]])
        #expect(report["schema"] as? String == "halcyon.comparisons/1" && found.count == 2)
        let named = try #require(found[0]["cells"] as? [[String: Any]])
        #expect(NSArray(array: named.reversed()) == NSArray(array: cells))
        #expect(found[1]["measure"] as? String == "byte" && found[1]["confidence"] as? Double == 0.9)
        let input = try Replay.shell("replay compare --pairs - --format json < pairs.json", in: folder)
        #expect(input.code == 0)
    }

    @Test(
        "compare --pairs refuses what it cannot read with one sentence",
        arguments: [
            (["--pairs", "none.json", "--format", "json"], 65, "none.json: cannot be read."),
            (["--pairs", "t.csv"], 64, "--pairs needs --format json."),
            (
                ["--pairs", "t.csv", "--format", "json"], 65,
                "t.csv: does not have the fields of halcyon.comparison-request/1, which --pairs reads."
            ),
            (
                ["lru", "fifo", "--pairs", "t.csv", "--format", "json"], 64,
                "--pairs names the folders, the cells and the measure: leave out A, B, --results, --where and --measure."
            ),
            (["lru"], 64, "Give the two sides A and B, as in 'replay compare learned lru'."),
        ] as [([String], Int32, String)])
    func comparePairsRefusesUnreadableRequests(arguments: [String], code: Int32, sentence: String) throws {
        let outcome = try Replay.run(["compare"] + arguments, in: folder)
        #expect((outcome.code, outcome.text, outcome.errors) == (code, "", "replay: \(sentence)\n"))
    }

    @Test("compare takes two folders of results of the same cells")
    func compareTakesTwoFoldersOfTheSameCells() throws {
        try sweep("before")
        try sweep("after", "--threads", "1")
        #expect(try cells("before") == cells("after"))
        let outcome = try Replay.run("compare", "before", "after", "--fail-if-worse", in: folder)
        #expect(outcome.code == 0 && outcome.text.contains("9 equal"))
        #expect(try Replay.run("compare", "before", "./before", in: folder).code == 64)
        #expect(try Replay.run("compare", "before", "lru", in: folder).code == 64)
        #expect(try Replay.run("compare", "before", "after", "--results", "before", in: folder).code == 64)
        // Two folders of results and none named.
        _ = try Replay.shell("mkdir results && cp -r before results/a && cp -r after results/b", in: folder)
        let unnamed = try Replay.run("compare", "lru", "fifo", in: folder)
        #expect(
            (unnamed.code, unnamed.errors) == (
                64, "replay: --results is needed to name the folder of the results: in 'results' there are a, b.\n"
            ))
    }

    @Test("compare without a pair names the cells of each side, and refuses equal sides")
    func compareWithoutAPairNamesTheCells() throws {
        try sweep("out")
        let none = try Replay.run("compare", "lru", "clock", "--results", "out", in: folder)
        #expect((none.code, none.text) == (65, ""))
        #expect(
            none.errors
                == "replay: No cell of A has a partner in B that agrees in everything else: A (lru) has 3 cells (trace t; modes "
                + "per user, shared; policy lru; capacities 20%, 2000, 5%; labels given; prefetching none; result version 11), "
                + "and B (clock) has no cells.\n")
        for (a, b) in [("lru", "lru"), ("s3-fifo", "s3-fifo(small=0.1)"), ("lru", "trace=t"), ("lru", "lfruda")] {
            let outcome = try Replay.run("compare", a, b, "--results", "out", in: folder)
            #expect((outcome.code, outcome.text) == (64, ""), "\(a), \(b)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
    }

    @Test("merge combines the shards of a suite in any order, and names missing cells")
    func mergeCombinesShardsInAnyOrder() throws {
        try sweep("whole")
        for part in 1...3 { try sweep("part-\(part)", "--shard", "\(part)/3") }
        let first = try Replay.run("merge", "all", "part-2", "part-1", "--suite", "suite.yml", in: folder)
        let missing = try cells("part-3").count
        #expect(missing > 0 && first.code == 1)
        #expect(first.lines.filter { $0.hasPrefix("missing: ") }.count == missing)
        #expect(first.lines.last == "Suite suite: \(11 - missing) of 11 cells stored, \(missing) missing.")
        let second = try Replay.run("merge", "all", "part-3", "--suite", "suite.yml", in: folder)
        #expect((second.code, second.errors) == (0, ""))
        #expect(second.lines.last == "Suite suite: 11 of 11 cells stored, 0 missing.")
        #expect(try cells("all") == cells("whole"))
        #expect(try Replay.run("merge", "other", "part-3", "part-2", "part-1", in: folder).code == 0)
        #expect(files("other") == files("all"))
    }

    @Test("merge writes nothing if a cell differs, and names both files")
    func mergeOfDifferentCellsWritesNothing() throws {
        try sweep("a")
        try sweep("b")
        let path = "\(folder.path)/b/cells.jsonl.zst"
        let text = String(decoding: try ZstdFile.read(path), as: UTF8.self)
        let edited = text.replacingOccurrences(of: "\"refused_too_large\":", with: "\"refused_too_large\":1")
        try ZstdFile.write(Array(edited.utf8), to: path, level: 3)
        let outcome = try Replay.run("merge", "into", "a", "b", in: folder)
        #expect((outcome.code, outcome.text) == (65, ""))
        #expect(outcome.errors.hasPrefix("replay: a/cells.jsonl.zst, cell "))
        #expect(outcome.errors.contains(" and b/cells.jsonl.zst, cell "))
        #expect(outcome.errors.contains(": are different results of one cell: "))
        #expect(!folder.contents.contains("into"))
        #expect(try Replay.run("merge", "a", "a", in: folder).code == 64)
        #expect(try Replay.run("merge", "into", "a", "--suite", "none.yml", in: folder).code == 65)
        #expect(!folder.contents.contains("into"))
    }

    /// The files of a folder of results that a killed process may not leave incomplete.
    private func results(_ name: String) -> [String: Data] {
        files(name).filter { $0.key.hasSuffix(".json") || $0.key.hasSuffix(".zst") }
    }

    /// Stores 1,201 cells in the folder `from`.
    private func sweepMany() throws {
        let capacities = "[" + (1...600).map { "\($0 * 10)" }.joined(separator: ", ") + "]"
        _ = try folder.file("suite.yml", Self.suite(capacities: capacities, policies: "[lru, fifo]"))
        _ = try folder.file("t.csv", SampleTrace(count: 40).csv)
        try sweep("from")
        #expect(try cells("from").count == 1_201)
    }

    @Test("A killed merge leaves whole files only, and can be continued")
    func killedMergeLeavesWholeFilesAndContinues() throws {
        try sweepMany()
        let whole = try cells("from")
        var wasKilledWithin = false
        for attempt in 0..<10 where !wasKilledWithin {
            let into = "into-\(attempt)"
            let path = "\(folder.path)/\(into)"
            let process = try Replay.start(["merge", into, "from"], in: folder)
            while process.isRunning, StoredCells.files(in: path).count < 20 * (attempt + 1) { usleep(200) }
            process.signal(SIGKILL)
            _ = process.wait()
            let left = try cells(into)
            #expect(left.isSubset(of: whole))
            wasKilledWithin = !left.isEmpty && left.count < whole.count
            #expect(try Replay.run("merge", into, "from", in: folder).code == 0)
            #expect(results(into) == results("from"))
        }
        #expect(wasKilledWithin, "every merge ended before it was killed")
    }

    @Test(
        "A merge killed while it packs keeps every cell, and the next packing ends with the same bytes",
        arguments: ["locked", "packed", "removing"])
    func mergeKilledWhilePackingKeepsEveryCell(moment: String) throws {
        try sweepMany()
        let path = "\(folder.path)/into"
        func hasCome() -> Bool {
            let isPacked = FileManager.default.fileExists(atPath: "\(path)/cells.jsonl.zst")
            return switch moment {
            case "locked": FileManager.default.fileExists(atPath: "\(path)/cells.lock")
            case "packed": isPacked
            default: isPacked && StoredCells.files(in: path).count < 1_201
            }
        }
        let process = try Replay.start(["merge", "into", "from"], in: folder)
        while process.isRunning, !hasCome() { usleep(50) }
        process.signal(SIGKILL)
        _ = process.wait()
        #expect(try cells("into") == cells("from"))
        let packed = try Replay.run("results", "into", "--pack", in: folder)
        #expect((packed.code, packed.text) == (0, "1,201 cells in into/cells.jsonl.zst\n"))
        #expect(results("into") == results("from"))
        #expect(StoredCells.files(in: path).isEmpty)
    }

    @Test("Every command that reads a damaged pack refuses it in one sentence, and none replaces it")
    func damagedPackIsRefusedByEveryCommand() throws {
        try sweep("out")
        try sweep("other", "--trace", "t")
        let path = "\(folder.path)/out/cells.jsonl.zst"
        let pack = try Data(contentsOf: URL(fileURLWithPath: path))
        try pack.dropLast(9).write(to: URL(fileURLWithPath: path))
        let commands = [
            ["results", "out"], ["compare", "lru", "fifo", "--results", "out"], ["compare", "out", "other"],
            ["merge", "into", "out"], ["merge", "out", "other"],
            ["sweep", "suite.yml", "--results", "out", "--dry-run"], ["sweep", "suite.yml", "--results", "out"],
        ]
        for command in commands {
            let outcome = try Replay.run(command, in: folder)
            #expect((outcome.code, outcome.text) == (65, ""), "\(command)")
            #expect(
                outcome.errors
                    == "replay: out/cells.jsonl.zst: the zstd data ends early: the file is truncated; a pack of cells as "
                    + "'replay sweep' writes it is needed: restore the file, or delete it and run the sweep again.\n")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == pack.dropLast(9))
        #expect(!folder.contents.contains("into"))
    }
}
