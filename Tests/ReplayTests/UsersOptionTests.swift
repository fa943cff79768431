import Foundation
import HalcyonTestSupport
import Testing

@Suite("replay --users i/n", .timeLimit(.minutes(20)))
struct UsersOptionTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let made = try Replay.run(
            [
                "generate", "million-users", "--set", "users=300", "--set", "requests=20000", "--set",
                "concurrent-sessions=20", "-o", "t.csv",
            ], in: folder)
        #expect(made.code == 0, "\(made.errors)")
    }

    private func counts(_ arguments: String) throws -> [Int] {
        let outcome = try Replay.run(
            ["t.csv", "--per", "user", "--only", "--format", "json"] + arguments.split(separator: " ").map(String.init),
            in: folder)
        #expect(outcome.code == 0, "\(outcome.errors)")
        return try outcome.runs().flatMap { run in
            ["requests", "hits", "evictions", "bytes_fetched", "caches", "warmup_requests"].map {
                run[$0] as? Int ?? -1
            }
        }
    }

    @Test("Both halves of the users add up to the whole, loaded and as a stream")
    func halvesOfTheUsersAddUpToTheWhole() throws {
        for options in ["-p lru,s3-fifo -c 20 --warmup 0.2", "-p learned -c 20 --stream"] {
            let whole = try counts(options)
            let halves = try ["1/2", "2/2"].map { try counts("\(options) --users \($0)") }
            #expect(zip(halves[0], halves[1]).map(+) == whole)
            #expect(whole[0] >= 16_000 && halves.allSatisfy { $0[0] > 5_000 })
        }
    }

    @Test("The report names the part, in JSON and in a note of the table")
    func reportNamesThePartOfTheUsers() throws {
        let arguments = ["t.csv", "--per", "user", "--only", "-p", "lru", "-c", "20", "--users", "2/3"]
        let json = try Replay.run(arguments + ["--format", "json"], in: folder)
        #expect(try json.runs().first?["user_part"] as? String == "2/3")
        #expect(try Replay.run(arguments, in: folder).text.contains("Part 2/3 of the users."))
    }

    @Test(
        "Parts of shared caches, and of server knowledge, are refused in one sentence",
        arguments: [
            ("--per user --only -p lru --users 3/2", "'3/2' is no part of the users: write i/n"),
            ("--only -p lru --users 1/2", "add --per user"),
            ("--per user --only -p learned --users 1/2 --knowledge server", "--knowledge device"),
            (
                "--per user --only -p lru --users 1/2 --prefetch markov --knowledge server",
                "markov prefetches by what it learns"
            ),
        ])
    func partsOfSharedRunsAreRefused(arguments: String, sentence: String) throws {
        for stream in [[], ["--stream"]] {
            let outcome = try Replay.run(
                ["t.csv", "-c", "20"] + arguments.split(separator: " ").map(String.init) + stream, in: folder)
            #expect(outcome.code == 64 && outcome.output.isEmpty)
            #expect(outcome.errors.contains(sentence), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
    }

    @Test("Generated requests of many users are replayed through a pipe with a summary")
    func generatedUsersAreReplayedThroughAPipe() throws {
        let outcome = try Replay.shell(
            "replay generate million-users --set users=300 --set requests=20000 --set concurrent-sessions=20"
                + " | replay - --stream --per user --only -p lru -c 20 --format json", in: folder)
        #expect(outcome.code == 0)
        #expect(outcome.errors.contains("standard output: 20,000 requests, "))
        let run = try #require(try outcome.runs().first)
        let file = try Replay.run(
            ["t.csv", "--stream", "--per", "user", "--only", "-p", "lru", "-c", "20", "--format", "json"], in: folder)
        #expect(run["hits"] as? Int == (try file.runs().first?["hits"] as? Int) && run["caches"] as? Int == 300)
    }
}
