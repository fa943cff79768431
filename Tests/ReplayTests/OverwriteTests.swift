import Foundation
import HalcyonTestSupport
import Testing

@Suite("No output replaces an input", .timeLimit(.minutes(20)))
struct OverwriteTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", SampleTrace(count: 300).csv)
        _ = try folder.file("u.csv", SampleTrace(count: 300, seed: 2).csv)
        _ = try folder.file("m.st", "a model")
        _ = try folder.file("s.yml", Self.suite)
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: "t.csv")
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/here", withDestinationPath: ".")
    }

    private static let suite = """
        schema: halcyon.suite/1
        traces: [u.csv, ./t.csv]
        experiments:
          - {name: all, policies: lru, capacities: 1KB, limits: [{policy: lru, floor: 0}]}

        """

    static let mistakes: [Mistake] = [
        Mistake("t.csv --only -p lru -o t.csv", "--output t.csv would replace the trace t.csv: name another file."),
        Mistake(
            "t.csv --only -p lru -c 1KB --stream -o t.csv",
            "--output t.csv would replace the trace t.csv: name another file."),
        Mistake(
            "t.csv -p learned --model m.st -o ./m.st",
            "--output ./m.st would replace the model m.st: name another file."),
        Mistake(
            "t.csv --prefetch planner --prefetch-model m.st -o here/m.st",
            "--output here/m.st would replace the prefetch model m.st: name another file."),
        Mistake("train t.csv -o t.csv", "--output t.csv would replace the trace t.csv: name another file."),
        Mistake("train link -o t.csv", "--output t.csv would replace the trace link: name another file."),
        Mistake(
            "train t.csv --prefetch planner -o link", "--output link would replace the trace t.csv: name another file."),
        Mistake("explain t.csv -o here/link", "--output here/link would replace the trace t.csv: name another file."),
        Mistake("inspect t.csv -o t.csv", "--output t.csv would replace the trace t.csv: name another file."),
        Mistake("curve t.csv -o t.csv", "--output t.csv would replace the trace t.csv: name another file."),
        Mistake("convert t.csv t.csv", "The output t.csv would replace the trace t.csv: name another file."),
        Mistake("hypothesis u.csv t.csv -o t.csv", "--output t.csv would replace the trace t.csv: name another file."),
        Mistake(
            "hypothesis t.csv --prefetch planner --prefetch-model m.st -o m.st",
            "--output m.st would replace the prefetch model m.st: name another file."),
        Mistake("check s.yml --junit s.yml", "--junit s.yml would replace the suite s.yml: name another file."),
        Mistake(
            "check s.yml --accept --reason why --markdown here/s.yml",
            "--markdown here/s.yml would replace the suite s.yml: name another file."),
        Mistake(
            "check s.yml --junit new --markdown here/new",
            "--junit and --markdown are both written to here/new: name two files."),
    ]

    private func everything() throws -> [String] { try ["t.csv", "u.csv", "m.st", "s.yml"].map(folder.text) }

    @Test("An output that would replace an input is refused before the work, also through links", arguments: mistakes)
    func outputThatReplacesAnInputIsRefused(_ mistake: Mistake) throws {
        let (before, names) = (try everything(), folder.contents)
        let outcome = try Replay.run(mistake.arguments, in: folder)
        #expect((outcome.code, outcome.text, outcome.errors) == (64, "", "replay: \(mistake.sentence)\n"))
        #expect(try everything() == before)
        #expect(folder.contents == names)
    }

    @Test("The traces of a suite and standard input count, too")
    func indirect() throws {
        let before = try everything()
        for option in ["--junit", "--markdown"] {
            let outcome = try Replay.run("check", "here/s.yml", option, "link", in: folder)
            #expect(outcome.code == 64)
            #expect(outcome.errors.hasPrefix("replay: \(option) link would replace the trace "))
        }
        let piped = try Replay.shell("replay convert - t.csv < t.csv", in: folder)
        #expect(piped.code == 64)
        #expect(try everything() == before)
    }

    @Test("two results may go to one device, and standard output takes what comes")
    func devices() throws {
        let nowhere = ["--junit", "/dev/null", "--markdown", "/dev/null"]
        #expect(try Replay.run(["check", "s.yml", "--limits-only"] + nowhere, in: folder).code == 0)
        #expect(try Replay.shell("cat t.csv | replay convert - new.csv && cmp t.csv new.csv", in: folder).code == 0)
        #expect(try Replay.shell("replay convert t.csv - | cmp t.csv -", in: folder).code == 0)
        let reports = ["--junit", "a.xml", "--markdown", "a.md"]
        #expect(try Replay.run(["check", "s.yml", "--limits-only"] + reports, in: folder).code == 0)
    }
}
