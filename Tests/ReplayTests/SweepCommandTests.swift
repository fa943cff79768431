import Foundation
import HalcyonTestSupport
import Testing

@Suite("replay sweep", .timeLimit(.minutes(20)))
struct SweepCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", SampleTrace(count: 1_500).csv)
        _ = try folder.file(
            "small.yml",
            """
            schema: halcyon.suite/1
            traces: [t.csv]
            experiments:
              - {name: a, policies: [lru, learned], capacities: [5%, 20%], seeds: 2}
            """)
    }

    private func cells(_ results: String) throws -> Set<[UInt8]> {
        try StoredCells.lines(in: "\(folder.path)/\(results)")
    }

    @Test("A suite is run once and then read from the stored cells")
    func suiteIsRunOnceAndThenReadFromTheStore() throws {
        let first = try Replay.run("sweep", "small.yml", in: folder)
        #expect(first.code == 0)
        #expect(first.lines == ["6 cells run, 0 stored before, 0 failed. Results: results/small"])
        let before = try cells("results/small")
        #expect(before.count == 6)
        #expect(StoredCells.files(in: "\(folder.path)/results/small").isEmpty)
        let second = try Replay.run("sweep", "small.yml", in: folder)
        #expect(second.lines == ["0 cells run, 6 stored before, 0 failed. Results: results/small"])
        #expect(try cells("results/small") == before)
        // An independent count of LRU at 20 % of the distinct bytes.
        let sample = SampleTrace(count: 1_500)
        let hits = SampleTrace.lruHits(sample.requests, capacity: sample.distinctBytes / 5)
        let counts = try before.compactMap { line -> Int? in
            let cell = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
            let identity = try #require(cell["identity"] as? [String: Any])
            guard identity["policy"] as? String == "lru", identity["capacity"] as? String == "20%" else { return nil }
            return (cell["counts"] as? [String: Any])?["hits"] as? Int
        }
        #expect(counts == [hits])
    }

    @Test("--dry-run lists the cells and runs none")
    func dryRunListsCellsAndRunsNone() throws {
        let text = try Replay.run("sweep", "small.yml", "--dry-run", in: folder)
        #expect(text.lines.count == 7)
        #expect(text.lines[6].hasPrefix("6 cells: 0 stored in results/small, 6 missing, about 1 s and up to "))
        let json = try Replay.run("sweep", "small.yml", "--dry-run", "--format", "json", in: folder).json()
        #expect(json["schema"] as? String == "halcyon.plan/1")
        let cells = try #require(json["cells"] as? [[String: Any]])
        #expect(cells.count == 6)
        #expect(cells.allSatisfy { $0["stored"] as? Bool == false && $0["requests"] as? Int == 1_500 })
        #expect(!folder.contents.contains("results"))
    }

    @Test("A killed sweep continues, and ends with the bytes of an undisturbed one", arguments: [SIGKILL, SIGINT])
    func killedSweepContinuesToTheSameBytes(signal: Int32) throws {
        _ = try folder.file("long.csv", SampleTrace(count: 15_000).csv)
        _ = try folder.file(
            "long.yml",
            """
            schema: halcyon.suite/1
            traces: [long.csv]
            experiments:
              - {name: a, policies: [lru, learned], capacities: [2%, 10%], seeds: 3}
            """)
        let errors = try folder.file("errors", "")
        let process = try Replay.start(
            ["sweep", "long.yml", "--results", "cut"], in: folder, errors: .file(errors))
        // Wait for a stored cell: the cells before the signal are kept on a machine of any speed.
        while process.isRunning, (try? cells("cut").isEmpty) != false { Thread.sleep(forTimeInterval: 0.01) }
        process.signal(signal)
        _ = process.wait()
        let kept = try cells("cut")
        #expect(!kept.isEmpty)
        if signal == SIGINT, try !folder.text("errors").isEmpty {
            #expect(
                try folder.text("errors")
                    == "replay: interrupted: stored cells are kept; repeat the command to continue.\n")
        }
        #expect(try Replay.run("sweep", "long.yml", "--results", "cut", in: folder).code == 0)
        #expect(try Replay.run("sweep", "long.yml", "--results", "whole", "--threads", "1", in: folder).code == 0)
        #expect(try cells("cut") == cells("whole"))
        #expect(try kept.isSubset(of: cells("whole")))
    }

    @Test("Two concurrent sweeps of one suite into one folder make one result")
    func concurrentSweepsMakeOneResult() throws {
        let processes = try (0..<2).map { _ in try Replay.start(["sweep", "small.yml"], in: folder) }
        for process in processes { #expect(process.wait() == .exited(0)) }
        #expect(try Replay.run("sweep", "small.yml", "--results", "alone", in: folder).code == 0)
        #expect(try cells("results/small") == cells("alone"))
    }

    @Test("A full disk ends the sweep with one sentence and leaves whole files only")
    func fullDiskEndsTheSweepWithWholeFiles() throws {
        guard let disk = try SmallDisk(kilobytes: 200) else { return }
        try #require(disk.fill())
        let outcome = try Replay.run("sweep", "small.yml", "--results", "\(disk.path)/r", in: folder)
        #expect([64, 74].contains(outcome.code))
        #expect(outcome.errors.hasPrefix("replay: \(disk.path)/r"))
        try disk.empty()
        #expect(try Replay.run("sweep", "small.yml", "--results", "\(disk.path)/r", in: folder).code == 0)
    }

    @Test(
        "A suite that is empty, missing, a folder, or has an unknown name is one sentence, and nothing is run",
        arguments: ["sweep", "check"])
    func unreadableSuite(command: String) throws {
        _ = try folder.file("empty.yml", "")
        _ = try folder.file("comment.yml", "# nothing\n\n")
        _ = try folder.file("typo.yml", "schema: halcyon.suite/1\ntraces: [t.csv]\nexperimnts: []\n")
        _ = try folder.file(
            "trace.yml",
            "schema: halcyon.suite/1\ntraces: [{path: t.csv, colums: key=k}]\nexperiments: [{name: a, policies: lru, capacities: 1}]\n"
        )
        let before = folder.contents
        let accepted = "accepted are schema, description, results, traces, experiments."
        for (file, sentence) in [
            ("empty.yml", "empty.yml: is empty; a YAML file of a suite is needed."),
            ("comment.yml", "comment.yml: is empty; a YAML file of a suite is needed."),
            ("none.yml", "none.yml: does not exist; a YAML file of a suite is needed."),
            (".", ".: is a folder; a YAML file of a suite is needed."),
            ("typo.yml", "typo.yml:3:1: A suite has no 'experimnts': \(accepted)"),
            ("trace.yml", "trace.yml:2:24: A trace has no 'colums': accepted are path, name, "),
        ] {
            let outcome = try Replay.run(command, file, in: folder)
            #expect((outcome.code, outcome.text) == (65, ""), "\(file)")
            #expect(outcome.errors.hasPrefix("replay: \(sentence)"), "\(outcome.errors)")
            #expect(outcome.errors.filter { $0 == "\n" }.count == 1)
        }
        #expect(folder.contents == before)
    }

    @Test("Failed cells are named, the others are run, and the exit code is 1")
    func failedCellsAreNamedAndOthersRun() throws {
        _ = try folder.file(
            "some.yml",
            """
            schema: halcyon.suite/1
            traces: [t.csv, "${HALCYON_NOT_SET}/x.csv"]
            experiments:
              - {name: a, policies: [lru, belady], capacities: 5%, prefetch: popular}
            """)
        let outcome = try Replay.run("sweep", "some.yml", in: folder)
        #expect(outcome.code == 1)
        #expect(
            outcome.lines == [
                "failed: t, belady at 5%, shared: belady knows the requests in advance, but not the prefetches: leave it out.",
                "failed: x: ${HALCYON_NOT_SET}/x.csv: the environment variable HALCYON_NOT_SET is not set.",
                "1 cell run, 0 stored before, 2 failed. Results: results/some",
            ])
    }

    @Test(
        "A wrong option of sweep gives one sentence",
        arguments: [
            (["small.yml", "--shard", "3/2"], 64, "'3/2' is not a part: write i/n with i from 1 to n, such as 2/4."),
            (["small.yml", "--cell", "x"], 64, "small.yml has no cell 'x': --dry-run lists its cells."),
            (["small.yml", "--trace", "x"], 64, "small.yml has no trace 'x': it has t."),
            (["small.yml", "--threads", "0"], 64, "--threads 0 is too small: give at least 1."),
            (["small.yml", "--memory", "x"], 64, "--memory x cannot be read: give a size with a unit, such as 8GB."),
            (["small.yml", "--format", "json"], 64, "--format needs --dry-run: results are stored as JSON anyway."),
            (["none.yml"], 65, "none.yml: does not exist; a YAML file of a suite is needed."),
            (
                ["t.csv"], 65,
                "t.csv:1:1: A suite is a mapping of names to values, and this is 'time,key,size,category,user"
            ),
            (["small.yml", "--results", "t.csv"], 64, "t.csv: cannot be a folder of results"),
        ] as [([String], Int32, String)])
    func wrongSweepOptionIsOneSentence(arguments: [String], code: Int32, sentence: String) throws {
        let outcome = try Replay.run(["sweep"] + arguments, in: folder)
        #expect(outcome.code == code)
        #expect(outcome.errors.hasPrefix("replay: \(sentence)"), "\(outcome.errors)")
    }
}
