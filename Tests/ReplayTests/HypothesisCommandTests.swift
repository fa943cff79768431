import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonCommand

/// `replay hypothesis` from its arguments to its file.
@Suite(.timeLimit(.minutes(20))) struct HypothesisCommandTests {
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "hypothesis-\(UUID().uuidString)", directoryHint: .isDirectory)

    private func file(_ name: String) -> String { folder.appending(path: name).path }

    private func run(_ arguments: [String]) async throws {
        let command = try HypothesisCommand.parse(arguments)
        try await command.run()
    }

    @Test func verdictsAreWrittenForEveryTraceModeAndCapacity() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var model = BrowsingModel.informative
        model.requests = 1_000
        model.users = 60
        try TraceWriter.write(model.generate(seed: 1), to: file("shop.csv"))
        let options = [
            "--per", "both", "--capacity", "20,2%", "--user-capacity", "8", "--permutations", "2", "--seeds", "1",
            "--limit", "800", "--learner", "learned(hidden=4)", "--knowledge", "server",
            "--format", "json",
        ]
        try await run([file("shop.csv")] + options + ["--output", file("found.json")])
        let data = try Data(contentsOf: URL(filePath: file("found.json")))
        let json = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(json["schema"] as? String == "halcyon.hypothesis/3")
        #expect(json["result_version"] as? Int == Halcyon.resultVersion)
        #expect((json["options"] as? [String: Any])?["knowledge"] as? String == "server")
        #expect((json["options"] as? [String: Any])?["limit"] as? Int == 800)
        // The summary is of the replayed requests, not of the file.
        let summary = try #require((json["traces"] as? [[String: Any]])?.first)
        let replayed = TraceSummary(try Trace.load(file("shop.csv")).selection(limit: 800).trace, path: "")
        #expect(summary["requests"] as? Int == 800)
        #expect(summary["objects"] as? Int == replayed.objects)
        #expect(summary["users"] as? Int == replayed.users)
        #expect(summary["fingerprint"] as? String == replayed.fingerprint)
        let results = try #require(json["results"] as? [[String: Any]])
        #expect(results.map { $0["mode"] as? String } == ["shared", "shared", "per_user"])
        #expect(results.map { $0["capacity_asked"] as? String } == ["20", "2%", "8"])
        for result in results {
            #expect(result["trace"] as? String == file("shop.csv"))
            #expect(result["requests"] as? Int == 600)
            #expect((result["kernels"] as? [String: String])?["name"] == "portable")
            // Two permutations are too few for a claim.
            let verdict = try #require(result["verdict"] as? String)
            #expect(["no effect beyond the margin", "harmful", "undecided"].contains(verdict))
            let permutations = try #require(result["permutations"] as? [[String: Any]])
            #expect(permutations.map { $0["permute"] as? String } == ["within=popularity,age", "uniform"])
        }
    }

    @Test func everyLearnerPrefetchesWithPrefetch() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var model = BrowsingModel.informative
        model.requests = 600
        model.users = 60
        try TraceWriter.write(model.generate(seed: 1), to: file("shop.csv"))
        let options = [
            file("shop.csv"), "--per", "user", "--capacity", "8", "--permutations", "2", "--seeds", "1", "--learner",
            "learned(hidden=4)",
        ]
        let fetching = ["--prefetch", "planner", "--prefetch-budget", "3/request"]
        try await run(options + fetching + ["--format", "json", "--output", file("found.json")])
        let data = try Data(contentsOf: URL(filePath: file("found.json")))
        let json = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        let result = try #require((json["results"] as? [[String: Any]])?.first)
        #expect((result["prefetch"] as? [String: Any])?["budget"] as? String == "3/request")
        let arms = try #require(result["arms"] as? [[String: Any]])
        #expect(arms[4]["policy"] as? String == "learned(hidden=4)" && arms[4]["prefetch"] == nil)
        await #expect(throws: ExitCode(64)) { try await run(options + ["--prefetch", "markov"]) }
        await #expect(throws: ExitCode(64)) { try await run(options + ["--prefetch", "planner,planner"]) }
        await #expect(throws: ExitCode(64)) { try await run(options + ["--prefetch-budget", "3/request"]) }
        let inBytes = ["--prefetch", "planner", "--prefetch-budget", "1kB/day"]
        await #expect(throws: ExitCode(64)) { try await run(options + inBytes) }
    }

    @Test func traceWithoutCategoriesExitsWith65() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let lines = ["time,key"] + (0..<200).map { "\($0),k\($0 % 10)" }
        try lines.joined(separator: "\n").write(toFile: file("plain.csv"), atomically: true, encoding: .utf8)
        await #expect(throws: ExitCode(65)) { try await run([file("plain.csv")]) }
        await #expect(throws: ExitCode(64)) { try await run([file("plain.csv"), "--limit", "0"]) }
        await #expect(throws: ExitCode(64)) { try await run([file("plain.csv"), "--learner", "lru"]) }
    }

    @Test func faultsAreFoundBeforeTheFirstRun() async throws {
        let folder = try TemporaryFolder()
        _ = try folder.file("shop.csv", "key,category\n" + (0..<200).map { "k\($0 % 20),c\($0 % 2)\n" }.joined())
        _ = try folder.file("more.csv", "key,category\n" + (0..<200).map { "k\($0 % 30),c\($0 % 3)\n" }.joined())
        _ = try folder.file("plain.csv", "key\n" + (0..<200).map { "k\($0 % 20)\n" }.joined())
        _ = try folder.file("same.csv", "key,category\n" + (0..<200).map { "k\($0 % 20),c\n" }.joined())
        _ = try folder.file("few.csv", "key,category\na,1\nb,2\na,1\n")
        // So many permutations take long.
        let long = ["--permutations", "10000"]
        for (text, sentence) in [
            ("many", "--permutations many: give a number, such as 199, or a range, such as 19..199."),
            ("19..", "--permutations 19..: give a number, such as 199, or a range, such as 19..199."),
            ("199..19", "At most 19 permutations are fewer than the first 199."),
            ("1", "1 permutations: give 2 to 10000, and 19 or more to find support."),
        ] {
            let outcome = try Replay.run(["hypothesis", "shop.csv", "--permutations", text], in: folder)
            #expect((outcome.code, outcome.text, outcome.errors) == (64, "", "replay: \(sentence)\n"))
        }
        for (arguments, code, sentence) in [
            (["shop.csv", "-o", "/nowhere/out"], 74, "/nowhere/out: cannot be written: No such file or directory"),
            (["shop.csv", "missing.csv", "-o", "out"], 65, "missing.csv: there is no such file"),
            (
                ["shop.csv", "plain.csv", "-o", "out"], 65,
                "plain.csv: The trace has no categories, so there is nothing to test: give one with a category column."
            ),
            (
                ["shop.csv", "same.csv"], 65,
                "same.csv: Every object has the same categories, so there is nothing to test."
            ),
            (
                ["shop.csv", "few.csv"], 65,
                "few.csv: Only 3 requests are counted after the warm-up, and at least 128 are needed."
            ),
            (["shop.csv", "./shop.csv"], 64, "./shop.csv is given twice and would count twice: give it once."),
            (
                ["shop.csv", "--capacity", "10%,2"], 64,
                "The capacities 10% and 2 are the same, which would count twice: give one of them."
            ),
            (
                ["shop.csv", "--per", "shared", "--user-capacity", "5"], 64,
                "--user-capacity needs per-user caches: leave out --per shared."
            ),
            (
                ["shop.csv", "--knowledge", "device", "--user-capacity", "30"], 64,
                "shop.csv has no users, which per-user caches need: leave out --knowledge and --user-capacity."
            ),
            (
                ["shop.csv", "more.csv", "--user-capacity", "30"], 64,
                "None of the traces has users, which per-user caches need: leave out --user-capacity."
            ),
            (
                ["shop.csv", "--per", "user", "--user-capacity", "5", "--capacity", "2"], 64,
                "With --per user, --user-capacity states the capacities: leave out --capacity."
            ),
            (
                ["shop.csv", "--permute", "within=colour"], 64,
                "'colour' in 'within=colour' is not a property of objects: give uniform, or within= and one or several of "
                    + "popularity, age and size, such as within=popularity,age."
            ),
            (
                ["shop.csv", "--permute", "uniform", "--permute", "uniform"], 64,
                "A way to permute labels is given twice: give it once."
            ),
            (
                ["shop.csv", "--permute", "within=size"], 65,
                "shop.csv: All objects are equal in size, so there are no strata: give --permute uniform."
            ),
        ] as [([String], Int32, String)] {
            let outcome = try Replay.run(["hypothesis"] + arguments + long, in: folder)
            #expect((outcome.code, outcome.text, outcome.errors) == (code, "", "replay: \(sentence)\n"))
        }
        #expect(folder.contents == ["few.csv", "more.csv", "plain.csv", "same.csv", "shop.csv"])
    }

    @Test func severalTracesAreReportedInTheGivenOrder() throws {
        let folder = try TemporaryFolder()
        for name in ["b.csv", "a.csv"] {
            _ = try folder.file(name, "key,category\n" + (0..<400).map { "k\($0 % 20),c\($0 % 2)\n" }.joined())
        }
        let outcome = try Replay.run(
            "hypothesis", "b.csv", "a.csv", "--permutations", "2", "--seeds", "1", "--capacity", "20", "--format",
            "json", "--permuted-seeds", "5",
            in: folder)
        let options = try #require(outcome.json()["options"] as? [String: Any])
        #expect(options["permuted_seeds"] as? Int == 1, "no more than there are seeds")
        let results = try #require(outcome.json()["results"] as? [[String: Any]])
        #expect(results.map { $0["trace"] as? String } == ["b.csv", "a.csv"])
        // A cache that holds everything.
        for result in results {
            #expect(
                result["smallest_detectable"] == nil && result["verdict"] as? String == "no effect beyond the margin")
            #expect((result["with_minus_without"] as? [String: Any])?["detectable"] == nil)
            let reason = "no gain is possible with this cache, in which LRU has the hit ratio of the optimum."
            #expect(result["sentence"] as? String == "No effect beyond the margin: \(reason)")
        }
    }

    @Test func estimateOfTheTimeComesBeforeTheRuns() throws {
        let folder = try TemporaryFolder()
        _ = try folder.file("shop.csv", "key,category\n" + (0..<400).map { "k\($0 % 20),c\($0 % 2)\n" }.joined())
        let outcome = try Replay.run(
            "hypothesis", "shop.csv", "--permutations", "2", "--seeds", "1", "--capacity", "5", in: folder)
        #expect(outcome.code == 0)
        // One seed with and one without, two permutations in two ways, seven baselines.
        #expect(outcome.errors.hasPrefix("shop.csv: 13 replays of 5,200 requests together, about "))
        let verdict = "on this trace: "
        #expect(outcome.text.contains(verdict) && outcome.text.contains("runs: 1 seed with and 1 without categories"))
    }
}
