import Foundation
import HalcyonTestSupport
import Testing

@Suite("Unreadable traces: one sentence with the place, exit code 65", .timeLimit(.minutes(20)))
struct BadTraceTests {
    /// A file, its content, and the error without `replay: ` and the file's name.
    static let faults: [(String, [UInt8], String)] = [
        ("empty.csv", [], ": is empty; a trace has at least one request"),
        ("header.csv", Array("time,key\n".utf8), ": holds no request"),
        (
            "nokey.csv", Array("time,name\n1,a\n".utf8),
            ":1: no column is named 'key' (or id, obj_id, object_id); the columns are 'time', 'name'. A header such as "
                + "time,key,size,category,user is needed, or the name of the key's column"
        ),
        (
            "negative.csv", Array("time,key,size\n1,a,5\n2,b,-4\n".utf8),
            ":3:5: size '-4' is not a number of bytes; whole numbers from 0 (unknown) to 281474976710655 are accepted"
        ),
        ("fields.csv", Array("time,key,size\n1,a\n".utf8), ":2: '1,a' has 2 fields where the header has 3"),
        (
            "back.csv", Array("time,key\n5,a\n1,b\n".utf8),
            ":3:1: time 1 s is before 5 s, the time of the request above it; times must not decrease unless sorting is "
                + "enabled (--sort)"
        ),
        ("noise.csv", [1, 2, 3], ":1: '\\u{01}\\u{02}\\u{03}' contains the control byte 1; this is not a CSV"),
        ("noise.csv.gz", [1, 2, 3], ": does not start as gzip data does, although its name or --compression says so"),
        ("noise.csv.zst", [1, 2, 3], ": does not start as zstd data does, although its name or --compression says so"),
        (
            "short.oracleGeneral", [UInt8](repeating: 0, count: 30),
            ": the last record has 6 of 24 bytes: the file is truncated or of another format"
        ),
        (
            "name.xyz", Array("key\na\n".utf8),
            ": neither the name nor the first lines show the format; give one of csv, oracleGeneral, vscsi, twitter, "
                + "accessLog, lcs, lrb, arc, lirs, spc, msr, objectStore, address, int32, int32be, int64, int64be"
        ),
        (
            "huge.csv", Array(("key,size\n" + (0..<16_385).map { "\($0 % 7),281474976710655\n" }.joined()).utf8),
            ": all requests together have more than 4611686018427387904 bytes, the limit; skip some requests, or "
                + "give every object size 1 (--sizes unit)"
        ),
        (
            "line.csv", Array("key\n".utf8) + [UInt8](repeating: 120, count: 2_000_000),
            ":2: the line that starts with '" + String(repeating: "x", count: 60)
                + "…' is longer than the limit of 1048576 bytes"
        ),
    ]

    @Test("A bad trace is refused by every command that reads it, with its place", arguments: faults)
    func badTraceIsRefusedByEveryCommand(_ name: String, _ bytes: [UInt8], _ sentence: String) throws {
        let folder = try TemporaryFolder()
        _ = try folder.file(name, bytes)
        for command in [
            ["run", name, "--only", "-p", "lru", "-o", "out"], ["inspect", name, "-o", "out"],
            ["run", name, "--only", "-p", "lru", "-c", "5", "--stream"], ["convert", name, "out.csv"],
        ] {
            let outcome = try Replay.run(command, in: folder)
            #expect((outcome.code, outcome.text, outcome.errors) == (65, "", "replay: \(name)\(sentence)\n"))
        }
        #expect(folder.contents == [name])
    }

