import ArgumentParser
import Foundation
import HalcyonSimulation
import HalcyonTrace
import Testing

@testable import replay

/// `replay hypothesis` from its arguments to its file.
@Suite struct HypothesisCommandTests {
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "hypothesis-\(UUID().uuidString)", directoryHint: .isDirectory)

    private func file(_ name: String) -> String { folder.appending(path: name).path }

    private func run(_ arguments: [String]) async throws {
        let command = try HypothesisCommand.parse(arguments)
        try await command.run()
    }

    @Test func writesAVerdictForEveryTraceModeAndCapacity() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var model = BrowsingModel.informative
        model.requests = 1_000
        model.users = 60
        try TraceWriter.write(model.generate(seed: 1), to: file("shop.csv"))
        let options = [
            "--per", "both", "--capacity", "20,2%", "--device-capacity", "8", "--permutations", "2", "--seeds", "1",
            "--resamples", "200", "--limit", "800", "--learner", "learned(hidden=4)", "--models", "adapted",
            "--format", "json",
        ]
        try await run([file("shop.csv")] + options + ["--output", file("found.json")])
        let data = try Data(contentsOf: URL(filePath: file("found.json")))
        let json = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(json["schema"] as? String == "halcyon.hypothesis/1")
        #expect((json["options"] as? [String: Any])?["models"] as? String == "adapted")
        let results = try #require(json["results"] as? [[String: Any]])
        #expect(results.map { $0["mode"] as? String } == ["shared", "shared", "per_user"])
        #expect(results.map { $0["capacity_asked"] as? String } == ["20", "2%", "8"])
        for result in results {
            #expect(result["trace"] as? String == file("shop.csv"))
            #expect(result["requests"] as? Int == 600)
            // Two permutations are too few for any claim.
            #expect(["not supported", "undecided"].contains(try #require(result["verdict"] as? String)))
        }
    }

    @Test func fetchesAheadInEveryForm() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var model = BrowsingModel.informative
        model.requests = 600
        model.users = 60
        try TraceWriter.write(model.generate(seed: 1), to: file("shop.csv"))
        let options = [
            file("shop.csv"), "--per", "user", "--capacity", "8", "--permutations", "2", "--seeds", "1", "--resamples",
            "200", "--learner", "learned(hidden=4)",
        ]
        let fetching = ["--prefetch", "planner", "--prefetch-budget", "3/request"]
        try await run(options + fetching + ["--format", "json", "--output", file("found.json")])
        let data = try Data(contentsOf: URL(filePath: file("found.json")))
        let json = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        let result = try #require((json["results"] as? [[String: Any]])?.first)
        #expect((result["prefetch"] as? [String: Any])?["budget"] as? String == "3/request")
        let arms = try #require(result["arms"] as? [[String: Any]])
        #expect(arms[3]["policy"] as? String == "learned(hidden=4)" && arms[3]["prefetch"] == nil)
        await #expect(throws: ExitCode(64)) { try await run(options + ["--prefetch", "markov"]) }
        await #expect(throws: ExitCode(64)) { try await run(options + ["--prefetch", "planner,planner"]) }
        await #expect(throws: ExitCode(64)) { try await run(options + ["--prefetch-budget", "3/request"]) }
    }

    @Test func aTraceWithoutCategoriesIsBadData() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let lines = ["time,key"] + (0..<200).map { "\($0),k\($0 % 10)" }
        try lines.joined(separator: "\n").write(toFile: file("plain.csv"), atomically: true, encoding: .utf8)
        await #expect(throws: ExitCode(65)) { try await run([file("plain.csv")]) }
        await #expect(throws: ExitCode(64)) { try await run([file("plain.csv"), "--limit", "0"]) }
        await #expect(throws: ExitCode(64)) { try await run([file("plain.csv"), "--learner", "lru"]) }
    }
}
