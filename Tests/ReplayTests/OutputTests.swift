import Foundation
import HalcyonTestSupport
import Testing

@Suite("Output of results", .timeLimit(.minutes(20)))
struct OutputTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", SampleTrace(count: 300).csv)
    }

    private let run = ["t.csv", "--only", "-p", "lru", "-c", "1KB", "--format", "json"]

    @Test("A file has the content of standard output, and no other file appears")
    func outputFileHasTheStandardOutput() throws {
        let outcome = try Replay.run(run + ["--output", "r ü.json"], in: folder)
        #expect((outcome.code, outcome.text, outcome.errors) == (0, "", ""))
        #expect(folder.contents == ["r ü.json", "t.csv"])
        #expect(try folder.text("r ü.json").contains("\"schema\" : \"halcyon.replay/3\""))
    }

    @Test("An output name of one character is accepted")
    func outputNameOfOneCharacterIsAccepted() throws {
        let outcome = try Replay.run(run + ["--output", "r"], in: folder)
        #expect((outcome.code, outcome.errors) == (0, ""))
        #expect(folder.contents == ["r", "t.csv"])
    }

    @Test("An existing file is kept if the command fails, and replaced whole otherwise")
    func existingFileIsReplacedOnlyOnSuccess() throws {
        _ = try folder.file("r.json", "before")
        #expect(try Replay.run(["none.csv", "--only", "-p", "lru", "-o", "r.json"], in: folder).code == 65)
        #expect(try folder.text("r.json") == "before")
        #expect(try Replay.run(run + ["-o", "r.json"], in: folder).code == 0)
        #expect(try folder.text("r.json").hasPrefix("{"))
        #expect(folder.contents == ["r.json", "t.csv"])
    }

    @Test("A link is kept when its target is written, and standard output is never replaced")
    func linkIsKeptAndStandardOutputNotReplaced() throws {
        _ = try folder.file("real.json", "before")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/link.json", withDestinationPath: "real.json")
        #expect(try Replay.run(run + ["-o", "link.json"], in: folder).code == 0)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path + "/link.json") == "real.json")
        #expect(try folder.text("real.json").hasPrefix("{"))
        let appended = try Replay.shell(
            "(echo first; replay generate loop --set requests=2) > out.txt; cat out.txt", in: folder)
        #expect(appended.text == "first\ntime,key\n0,0\n1,1\n")
        #expect(try Replay.shell("replay convert t.csv - 2>&1 >copy.csv; cmp t.csv copy.csv", in: folder).code == 0)
    }

    @Test(
        "An unwritable output is refused in one sentence before the work",
        arguments: [
            ("/nonexistent/r.json", "/nonexistent/r.json: cannot be written: No such file or directory"),
            (".", ".: is a directory; the name of a file is needed"),
            ("t.csv/r.json", "t.csv/r.json: cannot be written: Not a directory"),
            ("", "the name of the file to write is empty"),
        ])
    func unwritableOutputIsRefusedBeforeTheWork(_ path: String, _ sentence: String) throws {
        for command in [run, ["inspect", "t.csv"], ["curve", "t.csv"]] {
            let outcome = try Replay.run(command + ["--output", path], in: folder)
            #expect((outcome.code, outcome.text, outcome.errors) == (74, "", "replay: \(sentence)\n"))
        }
        #expect(folder.contents == ["t.csv"])
    }

    #if os(Linux)
        @Test("A full disk gives one sentence, on standard output too")
        func fullDiskIsOneSentence() throws {
            let file = try Replay.run(run + ["-o", "/dev/full"], in: folder)
            #expect((file.code, file.errors) == (74, "replay: /dev/full: cannot be written: No space left on device\n"))
            for command in ["t.csv --only -p lru", "generate loop", "policies", "convert t.csv -"] {
                let outcome = try Replay.shell("replay \(command) > /dev/full", in: folder)
                #expect(outcome.code == 74, "\(command)")
                #expect(
                    outcome.errors.hasSuffix("replay: standard output: cannot be written: No space left on device\n"))
            }
        }
    #endif

    @Test("A closed standard output or standard error does not crash the command")
    func closedStandardOutputAndErrorDoNotCrash() throws {
        #expect(try Replay.shell("replay policies >&-", in: folder).code == 74)
        #expect(try Replay.shell("replay none.csv --only -p lru 2>&-", in: folder).code == 65)
    }

    @Test("A reader that stops early ends the command silently")
    func readerThatStopsEarlyEndsTheCommandSilently() throws {
        let outcome = try Replay.shell("replay generate loop --set requests=200000 | head -1", in: folder)
        #expect((outcome.text, outcome.errors) == ("time,key\n", ""))
        let ignored = try Replay.shell("trap '' PIPE; replay generate loop --set requests=200000 | head -1", in: folder)
        #expect((ignored.text, ignored.errors) == ("time,key\n", ""))
    }

    @Test("Two concurrent writers of one file leave one of the two outputs whole")
    func concurrentWritersLeaveOneWholeFile() throws {
        func writer(_ seed: Int) throws -> ChildProcess {
            let arguments = ["generate", "zipf", "--set", "requests=5000", "-o", "z.csv", "--seed", "\(seed)"]
            return try Replay.start(arguments, in: folder)
        }
        let both = try [1, 2].map { seed in
            #expect(try writer(seed).wait() == .exited(0))
            return try folder.text("z.csv")
        }
        #expect(both[0] != both[1])
        for _ in 0..<3 {
            let writers = [try writer(1), try writer(2)]
            #expect(writers.map { $0.wait() } == [.exited(0), .exited(0)])
            #expect(both.contains(try folder.text("z.csv")))
            #expect(folder.contents == ["t.csv", "z.csv"])
        }
    }

    @Test(
        "Ctrl-C stops the command at once, leaves no new file and keeps the existing ones",
        arguments: [
            ["generate", "zipf", "--set", "requests=4000000", "-o", "x.csv"],
            ["convert", "long.csv", "x.csv.zst"],
            ["long.csv", "-p", "lirs,arc,lru,learned", "-c", "1%,2%,3%,4%,5%,6%", "-o", "x.csv", "--format", "csv"],
        ])
    func interruptStopsAtOnceWithoutAFile(_ arguments: [String]) throws {
        let row = "1,some-object,17,category|another,user\n"
        if arguments.contains("long.csv") {
            _ = try folder.file(
                "long.csv", "time,key,size,category,user\n" + String(repeating: row, count: 1_500_000))
        }
        let before = folder.contents
        let scratch = try TemporaryFolder()
        let errors = try scratch.file("errors", "")
        let process = try Replay.start(
            arguments, in: folder, environment: ["HALCYON_PROGRESS_SECONDS": "0.01"], errors: .file(errors))
        if arguments[0] == "generate" {
            // It reports no progress: wait until it has opened its output.
            while process.isRunning, folder.contents == before, !process.hasOpened(in: folder) { usleep(1_000) }
        } else {
            try process.waitForProgress(in: errors)
        }
        #expect(process.isRunning)
        process.signal(SIGINT)
        #expect(process.wait() == .killed(by: SIGINT))
        #expect(folder.contents == before)
    }
}
