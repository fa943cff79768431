import Foundation
import HalcyonTestSupport
import Testing

@Suite("Formats of other simulators", .timeLimit(.minutes(20)))
struct FormatCommandTests {
    private let folder: TemporaryFolder
    /// Sectors 0 … 7, 1 (written), 8 and 0.
    private static let spc = "0,0,4096,R,1\n0,1,512,W,2\n0,8,512,R,3\n0,0,512,R,4\n"

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.spc", Self.spc)
        _ = try folder.file("blocks.trace", "5\n*\n7\n5\n")
    }

    private func hits(_ arguments: String...) throws -> [Int?] {
        let outcome = try Replay.run(
            arguments + ["--only", "-p", "lru", "-c", "2", "--format", "json"], in: folder)
        let trace = try outcome.json()["trace"] as? [String: Any]
        return [trace?["requests"] as? Int, trace?["objects"] as? Int, try outcome.runs().first?["hits"] as? Int]
    }

    @Test("Blocks and writes are chosen by options; without them reads request blocks of 512 bytes")
    func optionsChooseBlocksAndWrites() throws {
        #expect(try hits("t.spc") == [10, 9, 0])
        #expect(try hits("t.spc", "--block-size", "4KiB") == [3, 2, 1])
        #expect(try hits("t.spc", "--block-size", "4096", "--count-writes", "--stream") == [4, 2, 2])
        #expect(try hits("t.spc", "--block-size", "whole", "--sizes", "unit") == [3, 2, 1])
        #expect(try hits("blocks.trace") == [3, 2, 1])
    }

    @Test("inspect names a format that the first lines showed, its rule, and rows by operation")
    func inspectNamesTheFormat() throws {
        let blocks = try Replay.run("inspect", "blocks.trace", in: folder).text
        #expect(blocks.contains("Format lirs, as the first lines show: a line is a block; lines of * are skipped.\n"))
        let spc = try Replay.run("inspect", "t.spc", in: folder).text
        #expect(
            spc.contains("Format spc: every read, and no write, requests each block of 512 bytes that it touches.\n"))
        #expect(spc.contains("Rows by operation: read 3 (10 requests), write 1 (left out).\n"))
    }

    @Test("convert writes what was requested; options that do not apply are refused")
    func convertWritesRequests() throws {
        let text = try Replay.run("convert", "t.spc", "-", "--block-size", "4KiB", in: folder).text
        #expect(text == "time,key\n1,0\n3,1\n4,0\n")
        for (arguments, code, sentence) in [
            (
                ["t.spc", "-", "--block-size", "100"], 64,
                "'100' is not a size of blocks: write a multiple of 512 bytes, such as 512 or 4KiB, or whole."
            ),
            (["t.spc", "x.csv.xz"], 64, "Traces are not compressed with xz: end 'x.csv.xz' in .gz or .zst."),
            (
                ["blocks.trace", "-", "--count-writes"], 65,
                "blocks.trace: the format is lirs, but writes are left out of spc, msr, objectStore only; leave out "
                    + "--count-writes"
            ),
        ] as [([String], Int32, String)] {
            let outcome = try Replay.run(["convert"] + arguments, in: folder)
            #expect((outcome.code, outcome.text, outcome.errors) == (code, "", "replay: \(sentence)\n"))
        }
        #expect(folder.contents == ["blocks.trace", "t.spc"])
    }

    @Test("A suite has the same options")
    func suitesHaveTheOptions() throws {
        _ = try folder.file("t.dat", Self.spc)
        _ = try folder.file(
            "s.yml",
            """
            schema: halcyon.suite/1
            traces:
              - {path: t.dat, name: reads, format: spc, block_size: 4KiB}
              - {path: t.dat, name: all, format: spc, block_size: 4096, count_writes: true}
            experiments:
              - {name: a, policies: [lru], capacities: [2]}
            """)
        let outcome = try Replay.run("sweep", "s.yml", in: folder)
        #expect(outcome.code == 0, "\(outcome.errors)")
        var found: [String: Int] = [:]
        for line in try StoredCells.lines(in: "\(folder.path)/results/s") {
            let cell = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
            let counts = try #require(cell["counts"] as? [String: Any])
            found["\((cell["counts"] as? [String: Any])?["requests"] ?? 0)"] = counts["hits"] as? Int
        }
        #expect(found == ["3": 1, "4": 2])
        for (field, sentence) in [
            (
                "block_size: 3",
                "'3' is not a size of blocks: write a multiple of 512 bytes, such as 512 or 4KiB, or whole."
            ),
            ("count_writes: maybe", "'maybe' is neither true nor false."),
        ] {
            _ = try folder.file(
                "bad.yml",
                "schema: halcyon.suite/1\ntraces:\n  - {path: t.dat, format: spc, \(field)}\nexperiments: []\n")
            let refused = try Replay.run("sweep", "bad.yml", in: folder)
            #expect(refused.code == 65 && refused.errors.contains(sentence), "\(refused.errors)")
        }
    }
}
