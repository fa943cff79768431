import Foundation
import HalcyonAccessLog
import HalcyonTestSupport
import Testing

@Suite("An access log by the command: replayed, converted, inspected, streamed", .timeLimit(.minutes(20)))
struct AccessLogTests {
    let folder: TemporaryFolder
    let sample = SampleTrace()

    /// The sample trace, as a CSV and as a live cache would have recorded it.
    init() async throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", sample.csv)
        var configuration = AccessLog.Configuration()
        configuration.keys = .raw
        configuration.bounds = .none
        let log = AccessLog(path: folder.path + "/access.sqlite", configuration)
        for request in sample.requests {
            log.record(
                "k\(request.key)", cost: request.size,
                categories: request.category.split(separator: "|").map(String.init),
                outcome: .memory, user: request.user.map { "u\($0)" }, at: Int64(request.time) * 1_000_000)
        }
        try await log.close()
    }

    @Test("learned and its baselines decide as on the CSV of the same accesses")
    func replayed() throws {
        func hits(_ name: String, _ more: [String]) throws -> [Int?] {
            let arguments = [name, "--policy", "learned", "--capacity", "2000,9000", "--format", "json"] + more
            return try Replay.run(arguments, in: folder).runs().map { $0["hits"] as? Int }
        }
        for more in [[], ["--per", "user"], ["--only", "--stream"]] {
            let expected = try hits("t.csv", more)
            #expect(expected.count >= 2 && !expected.contains(nil))
            #expect(try hits("access.sqlite", more) == expected)
        }
        let outcome = try Replay.run(
            "access.sqlite", "--policy", "lru", "--only", "--capacity", "2000", "--format", "json", in: folder)
        #expect(
            try outcome.runs().first?["hits"] as? Int == SampleTrace.lruHits(sample.requests, capacity: 2_000))
    }

    @Test("convert writes the CSV that was recorded; inspect finds the same")
    func converted() throws {
        #expect(try Replay.run("convert", "access.sqlite", "out.csv", in: folder).code == 0)
        #expect(try folder.text("out.csv") == sample.csv)
        let inspections = try ["t.csv", "access.sqlite"].map { name in
            // The columns of a CSV are listed; an access log has fixed fields.
            try Replay.run("inspect", name, in: folder).lines.dropFirst().filter { !$0.hasPrefix("columns") }
                .joined(separator: "\n")
        }
        #expect(inspections[0] == inspections[1] && !inspections[0].isEmpty)
        #expect(folder.contents == ["access.sqlite", "out.csv", "t.csv"])
    }

    @Test("a file that is none: one sentence, exit code 65", arguments: ["run", "inspect", "convert", "curve"])
    func faults(command: String) throws {
        _ = try folder.file("x.sqlite", "no log")
        let outcome = try Replay.run([command, "x.sqlite"] + (command == "convert" ? ["o.csv"] : []), in: folder)
        #expect(outcome.code == 65)
        #expect(outcome.errors == "replay: x.sqlite: is no SQLite file; an access log of Halcyon is needed\n")
        let pipe =
            "cat access.sqlite | replay \(command) - \(command == "convert" ? "o.csv" : "") --trace-format accessLog"
        let piped = try Replay.shell(pipe, in: folder)
        #expect(piped.code == 65)
        #expect(piped.errors == "replay: /dev/stdin: is no regular file, which an access log must be\n")
    }
}
