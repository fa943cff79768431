import Foundation
import HalcyonTestSupport
import Testing

@Suite("Files that other programs write", .timeLimit(.minutes(20)))
struct ReadingOptionTests {
    private let folder: TemporaryFolder
    private let sample = SampleTrace()
    private let headerless = [
        "--trace-format", "csv", "--delimiter", " ", "--header", "no", "--columns", "time=1,key=2,size=3",
    ]

    init() throws { folder = try TemporaryFolder() }

    private func json(_ arguments: [String], input: String? = nil) throws -> [String: Any] {
        let outcome = try Replay.run(arguments + ["--format", "json"], in: folder, input: input)
        #expect(outcome.code == 0, "\(outcome.errors)")
        return try outcome.json()
    }

    private func hits(_ report: [String: Any]) throws -> [Int] {
        try (try #require(report["runs"] as? [[String: Any]])).map { try #require($0["hits"] as? Int) }
    }

    private func fingerprint(_ report: [String: Any]) throws -> String {
        let trace = report["trace"] as? [String: Any] ?? report
        return try #require(trace["fingerprint"] as? String)
    }

    @Test("Every command reads a file without a header by the numbers of its columns")
    func everyCommandReadsAFileWithoutAHeader() throws {
        let rows = sample.requests.map { "\($0.time) \($0.key) \($0.size)\n" }.joined()
        _ = try folder.file("t.tr", rows)
        let expected = SampleTrace.lruHits(sample.requests, capacity: 5_000)
        let run = ["--only", "-p", "lru", "-c", "5000"] + headerless
        #expect(try hits(json(["run", "t.tr"] + run)) == [expected])
        #expect(try hits(json(["run", "t.tr", "--stream"] + run)) == [expected])
        #expect(try hits(json(["run", "-"] + run, input: rows)) == [expected])
        #expect(try hits(json(["run", "-", "--stream"] + run, input: rows)) == [expected])
        let inspection = try json(["inspect", "t.tr"] + headerless)
        #expect(inspection["requests"] as? Int == sample.requests.count)
        #expect(try fingerprint(inspection) == fingerprint(json(["run", "t.tr"] + run)))
        let text = try Replay.run(["inspect", "t.tr"] + headerless, in: folder)
        let hash = try fingerprint(inspection)
        #expect(text.lines.contains { $0.hasPrefix("fingerprint ") && $0.hasSuffix(" \(hash)") })
        #expect(text.lines.contains { $0.hasPrefix("columns ") && $0.hasSuffix(" time=1, key=2, size=3") })
        #expect(try Replay.run(["convert", "t.tr", "copy.csv"] + headerless, in: folder).code == 0)
        #expect(try fingerprint(json(["inspect", "copy.csv"])) == fingerprint(inspection))
        let suite = """
            schema: halcyon.suite/1
            traces: [{path: t.tr, columns: "time=1,key=2,size=3", header: no, delimiter: " ", format: csv}]
            experiments: [{name: one, policies: [lru], capacities: [5000]}]
            """
        _ = try folder.file("s.yml", suite)
        #expect(try Replay.run("sweep", "s.yml", "--results", "r", in: folder).code == 0)
        let cells = try Replay.run("results", "r", "--format", "csv", in: folder)
        #expect(cells.text.contains(",\(expected),"), "\(cells.text) \(cells.errors)")
    }

    @Test("A header that is data costs no request in silence")
    func aHeaderThatIsDataIsRefused() throws {
        _ = try folder.file("t.csv", "109,26,1\n110,27,1\n")
        let outcome = try Replay.run("inspect", "t.csv", "--columns", "time=109,key=26,size=1", in: folder)
        #expect(outcome.code == 65)
        #expect(
            outcome.errors
                == "replay: t.csv:1: the first line, '109,26,1', looks like a request and not like a header: write --header no "
                + "--columns time=1,key=2,size=3 with the numbers of the columns, or --header yes if it is a header\n")
        #expect(
            try json(["inspect", "t.csv", "--columns", "time=109,key=26,size=1", "--header", "yes"])["requests"] as? Int
                == 1)
        #expect(try Replay.run("inspect", "t.csv", "--header", "maybe", in: folder).code == 64)
    }

    /// The kept keys were computed with Python's hashlib: the first 8 bytes of SHA-256 of `1:key`.
    @Test("convert --sample keeps all requests of a share of the objects")
    func convertSamplesObjects() throws {
        _ = try folder.file("whole.csv", sample.csv)
        let kept: Set<Int> = [
            2, 11, 13, 15, 16, 17, 20, 21, 27, 30, 34, 38, 44, 47, 53, 54, 60, 66, 71, 72, 73, 81, 82, 83, 84, 86, 95,
            103, 110, 114,
        ]
        let expected = sample.requests.filter { kept.contains($0.key) }
        let outcome = try Replay.run("convert", "whole.csv", "part.csv", "--sample", "25%", in: folder)
        let objects = Set(sample.requests.map(\.key))
        let note =
            "note: The sample has \(kept.intersection(objects).count) of \(objects.count) objects and \(expected.count) of 1,500 "
            + "requests: replay it with 25% of the capacity.\n"
        #expect(outcome.code == 0 && outcome.errors.contains(note), "\(outcome.errors)")
        #expect(try folder.text("part.csv").split(separator: "\n").count == 1 + expected.count)
        let run = try json(["run", "part.csv", "--only", "-p", "lru", "-c", "1250"])
        #expect(try hits(run) == [SampleTrace.lruHits(expected, capacity: 1_250)])
        for (arguments, sentence) in [
            (["--sample", "0"], "--sample 0 is not a share"), (["--sample", "2"], "is not a share"),
            (["--seed", "3"], "--seed is that of --sample"),
            (["--sample", "0.000001"], "selects none of the \(objects.count) objects"),
        ] {
            let refused = try Replay.run(["convert", "whole.csv", "no.csv"] + arguments, in: folder)
            #expect(refused.code == 64 && refused.errors.contains(sentence), "\(refused.errors)")
        }
        #expect(folder.contents == ["part.csv", "whole.csv"])
    }

    @Test("Several files are one trace in every command")
    func severalFilesAreOneTrace() throws {
        let lines = sample.csv.split(separator: "\n").map { "\($0)\n" }
        let cuts = [1, 400, 401, lines.count]
        let names = try (0..<3).map { part in
            let name = "part\(part).csv"
            _ = try folder.file(name, lines[0] + lines[cuts[part]..<cuts[part + 1]].joined())
            return name
        }
        _ = try folder.file("whole.csv", sample.csv)
        let joined = [names[0], "--then", names[1], names[2]]
        let run = ["--only", "-p", "lru", "-p", "s3-fifo", "-c", "5000,10%"]
        for extra in [[], ["--per", "user"], ["--stream", "-c", "5000"]] {
            let run = extra.first == "--stream" ? ["--only", "-p", "lru"] + extra : run + extra
            let (one, several) = (try json(["run", "whole.csv"] + run), try json(["run"] + joined + run))
            #expect(try hits(one) == hits(several) && fingerprint(one) == fingerprint(several))
        }
        #expect(try fingerprint(json(["inspect"] + joined)) == fingerprint(json(["inspect", "whole.csv"])))
        let note = try Replay.run(["inspect"] + joined, in: folder)
        #expect(
            note.text.contains(
                "One trace of 3 files: part0.csv (399 requests), part1.csv (1 request), part2.csv (1,100 requests).\n"))
        #expect(try Replay.run(["convert", names[0], "out.csv", "--then", names[1], names[2]], in: folder).code == 0)
        #expect(try folder.text("out.csv") == sample.csv)
        let curve = ["--policy", "lru", "--points", "5", "--format", "csv"]
        #expect(
            try Replay.run(["curve"] + joined + curve, in: folder).output
                == Replay.run(["curve", "whole.csv"] + curve, in: folder).output)
        for (file, then) in [("whole.csv", ""), (names[0], ", then: [\(names[1]), \(names[2])]")] {
            _ = try folder.file(
                "s.yml",
                """
                schema: halcyon.suite/1
                traces: [{path: \(file), name: t\(then)}]
                experiments: [{name: one, policies: [lru, s3-fifo], capacities: [5000]}]
                """)
            let sweep = try Replay.run("sweep", "s.yml", "--results", "r", in: folder)
            #expect(sweep.code == 0, "\(sweep.errors)")
        }
        // Both traces are the same cells.
        #expect(try Replay.run("results", "r", "--format", "csv", in: folder).lines.count == 1 + 2)
        for (arguments, code, sentence) in [
            (
                ["convert", names[0], names[1], "--then", names[1]], 64,
                "The output part1.csv would replace the trace part1.csv"
            ),
            (
                ["run", names[0], names[1], "--then", names[2]], 64,
                "--then continues one trace, and 2 are given: name one."
            ),
            (["inspect", "-", "--then", names[0]], 64, "--then joins files, and standard input is none"),
            (["inspect", names[1], "--then", names[0]], 65, "part0.csv:2:1: time "),
        ] as [([String], Int32, String)] {
            let outcome = try Replay.run(arguments, in: folder)
            #expect(outcome.code == code && outcome.errors.contains(sentence), "\(outcome.errors)")
        }
    }

    /// The requests with lifetimes from 0 (none) to 40 s, which differ from request to request.
    private var lifetimes: [Int] { sample.requests.indices.map { $0 * 7 % 11 == 0 ? 0 : $0 * 13 % 41 } }

    /// Counts the hits of LRU or FIFO with the simplest code. An entry is found until its lifetime after its insertion
    /// has passed. One that is requested later is removed and inserted again.
    private func hits(capacity: Int, isFIFO: Bool, user: Int? = nil) -> Int {
        var residents: [(request: SampleTrace.Request, end: Int?)] = []
        var hits = 0
        for (request, lifetime) in zip(sample.requests, lifetimes) where user == nil || request.user == user {
            if let found = residents.firstIndex(where: { $0.request.key == request.key }) {
                let entry = residents[found]
                if entry.end.map({ request.time <= $0 }) ?? true {
                    hits += 1
                    if !isFIFO { residents.append(residents.remove(at: found)) }
                    continue
                }
                residents.remove(at: found)
            }
            while residents.reduce(0, { $0 + $1.request.size }) + request.size > capacity { residents.removeFirst() }
            residents.append((request, lifetime == 0 ? nil : request.time + lifetime))
        }
        return hits
    }

    @Test("--use-ttl lets entries expire as a plain reader does")
    func entriesExpireByTheLifetimesOfTheTrace() throws {
        let rows = zip(sample.requests, lifetimes).map { request, lifetime -> String in
            let user = request.user.map { String($0) } ?? ""
            let seconds = lifetime == 0 ? "" : String(lifetime)
            return "\(request.time),\(request.key),\(request.size),\(user),\(seconds)\n"
        }
        _ = try folder.file("t.csv", "time,key,size,user,TTL\n" + rows.joined())
        _ = try folder.file("u.csv", rows.joined())
        for capacity in [2_000, 8_000, 60_000] {
            let run = ["--only", "-p", "lru", "-p", "fifo", "-c", "\(capacity)"]
            let expected = [hits(capacity: capacity, isFIFO: false), hits(capacity: capacity, isFIFO: true)]
            #expect(try hits(json(["run", "t.csv", "--use-ttl"] + run)) == expected)
            let numbered = ["--header", "no", "--columns", "time=1,key=2,size=3,user=4,ttl=5"]
            #expect(try hits(json(["run", "u.csv", "--use-ttl", "--timings"] + numbered + run)) == expected)
            let plain = try hits(json(["run", "t.csv"] + run))
            #expect(
                plain == [SampleTrace.lruHits(sample.requests, capacity: capacity), plain[1]] && plain[0] > expected[0])
            let users = (0..<10).reduce(0) { $0 + hits(capacity: capacity, isFIFO: false, user: $1) }
            #expect(try hits(json(["run", "t.csv", "--use-ttl", "--per", "user"] + run))[0] == users)
        }
        let report = try json(["run", "t.csv", "--use-ttl", "-p", "lru", "-c", "2000"])
        #expect(try fingerprint(report) != fingerprint(json(["run", "t.csv", "-p", "lru", "-c", "2000", "--only"])))
        let names = (report["runs"] as? [[String: Any]] ?? []).compactMap { $0["policy"] as? String }
        #expect(names.contains("lfu") && !names.contains("belady") && !names.contains("kingfisher"))
        for (arguments, code, sentence) in [
            (["t.csv", "--use-ttl", "--stream", "-c", "9"], 64, "--use-ttl needs the whole trace in memory"),
            (
                ["t.csv", "--use-ttl", "--tiers", "memory=1KB,disk=2KB"], 64,
                "--use-ttl is for one cache without prefetching"
            ),
            (["t.csv", "--use-ttl", "--columns", "ttl=life"], 65, "there is no column 'life' for the lifetime"),
            (["t.csv", "--columns", "ttl=TTL"], 65, "--columns ttl=… is for --use-ttl"),
            (["bad.csv", "--use-ttl"], 65, "bad.csv:2:3: lifetime '1.5' is not a number of seconds"),
            (["t.vscsi", "--use-ttl"], 65, "t.vscsi: has no lifetimes, which --use-ttl needs"),
        ] as [([String], Int32, String)] {
            _ = try folder.file("bad.csv", "key,ttl\na,1.5\n")
            _ = try folder.file("t.vscsi", (0..<32).map { UInt8($0 == 15 ? 1 : 0) })
            let outcome = try Replay.run(["run"] + arguments + ["-p", "lru", "--only"], in: folder)
            #expect(outcome.code == code && outcome.errors.contains(sentence), "\(outcome.errors)")
        }
    }

    @Test("Lifetimes are read from Twitter's text and its preset alike")
    func lifetimesOfTwitterAreRead() throws {
        // The entry of the write lives 5 s; that of the read has no lifetime.
        let text = """
            0,a,1,9,7,set,5
            5,a,1,9,7,get,0
            6,a,1,9,7,get,0
            99,a,1,9,7,get,0
            99,a,1,0,7,delete,0

            """
        _ = try folder.file("t.twr", text)
        for options in [[], ["--preset", "twitter"]] {
            let report = try json(["run", "t.twr", "--use-ttl", "--only", "-p", "lru", "-c", "10"] + options)
            #expect(try hits(report) == [2])
        }
    }
}
