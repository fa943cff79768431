import Foundation
import HalcyonTestSupport
import Testing

@Suite("The command as a new user tries it", .timeLimit(.minutes(20)))
struct NewUserTests {
    let folder: TemporaryFolder
    let trace = SampleTrace()

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", trace.csv)
    }

    @Test("Unused and unusually named columns are reported by run, loaded and streamed, and by inspect")
    func columnsAreReportedByRunAndInspect() throws {
        _ = try folder.file("m.csv", "when,item,genre,price\n1,a,x,9\n2,b,y,9\n3,a,x,9\n")
        let note = "Columns: key=item; not used: when, genre, price (--columns category=genre would use genre)."
        let reading = ["m.csv", "--columns", "key=item"]
        for extra in [["-c", "1"], ["-c", "1", "--stream"]] {
            let outcome = try Replay.run(reading + ["--only", "-p", "lru", "--format", "json"] + extra, in: folder)
            let trace = try #require(try outcome.json()["trace"] as? [String: Any])
            #expect(try #require(trace["notes"] as? [String]).contains(note))
        }
        let inspected = try Replay.run(
            ["inspect", "m.csv", "--columns", "key=item,time=when,category=genre"], in: folder)
        #expect(
            inspected.lines.contains {
                $0.hasPrefix("columns ")
                    && $0.hasSuffix(
                        "time=when, key=item, category=genre; not used: price (--columns user=price would use price)")
            })
        let json = try Replay.run("inspect", "t.csv", "--format", "json", in: folder).json()
        let columns = try #require(json["columns"] as? [String: Any])
        #expect(
            (columns["used"] as? [[String: String]])?.map { $0["role"] } == ["time", "key", "size", "category", "user"])
        #expect(columns["unused"] as? [String] == [])
        // There is no note about a file with the usual names.
        let usual = try Replay.run("t.csv", "--only", "-p", "lru", in: folder)
        #expect(!usual.text.contains("Columns:"))
    }

    @Test("convert reports what the format loses, generate the counts of the trace")
    func convertReportsLossesAndGenerateCounts() throws {
        let converted = try Replay.run("convert", "t.csv", "t.oracleGeneral", in: folder)
        #expect(
            converted.errors == """
                note: oracleGeneral does not keep: 10 categories, 10 users, the text of 114 keys (a number instead).
                t.oracleGeneral: 1,500 requests, 114 objects, 28.4 KB

                """)
        let made = try Replay.run("generate", "shop", "--set", "requests=100", "-o", "s.csv", in: folder)
        #expect(made.code == 0)
        #expect(made.errors.hasPrefix("s.csv: 100 requests, ") && made.errors.hasSuffix(" categories\n"))
        let piped = try Replay.run("generate", "loop", "--set", "requests=3", in: folder)
        #expect(piped.text == "time,key\n0,0\n1,1\n2,2\n")
        #expect(piped.errors == "standard output: 3 requests, 3 objects\n")
    }

    @Test("A checked suite names columns as --columns does, and refuses what names none")
    func suiteColumns() throws {
        _ = try folder.file("u.csv", trace.csv.replacing("time,key,size,category,user", with: "a,b,c,d,e"))
        func suite(_ columns: String) -> String {
            """
            schema: halcyon.suite/1
            results: results
            traces:
              - {path: u.csv, columns: "\(columns)"}
            experiments:
              - {name: all, policies: lru, capacities: 1KB}

            """
        }
        _ = try folder.file("s.yml", suite("key=b,time=a,size=c"))
        let accepted = try Replay.run("check", "s.yml", "--accept", "--reason", "first", in: folder)
        #expect((accepted.code, accepted.errors) == (0, ""))
        let cells = try Replay.run("results", "results", "--format", "csv", in: folder)
        #expect(cells.text.contains(",\(SampleTrace.lruHits(trace.requests, capacity: 1_000)),"))
        #expect(try Replay.run("check", "s.yml", in: folder).code == 0)
        _ = try folder.file("s.yml", suite("key:b"))
        let refused = try Replay.run("check", "s.yml", in: folder)
        #expect(refused.code == 65)
        #expect(
            refused.errors == "replay: s.yml:4:28: 'key:b' does not name a column: write key=…, time=…, size=…, "
                + "category=…, user=…, event=…, position=… or list=…, separated by commas.\n")
        _ = try folder.file("s.yml", suite("key=nope"))
        let missing = try Replay.run("check", "s.yml", in: folder)
        #expect(missing.code == 1, "an error of one run is an entry of the report")
        #expect(missing.text.contains("there is no column 'nope' for the key"))
    }

    @Test("Compressed oracleGeneral is read from standard input, loaded and streamed", arguments: ["", ".gz", ".zst"])
    func compressedOracleGeneralIsReadFromStandardInput(_ ending: String) throws {
        _ = try Replay.run("convert", "t.csv", "o.oracleGeneral\(ending)", in: folder)
        let run = "--only -p lru -c 1KB --format json"
        let expected = SampleTrace.lruHits(trace.requests, capacity: 1_000)
        let file = "o.oracleGeneral\(ending)"
        for extra in ["", "--stream"] {
            let options = "--trace-format oracleGeneral \(run) \(extra)"
            for line in ["cat \(file) | replay - \(options)", "replay - \(options) < \(file)"] {
                let outcome = try Replay.shell(line, in: folder)
                #expect(try outcome.runs().first?["hits"] as? Int == expected, "\(line): \(outcome.errors)")
            }
        }
        let cut = try Replay.shell(
            "head -c 200 o.oracleGeneral\(ending) | replay - --trace-format oracleGeneral \(run)", in: folder)
        #expect(cut.code == 65)
        #expect(cut.errors.contains(ending.isEmpty ? "the last record has 8 of 24 bytes" : "ends early"))
    }

    @Test("A model given to the wrong option gives an error that names the right one")
    func modelOfTheOtherKindNamesItsOption() throws {
        #expect(try Replay.run("train", "t.csv", "-o", "m.st", in: folder).code == 0)
        #expect(try Replay.run("train", "t.csv", "--prefetch", "planner", "-o", "p.st", in: folder).code == 0)
        let planner = try Replay.run("t.csv", "--model", "p.st", in: folder)
        #expect(planner.code == 65)
        #expect(
            planner.errors
                == "replay: p.st: The file holds a prefetch planner of 'replay train --prefetch planner': give it to "
                + "--prefetch-model.\n")
        let model = try Replay.run("t.csv", "--prefetch", "planner", "--prefetch-model", "m.st", in: folder)
        #expect(model.code == 65)
        #expect(
            model.errors == "replay: m.st: The file holds an eviction model of 'replay train': give it to --model.\n")
    }

    static let misreadings: [Mistake] = [
        Mistake("inspct t.csv", "There is no subcommand and no file 'inspct'. Did you mean 'replay inspect'?"),
        Mistake("polices", "There is no subcommand and no file 'polices'. Did you mean 'replay policies'?"),
        Mistake("chekc t.yml", "There is no subcommand and no file 'chekc'. Did you mean 'replay check'?"),
        Mistake("t.csv --capacity -5", "A capacity cannot be negative, and '-5' is."),
        Mistake("t.csv -c -5", "A capacity cannot be negative, and '-5' is."),
        Mistake("t.csv --skip -1", "--skip -1 is negative: give 0 or more."),
        Mistake("inspect t.csv --top -2", "--top -2 is negative: give 0 or more."),
        Mistake(
            "t.csv --seed -1",
            "--seed -1 cannot be read: give a whole number of at least 0. See 'replay run --help'."),
        Mistake(
            "t.csv --limit many",
            "--limit many cannot be read: give a whole number, such as 1000. See 'replay run --help'."),
        Mistake(
            "t.csv --warmup half",
            """
            'half' is no warm-up: give a share (25% or 0.25), a number of requests (60000 or 60k) or a time (5d, 12h, 30min, 90s).
            """),
        Mistake(
            "curve t.csv --sample some",
            "--sample some cannot be read: give a share, such as 0.5 or 50%. See 'replay curve --help'."),
        Mistake(
            "curve t.csv --sample 150%", "--sample 150% is not a share: give a number above 0 and at most 1."),
        Mistake("curve t.csv --sample -1%", "--sample -1% is not a share: give a number above 0 and at most 1."),
        Mistake(
            "t.csv --capacity",
            """
            --capacity needs a value: give a share (1%), a size with a unit (64MB) or a whole number (1000). See \
            'replay run --help'.
            """),
        Mistake("inspect t.csv --bogus", "Unknown option '--bogus'. See 'replay inspect --help'."),
        Mistake("curve", "Missing expected argument '<trace>'. See 'replay curve --help'."),
        Mistake("t.csv --prefetch none,none", "--prefetch none is given twice: give it once."),
        Mistake(
            "curve t.csv -p arc --points 0",
            "--points 0, every point, is for lru without --capacity alone: give at least 2."),
        Mistake(
            "curve t.csv -p arc --sample 0.5 --maximum-objects 20",
            "--maximum-objects bounds the sample of lru alone: leave out the other policies."),
        Mistake(
            "curve t.csv -p arc --sample 1%",
            "--sample 1% leaves too few of the 114 objects for a curve: give a larger share."),
    ]

    @Test(
        "An error of the parser is one sentence with what is accepted and where to find help",
        arguments: misreadings)
    func parserErrorsAreOneSentence(_ mistake: Mistake) throws {
        let outcome = try Replay.run(mistake.arguments, in: folder)
        #expect((outcome.code, outcome.text, outcome.errors) == (64, "", "replay: \(mistake.sentence)\n"))
    }

    @Test("An existing file is no misspelled command, and a missing file is an error")
    func existingFileIsNoMisspelledCommand() throws {
        let missing = try Replay.run("nosuchfile.csv", in: folder)
        #expect((missing.code, missing.errors) == (65, "replay: nosuchfile.csv: there is no such file\n"))
        _ = try folder.file("inspec", "key\na\n")
        let run = ["inspec", "--trace-format", "csv", "--only", "-p", "lru"]
        #expect(try Replay.run(run, in: folder).code == 0)
        #expect(try Replay.run("--help", in: folder).text.contains("'replay run --help' lists the options"))
        let half = try Replay.run("curve", "t.csv", "--sample", "100%", in: folder)
        #expect(half.code == 0)
    }

    @Test("No control character of a file or an argument reaches the terminal")
    func controlCharactersNeverReachTheTerminal() throws {
        let escape = "\u{1B}[31mred\u{9B}2J\u{7F}"
        _ = try folder.file("bytes.csv", Array("key\n".utf8) + [0x1b, 0x5b, 0x33, 10])
        _ = try folder.file("head.csv", Array("\u{1B}]0;t\u{7},key\na,b\n".utf8))
        _ = try folder.file("names.csv", Array("key,c\u{9B}at,\u{202E}u,category,user\na,b,c,\u{9B}x,\u{9D}y\n".utf8))
        _ = try folder.file("noise.csv", [UInt8](0...255) + [10] + [UInt8](0...255))
        _ = try folder.file("invalid.csv", Array("key,size\na,".utf8) + [0xff, 0xfe, 0xc3, 0x28, 10])
        _ = try folder.file("noise.bin", (0..<60).map { UInt8($0 * 37 % 256) })
        _ = try folder.file("t.yml", "schema: \"\\e[31m\"\n")
        _ = try folder.file("noise.st", [UInt8](0...255))
        let calls: [[String]] = [
            ["bytes.csv"], ["head.csv"], ["noise.csv"], ["invalid.csv"], ["noise.bin"], ["inspect", "noise.csv"],
            ["names.csv", "--only", "-p", "lru", "--by", "category"], ["inspect", "names.csv"],
            ["names.csv", "--only", "-p", "lru", "-c", "1", "--stream"], [escape], ["t.csv", "-p", escape],
            ["t.csv", "-c", escape], ["t.csv", "--\(escape)"], ["t.csv", "--limit", escape],
            ["t.csv", "--columns", escape], ["t.csv", "--columns", "key=\(escape)"], ["t.csv", "--delimiter", escape],
            ["t.csv", "--sizes", escape], ["t.csv", "--prefetch", escape], ["t.csv", "--tiers", escape],
            ["t.csv", "--model", escape], ["t.csv", "--model", "noise.st"], ["check", "t.yml"], ["check", escape],
            ["generate", escape], ["generate", "zipf", "--set", escape], ["convert", "t.csv", escape],
            ["policies", escape], ["curve", "t.csv", "-p", escape], ["hypothesis", escape],
        ]
        for call in calls {
            let outcome = try Replay.run(call, in: folder)
            let printed = (outcome.text + outcome.errors).unicodeScalars.filter {
                $0.value < 0x20 && $0 != "\n" || (0x7F...0x9F).contains($0.value) || $0.value == 0x202E
            }
            #expect(printed.isEmpty, "\(call): \(outcome.text)\(outcome.errors)")
            #expect(outcome.errors.utf8.count < 4_000)
            #expect([0, 64, 65, 74].contains(outcome.code), "\(call)")
        }
        let long = try Replay.run("t.csv", "-c", String(repeating: "x", count: 100_000), in: folder)
        #expect(long.code == 64 && long.errors.utf8.count < 3_000)
    }

    @Test("--prefetch none is a run without prefetching beside the others")
    func prefetchNoneIsARunWithoutPrefetching() throws {
        func runs(_ prefetch: String) throws -> [[String: Any]] {
            try Replay.run(
                "t.csv", "--only", "-p", "lru", "-c", "1KB", "--prefetch", prefetch, "--format", "json", in: folder
            ).runs()
        }
        let both = try runs("markov,none")
        #expect(both.map { $0["prefetch"] is [String: Any] } == [true, false])
        #expect(both[1]["hits"] as? Int == SampleTrace.lruHits(trace.requests, capacity: 1_000))
        #expect(try runs("none,markov").map { $0["prefetch"] is [String: Any] } == [false, true])
        #expect(try runs("none").count == 1)
    }

    @Test("Several policies give a curve each, equal to their replays, in JSON, CSV and lines")
    func curvesOfSeveralPoliciesEqualTheirReplays() throws {
        let call = ["curve", "t.csv", "--policy", "lru,s3-fifo(small=0.2)", "-p", "belady", "-c", "500,1KB,20%"]
        let json = try Replay.run(call + ["--format", "json"], in: folder)
        let curves = try #require(try JSONSerialization.jsonObject(with: json.output) as? [[String: Any]])
        #expect(curves.map { $0["policy"] as? String } == ["lru", "s3-fifo(small=0.2)", "belady"])
        #expect(curves.allSatisfy { $0["schema"] as? String == "halcyon.curve/1" })
        for curve in curves {
            let policy = try #require(curve["policy"] as? String)
            for point in try #require(curve["points"] as? [[String: Any]]) {
                let capacity = try #require(point["capacity"] as? Int)
                let run = try Replay.run(
                    "t.csv", "--only", "-p", policy, "--capacity", "\(capacity)", "--format", "json", in: folder
                ).runs()[0]
                let misses = try #require(run["requests"] as? Int) - #require(run["hits"] as? Int)
                #expect(abs(try #require(point["miss_ratio"] as? Double) - Double(misses) / 1_500) < 1e-12)
            }
        }
        let csv = try Replay.run(call + ["--format", "csv"], in: folder).lines
        #expect(csv.count == 10 && csv[0] == "capacity,miss_ratio,standard_error,policy,method")
        #expect(csv[1].hasSuffix(",,lru,replayed"))
        let lines = try Replay.run(call + ["--format", "jsonl"], in: folder).lines
        #expect(lines.count == 9 && lines.allSatisfy { $0.contains("\"policy\":\"") })
        // One policy is one object, as before.
        let single = try Replay.run("curve", "t.csv", "--format", "json", in: folder).json()
        #expect(single["policy"] as? String == "lru" && single["method"] as? String == "exact")
        let sampled = try Replay.run(
            "curve", "t.csv", "-p", "arc", "--sample", "60%", "--unit", "objects", "--points", "3", "--format", "json",
            in: folder
        ).json()
        #expect(sampled["method"] as? String == "miniature")
        let points = try #require(sampled["points"] as? [[String: Any]])
        #expect(points.count == 3 && points.allSatisfy { $0["standard_error"] is Double })
        #expect(points.last?["capacity"] as? Int == 114)
    }

    @Test("Without a terminal progress is plain lines without control sequences")
    func progressIsPlainLinesWithoutATerminal() throws {
        let rows = (0..<200_000).map { "\($0 * $0 % 40_009)\n" }.joined()
        _ = try folder.file("long.csv", "key\n" + rows)
        _ = try folder.file(
            "s.yml",
            """
            schema: halcyon.suite/1
            traces: [long.csv]
            experiments:
              - {name: all, policies: [lirs, learned], capacities: 10%, limits: [{policy: lirs, floor: 0}]}

            """)
        // The learner takes hundreds of intervals, so that a busy machine reports one, too.
        for call in [
            ["long.csv", "--only", "-p", "lirs,learned", "-c", "1%,5%"],
            ["curve", "long.csv", "-p", "lirs,learned", "--points", "2"],
            ["check", "s.yml", "--limits-only"],
        ] {
            let outcome = try Replay.run(call, in: folder, environment: ["HALCYON_PROGRESS_SECONDS": "0.002"])
            #expect(outcome.code == 0)
            let lines = outcome.errors.split(separator: "\n")
            #expect(!lines.isEmpty, "\(call)")
            #expect(lines.allSatisfy { $0.hasPrefix("replay: ") && $0.contains(" s so far") }, "\(outcome.errors)")
            #expect(lines.contains { $0.contains(" %") && $0.hasSuffix(" s left") }, "\(outcome.errors)")
            #expect(!outcome.errors.contains("\u{1B}") && !outcome.errors.contains("\r"))
            let quiet = try Replay.run(call, in: folder)
            #expect((quiet.code, quiet.errors) == (0, ""))
        }
    }

    @Test(
        "An interruption reports that no result was written, and keeps an existing file", arguments: [SIGINT, SIGTERM])
    func interruptionReportsThatNoResultWasWritten(_ signal: Int32) throws {
        _ = try folder.file("long.csv", "key\n" + (0..<600_000).map { "\($0 * $0 % 90_001)\n" }.joined())
        _ = try folder.file("out.json", "before")
        func errors(_ arguments: [String]) throws -> String {
            let errors = try folder.file("errors", "")
            let process = try Replay.start(
                arguments, in: folder, environment: ["HALCYON_PROGRESS_SECONDS": "0.01"], errors: .file(errors))
            try process.waitForProgress(in: errors)
            #expect(process.isRunning)
            process.signal(signal)
            #expect(process.wait() == .killed(by: signal))
            return try folder.text("errors").split(separator: "\n").filter { !$0.contains(" so far") }
                .map { "\($0)\n" }.joined()
        }
        let run = [
            "long.csv", "-p", "lirs,arc,lhd,hyperbolic,learned", "-c", "1%,2%,3%,4%,5%,6%", "--format", "json", "-o",
        ]
        #expect(
            try errors(run + ["out.json"]) == "replay: interrupted: no result was written; out.json is unchanged.\n")
        #expect(try folder.text("out.json") == "before")
        #expect(try errors(run + ["new.json"]) == "replay: interrupted: no result was written.\n")
        #expect(!folder.contents.contains("new.json"))
    }
}
