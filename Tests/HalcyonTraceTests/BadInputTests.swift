import Foundation
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// Each kind of bad input gives one sentence with the place, the text found and what is accepted.
@Suite(.timeLimit(.minutes(20))) struct BadInputTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    func fault(_ text: String, _ options: TraceLoadOptions = TraceLoadOptions(), name: String = "t.csv") throws
        -> String?
    {
        HalcyonTraceTests.fault(try folder.file(name, text), options)
    }

    @Test func missingAndEmptyFilesAreRefused() throws {
        #expect(HalcyonTraceTests.fault("\(folder.path)/no.csv") == "no.csv: there is no such file")
        #expect(HalcyonTraceTests.fault("\(folder.path)/no.dat") == "no.dat: there is no such file")
        let directory = "\(folder.path)/d.csv"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        #expect(HalcyonTraceTests.fault(directory) == "d.csv: is a directory; a trace file is needed")
        #expect(try fault("") == "t.csv: is empty; a trace has at least one request")
        #expect(try fault("time,key\n") == "t.csv: holds no request")
        #expect(
            try fault("key\na\n", name: "t.dat")
                == "t.dat: neither the name nor the first lines show the format; give one of csv, oracleGeneral, vscsi, "
                + "twitter, accessLog, lcs, lrb, arc, lirs, spc, msr, objectStore, address, int32, int32be, int64, int64be"
        )
    }

    @Test func unusableHeadersAreRefused() throws {
        #expect(
            try fault("1,a,10\n2,b,20\n")
                == "t.csv:1: the first line, '1,a,10', looks like a request and not like a header: write --header no "
                + "--columns time=1,key=2,size=3 with the numbers of the columns, or --header yes if it is a header")
        #expect(try fault("time;key\n1;a\n")?.contains("the columns are 'time;key' (is the delimiter ';'?)") == true)
        #expect(
            try fault("time,key\n1,a\n", .with { $0.columns.size = "bytes" })
                == "t.csv:1: there is no column 'bytes' for the size; the columns are 'time', 'key'")
        #expect(try fault("key,Key\na,b\n", .with { $0.columns.key = "KEY" }) != nil)
        #expect(
            try fault("time,key\n1,a\n", .with { $0.columns.time = "key" })
                == "t.csv:1: column 'key' is used twice; each column may have one role")
        #expect(
            try fault("\u{0}\u{1}binary\n")
                == "t.csv:1: '\\0\\u{01}binary' contains the control byte 0; this is not a CSV")
    }

    @Test(arguments: [
        ("1,a,10\n2,b\n", "t.csv:3: '2,b' has 2 fields where the header has 3"),
        ("1,a,10\n2,b,3,4\n", "t.csv:3: '2,b,3,4' has more than the 3 fields of the header"),
        ("1,a,10\nx,b,3\n", "t.csv:3:1: time 'x' is not a number; seconds such as 12 or 12.5 are accepted"),
        (",a,10\n", "t.csv:2:1: time '' is not a number; seconds such as 12 or 12.5 are accepted"),
        ("1,,10\n", "t.csv:2:3: the key is empty; each request needs one"),
        (
            "1,a,-5\n",
            "t.csv:2:5: size '-5' is not a number of bytes; whole numbers from 0 (unknown) to 281474976710655 are accepted"
        ),
        (
            "1,a,281474976710656\n",
            "t.csv:2:5: size '281474976710656' is not a number of bytes; whole numbers from 0 (unknown) to "
                + "281474976710655 are accepted"
        ),
        (
            "5,a,1\n4.5,b,1\n",
            "t.csv:3:1: time 4.5 s is before 5 s, the time of the request above it; times must not decrease unless "
                + "sorting is enabled (--sort)"
        ),
        ("1,a\u{0}b,1\n", "t.csv:2:4: the control byte 0x00 is not text; is this a CSV?"),
        (
            "1,\"a,1\n2,b,1\n",
            "t.csv:2:3: the quote in '\"a' is not closed on its line; a field may not hold a line break"
        ),
        (
            "1,\"a\"b,1\n",
            "t.csv:2:3: text follows the closing quote in '\"a\"b'; a quote inside quotes is written twice"
        ),
    ])
    func badLineIsRefusedWithItsPlace(_ text: String, _ expected: String) throws {
        for chunkBytes in [1, 7, 1 << 20] {
            let found = try fault("time,key,size\n" + text, .with { $0.chunkBytes = chunkBytes })
            #expect(found == expected)
        }
    }

    @Test func badLinesAreSkippedAndCounted() throws {
        let text = "time,key,size\n1,a,10\noops\n2,b,x\n3,a,10\n\n4,\"c,1\n5,c,1\n"
        for chunkBytes in [1, 9, 1 << 20] {
            let trace = try Trace.load(
                folder.file("t.csv", text),
                .with {
                    $0.skipBadLines = true
                    $0.chunkBytes = chunkBytes
                })
            #expect(trace.entries == [0, 0, 1])
            #expect(trace.report.badLines == 3)
        }
        #expect(try fault("time,key\n1,a\n0,b\n", .with { $0.skipBadLines = true })?.contains("--sort") == true)
        #expect(
            try fault("key,size\na,x\n", .with { $0.skipBadLines = true }) == "t.csv: holds no request (1 bad lines)")
    }

    @Test func longKeysAreReadAndLongLinesRefused() throws {
        let long = String(repeating: "k", count: 300)
        let trace = try Trace.load(folder.file("t.csv", "key\n\(long)\na\n\(long)\n"), .with { $0.names = .keys })
        #expect(trace.entries == [0, 1, 0])
        #expect(trace.names.keys[0] == long)

        let text = "key\na\n" + String(repeating: "x", count: 10_000_000) + "\na\n"
        let expected =
            "t.csv:3: the line that starts with '\(String(repeating: "x", count: 60))…' is longer than the limit "
            + "of 1048576 bytes"
        #expect(try fault(text) == expected)
        let skipped = try Trace.load(folder.file("t.csv", text), .with { $0.skipBadLines = true })
        #expect(skipped.entries == [0, 0])
        #expect(skipped.report.badLines == 1)
        #expect(
            try fault(String(repeating: "h", count: 10_000_000))?.contains("longer than the limit of 1048576 bytes")
                == true)
    }

    @Test func lineLimitIsExact() throws {
        let most = String(repeating: "x", count: ChunkReader.longestLine)
        for chunkBytes in [1 << 16, 1 << 20, 1 << 22] {
            let options = TraceLoadOptions.with { $0.chunkBytes = chunkBytes }
            #expect(try fault("key\n\(most)\n", options) == nil)
            #expect(try fault("key\n\(most)x\n", options)?.hasPrefix("t.csv:2: the line that starts") == true)
        }
    }

    @Test func binaryNoiseNeverCrashes() throws {
        var random = SeededGenerator(seed: 5)
        for round in 0..<40 {
            let noise = (0..<2_000).map { _ in UInt8.random(in: 0...255, using: &random) }
            for name in ["t.csv", "t.csv.gz", "t.csv.zst", "t.vscsi", "t.oracleGeneral", "t.twitter"] {
                let found = HalcyonTraceTests.fault(try folder.file(name, noise))
                #expect(found != nil, "round \(round), \(name)")
            }
            let headed = Array("time,key,size,user\n".utf8) + noise
            #expect(HalcyonTraceTests.fault(try folder.file("t.csv", headed)) != nil)
            _ = HalcyonTraceTests.fault(try folder.file("t.csv", headed), .with { $0.skipBadLines = true })
        }
    }

    @Test func keysThatAreNotUTF8AreKeptAsBytes() throws {
        let path = try folder.file("t.csv", Array("key\n".utf8) + [0xff, 10, 0xfe, 10, 0xff, 10])
        let trace = try Trace.load(path, .with { $0.names = .keys })
        #expect(trace.entries == [0, 1, 0])
        #expect(trace.names.keys[0] == "\\xFF")
        #expect(Array(trace.names.keys.utf8(1)) == [0xfe])
    }

    @Test func limitStopsBeforeALaterBadLine() throws {
        let text = "time,key\n1,a\n2,b\n3,c\nbad\n"
        for (chunkBytes, threads) in [(1, 1), (1, 3), (1 << 20, 2)] {
            let options = TraceLoadOptions.with {
                $0.chunkBytes = chunkBytes
                $0.threads = threads
                $0.skip = 1
                $0.limit = 2
                $0.names = .keys
            }
            let trace = try Trace.load(folder.file("t.csv", text), options)
            #expect(trace.entries == [0, 1])
            #expect(trace.names.keys[0] == "b")
            #expect(trace.names.keys.count == 2)
        }
        #expect(try fault(text, .with { $0.limit = 4 })?.hasPrefix("t.csv:5:") == true)
        #expect(
            try fault("key\na\n", .with { $0.skip = 3 }) == "t.csv: no request is left after the first 3")
    }
}
