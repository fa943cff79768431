import Foundation
import HalcyonAccessLog
import HalcyonTestSupport
import Testing

@Suite("Replay, conversion and inspection of an access log", .timeLimit(.minutes(20)))
struct AccessLogTests {
    let folder: TemporaryFolder
    let sample = SampleTrace()

    /// The sample trace as a CSV and as an access log of a live cache.
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

    @Test("learned and its baselines decide on a log as on the CSV of the same accesses")
    func policiesDecideOnALogAsOnItsCSV() throws {
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

    @Test("convert writes the recorded accesses as CSV; inspect reports the same for both")
    func convertedAndInspectedLogEqualsItsCSV() throws {
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

    @Test(
        "A file that is no log gives one sentence and exit code 65", arguments: ["run", "inspect", "convert", "curve"])
    func fileThatIsNoLogExitsWith65(command: String) throws {
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

@Suite("Replay of recorded prefetches and durations", .timeLimit(.minutes(20)))
struct RecordedPrefetchTests {
    let folder: TemporaryFolder

    init() async throws {
        folder = try TemporaryFolder()
        var configuration = AccessLog.Configuration()
        configuration.bounds = .none
        let log = AccessLog(path: folder.path + "/access.sqlite", configuration)
        func access(_ key: String, _ outcome: RecordedAccess.Outcome, at time: Int64, _ duration: Int64? = nil) {
            log.record(
                key, cost: 100, outcome: outcome, user: "u", at: time * 1_000_000, duration: duration.map { $0 * 1_000 }
            )
        }
        func prefetch(_ key: String, _ kind: RecordedEvent.Kind, at time: Int64, _ duration: Int64? = nil) {
            log.record(
                event: RecordedEvent(
                    time: time * 1_000_000, kind: kind, key: key, user: "u", duration: duration.map { $0 * 1_000 },
                    cost: kind == .prefetchArrival ? 100 : 0))
        }
        access("a", .network, at: 1, 200)
        prefetch("b", .prefetchStart, at: 1)
        prefetch("c", .prefetchStart, at: 1)
        prefetch("b", .prefetchArrival, at: 2, 1_000)
        access("b", .prefetched, at: 3)
        access("c", .network, at: 4, 400)
        prefetch("c", .prefetchArrival, at: 4, 3_000)
        prefetch("d", .prefetchStart, at: 4)
        prefetch("d", .prefetchEnd, at: 5)
        prefetch("never", .prefetchStart, at: 5)
        prefetch("never", .prefetchArrival, at: 6, 600)
        access("d", .network, at: 7, 800)
        access("a", .memory, at: 8)
        try await log.close()
        _ = try folder.file("t.csv", "time,key,user\n1,a,u\n2,b,u\n")
    }

    private func run(_ arguments: String) throws -> Outcome {
        try Replay.run(
            ["--only", "-p", "lru", "-c", "1000"] + arguments.split(separator: " ").map(String.init), in: folder)
    }

    @Test(
        "Recorded prefetches are repeated: one used, one late, one failed, one unused", arguments: ["", " --per user"])
    func recordedPrefetchesAreRepeated(mode: String) throws {
        let outcome = try run("access.sqlite --prefetch recorded --format json" + mode)
        #expect(outcome.code == 0, "\(outcome.errors)")
        let run = try #require(try outcome.runs().first)
        #expect(run["hits"] as? Int == 2 && run["requests"] as? Int == 5)
        let prefetch = try #require(run["prefetch"] as? [String: Any])
        #expect(prefetch["fetched"] as? Int == 4 && prefetch["used"] as? Int == 1 && prefetch["late"] as? Int == 1)
        #expect(prefetch["wasted_size"] as? Int == 200 && prefetch["hits_owed"] as? Int == 1)
        // 200, 400, 600, 800, 1000 and 3000 ms: the lower of the two in the middle.
        #expect(prefetch["latency"] as? String == "as recorded (median of 6: 600 ms)")
        // b is measured with 1,000 ms and c with 400 and 3,000. They are misses without prefetching, as are a with 200 and d with 800.
        #expect(prefetch["mean_latency_without"] as? Double == 480)
    }

    @Test("Durations of a log are the default latency; a stated latency replaces them")
    func recordedDurationsAreTheDefaultLatency() throws {
        func latency(_ arguments: String) throws -> String? {
            let outcome = try run("access.sqlite --prefetch markov --format json " + arguments)
            return (try outcome.runs().first?["prefetch"] as? [String: Any])?["latency"] as? String
        }
        for arguments in [
            "", "--fetch-latency measured",
            "--per user --knowledge server --fetch-latency measured --latency network=9",
        ] {
            #expect(try latency(arguments) == "as recorded (median of 6: 600 ms)")
        }
        #expect(try latency("--fetch-latency 2s") == "2 s")
        #expect(try latency("--latency network=9")?.hasPrefix("9 ms") == true)
        // Only durations of the requests that are read count.
        #expect(try latency("--limit 1") == "as recorded (median of 1: 200 ms)")
    }

    @Test("A policy that plans between requests does so at a recorded background event", arguments: [true, false])
    func visitRefillPlansWhenTheAppEntersTheBackground(isRecorded: Bool) async throws {
        var configuration = AccessLog.Configuration()
        configuration.bounds = .none
        let log = AccessLog(path: folder.path + "/background.sqlite", configuration)
        for (second, key) in ["a", "a", "b", "c"].enumerated() {
            log.record(key, cost: 100, outcome: .network, user: "u", at: Int64(second) * 1_000_000)
        }
        if isRecorded { log.record(event: RecordedEvent(time: 5_000_000, kind: .background, user: "u")) }
        log.record("a", cost: 100, outcome: .network, user: "u", at: 60_000_000)
        try await log.close()
        let arguments = "background.sqlite --only -p lru -c 200 --per user --prefetch visit-refill --format json"
        let outcome = try Replay.run(arguments.split(separator: " ").map(String.init), in: folder)
        let run = try #require(try outcome.runs().first, "\(outcome.errors)")
        #expect(run["hits"] as? Int == (isRecorded ? 2 : 1))
    }

    @Test(
        "Without records, or in another order, recorded prefetches are refused in one sentence",
        arguments: [
            "t.csv --prefetch recorded", "t.csv --prefetch markov --fetch-latency measured",
            "access.sqlite --prefetch recorded --skip 1", "access.sqlite --prefetch recorded --sort",
            "access.sqlite --prefetch recorded --stream -c 1000B", "access.sqlite --prefetch recorded --shuffle 1",
        ])
    func missingOrReorderedRecordsAreRefused(arguments: String) throws {
        let outcome = try run(arguments)
        #expect(outcome.code == 64 && outcome.errors.contains("access log"), "\(outcome.errors)")
    }
}
