import Foundation
import HalcyonSimulation
import Testing

@testable import HalcyonExperiments

@Suite("Tables of results", .timeLimit(.minutes(20))) struct ResultTableTests {
    private func rows() throws -> [ResultRow] {
        var rows = try ["0.1", "0.2"].map {
            try CellFixture(policy: "s3-fifo", settings: ["small": $0]).row(
                requests: [10, 10], hits: [4, $0 == "0.1" ? 5 : 6])
        }
        for seed in [1, 2] as [UInt64] {
            rows.append(
                try CellFixture(trace: "feed", fingerprint: "2", policy: "random", capacity: "10%", seed: seed)
                    .row(
                        requests: [10, 10], hits: [5, 4 + Int(seed)], sizes: [50, 50], hitSizes: [20, 30], build: "abc1"
                    ))
        }
        return rows
    }

    private func filtered(_ text: String) throws -> [ResultRow] {
        try ResultCondition.filter(rows(), by: try ResultCondition.list(parsing: text))
    }

    @Test func seedsAreOneRowWithTheirMean() throws {
        // 10 and 11 of 20: a mean of 52.5 % with the standard error 0.05 / 2.
        let lines = try ResultTable(rows()).text().split(separator: "\n").map {
            $0.split(separator: " ").joined(separator: " ")
        }
        #expect(
            lines == [
                "trace mode policy capacity seeds hit ratio byte hit ratio requests/s",
                "feed shared random 10% 2 52.50 % ± 2.50 50.00 % ± 0.00 100",
                "shop shared s3-fifo(small=0.1) 1% - 45.00 % - -", "shop shared s3-fifo(small=0.2) 1% - 50.00 % - -",
                "4 cells in 3 rows; ± is the standard error over seeds.",
            ])
        let sorted = try ResultTable(rows()).text(sortedBy: "hit_ratio").split(separator: "\n")
        #expect(sorted[1].hasPrefix("feed") && sorted[2].contains("0.2") && sorted[3].contains("0.1"))
        #expect(throws: ReplayError.self) { try ResultTable(rows()).text(sortedBy: "speed") }
    }

    @Test func conditionsSelectRows() throws {
        #expect(try filtered("trace=shop").count == 2)
        #expect(try filtered("policy=s3-fifo(small=0.10)").map(\.cell.label) == ["s3-fifo(small=0.1)"])
        #expect(try filtered("policy=s3-fifo,small=0.20").map(\.cell.label) == ["s3-fifo(small=0.2)"])
        #expect(try filtered("seed=2,build=ab").count == 1)
        #expect(
            try filtered("capacity=1%,mode=shared,labels=given,prefetch=none,knowledge=none,warmup=0.25").count == 2)
        #expect(try filtered("result_version=2").count == 4)
        let hash = try #require(try rows().first?.hash)
        #expect(try filtered("hash=\(hash.prefix(8))").map(\.hash) == [hash])
    }

    @Test func commaWithinAValueBelongsToTheValue() throws {
        let conditions = try ResultCondition.list(
            parsing: "labels=permuted within=popularity,age,size,mode=shared,policy=s3-fifo(small=0.1,ghost=1)")
        #expect(
            conditions.map(\.description) == [
                "labels=permuted within=popularity,age,size", "mode=shared", "policy=s3-fifo(small=0.1,ghost=1)",
            ])
    }

    @Test(arguments: [
        ("trace=none", "No cell has trace=none: trace is one of feed, shop."),
        ("build=zz", "No cell has build=zz: build is one of abc1, none."),
        ("small=0.5", "No cell has small=0.5: small is one of 0.1, 0.2, none."),
        ("shop", "'shop' is not a condition: write field=value, such as trace=shop."),
        ("trace=", "'trace=' is not a condition: write field=value, such as trace=shop."),
        (
            "speed=1",
            "'speed' is neither a field of a cell nor a parameter of a stored policy: fields are trace, policy, label, "
                + "capacity, mode, knowledge, prefetch, announce, pretrain, restart, labels, seed, warmup, build, result_version, kernels, suite, "
                + "users, fingerprint, hash."
        ),
    ])
    func conditionWithoutCellsNamesTheExistingValues(condition: String, sentence: String) throws {
        do {
            _ = try filtered(condition)
            Issue.record("'\(condition)' was accepted")
        } catch let error as ReplayError {
            #expect(error.description == sentence)
        }
    }

    @Test func tidyRowsHaveEveryValue() throws {
        let rows = try rows()
        let lines = String(decoding: ResultTable(rows).csv, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: true)
        let names = lines[0].split(separator: ",").map(String.init)
        #expect(lines.count == 5 && names.first == "hash" && names.last == "p_threshold")
        #expect(
            Set(names).isSuperset(of: ["object_hit_ratio", "byte_hit_ratio", "build_id", "seconds", "p_small", "seed"]))
        let objects = String(decoding: try ResultTable(rows).jsonLines(), as: UTF8.self).split(separator: "\n")
        let first = try #require(
            try JSONSerialization.jsonObject(with: Data(objects[0].utf8)) as? [String: Any])
        #expect(first["trace"] as? String == "feed" && first["hits"] as? Int == 10 && first["seed"] as? Int == 1)
        #expect(first["object_hit_ratio"] as? Double == 0.5 && first["byte_hit_ratio"] as? Double == 0.5)
        #expect(first["knowledge"] == nil && first["build_id"] as? String == "abc1")
        // Every value of a row is in the column of its name.
        let fields = try #require(ResultTable(rows).csv.split(separator: UInt8(ascii: "\n")).dropFirst(3).first)
        let text = String(decoding: fields, as: UTF8.self)
        #expect(text.contains("\"{\"\"") && text.contains("s3-fifo(small=0.1)"))
        let document = try #require(
            try JSONSerialization.jsonObject(with: ResultTable(rows).json()) as? [String: Any])
        #expect(document["schema"] as? String == "halcyon.results/1" && (document["rows"] as? [Any])?.count == 4)
    }
}
