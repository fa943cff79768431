import Foundation
import HalcyonTestSupport
import Testing

@Suite("replay tune", .timeLimit(.minutes(20)))
struct TuneCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        // Loops with a few popular objects, over more objects than fit.
        for (number, name) in ["one", "two", "three"].enumerated() {
            let keys = (0..<3_000).map { $0 % 3 == 0 ? $0 % 7 : 100 + $0 * 5 % (211 + 12 * number) }
            _ = try folder.file("\(name).csv", "key\n" + keys.map { "o\($0)\n" }.joined())
        }
        _ = try folder.file(
            "suite.yml",
            """
            schema: halcyon.suite/1
            traces:
              - {path: one.csv, split: training}
              - {path: two.csv, split: validation}
              - {path: three.csv, split: test}
            experiments:
              - {name: all, policies: [lru], capacities: [10, 40], warmup: 0.1}
            """)
    }

    private var tuningFile: String {
        get throws {
            let files = try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/results/tuning")
            return "results/tuning/\(try #require(files.first))"
        }
    }

    private var cells: Int {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/results/suite/cells")) ?? [])
            .count { $0.hasSuffix(".json") }
    }

    @Test("a table and JSON, from the file the second time; 64 and 65 for what is wrong")
    func report() throws {
        let arguments = ["tune", "s3-fifo", "--suite", "suite.yml", "--results", "results", "--budget", "4"]
        let first = try Replay.run(arguments, in: folder)
        #expect(first.code == 0 && first.errors.isEmpty, "\(first.errors)")
        #expect(
            first.text.hasPrefix(
                "s3-fifo on the suite 'suite': random search, seed 1, 4 candidates in 4.00 of 4 passes"))
        #expect(first.text.contains("\nSearched: ghost=0.225..3.6; small=0.025..0.4; threshold=1..3.\n"))
        #expect(first.text.contains("\nFirst look at these test traces for s3-fifo"))
        #expect(first.text.hasSuffix("Tuning: \(try tuningFile)\n"))
        let again = try Replay.run(arguments + ["--format", "json"], in: folder)
        #expect(again.text == (try folder.text(tuningFile)))
        #expect(try again.json()["schema"] as? String == "halcyon.tuning/1")
        let grid = ["tune", "s3-fifo", "--suite", "suite.yml", "--results", "results"]
        let second = try Replay.run(grid + ["--grid", "small=0.05,0.2;ghost=0.5", "--choose", "1"], in: folder)
        #expect(second.code == 0 && second.text.contains("\nSecond look at these test traces for s3-fifo"))
        #expect(second.text.contains("s3-fifo on the suite 'suite': grid search, 2 candidates in 2.00 of 36 passes"))

        for (arguments, code, sentence) in [
            (["lru", "--suite", "suite.yml"], 64, "lru has no parameter to tune."),
            (["s3-fifo", "--suite", "none.yml"], 65, "none.yml: does not exist; a YAML file of a suite is needed."),
            (["s3-fifo", "--suite", "suite.yml", "--budget", "0"], 64, "--budget 0: give at least 1."),
            (["s3-fifo", "--suite", "suite.yml", "--threads", "0"], 64, "--threads 0 is too small: give at least 1."),
            (
                ["s3-fifo", "--suite", "suite.yml", "--grid", "small=2"], 64,
                "s3-fifo cannot take small=2: small is a number from 0.0 to 1.0."
            ),
        ] as [([String], Int32, String)] {
            let outcome = try Replay.run(["tune"] + arguments, in: folder)
            #expect((outcome.code, outcome.text, outcome.errors) == (code, "", "replay: \(sentence)\n"))
        }
        let shared = try folder.text("suite.yml").replacing("{path: two.csv", with: "{path: one.csv, name: two")
        _ = try folder.file("shared.yml", shared)
        let refused = try Replay.run("tune", "s3-fifo", "--suite", "shared.yml", in: folder)
        #expect(refused.code == 65)
        #expect(
            refused.errors
                == "replay: shared.yml: the traces 'one' (training) and 'two' (validation) hold the same requests: a request "
                + "belongs to one split only.\n")
    }

    @Test("a killed tuning goes on where it was and writes the same bytes")
    func killed() throws {
        let arguments = ["tune", "learned", "--suite", "suite.yml", "--budget", "12", "--threads", "1"]
        let process = try Replay.start(arguments, in: folder)
        while process.isRunning, cells < 4 { usleep(2_000) }
        process.signal(SIGKILL)
        #expect(process.wait() != .exited(0), "it was over before it was killed")
        let stored = cells
        #expect(stored >= 4)
        let resumed = try Replay.run(arguments + ["--format", "json"], in: folder)
        #expect(resumed.code == 0 && cells > stored)
        let whole = try Replay.run(
            ["tune", "learned", "--suite", "suite.yml", "--budget", "12", "--results", "other", "--format", "json"],
            in: folder)
        #expect(whole.code == 0 && whole.text == resumed.text && !whole.text.isEmpty)
        let again = try Replay.run(arguments, in: folder)
        #expect(again.text.contains("\n0 cells run now; the others were stored. "))
    }
}
