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

            """
        let trace = try Trace.load(folder.file("t.twitter", text), .with { $0.names = .all })
        #expect(trace.entries == [0, 1, 0, 1])
        #expect(trace.objectSizes == [326, 60])
        #expect(trace.users == [0, 1, 1, 0])
        #expect(trace.report.unansweredReads == 1)
        #expect(trace.report.sizeDisagreements == 1)
    }
}
