import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonTestSupport
import Testing

@testable import HalcyonCommand

@Suite("replay check", .timeLimit(.minutes(20)))
struct CheckCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        // LRU of 2 hits at the second and the fourth request, of six.
        _ = try folder.file("tiny.csv", "key\na\na\nb\na\nc\nb\n")
    }

    /// A suite with one run, LRU of 2 objects, and its limits.
    func suite(_ limits: String = "", name: String = "s.yml") throws -> String {
        try folder.file(
            name,
            "schema: halcyon.suite/1\nresults: results\ntraces: [tiny.csv]\nexperiments:\n"
                + "  - {name: all, policies: lru, capacities: 2\(limits.isEmpty ? "" : ", limits: [{policy: lru, \(limits)}]")}\n"
        )
    }

    /// The exit code of the command.
    func code(_ arguments: String...) async throws -> Int32 {
        do {
            let command = try ReplayCommand.parseAsRoot(["check"] + arguments)
            let check = try #require(command as? CheckCommand)
            try await check.run()
            return 0
        } catch let code as ExitCode {
            return code.rawValue
        }
    }

    @Test("0 if no run is missed, 1 if one is, 65 for a bad file, 64 for options that do not go together")
    func exitCodes() async throws {
        #expect(try await code(suite()) == 1, "nothing is stored")
        #expect(try await code(suite(), "--accept", "--reason", "first") == 0)
        #expect(try await code(suite()) == 0)
        #expect(try await code(suite("floor: 0.333333")) == 0)
        #expect(try await code(suite("floor: 0.34")) == 1)
        #expect(try await code(suite("floor: 0.34"), "--limits-only") == 1)
        #expect(try await code(suite("floor: 0.333333"), "--limits-only", "--results", "nowhere") == 0)
        #expect(try await code(suite(), "--results", "\(folder.path)/nowhere") == 1)
        #expect(try await code(suite("floor: much")) == 65)
        #expect(try await code("\(folder.path)/missing.yml") == 65)
        _ = try folder.file("noise.yml", [0xff, 0xfe])
        #expect(try await code("\(folder.path)/noise.yml") == 65)
        #expect(try await code(suite(), "--limits-only") == 64)
        #expect(try await code(suite(), "--accept") == 64)
        #expect(try await code(suite(), "--accept", "--reason", " ") == 64)
        #expect(try await code(suite(), "--reason", "why") == 64)
        #expect(try await code(suite("floor: 0"), "--accept", "--reason", "why", "--limits-only") == 64)
    }

    @Test("Reports are written also if a run is missed")
    func reports() async throws {
        let (junit, markdown) = ("\(folder.path)/out.xml", "\(folder.path)/out.md")
        #expect(try await code(suite("floor: 0.5"), "--limits-only", "--junit", junit, "--markdown", markdown) == 1)
        #expect(try folder.text("out.xml").contains("failures=\"1\""))
        #expect(try folder.text("out.md").contains("1 missed"))
    }

    @Test("A report that cannot be written is found before the first run, and none replaces the suite")
    func outputs() async throws {
        let path = try suite()
        let before = try folder.text("s.yml")
        for option in ["--junit", "--markdown"] {
            let folded = "\(folder.path)/../\((folder.path as NSString).lastPathComponent)/s.yml"
            for name in [path, folded] { #expect(try await code(path, option, name) == 64) }
            // The trace is missing, which only a run finds.
            let late = try folder.file(
                "late.yml",
                "schema: halcyon.suite/1\ntraces: [none.csv]\nexperiments: [{name: a, policies: lru, capacities: 2}]\n")
            #expect(try await code(late, option, "/nowhere/report") == 74)
        }
        #expect(try folder.text("s.yml") == before)
    }

    @Test("A missing trace and an unknown policy are errors in each report, the others run, and the exit code is 1")
    func errors() throws {
        _ = try folder.file(
            "s.yml",
            "schema: halcyon.suite/1\nresults: results\ntraces: [none.csv, tiny.csv]\nexperiments:\n"
                + "  - {name: all, policies: [lru, lruu], capacities: 2, limits: [{policy: lru, floor: 0.333333}]}\n")
        let outcome = try Replay.run(
            "check", "s.yml", "--limits-only", "--junit", "out.xml", "--markdown", "out.md", in: folder)
        #expect((outcome.code, outcome.errors) == (1, ""))
        let none = "none: Not run: \(folder.path)/none.csv: there is no such file"
        #expect(
            outcome.lines.prefix(3) == [
                "all, lruu: Not run: s.yml:5:33: There is no policy 'lruu'; the nearest are lru, lru-k, slru.", none,
                "1 run on 1 trace: none missed, counts not compared; 2 errors.",
            ])
        let junit = try folder.text("out.xml")
        #expect(junit.contains("<testsuites name=\"s.yml\" tests=\"3\" failures=\"0\" errors=\"2\""))
        #expect(junit.contains("<testcase classname=\"all: tiny, shared\" name=\"lru at 2\""))
        #expect(try folder.text("out.md").contains("❌ 1 run on 1 trace: none missed, counts not compared; 2 errors."))
    }

    @Test("Two processes that accept into one folder leave the results and the reasons of both")
    func concurrentAccepts() throws {
        _ = try suite()
        let processes = try ["one", "two"].map {
            try Replay.start(["check", "s.yml", "--accept", "--reason", $0], in: folder)
        }
        for process in processes { #expect(process.wait() == .exited(0)) }
        #expect(try Replay.run("check", "s.yml", in: folder).code == 0)
        let reasons = try folder.text("results/accepted.txt")
        #expect(["one", "two"].contains { reasons.contains(": \($0)\n") })
        #expect(!folder.contents.contains { $0.hasSuffix(".lock") })
    }

    @Test("--accept stores the results with the reason, after which the check is passed")
    func accept() throws {
        _ = try suite("floor: 0.3")
        func check(_ arguments: String...) throws -> Outcome {
            try Replay.run(["check", "s.yml"] + arguments, in: folder)
        }
        let first = try check("--accept", "--reason", "a smaller trace")
        #expect(first.code == 0 && first.text.hasPrefix("1 run on 1 trace: none missed, none moved.\n"))
        #expect(first.text.hasSuffix("\n1 cell stored in results, 0 removed.\n"))
        #expect(try folder.text("results/accepted.txt").hasSuffix(", 1 of 1 cell: a smaller trace\n"))
        let second = try check()
        #expect(second.code == 0 && second.text.hasPrefix("1 run on 1 trace: none missed, none moved.\n"))
        let names = folder.contents
        let third = try check("--accept", "--reason", "nothing moved")
        #expect(third.code == 0 && third.text.hasSuffix("\nNothing to accept: results is unchanged.\n"))
        #expect(folder.contents == names)
    }

    @Test("A refused --accept is one sentence and changes no file")
    func refusedAccept() throws {
        _ = try suite("floor: 0.5")
        let before = folder.contents
        let outcome = try Replay.run(
            "check", "s.yml", "--accept", "--reason", "why", "--junit", "out.xml", "--markdown", "out.md", in: folder)
        #expect((outcome.code, outcome.text) == (64, ""))
        #expect(
            outcome.errors
                == "replay: --accept changes no limit. tiny, shared: lru at 2: The hit ratio is 33.33 %, and the floor is "
                + "50.00 %. Change the limit by hand in s.yml if that is meant.\n")
        #expect(folder.contents == before)
    }

    @Test("A sweep stores its cells where the suite says, and the check compares with them")
    func sweep() throws {
        _ = try suite()
        let swept = try Replay.run("sweep", "s.yml", in: folder)
        #expect(swept.code == 0 && swept.text.hasSuffix(" Results: results\n"))
        #expect(try Replay.run("check", "s.yml", in: folder).code == 0)
    }
}
