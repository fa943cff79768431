import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// libCacheSim's binary forms, laid out by hand, and Twitter's text.
@Suite(.timeLimit(.minutes(20))) struct PeerFormatTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    func bytes(_ values: [any FixedWidthInteger]) -> [UInt8] { values.flatMap { littleEndian($0) } }

    private func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        (0..<(value.bitWidth / 8)).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    @Test func oracleGeneralRecordsAreRead() throws {
        let rows: [[any FixedWidthInteger]] = [
            [UInt32(1), UInt64(500), UInt32(10), Int64(3)], [UInt32(1), UInt64.max, UInt32(0), Int64(-1)],
            [UInt32(9), UInt64(500), UInt32(11), Int64(-1)],
        ]
        let data = rows.flatMap(bytes)
        for chunkBytes in [1, 30, 1 << 20] {
            let trace = try Trace.load(
                folder.file("t.oracleGeneral", data),
                .with {
                    $0.names = .keys
                    $0.chunkBytes = chunkBytes
                })
            #expect(trace.entries == [0, 1, 0])
            #expect(Array(trace.times) == [1_000_000, 1_000_000, 9_000_000])
            #expect(trace.objectSizes == [10, 1])
            #expect(trace.names.keys[1] == "18446744073709551615")
            #expect(trace.report.sizeDisagreements == 1)
            #expect(trace.report.unknownSizes == 1)
        }
        #expect(
            fault(try folder.file("t.bin", Array(data.dropLast())))
                == "t.bin: the last record has 23 of 24 bytes: the file is truncated or of another format")
        #expect(
            fault(try folder.file("t.bin", data + data), .with { $0.chunkBytes = 24 })
                == "t.bin: record 4: time 1 s is before 9 s, the time of the request above it; times must not decrease "
                + "unless sorting is enabled (--sort)")
    }

    @Test func bothVersionsOfVSCSIAreRead() throws {
        func first(_ block: UInt64, _ length: UInt32, _ time: UInt64) -> [UInt8] {
            bytes([UInt32(0), length, UInt32(1), UInt16(40), UInt16(0x0100), block, time])
        }
        func second(_ block: UInt64, _ length: UInt32, _ time: UInt64) -> [UInt8] {
            bytes([UInt16(42), UInt16(0x0200), UInt32(0), length, UInt32(1), block, time, UInt64(77)])
        }
        for make in [first, second] {
            let data = make(900, 4_096, 1_500_000) + make(7, 512, 1_500_001) + make(900, 4_096, 2_000_000)
            let trace = try Trace.load(folder.file("t.vscsi", data), .with { $0.names = .keys })
            #expect(trace.entries == [0, 1, 0])
            #expect(Array(trace.times) == [1_500_000, 1_500_001, 2_000_000])
            #expect(trace.objectSizes == [4_096, 512])
            #expect(trace.names.keys[0] == "900")
        }
        #expect(
            fault(try folder.file("t.vscsi", [UInt8](repeating: 7, count: 80)))
                == "t.vscsi: the first records are of neither version 1 nor 2 of vSCSI traces")
    }

    @Test func twitterTextIsRead() throws {
        // timestamp, key, key size, value size, client, operation, time to live
        let text = """
            0,nz:u:eeW511W3dcH3de3d15ec,22,304,2,get,0
            1,nz:u:a,10,0,7,get,0
            1,nz:u:a,10,50,7,set,86400
            3,nz:u:eeW511W3dcH3de3d15ec,22,304,7,gets,0
            3,nz:u:a,10,0,2,delete,0
            4,nz:u:a,10,9,2,add,0

            """
        for name in ["t.twitter", "t.twr"] {
            let trace = try Trace.load(folder.file(name, text), .with { $0.names = .all })
            #expect(trace.entries == [0, 1, 0, 1])
            #expect(trace.objectSizes == [326, 60])
            #expect(trace.users == [0, 1, 1, 0])
            #expect(trace.report.unansweredReads == 1)
            #expect(trace.report.sizeDisagreements == 1)
            let preset = try Trace.load(folder.file(name, text), .with { $0.preset = .twitter })
            #expect(trace.report.operations == preset.report.operations)
            #expect(preset.entries == trace.entries && preset.users == trace.users)
        }
        #expect(
            fault(try folder.file("t.twr", "0,k,1,2,3,touch,0\n"))
                == "t.twr:1:11: operation 'touch' is unknown; get, gets, set, add, replace, cas, append, prepend, incr, decr, delete "
                + "are accepted")
    }

    /// Operations are reported where a format has them, whether or not they decide what a request is.
    @Test func operationsOfEveryFormatAreReported() throws {
        func operations(_ path: String, _ options: TraceLoadOptions = TraceLoadOptions()) throws -> [String: [Int]] {
            let report = try Trace.load(path, options).report
            var stream = try TraceStream(path, options)
            var batch = StreamBatch()
            while try stream.next(into: &batch) {}
            #expect(stream.report.operations == report.operations)
            return Dictionary(uniqueKeysWithValues: report.operations.map { ($0.name, [$0.rows, $0.requests]) })
        }
        let twitter = "0,a,1,2,7,get,0\n0,b,1,0,7,gets,0\n0,b,1,9,7,set,0\n1,a,1,0,7,delete,0\n1,a,1,0,7,delete,0\n"
        #expect(
            try operations(folder.file("t.twr", twitter)) == [
                "get": [1, 1], "gets": [1, 0], "set": [1, 1], "delete": [2, 0],
            ])
        let commands: [UInt8] = [0x28, 0x2a, 0x88, 0x35, 0x8a, 0x0a]
        let first = commands.enumerated().flatMap {
            bytes([UInt32(0), UInt32(512), UInt32(1), UInt16($1), UInt16(0x0100), UInt64($0), UInt64($0)])
        }
        let second = commands.enumerated().flatMap {
            bytes([UInt16($1), UInt16(0x0200), UInt32(0), UInt32(512), UInt32(1), UInt64($0), UInt64($0), UInt64(0)])
        }
        for records in [first, second] {
            #expect(
                try operations(folder.file("t.vscsi", records)) == [
                    "read": [2, 2], "write": [3, 3], "other": [1, 1],
                ])
        }
        let rows = (0..<900).map { "\($0),\($0 % 3 == 0 ? "28" : "2a"),512,k\($0 % 7)\n" }.joined()
        for chunkBytes in [1, 100, 1 << 20] {
            let options = TraceLoadOptions.with {
                $0.columns.key = "lbn"
                $0.chunkBytes = chunkBytes
            }
            #expect(
                try operations(folder.file("t.csv", "time,op,size,lbn\n" + rows), options) == [
                    "28": [300, 300], "2a": [600, 600],
                ])
        }
        let path = try folder.file(
            "t.csv", "Operation,key\nREST.GET.OBJECT,1\n,2\n REST.PUT.OBJECT ,1\nREST.GET.OBJECT,2\n")
        #expect(try operations(path) == ["REST.GET.OBJECT": [2, 2], "(none)": [1, 1], "REST.PUT.OBJECT": [1, 1]])
        #expect(try Trace.load(path).report.columns.unused == ["Operation"])
        #expect(try operations(path, .with { $0.columns.category = "Operation" }).isEmpty)
        let many = "op,key\n" + (0..<65).map { "\($0),a\n" }.joined()
        #expect(try operations(folder.file("t.csv", many)).isEmpty)
    }

    /// `.bin` stands for oracleGeneral, but not everything that is called so is it.
    @Test func recordsThatAreNotOracleGeneralAreRefused() throws {
        var random = SeededGenerator(seed: 3)
        let longs = (0..<3_000).flatMap { _ in bytes([random.next().byteSwapped]) }
        let small = (0..<3_000).flatMap { _ in bytes([random.next() % 50_000]) }
        let words = (0..<6_000).flatMap { _ in bytes([UInt32(random.next() % 1_000_000).bigEndian]) }
        let vscsi = (0..<2_000).flatMap {
            bytes([UInt32(0), UInt32(512), UInt32(1), UInt16(42), UInt16(0x0100), UInt64($0 * 97), UInt64($0) << 20])
        }
        for (kind, data) in [("Corda's longs", longs), ("small longs", small), ("words", words), ("vSCSI", vscsi)] {
            for options in [TraceLoadOptions(), .with { $0.sort = true }] {
                let whole = Array(data.prefix(data.count / 24 * 24))
                let found = fault(try folder.file("t.bin", whole), options)
                #expect(
                    found?.hasPrefix(
                        "t.bin: the name implies oracleGeneral, but the records are of another format: of the first ")
                        == true, "\(kind): \(found ?? "read")")
                #expect(found?.contains("--trace-format oracleGeneral reads them all the same") == true)
            }
        }
        // Whoever names the format means it.
        let forced = TraceLoadOptions.with {
            $0.sort = true
            $0.format = .oracleGeneral
        }
        #expect(try Trace.load(folder.file("t.bin", longs), forced).count == 1_000)
        #expect(
            fault(try folder.file("t.vscsi", Array(vscsi.prefix(3_200)) + longs.prefix(3_200)))
                == "t.vscsi: the first records are of neither version 1 nor 2 of vSCSI traces")
    }

    /// What writers of oracleGeneral differ in is no reason to refuse a file.
    @Test func everyFormOfOracleGeneralIsRead() throws {
        for next in [0, -1, -2, Int64.max, 1 << 40] {
            for time in [UInt32(0), UInt32(1_700_000_000)] {
                let data = (0..<500).flatMap {
                    bytes([time, UInt64($0 % 50) << 58, $0 % 50 == 0 ? UInt32.max : UInt32(4_096), next])
                }
                for name in ["t.bin", "t.oracleGeneral", "t.oracleGeneral.bin"] {
                    let trace = try Trace.load(folder.file(name, data))
                    #expect(trace.count == 500 && trace.objectCount == 50)
                }
            }
        }
    }
}
