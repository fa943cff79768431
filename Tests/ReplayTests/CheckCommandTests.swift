import ArgumentParser
import Foundation
import HalcyonTestSupport
import Testing

@testable import replay

@Suite("replay check")
struct CheckCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        // LRU of 2 hits at the second and the fourth request, of six.
        _ = try folder.file("tiny.csv", "key\na\na\nb\na\nc\nb\n")
    }

    func targets(_ lowest: String) throws -> String {
        try folder.file(
            "targets.yml",
            "schema: halcyon.targets/1\ngroups: [{trace: tiny.csv, targets: [{policy: lru, capacity: 2\(lowest)}]}]\n")
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
        #expect(try await code(targets(", lowest_hit_ratio: 0.333333")) == 0)
        #expect(try await code(targets(", lowest_hit_ratio: 0.34")) == 1)
        #expect(try await code(targets(", lowest_hit_ratio: much")) == 65)
        #expect(try await code(targets("")) == 64)
        #expect(try await code("\(folder.path)/missing.yml") == 65)
        _ = try folder.file("noise.yml", [0xff, 0xfe])
        #expect(try await code("\(folder.path)/noise.yml") == 65)
        _ = try folder.file("none.yml", "schema: halcyon.targets/1\ngroups: []\n")
        #expect(try await code("\(folder.path)/none.yml") == 65)
        #expect(try await code(targets(", lowest_hit_ratio: 0"), "--update") == 64)
        #expect(try await code(targets(", lowest_hit_ratio: 0"), "--reason", "why") == 64)
    }

    @Test("reports are written where a target is missed as well")
    func reports() async throws {
        let (junit, markdown) = ("\(folder.path)/out.xml", "\(folder.path)/out.md")
        let path = try targets(", lowest_hit_ratio: 0.5")
        #expect(try await code(path, "--junit", junit, "--markdown", markdown) == 1)
        #expect(try text("out.xml").contains("failures=\"1\""))
        #expect(try text("out.md").contains("1 missed"))
    }

    @Test("a report that cannot be written is found before the first run, and none replaces the targets")
    func outputs() async throws {
        let path = try targets(", lowest_hit_ratio: 0.333333")
        let before = try text("targets.yml")
        for option in ["--junit", "--markdown"] {
            let folded = "\(folder.path)/../\((folder.path as NSString).lastPathComponent)/targets.yml"
            for name in [path, folded] { #expect(try await code(path, option, name) == 64) }
            // The trace is missing, which only a run finds.
            _ = try folder.file(
                "late.yml",
                "schema: halcyon.targets/1\n"
                    + "groups: [{trace: none.csv, targets: [{policy: lru, capacity: 2, lowest_hit_ratio: 0}]}]\n")
            #expect(try await code("\(folder.path)/late.yml", option, "/nowhere/report") == 74)
        }
        #expect(try text("targets.yml") == before)
    }

    @Test("--update records with the reason, after which the check is passed")
    func update() async throws {
        let path = try targets(", lowest_hit_ratio: 0.5")
        #expect(try await code(path, "--update", "--reason", "a smaller trace") == 0)
        let recorded = try text("targets.yml")
        #expect(recorded.contains("hit_ratio: 0.333333, lowest_hit_ratio: 0.332333"))
        #expect(recorded.contains("targets: 1, reason: \"a smaller trace\""))
        #expect(try await code(path) == 0)
        #expect(try await code(path, "--update", "--reason", "nothing moved") == 0)
        #expect(try text("targets.yml") == recorded)
    }

    @Test("--update with a reason that YAML would not take as it is")
    func unusualReason() async throws {
        let path = try targets(", lowest_hit_ratio: 0.5")
        #expect(try await code(path, "--update", "--reason", "from\u{85}a\u{FEFF}paste\u{9C}\u{2028}\u{FFFE}") == 0)
        #expect(try await code(path) == 0)
        #expect(try text("targets.yml").contains("reason: \"from\\x85a\\ufeffpaste\\x9c\\u2028\\ufffe\""))
    }
}
