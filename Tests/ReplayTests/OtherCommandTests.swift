import Foundation
import HalcyonTestSupport
import Testing

@Suite("inspect, curve, policies, generate, convert", .timeLimit(.minutes(20)))
struct OtherCommandTests {
    let folder: TemporaryFolder
    let trace = SampleTrace()

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", trace.csv)
    }

    @Test("inspect reports the counts of the trace")
    func inspectReportsTheCountsOfTheTrace() throws {
        let found = try Replay.run("inspect", "t.csv", "--format", "json", "--top", "2", in: folder).json()
        let counts = Dictionary(grouping: trace.requests, by: \.key).mapValues(\.count)
        #expect(found["requests"] as? Int == 1_500)
        #expect(found["objects"] as? Int == counts.count)
        #expect(found["one_hit_wonders"] as? Int == counts.values.count { $0 == 1 })
        #expect(found["distinct_size"] as? Int == trace.distinctBytes)
        #expect(found["requested_size"] as? Int == trace.requests.reduce(0) { $0 + $1.size })
        let categories = try #require(found["categories"] as? [String: Any])
        #expect(categories["count"] as? Int == 10)
        #expect((categories["top"] as? [Any])?.count == 2)
        let text = try Replay.run("inspect", "t.csv", in: folder)
        #expect(text.lines.first == "requests               1,500")
        #expect((text.code, text.errors) == (0, ""))
    }

    @Test("The exact curve is LRU's at every capacity; a sample of all objects equals it")
    func exactCurveIsLRUsAtEveryCapacity() throws {
        func points(_ arguments: String...) throws -> [[String: Any]] {
            let curve = try Replay.run(
                ["curve", "t.csv", "--unit", "objects", "--points", "0", "--format", "json"] + arguments, in: folder
            ).json()
            return try #require(curve["points"] as? [[String: Any]])
        }
        let exact = try points()
        for point in exact {
            let capacity = try #require(point["capacity"] as? Int)
            let hits = SampleTrace.lruHits(trace.requests, capacity: capacity, costsAreOne: true)
            #expect(abs(try #require(point["miss_ratio"] as? Double) - Double(1_500 - hits) / 1_500) < 1e-12)
        }
        #expect(exact.count > 50)
        #expect(
            try points("--sample", "1").map { $0["miss_ratio"] as? Double } == exact.map { $0["miss_ratio"] as? Double }
        )
        #expect(try points("--sample", "0.5", "--seed", "3").allSatisfy { $0["standard_error"] is Double })
        let csv = try Replay.run("curve", "t.csv", "--format", "csv", in: folder).lines
        #expect(csv[0] == "capacity,miss_ratio,standard_error,policy,method")
        #expect((2...21).contains(csv.count))
    }

    @Test("policies lists each policy with its source, and a single one with its parameters")
    func policiesListsSourcesAndParameters() throws {
        let all = try Replay.run("policies", "--format", "json", in: folder).json()
        let items = try #require(all["policies"] as? [[String: Any]])
        #expect(items.count >= 20)
        #expect(
            items.allSatisfy { !($0["source"] as? String ?? "").isEmpty && !($0["summary"] as? String ?? "").isEmpty })
        let one = try Replay.run("policies", "kingfisher", in: folder)
        #expect(one.text.hasPrefix("kingfisher-memory: ") && one.text.contains("\nkingfisher-disk: "))
        #expect(try Replay.run("policies", "clock", in: folder).text.contains("\n    bits=1: "))
    }

    @Test("generate gives the same bytes for the same seed; parameters are listed and set")
    func generateIsRepeatableAndParametersCanBeSet() throws {
        func bytes(_ arguments: String...) throws -> Data {
            let outcome = try Replay.run(["generate", "shop", "--set", "requests=2000"] + arguments, in: folder)
            #expect(outcome.code == 0)
            return outcome.output
        }
        let first = try bytes("--seed", "5")
        #expect(try bytes("--seed", "5") == first)
        #expect(try bytes("--seed", "6") != first)
        #expect(String(decoding: first, as: UTF8.self).hasPrefix("time,key,category,user\n"))
        #expect(try bytes("--seed", "5", "--set", "category-signal=0") != first)
        let parameters = try Replay.run("generate", "zipf", "--set", "alpha=0.7", "--parameters", in: folder)
        #expect(parameters.text == "alpha=0.7\nobjects=100000\nrequests=1000000\n")
        let packed = try Replay.run("generate", "loop", "--set", "requests=5", "-o", "l.csv.gz", in: folder)
        #expect((packed.code, packed.text, packed.errors) == (0, "", "l.csv.gz: 5 requests, 5 objects\n"))
        #expect(try Replay.run("convert", "l.csv.gz", "-", in: folder).lines.count == 6)
    }

    @Test("A trace converted to another format and back is the same")
    func convertThereAndBackGivesTheSameTrace() throws {
        for name in ["a.csv.gz", "b.csv.zst", "c.csv"] {
            let outcome = try Replay.run("convert", "t.csv", name, in: folder)
            #expect(
                outcome.errors == "\(name): 1,500 requests, 114 objects, 28.4 KB, 10 users, 10 categories\n")
            #expect(try Replay.run("convert", name, "back.csv", in: folder).code == 0)
            #expect(try folder.text("back.csv") == trace.csv)
        }
        #expect(try Replay.run("convert", "t.csv", "o.oracleGeneral.zst", in: folder).code == 0)
        let arguments = ["--only", "-p", "lru,arc,belady", "-c", "1%,4KB", "--format", "json"]
        let here = try Replay.run(["t.csv"] + arguments, in: folder).runs().map { $0["hits"] as? Int }
        let there = try Replay.run(["o.oracleGeneral.zst"] + arguments, in: folder).runs().map { $0["hits"] as? Int }
        #expect(here == there)
        let part = try Replay.run("convert", "t.csv", "-", "--skip", "10", "--limit", "5", in: folder)
        #expect(
            part.lines == ["time,key,size,category,user"] + trace.csv.split(separator: "\n")[11..<16].map(String.init))
    }
}
