import ArgumentParser
import Foundation
import HalcyonTestSupport
import HalcyonEviction
import Testing

@testable import replay

@Suite("replay check", .timeLimit(.minutes(20)))
struct CheckCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        // LRU of 2 hits at the second and the fourth request, of six.
        _ = try folder.file("tiny.csv", "key\na\na\nb\na\nc\nb\n")
    }

    /// A file with one target, LRU of 2 objects with these fields.
    func targets(_ fields: String, version: Int = Halcyon.resultVersion) throws -> String {
        try folder.file(
            "targets.yml",
            "schema: halcyon.targets/2\nresult_version: \(version)\n"
                + "groups: [{trace: tiny.csv, targets: [{policy: lru, capacity: 2\(fields)}]}]\n")
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

    func text(_ name: String) throws -> String { try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8) }

    @Test("0 where all are reached, 1 where one is missed, 65 for a bad file, 64 for what cannot be asked of it")
    func exitCodes() async throws {
        #expect(try await code(targets(", hits: 2, floor: 0.333333")) == 0)
        #expect(try await code(targets(", hits: 1, floor: 0.333333")) == 1)
        #expect(try await code(targets(", hits: 3, floor: 0.333333")) == 1)
        #expect(try await code(targets(", hits: 2, floor: 0.34")) == 1)
        #expect(try await code(targets(", hits: 2, floor: 0.333333", version: 999)) == 1)
        #expect(try await code(targets(", floor: much")) == 65)
        #expect(try await code(targets("")) == 64)
        #expect(try await code("\(folder.path)/missing.yml") == 65)
        _ = try folder.file("noise.yml", [0xff, 0xfe])
        #expect(try await code("\(folder.path)/noise.yml") == 65)
        _ = try folder.file("none.yml", "schema: halcyon.targets/2\ngroups: []\n")
        #expect(try await code("\(folder.path)/none.yml") == 65)
        #expect(try await code(targets(", floor: 0"), "--update") == 64)
        #expect(try await code(targets(", floor: 0"), "--reason", "why") == 64)
    }

    @Test("a broken limit of each kind exits with 1")
    func limits() async throws {
        func code(_ group: String, _ target: String) async throws -> Int32 {
            _ = try folder.file("sized.csv", "key,size\na,10\na,10\nb,5\na,10\nc,10\nb,5\n")
            let path = try folder.file(
                "kinds.yml",
                "schema: halcyon.targets/2\nresult_version: \(Halcyon.resultVersion)\n"
                    + "groups: [{trace: sized.csv, \(group), targets: [{\(target)}]}]\n")
            return try await self.code(path)
        }
        // A hit of 10 bytes at the second and the fourth request, of 50 bytes in all.
        #expect(try await code("mode: shared", "policy: lru, capacity: 15, hits: 2, byte_floor: 0.4") == 0)
        #expect(try await code("mode: shared", "policy: lru, capacity: 15, byte_floor: 0.41") == 1)
        let tiers = "tiers: {memory: 10, disk: 15, latency: 'memory=1,disk=10,network=100,bandwidth=1GB'}"
        #expect(try await code(tiers, "policy: lru, hits: 2, highest_latency_ms: 68.501") == 0)
        #expect(try await code(tiers, "policy: lru, highest_latency_ms: 68.4") == 1)
        let seeds = "seeds: 2"
        #expect(try await code(seeds, "policy: random, capacity: 50, hits: 6, floor: 0.5") == 0)
        #expect(try await code(seeds, "policy: random, capacity: 50, hits: 3, floor: 0.5") == 1)
        #expect(try await code(seeds, "policy: random, capacity: 50, floor: 0.51") == 1)
        #expect(try await code(seeds, "policy: random, floor: 0.5") == 65)
    }

    @Test("reports are written where a target is missed as well")
    func reports() async throws {
        let (junit, markdown) = ("\(folder.path)/out.xml", "\(folder.path)/out.md")
        let path = try targets(", floor: 0.5")
        #expect(try await code(path, "--junit", junit, "--markdown", markdown) == 1)
        #expect(try text("out.xml").contains("failures=\"1\""))
        #expect(try text("out.md").contains("1 missed"))
    }

    @Test("a report that cannot be written is found before the first run, and none replaces the targets")
    func outputs() async throws {
        let path = try targets(", hits: 2, floor: 0.333333")
        let before = try text("targets.yml")
        for option in ["--junit", "--markdown"] {
            let folded = "\(folder.path)/../\((folder.path as NSString).lastPathComponent)/targets.yml"
            for name in [path, folded] { #expect(try await code(path, option, name) == 64) }
            // The trace is missing, which only a run finds.
            _ = try folder.file(
                "late.yml",
                "schema: halcyon.targets/2\n"
                    + "groups: [{trace: none.csv, targets: [{policy: lru, capacity: 2, floor: 0}]}]\n")
            #expect(try await code("\(folder.path)/late.yml", option, "/nowhere/report") == 74)
        }
        #expect(try text("targets.yml") == before)
    }

    @Test("--update records with the reason, after which the check is passed")
    func update() async throws {
        let path = try targets("")
        #expect(try await code(path, "--update", "--reason", "a smaller trace") == 0)
        let recorded = try text("targets.yml")
        #expect(recorded.contains("{policy: lru, capacity: 2, hits: 2, floor: 0.332333}"))
        #expect(recorded.contains("targets: 1, reason: \"a smaller trace\""))
        #expect(try await code(path) == 0)
        #expect(try await code(path, "--update", "--reason", "nothing moved") == 0)
        #expect(try text("targets.yml") == recorded)
    }

    @Test(
        "--update refuses what moved without a new result version, and what misses a limit; no file is changed",
        arguments: [
            (
                ", hits: 3, floor: 0", Halcyon.resultVersion,
                "tiny.csv, shared: lru at 2 has 2 hits, and 3 were recorded with result version \(Halcyon.resultVersion), which this build "
                    + "has too: raise the result version (Halcyon.resultVersion) first."
            ),
            (
                ", hits: 2, floor: 0", 999,
                "targets.yml was recorded with result version 999, and this build has \(Halcyon.resultVersion): use a build with result version "
                    + "999 or higher."
            ),
            (
                ", hits: 2, floor: 0.5", Halcyon.resultVersion,
                "--update lowers no floor: tiny.csv, shared: lru at 2 has a hit ratio of 0.333333, and the floor is "
                    + "0.500000; lower it by hand in targets.yml if that is meant."
            ),
            (
                ", hits: 2, baseline: lru, highest_loss: -0.1", Halcyon.resultVersion,
                "--update raises no highest loss: tiny.csv, shared: lru at 2 has a loss of 0.000000, and the highest "
                    + "accepted is -0.100000; raise it by hand in targets.yml if that is meant."
            ),
        ] as [(String, Int, String)])
    func refusedUpdates(fields: String, version: Int, sentence: String) throws {
        _ = try targets(fields, version: version)
        let before = try text("targets.yml")
        let outcome = try Replay.run(
            "check", "targets.yml", "--update", "--reason", "why", "--junit", "out.xml", "--markdown", "out.md",
            in: folder)
        #expect((outcome.code, outcome.text, outcome.errors) == (64, "", "replay: \(sentence)\n"))
        #expect(try text("targets.yml") == before)
        #expect(folder.contents == ["targets.yml", "tiny.csv"])
    }

    @Test("a file of schema 1 is refused with a sentence that says how to convert it")
    func oldSchema() throws {
        _ = try folder.file("targets.yml", "schema: halcyon.targets/1\ntolerances: {default: 0.001}\ngroups: []\n")
        for arguments in [[], ["--update", "--reason", "why"]] {
            let outcome = try Replay.run(["check", "targets.yml"] + arguments, in: folder)
            #expect((outcome.code, outcome.text) == (65, ""))
            #expect(
                outcome.errors
                    == "replay: targets.yml:1:9: the schema halcyon.targets/1 is no longer read: write halcyon.targets/2, "
                    + "rename 'tolerances' to 'margins' and 'lowest_hit_ratio' to 'floor', leave out 'hit_ratio', and "
                    + "record again with --update.\n")
        }
    }

    @Test("--update with a reason that YAML would not take as it is")
    func unusualReason() async throws {
        let path = try targets("")
        #expect(try await code(path, "--update", "--reason", "from\u{85}a\u{FEFF}paste\u{9C}\u{2028}\u{FFFE}") == 0)
        #expect(try await code(path) == 0)
        #expect(try text("targets.yml").contains("reason: \"from\\x85a\\ufeffpaste\\x9c\\u2028\\ufffe\""))
    }
}