    @Test("A missing file, missing users, categories or sizes and a cut file are refused")
    func missingFilesUsersAndCategoriesAreRefused() throws {
        let folder = try TemporaryFolder()
        _ = try folder.file("t.csv", "key\n" + (0..<2_000).map { "\($0 % 7 * $0)\n" }.joined())
        func check(_ arguments: String, _ sentence: String) throws {
            let outcome = try Replay.run(arguments.split(separator: " ").map(String.init), in: folder)
            #expect((outcome.code, outcome.text, outcome.errors) == (65, "", "replay: \(sentence)\n"))
        }
        try check("none.csv --only -p lru", "none.csv: there is no such file")
        try check(". --only -p lru", ".: is a directory; a trace file is needed")
        let unnamed = try Replay.run("", "--only", "-p", "lru", in: folder)
        #expect(unnamed.code == 65)
        #expect(unnamed.errors == "replay: the name of the trace is empty; name a file, or - for standard input\n")
        try check("t.csv --only -p lru --skip 2000", "t.csv: no request is left after the first 2000")
        try check("t.csv --only -p lru --per user", "t.csv has no users, which per-user caches need.")
        try check("t.csv --only -p lru --by user", "t.csv has no users for a table by user.")
        try check(
            "t.csv --only -p lru --by category", "t.csv has no categories for a table by category.")
        try check("curve t.csv --unit bytes", "t.csv has no sizes for a curve over bytes.")
        try check(
            "t.csv --only -p lru --columns key=nope",
            "t.csv:1: there is no column 'nope' for the key; the columns are 'key'")
        #expect(try Replay.run("convert", "t.csv", "whole.csv.gz", in: folder).code == 0)
        let whole = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/whole.csv.gz"))
        _ = try folder.file("cut.csv.gz", Array(whole.prefix(whole.count / 2)))
        try check("cut.csv.gz --only -p lru", "cut.csv.gz: the gzip data ends early: the file is truncated")
    }

    @Test("The largest accepted number of bytes overflows no count, also with prefetching")
    func largestByteCountsDoNotOverflow() throws {
        let folder = try TemporaryFolder()
        let rows = (0..<16_384).map { "\($0),\($0 * $0 % 101),281474976710655,c\($0 % 2)\n" }
        _ = try folder.file("t.csv", "time,key,size,category\n" + rows.joined())
        for arguments in [
            "t.csv -p lru,gdsf,belady,learned(evictions=32) -c 1000TB,100%", "t.csv --only -p lru -c 10 --stream",
            "t.csv --only -p lru -c 2000TB --prefetch popular,next-key,planner --prefetch-budget 8/request",
            "t.csv --only -p lru --tiers memory=1000TB,disk=2000TB", "inspect t.csv", "curve t.csv",
            "curve t.csv --sample 0.5",
        ] {
            let outcome = try Replay.run(arguments.split(separator: " ").map(String.init), in: folder)
            #expect((outcome.code, outcome.errors) == (0, ""), "\(arguments)")
        }
        let run = ["t.csv", "--only", "-p", "lru", "-c", "2000TB", "--format", "json"]
        let fetching = run + ["--prefetch", "popular", "--prefetch-budget", "8/request", "--fetch-latency", "0"]
        let result = try #require(Replay.run(fetching, in: folder).runs().first?["prefetch"] as? [String: Any])
        #expect(result["fetched_size"] as? Int == .max)
    }

    @Test("One request, a long key, bytes that are not UTF-8, CRLF and quotes are read")
    func unusualValidTracesAreRead() throws {
        let folder = try TemporaryFolder()
        _ = try folder.file("one.csv", "key\na")
        _ = try folder.file("long.csv", "key\n" + String(repeating: "k", count: 300) + "\n")
        _ = try folder.file("bytes.csv", Array("key\n".utf8) + [0xff, 0xfe, 10, 0xff, 0xfe, 10])
        _ = try folder.file("quoted.csv", "\u{FEFF}key,size\r\n\"a,\"\"b\"\"\",5\r\n\"a,\"\"b\"\"\",5\r\n")
        for (name, hits) in [("one.csv", 0), ("long.csv", 0), ("bytes.csv", 1), ("quoted.csv", 1)] {
            let outcome = try Replay.run(name, "--only", "-p", "lru", "-c", "100", "--format", "json", in: folder)
            #expect(try outcome.runs().first?["hits"] as? Int == hits, "\(name)")
            for command in ["inspect", "curve"] {
                #expect(try Replay.run(command, name, in: folder).code == 0)
            }
        }
        #expect(try Replay.run("one.csv", "--only", "-p", "lru", "-c", "1", in: folder).code == 0)
    }
}
