import Foundation
import HalcyonTestSupport
import Testing

@Suite("replay TRACE", .timeLimit(.minutes(20)))
struct RunTests {
    let folder: TemporaryFolder
    let trace = SampleTrace()

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", trace.csv)
    }

    private func runs(_ arguments: String...) throws -> [[String: Any]] {
        let outcome = try Replay.run(["t.csv", "--only", "--format", "json"] + arguments, in: folder)
        #expect(outcome.errors.isEmpty)
        #expect(outcome.code == 0)
        return try outcome.runs()
    }

    private func hits(_ arguments: String...) throws -> Int? {
        let outcome = try Replay.run(["t.csv", "--only", "-p", "lru", "--format", "json"] + arguments, in: folder)
        #expect(outcome.code == 0, "\(outcome.errors)")
        return try outcome.runs().first?["hits"] as? Int
    }

    @Test("There is one run per policy and capacity, ordered by policy, then capacity")
    func runsFollowPoliciesThenCapacities() throws {
        let runs = try runs("-p", "fifo,lru", "-p", "s3-fifo(small=0.2)", "-c", "2KB,1%,500")
        #expect(
            runs.map { "\($0["label"] ?? "") \($0["capacity_asked"] ?? "")" } == [
                "fifo 2KB", "fifo 1%", "fifo 500", "lru 2KB", "lru 1%", "lru 500", "s3-fifo(small=0.2) 2KB",
                "s3-fifo(small=0.2) 1%", "s3-fifo(small=0.2) 500",
            ])
        #expect(runs.map { $0["capacity"] as? Int }[0..<3] == [2_000, max(1, trace.distinctBytes / 100), 500])
        #expect(runs.allSatisfy { $0["capacity_unit"] as? String == "bytes" })
        #expect((runs[6]["parameters"] as? [String: String])?["small"] == "0.2")
    }

    @Test("Several traces give a report each, in every format")
    func severalTracesGiveAReportEach() throws {
        _ = try folder.file("u.csv", "key\n1\n2\n1\n1\n")
        func run(_ form: String) throws -> String {
            let outcome = try Replay.run(
                ["t.csv", "u.csv", "--only", "-p", "lru,fifo", "-c", "50%", "--format", form], in: folder)
            #expect(outcome.code == 0 && outcome.errors.isEmpty)
            return outcome.text
        }
        let reports = try #require(
            JSONSerialization.jsonObject(with: Data(run("json").utf8)) as? [[String: Any]])
        #expect(reports.compactMap { ($0["trace"] as? [String: Any])?["path"] as? String } == ["t.csv", "u.csv"])
        let runs = try reports.map { try #require($0["runs"] as? [[String: Any]]) }
        #expect(runs.map(\.count) == [2, 2])
        // One object of two fits: 1 and 2 are misses, then 1, then a hit.
        #expect(runs[1].map { $0["hits"] as? Int } == [1, 1])
        let rows = try run("csv").split(separator: "\n")
        #expect(rows.count == 5 && rows[1...2].allSatisfy { $0.hasPrefix("t.csv,") })
        #expect(rows[3...4].allSatisfy { $0.hasPrefix("u.csv,") })
        #expect(try run("jsonl").split(separator: "\n").count == 4)
        let table = try run("table")
        #expect(table.contains("t.csv") && table.contains("u.csv"))
        let missing = try Replay.run(["t.csv", "no.csv", "-o", "r.json"], in: folder)
        #expect(missing.code == 65 && missing.text.isEmpty && missing.errors.contains("no.csv"))
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/r.json"))
    }

    @Test("Hits equal those of a textbook LRU with --skip, --limit and --warmup")
    func hitsEqualABookLRUOnSlices() throws {
        let requests = trace.requests
        #expect(try hits("-c", "3KB") == SampleTrace.lruHits(requests, capacity: 3_000))
        #expect(try hits("-c", "3KB", "--limit", "700") == SampleTrace.lruHits(requests.prefix(700), capacity: 3_000))
        #expect(
            try hits("-c", "3KB", "--skip", "200", "--limit", "700")
                == SampleTrace.lruHits(requests[200..<900], capacity: 3_000))
        #expect(
            try hits("-c", "3KB", "--warmup", "0.25")
                == SampleTrace.lruHits(requests, capacity: 3_000, warmup: requests.count / 4))
        #expect(
            try hits("-c", "20", "--sizes", "unit")
                == SampleTrace.lruHits(requests, capacity: 20, costsAreOne: true))
    }

    @Test("--per user gives each user a cache, and reports the requests without a user")
    func perUserRunReportsRequestsWithoutUser() throws {
        let known = trace.requests.filter { $0.user != nil }
        let outcome = try Replay.run(
            "t.csv", "--only", "-p", "lru", "-c", "1KB", "--per", "user", "--format", "json", in: folder)
        let run = try #require(try outcome.runs().first)
        #expect(run["hits"] as? Int == trace.perUserHits(capacity: 1_000))
        #expect(run["requests"] as? Int == known.count)
        #expect(run["mode"] as? String == "per_user")
        #expect(run["caches"] as? Int == 10)
        let spread = try #require(run["user_distribution"] as? [String: Any])
        #expect(spread["users"] as? Int == 10)
        let notes = try #require((try outcome.json()["trace"] as? [String: Any])?["notes"] as? [String])
        #expect(notes == ["\(trace.requests.count - known.count) requests without a user left out."])
        #expect(try runs("-p", "lru", "-c", "1KB", "--per", "user", "--limit", "100").first?["requests"] as? Int == 100)
    }

    @Test("Two tiers have the hits of both and the mean latency by the stated costs")
    func tiersHaveHitsAndLatencyByTheStatedCosts() throws {
        let run = try #require(
            try runs(
                "-p", "lru", "--tiers", "memory=1KB,disk=1TB", "--latency", "memory=1,disk=10,network=100,bandwidth=1KB"
            ).first)
        let tiers = try #require(run["tiers"] as? [String: Any])
        let memory = SampleTrace.lruHits(trace.requests, capacity: 1_000)
        let fetches = Set(trace.requests.map(\.key)).count
        #expect(tiers["memory_hits"] as? Int == memory)
        #expect(tiers["network_fetches"] as? Int == fetches)
        let disk = trace.requests.count - memory - fetches
        #expect(tiers["disk_hits"] as? Int == disk)
        let milliseconds = memory + 10 * disk + 100 * fetches + trace.distinctBytes
        let mean = try #require(tiers["mean_latency"] as? Double)
        #expect(abs(mean - Double(milliseconds) / Double(trace.requests.count)) < 1e-9)
    }

    @Test("Tables by category and by user add up")
    func tablesByCategoryAndUserAddUp() throws {
        let run = try #require(try runs("-p", "lru", "-c", "3KB", "--by", "category", "--by", "user").first)
        let categories = try #require(run["categories"] as? [String: [String: Int]])
        #expect(categories.count == 10)
        #expect(categories.values.reduce(0) { $0 + ($1["requests"] ?? 0) } == 2 * trace.requests.count)
        let users = try #require(run["users"] as? [String: [String: Int]])
        for user in 0..<10 {
            #expect(users["u\(user)"]?["requests"] == trace.requests.count { $0.user == user })
        }
        let rows = try #require(run["breakdown"] as? [[String: Any]])
        #expect(rows.count == 20)
        for row in rows {
            let name = try #require(row["name"] as? String)
            let tally = try #require((row["by"] as? String == "user" ? users : categories)[name])
            #expect(row["requests"] as? Int == tally["requests"] && row["hits"] as? Int == tally["hits"])
        }
        // In CSV a row each, after that of the run.
        let csv = try Replay.run(
            "t.csv", "--only", "-p", "lru", "-c", "3KB", "--by", "category", "--by", "user", "--format", "csv",
            in: folder
        ).lines.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        let place = Dictionary(uniqueKeysWithValues: csv[0].enumerated().map { ($1, $0) })
        let (by, name, requests) = (
            try #require(place["by"]), try #require(place["name"]), try #require(place["requests"])
        )
        #expect(csv.count == 22 && Set(csv.map(\.count)) == [csv[0].count] && csv[1][by].isEmpty)
        #expect(
            csv.dropFirst(2).filter { $0[by] == "user" }.allSatisfy { row in
                row[requests] == users[row[name]]?["requests"].map(String.init)
            })
        let text = try Replay.run("t.csv", "--only", "-p", "lru", "-c", "3KB", "--by", "user", in: folder).lines
        #expect(text.contains { $0.hasPrefix("user") && $0.hasSuffix("lru") })
    }

    @Test("--timings times each hit, miss and eviction in every format and changes no count")
    func timingsCoverEachHitMissAndEviction() throws {
        let arguments = ["-p", "lru,gdsf", "-c", "3KB", "--warmup", "0.2"]
        let timed = try Replay.run(["t.csv", "--only", "--timings", "--format", "json"] + arguments, in: folder).runs()
        let plain = try Replay.run(["t.csv", "--only", "--format", "json"] + arguments, in: folder).runs()
        let keys = ["hits", "requests", "evictions", "admissions_refused", "bytes_fetched", "metadata_bytes"]
        for (run, other) in zip(timed, plain) {
            for key in keys { #expect("\(run[key] ?? "")" == "\(other[key] ?? "-")", "\(key)") }
            #expect(other["timings"] == nil)
            let times = try #require(run["timings"] as? [String: Any])
            let counts = ["hit", "miss", "eviction"].map { (times[$0] as? [String: Any])?["count"] as? Int }
            let (hits, requests) = (try #require(run["hits"] as? Int), try #require(run["requests"] as? Int))
            #expect(counts == [hits, requests - hits, run["evictions"] as? Int])
        }
        let csv = try Replay.run(["t.csv", "--only", "--timings", "--format", "csv"] + arguments, in: folder).lines
            .map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        for (column, key) in [("hits", "hit_count"), ("evictions", "eviction_count")] {
            let (counted, timed) = (csv[0].firstIndex(of: column), csv[0].firstIndex(of: key))
            for row in csv[1...] { #expect(row[try #require(counted)] == row[try #require(timed)]) }
        }
        let table = try Replay.run(["t.csv", "--only", "--timings"] + arguments, in: folder).lines
        #expect(table.contains { $0.hasPrefix("policy  ns ") && $0.hasSuffix(" max") })
        #expect(table.count { $0.hasPrefix("gdsf    eviction ") } == 1)
        #expect(table.last?.hasPrefix("The clock's overhead ") == true)
    }

    @Test("A stream counts as the loaded trace")
    func streamCountsAsTheLoadedTrace() throws {
        let arguments = ["-p", "lru,s3-fifo,arc,gdsf", "-c", "1KB,5000", "--skip", "10", "--limit", "1400"]
        let loaded = try Replay.run(["t.csv", "--only", "--format", "json"] + arguments, in: folder).runs()
        let streamed = try Replay.run(["t.csv", "--only", "--stream", "--format", "json"] + arguments, in: folder)
            .runs()
        #expect(streamed.count == 8)
        for key in ["label", "capacity", "hits", "requests", "bytes_fetched", "evictions"] {
            #expect(streamed.map { "\($0[key] ?? "")" } == loaded.map { "\($0[key] ?? "")" }, "\(key)")
        }
        // The report covers the replayed requests only.
        for part in [["--skip", "10", "--limit", "700"], ["--limit", "40"], []] {
            let arguments = ["t.csv", "--only", "-p", "lru", "-c", "1KB"] + part
            func heading(_ more: String...) throws -> String? {
                try Replay.run(arguments + more, in: folder).lines.first
            }
            #expect(try heading("--stream") == heading())
        }
    }

    @Test("A stream of uniform sizes, from a file or a pipe, counts as the loaded trace")
    func uniformStreamCountsAsTheLoadedTrace() throws {
        let rows = SampleTrace().requests.map { "k\($0.key)" }
        _ = try folder.file("none.csv", "key\n" + rows.joined(separator: "\n"))
        _ = try folder.file("equal.csv", "key,size\n" + rows.map { "\($0),4096\n" }.joined())
        func counts(_ line: String) throws -> [[String]] {
            try Replay.shell("\(line) --only -p lru,s3-fifo,w-tinylfu --format json", in: folder).runs().map { run in
                ["hits", "evictions"].map { "\(run[$0] ?? "")" }
            }
        }
        let loaded = try counts("replay none.csv -c 8")
        #expect(loaded.count == 3 && loaded.allSatisfy { $0 != ["0", "0"] })
        for line in [
            "replay none.csv --stream -c 8", "replay equal.csv -c 32768", "replay equal.csv --stream -c 33KB",
            "replay equal.csv --sizes unit -c 8", "cat equal.csv | replay - --stream -c 32768",
            "replay - --stream -c 32768 < equal.csv",
        ] {
            #expect(try counts(line) == loaded, "\(line)")
        }
    }

    @Test("The number of threads changes nothing, the seed only random policies")
    func threadsChangeNothingAndSeedsOnlyRandomPolicies() throws {
        func counts(_ arguments: String...) throws -> [Int?] {
            try Replay.run(
                ["t.csv", "--only", "-p", "random,lru", "-c", "1%,10%", "--format", "json"] + arguments, in: folder
            ).runs().map { $0["hits"] as? Int }
        }
        let one = try counts("--threads", "1")
        #expect(try counts("--threads", "2") == one)
        #expect(try counts("--seed", "1") == one)
        let other = try counts("--seed", "2")
        #expect(other[2...] == one[2...])
        #expect(other[..<2] != one[..<2])
    }

    @Test("Baselines are added once each; --only leaves them out")
    func baselinesAreAddedOnceUnlessOnly() throws {
        let labels = try Replay.run("t.csv", "-p", "fifo,lru", "-c", "2KB", "--format", "json", in: folder).runs()
            .map { $0["label"] as? String }
        #expect(labels == ["fifo", "lru", "lfu", "kingfisher", "s3-fifo", "gdsf", "belady", "belady(bypass=on)"])
        #expect(try runs("-p", "fifo", "-c", "2KB").count == 1)
    }

    @Test("belady(bypass=on) is added only in caches of fewer than 1,000 objects")
    func bypassingOptimumIsAddedInSmallCachesOnly() throws {
        let text = "key\n" + (0..<3_000).map { "k\($0 % 1_500)\n" }.joined()
        _ = try folder.file("cycle.csv", text)
        let runs = try Replay.run("cycle.csv", "-p", "fifo", "-c", "999,1000", "--format", "json", in: folder).runs()
        let offline = runs.filter { ($0["policy"] as? String) == "belady" }
        #expect(offline.map { $0["label"] as? String } == ["belady", "belady", "belady(bypass=on)"])
        #expect(offline.map { $0["capacity"] as? Int } == [999, 1_000, 999])
    }

    @Test("--seeds runs random policies for each seed, all others once, and adds the means")
    func seedsRunRandomPoliciesForEachSeed() throws {
        let outcome = try Replay.run(
            "t.csv", "--only", "-p", "random,lru", "-c", "1%", "--seeds", "3", "--seed", "7", "--format", "json",
            in: folder)
        let runs = try outcome.runs()
        #expect(runs.map { $0["label"] as? String } == ["random", "random", "random", "lru"])
        #expect(runs.map { $0["seed"] as? Int } == [7, 8, 9, 7])
        let alone = try (7...9).map { seed in
            try self.runs("-p", "random", "-c", "1%", "--seed", "\(seed)").first?["hits"] as? Int
        }
        #expect(runs.prefix(3).map { $0["hits"] as? Int } == alone)
        let means = try #require(try outcome.json()["means"] as? [[String: Any]])
        #expect(means.count == 1 && means[0]["label"] as? String == "random")
        let mean = try #require((means[0]["object_hit_ratio"] as? [String: Double])?["mean"])
        let total = alone.reduce(0) { $0 + ($1 ?? 0) }
        #expect(abs(mean - Double(total) / Double(3 * trace.requests.count)) < 1e-12)
    }

    @Test("The named policies of two tiers are a run beside those of --policy")
    func policiesOfTiersAreARunBesideOthers() throws {
        let tiers = "memory=1KB:kingfisher-memory,disk=5KB:kingfisher-disk"
        let alone = try runs("--tiers", tiers)
        #expect(alone.map { $0["label"] as? String } == ["kingfisher"])
        let both = try runs("--tiers", tiers, "-p", "lru")
        #expect(both.map { $0["label"] as? String } == ["kingfisher", "lru"])
        let one = try runs("--tiers", "memory=1KB:lfu,disk=5KB", "-p", "lru,fifo")
        #expect(one.map { $0["label"] as? String } == ["lfu/lru", "lfu/fifo"])
    }

    @Test("--sizes first, per-request, unit and lognormal apply to the trace")
    func sizeRulesApplyToTheTrace() throws {
        _ = try folder.file("s.csv", "key,size\na,10\nb,0\na,30\na,30\nb,0\n")
        func run(_ rule: String) throws -> (trace: [String: Any], run: [String: Any]) {
            let outcome = try Replay.run(
                "s.csv", "--only", "-p", "lru", "-c", "100", "--sizes", rule, "--format", "json", in: folder)
            return (
                try #require(try outcome.json()["trace"] as? [String: Any]), try #require(try outcome.runs().first)
            )
        }
        let first = try run("first")
        #expect(first.trace["distinct_size"] as? Int == 11)
        #expect(first.run["hits"] as? Int == 3)
        #expect(
            first.trace["notes"] as? [String] == [
                "1 object of unknown size: 1 byte each.",
                "2 requests with a size other than the object's first; --sizes selects the rule.",
                "No time is known: request n is taken to happen n seconds after the first.",
            ])
        #expect(try run("per-request").run["stale"] as? Int == 1)
        #expect(try run("unit").run["capacity_unit"] as? String == "objects")
        let drawn = try run("lognormal:median=40KB,sigma=1.1").trace["distinct_size"] as? Int
        #expect(try run("lognormal:median=40KB,sigma=1.1").trace["distinct_size"] as? Int == drawn)
        #expect(try #require(drawn) > 1_000)
    }

    @Test("--skip-bad-lines leaves out and counts bad lines; --sort sorts requests by time")
    func badLinesAndTheOrderCanBeRepaired() throws {
        _ = try folder.file("bad.csv", "time,key\n1,a\nx,b\n2,a\n3\n")
        _ = try folder.file("back.csv", "time,key\n5,a\n1,b\n6,b\n")
        let bad = try Replay.run("bad.csv", "--only", "-p", "lru", "-c", "1", "--skip-bad-lines", in: folder)
        #expect(bad.lines.contains("  note: 2 bad lines left out."))
        #expect(bad.lines.last?.hasPrefix("lru       50.00 %") == true)
        let sorted = try Replay.run("back.csv", "--only", "-p", "lru", "-c", "1", "--sort", in: folder)
        #expect(sorted.lines.contains("  note: 1 request sorted by time."))
        #expect(sorted.lines.last?.hasPrefix("lru        0.00 %") == true)
    }

    @Test("Standard input, pipes and names with spaces and Unicode characters are read as traces")
    func standardInputPipesAndAnyNamesAreTraces() throws {
        let expected = try hits("-c", "3KB")
        let arguments = ["--only", "-p", "lru", "-c", "3KB", "--format", "json"]
        #expect(
            try Replay.run(["-"] + arguments, in: folder, input: trace.csv).runs().first?["hits"] as? Int == expected)
        _ = try folder.file("träce 日本 ☃.csv", trace.csv)
        #expect(
            try Replay.run(["träce 日本 ☃.csv"] + arguments, in: folder).runs().first?["hits"] as? Int == expected)
        let piped = try Replay.shell(
            "mkfifo pipe.csv; cat t.csv > pipe.csv & replay pipe.csv \(arguments.joined(separator: " "))", in: folder)
        #expect(try piped.runs().first?["hits"] as? Int == expected)
    }
}
