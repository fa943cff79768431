import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonTestSupport
import Testing

@Suite("train, --model, explain", .timeLimit(.minutes(20)))
struct ModelCommandTests {
    let folder: TemporaryFolder
    let csv = Self.popularAndNew(requests: 6_000)

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", csv)
    }

    /// Half of the requests are for 200 objects that stay popular, half for objects that are never requested again.
    static func popularAndNew(requests: Int) -> String {
        var (text, state) = ("time,key,category,user\n", UInt32(7))
        for row in 0..<requests {
            state = state &* 1_664_525 &+ 1_013_904_223
            let popular = state >> 31 == 0
            let key = popular ? "p\((state >> 8) % 200)" : "n\(row)"
            text += "\(row),\(key),\(popular ? "a" : "b"),u\(row % 3)\n"
        }
        return text
    }

    @Test("train writes a model that serves frozen and continuing, shared and per user")
    func trainedModelServesFrozenAndContinuing() throws {
        let train = try Replay.run("train", "t.csv", "--output", "m.safetensors", "--capacity", "100", in: folder)
        #expect((train.code, train.text) == (0, ""), "\(train.errors)")
        for arguments in [["--model-mode", "frozen"], ["--model-mode", "continuing"], ["--per", "user"]] {
            let runs = try Replay.run(
                ["t.csv", "--only", "--capacity", "100", "--model", "m.safetensors", "--format", "json"] + arguments,
                in: folder
            ).runs()
            let parameters = try #require(runs.first?["parameters"] as? [String: String])
            #expect(parameters["model"] == (arguments[1] == "frozen" ? "frozen" : "continuing"))
        }
        let perUser = try Replay.run(
            "train", "t.csv", "-o", "u.safetensors", "--capacity", "30", "--per", "user", in: folder)
        #expect(perUser.code == 0, "\(perUser.errors)")
        #expect(folder.contents == ["m.safetensors", "t.csv", "u.safetensors"])
        for policies in ["lru", "lru,learned(model=none)"] {
            let unused = try Replay.run(
                "t.csv", "--only", "--policy", policies, "--model", "m.safetensors", in: folder)
            #expect(
                (unused.code, unused.errors)
                    == (64, "replay: --model needs a policy that starts with it: add --policy learned.\n"))
        }
    }

    @Test("pretrain writes a model that serves each user alone, and says what it cannot read")
    func pretrainedModelServesDevices() throws {
        _ = try folder.file("other.csv", Self.popularAndNew(requests: 5_000))
        _ = try folder.file("nobody.csv", "time,key\n1,a\n")
        let options = ["--capacity", "10,30", "--steps", "200", "--output", "d.safetensors"]
        let train = try Replay.run(["pretrain", "t.csv", "other.csv"] + options, in: folder)
        #expect((train.code, train.text) == (0, ""), "\(train.errors)")
        let runs = try Replay.run(
            "t.csv", "--only", "--capacity", "30", "--per", "user", "--model", "d.safetensors", "--format", "json",
            in: folder
        ).runs()
        let parameters = try #require(runs.first?["parameters"] as? [String: String])
        #expect(parameters["workload"] == "on" && parameters["model"] == "continuing")
        let shipped = try Replay.run(
            "t.csv", "--only", "--capacity", "30", "--per", "user", "--policy", "learned(model=shipped)", in: folder)
        #expect(shipped.code == 0, "\(shipped.errors)")
        for (arguments, code, words) in [
            (["nobody.csv"] + options, 65, "nobody.csv has no users"),
            (["none.csv"] + options, 65, "none.csv"),
            (["t.csv", "--limit", "0", "-o", "e.safetensors"], 64, "--limit 0 leaves nothing"),
            (["t.csv", "--capacity", "10,,", "-o", "e.safetensors"], 64, "capacity"),
            (["t.csv", "--policy", "lru", "-o", "e.safetensors"], 64, "'lru' does not train a model"),
            (["t.csv", "-o", "t.csv"], 64, "t.csv"),
        ] as [([String], Int32, String)] {
            let refused = try Replay.run(["pretrain"] + arguments, in: folder)
            #expect(refused.code == code && refused.errors.contains(words), "\(arguments): \(refused.errors)")
        }
        #expect(folder.contents == ["d.safetensors", "nobody.csv", "other.csv", "t.csv"])
    }

    @Test("--pretrain and --users of pretrain are refused where they mean nothing, in one sentence")
    func pretrainingIsRefused() throws {
        _ = try folder.file("nobody.csv", "time,key\n1,a\n")
        let user = ["t.csv", "--only", "--per", "user", "--capacity", "5"]
        for (arguments, code, words) in [
            (["t.csv", "--pretrain", "other-users"], 64, "add --per user"),
            (user + ["--knowledge", "server", "--pretrain", "other-users"], 64, "device knowledge"),
            (user + ["--pretrain", "./t.csv"], 64, "./t.csv is replayed"),
            (user + ["--pretrain", "nobody.csv"], 65, "nobody.csv has no users"),
            (user + ["--pretrain", "none.csv"], 65, "none.csv"),
            (user + ["--pretrain", "other-users,t.csv"], 64, "does not say what models are trained on"),
            (user + ["--pretrain", "other-users", "--policy", "lru"], 64, "add --policy learned"),
            (user + ["--pretrain", "other-users", "--stream"], 64, "leave --stream or --pretrain out"),
            (user + ["--pretrain", "other-users", "--model", "t.csv"], 65, "t.csv"),
            (user + ["--pretrain", "other-users"], 65, "each half needs at least 2"),
            (["pretrain", "t.csv", "--users", "3/2", "-o", "e.safetensors"], 64, "'3/2' is no part of the users"),
            (["hypothesis", "t.csv", "--per", "shared", "--pretrain", "other-users"], 64, "--pretrain needs per-user"),
            (["hypothesis", "t.csv", "--announce", "popular"], 64, "add --prefetch planner"),
        ] as [([String], Int32, String)] {
            let refused = try Replay.run(arguments, in: folder)
            #expect(refused.code == code && refused.errors.contains(words), "\(arguments): \(refused.errors)")
        }
        #expect(folder.contents == ["nobody.csv", "t.csv"])
    }

    @Test(
        "train --prefetch planner writes a planner for --prefetch-model; every report has its results")
    func trainedPlannerStartsPrefetchModel() throws {
        let train = try Replay.run(
            "train", "t.csv", "--prefetch", "planner", "-o", "p.safetensors", "--capacity", "30", in: folder)
        #expect((train.code, train.text) == (0, ""), "\(train.errors)")
        let arguments = ["t.csv", "--only", "-p", "lru", "--capacity", "30", "--per", "user"]
        let fetching =
            arguments + ["--prefetch", "planner,popular", "--prefetch-budget", "1/request", "--fetch-latency", "1s"]
        let runs = try Replay.run(
            fetching + ["--prefetch-model", "p.safetensors", "--format", "json"], in: folder
        ).runs()
        let results = try runs.map { try #require($0["prefetch"] as? [String: Any]) }
        #expect(results.map { $0["policy"] as? String } == ["planner", "popular"])
        #expect(
            results.allSatisfy { $0["budget"] as? String == "1/request" && $0["fetch_latency"] as? Int == 1_000_000 })
        let said = try Replay.run(fetching + ["--prefetch-model", "p.safetensors"], in: folder).text
        #expect(said.contains("planner starts with the model p.safetensors, and continues learning."))
        let fixed = try Replay.run(
            arguments + ["--prefetch", "planner(hidden=8)", "--prefetch-model", "p.safetensors"], in: folder)
        #expect(
            (fixed.code, fixed.errors)
                == (64, "replay: hidden is set by the file of --prefetch-model: leave it out.\n"))
        let plain = try Replay.run(arguments + ["--format", "json"], in: folder).runs()
        #expect(plain[0]["prefetch"] == nil)
        let without = try #require(plain[0]["object_hit_ratio"] as? Double)
        #expect(results.allSatisfy { $0["object_hit_ratio_without"] as? Double == without })
        // Popular fetches at every request but the first, and a user's next request is three seconds later.
        let fetched = try #require(results[1]["fetched"] as? Int)
        #expect(fetched > 5_000 && results[1]["late"] as? Int == 0)
        let table = try Replay.run(fetching, in: folder).text
        #expect(table.contains("lru + planner") && table.contains("lru + popular") && table.contains("precision"))
        let csv = try Replay.run(fetching + ["--format", "csv"], in: folder).text.split(separator: "\n")
        let header = csv[0].split(separator: ",", omittingEmptySubsequences: false)
        let row = csv[2].split(separator: ",", omittingEmptySubsequences: false)
        let column = try #require(header.firstIndex(of: "prefetched"))
        #expect(header.count == row.count && row[column] == "\(fetched)")
        let foreign = try Replay.run(fetching + ["--prefetch-model", "t.csv"], in: folder)
        #expect(foreign.code == 65 && foreign.errors.contains("t.csv: "))
    }

    @Test("The report names the knowledge of a learner of users' caches: by default the device's")
    func knowledge() throws {
        for (arguments, knowledge) in [([], "device"), (["--knowledge", "server"], "server")] {
            let runs = try Replay.run(
                ["t.csv", "--policy", "learned,lru", "--only", "--capacity", "30", "--per", "user", "--format", "json"]
                    + arguments, in: folder
            ).runs()
            #expect(runs.map { $0["knowledge"] as? String } == [knowledge, nil])
        }
        let one = try Replay.run("t.csv", "--only", "--capacity", "30", "--format", "json", in: folder).runs()
        #expect(one.count == 1 && one[0]["knowledge"] == nil)
    }

    @Test("With objective=cost every run reports its miss cost at the prices of the first policy")
    func everyRunReportsTheCostOfItsMisses() throws {
        _ = try folder.file("sizes.csv", "key,size\na,10\nb,30\na,10\nb,30\nc,5\na,10\n")
        let priced = "learned(objective=cost,per-miss=100,per-byte=2)"
        let arguments = ["sizes.csv", "--only", "--capacity", "1000"]
        let runs = try Replay.run(arguments + ["--policy", priced + ",lru", "--format", "json"], in: folder).runs()
        // Three objects of 45 bytes are missed once each.
        #expect(runs.map { $0["miss_cost"] as? Double } == [390, 390])
        let table = try Replay.run(arguments + ["--policy", priced], in: folder)
        #expect(table.text.contains("miss cost") && table.text.contains("390.0"), "\(table.text)")
        let plain = try Replay.run(arguments + ["--policy", "learned,lru", "--format", "json"], in: folder).runs()
        #expect(plain.count == 2 && plain.allSatisfy { $0["miss_cost"] == nil })
        let several = try Replay.run(
            arguments + ["--policy", priced + ",learned(objective=cost,per-miss=1),lru", "--format", "json"],
            in: folder
        ).runs()
        #expect(several.map { $0["miss_cost"] as? Double } == [390, 3, nil])
    }

    @Test("An unusable model, trace or option gives one sentence, its exit code and no file")
    func unusableModelsAndTracesExitWithOneSentence() throws {
        _ = try folder.file("short.csv", "key\n1\n2\n1\n")
        _ = try folder.file("foreign.safetensors", "\u{2}\0\0\0\0\0\0\0{}")
        let cases: [(arguments: [String], code: Int32)] = [
            (["t.csv", "--model", "missing.safetensors"], 65), (["t.csv", "--model", "t.csv"], 65),
            (["t.csv", "--model", "foreign.safetensors"], 65), (["t.csv", "--model-mode", "frozen"], 64),
            (["t.csv", "--policy", "learned(model=frozen)"], 64),
            (["train", "short.csv", "--output", "out.safetensors", "--capacity", "1"], 65),
            (["train", "short.csv", "--output", "out.safetensors", "--per", "user", "--capacity", "1"], 65),
            (["train", "t.csv", "--output", "out.safetensors", "--policy", "lru"], 64),
            (["train", "t.csv", "--output", "nowhere/out.safetensors"], 74),
            (["explain", "t.csv", "--victim", "0"], 64), (["explain", "t.csv", "--victim", "99999999"], 65),
            (["explain", "short.csv", "--capacity", "1"], 65),
        ]
        for (arguments, code) in cases {
            let outcome = try Replay.run(arguments, in: folder)
            #expect(outcome.code == code, "\(arguments): \(outcome.errors)")
            #expect(outcome.text.isEmpty && outcome.errors.hasPrefix("replay: "), "\(arguments): \(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1, "\(arguments): \(outcome.errors)")
            // A fault in the data is reported with its place.
            let names = arguments.filter { $0.hasSuffix(".csv") || $0.hasSuffix(".safetensors") }
            if code == 65 { #expect(names.contains { outcome.errors.contains($0) }, "\(outcome.errors)") }
        }
        #expect(folder.contents == ["foreign.safetensors", "short.csv", "t.csv"])
    }

    @Test(
        "explain gives groups with intervals, the calibration and a victim, the same each time")
    func explainGivesGroupsCalibrationAndAVictim() throws {
        let arguments = ["explain", "t.csv", "--capacity", "100", "--victim", "500"]
        let found = try Replay.run(arguments + ["--format", "json"], in: folder)
        #expect(found.code == 0, "\(found.errors)")
        let json = try found.json()
        #expect(json["schema"] as? String == "halcyon.explain/4")
        #expect(json["result_version"] as? Int == Halcyon.resultVersion)
        let run = try #require(json["run"] as? [String: Any])
        #expect(
            run["kernels"] as? [String: String]
                == ["name": "portable", "implementation": Kernels.portable.implementation])
        let explanation = try #require(json["explanation"] as? [String: Any])
        let groups = try #require(explanation["groups"] as? [[String: Any]])
        #expect(groups.count == 7)
        #expect((groups[0]["loss_increase"] as? [String: Double])?.keys.sorted() == ["high", "low", "value"])
        #expect((explanation["calibration"] as? [Any])?.count == 10)
        #expect((explanation["victim"] as? [String: Any])?["number"] as? Int == 500)
        let key = try #require(json["victim_key"] as? String)
        #expect(csv.contains(",\(key),"))
        let text = try Replay.run(arguments, in: folder).text
        let runnerUp = try #require(json["runner_up_key"] as? String)
        #expect(csv.contains(",\(runnerUp),") && runnerUp != key && json["user"] == nil)
        #expect(text.contains("Eviction 500") && text.contains("residents: \(key)\nRunner-up: \(runnerUp)\n"))
        #expect(try Replay.run(arguments, in: folder).text == text)
        let note = "note: kernels: \(Kernels.system.implementation); results depend on the processor.\n"
        #expect(!text.contains("kernels"))
        let system = ["--policy", "learned(kernels=system)", "--capacity", "100"]
        #expect(try Replay.run(["explain", "t.csv"] + system, in: folder).text.contains(note))
        #expect(try Replay.run(["train", "t.csv", "-o", "m.safetensors"] + system, in: folder).errors.contains(note))
    }

    @Test("With per-user caches explain names the user, the victim and the runner-up")
    func explainNamesTheUserOfThePerUserCache() throws {
        let lines = csv.split(separator: "\n").dropFirst().map { line in
            let fields = line.split(separator: ",")
            return "\(fields[0]),\(fields[3])-\(fields[1]),\(fields[2]),\(fields[3])"
        }
        _ = try folder.file("own.csv", (["time,key,category,user"] + lines).joined(separator: "\n") + "\n")
        let arguments = ["explain", "own.csv", "--capacity", "60", "--per", "user", "--victim", "400"]
        let found = try Replay.run(arguments + ["--format", "json"], in: folder)
        #expect(found.code == 0, "\(found.errors)")
        let json = try found.json()
        let user = try #require(json["user"] as? String)
        #expect(["u0", "u1", "u2"].contains(user))
        let keys = [
            try #require(json["victim_key"] as? String), try #require(json["runner_up_key"] as? String),
        ]
        for key in keys {
            #expect(key.hasPrefix("\(user)-") && lines.contains { $0.contains(",\(key),") }, "\(key)")
        }
        let text = try Replay.run(arguments, in: folder).text
        #expect(text.contains("of the cache of \(user), decided by "), "\(text)")
        #expect(text.contains("residents: \(keys[0])\nRunner-up: \(keys[1])\n"), "\(text)")
    }
}
