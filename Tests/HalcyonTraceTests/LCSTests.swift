import Foundation
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// libCacheSim's lcs, laid out by hand from the definition in its header file.
@Suite(.timeLimit(.minutes(20))) struct LCSTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    static func bytes(_ values: [any FixedWidthInteger]) -> [UInt8] {
        func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
            (0..<(value.bitWidth / 8)).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        return values.flatMap { littleEndian($0) }
    }

    static func header(_ version: UInt64, requests: Int64, tenants: Int32 = 0) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: 8192)
        func put(_ value: any FixedWidthInteger, at offset: Int) {
            let bytes = LCSTests.bytes([value])
            header.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
        }
        put(UInt64(0x1234_5678_9abc_def0), at: 0)
        put(version, at: 8)
        put(Int64(1), at: 16)
        put(requests, at: 24)
        put(tenants, at: 568)
        put(UInt64(0x1234_5678_9abc_def0), at: 8184)
        return header
    }

    /// A record of a version; features are counted up from `feature`.
    static func record(
        _ version: Int, _ time: UInt32, _ key: UInt64, _ size: Int64, op: UInt8 = 1, tenant: UInt32 = 0,
        feature: UInt32 = 0
    ) -> [UInt8] {
        let operation = UInt32(op) | tenant << 8
        let next = Int64(-1)
        switch version {
        case 1: return bytes([time, key, UInt32(size), next])
        case 2: return bytes([time, key, UInt32(size), operation, next])
        default:
            let features = version < 4 ? 0 : 1 << (version - 4)
            return bytes([time, key, size, operation, UInt32(60), next])
                + (0..<features).flatMap { bytes([feature == 0 ? UInt32(0) : feature + UInt32($0)]) }
        }
    }

    @Test(arguments: 1...8)
    func everyVersionOfLCSIsRead(_ version: Int) throws {
        let large: Int64 = version < 3 ? 4_294_967_295 : 5_000_000_000
        let data =
            Self.header(UInt64(version), requests: version == 1 ? 3 : 4)
            + Self.record(version, 5, .max, large, tenant: 16_777_215, feature: 9)
            + Self.record(version, 5, 7, 0, op: 3, tenant: 2)
            + (version == 1 ? [] : Self.record(version, 6, 7, 0, op: 9))
            + Self.record(version, 9, .max, large, op: 12, tenant: 2, feature: 9)
        for chunkBytes in [1, 30, 1 << 20] {
            let trace = try Trace.load(
                folder.file("t.lcs", data),
                .with {
                    $0.names = .all
                    $0.chunkBytes = chunkBytes
                })
            #expect(trace.entries == [0, 1, 0])
            #expect(Array(trace.times) == [5_000_000, 5_000_000, 9_000_000])
            #expect(trace.objectSizes == [UInt64(large), 1])
            #expect(trace.names.keys[0] == "18446744073709551615")
            #expect(trace.users == (version == 1 ? [] : [0, 1, 1]))
            #expect(trace.hasCategories == (version >= 4))
            if version >= 4 {
                #expect(trace.names.categories[0] == "9")
                #expect((0..<3).map { trace.categorySet(ofRequest: $0) } == [1, 0, 1])
            }
            let counts = [("get", 0), ("set", 0), ("delete", 1), ("read", 0)].map {
                OperationCount(name: $0.0, rows: 1, leftOut: $0.1, requests: 1 - $0.1)
            }
            #expect(trace.report.operations == (version == 1 ? [] : counts))
        }
    }

    @Test func fieldsOfLCSCanBeNamed() throws {
        let data =
            Self.header(5, requests: 2, tenants: 1) + Self.record(5, 1, 1, 4, tenant: 3, feature: 10)
            + Self.record(5, 2, 2, 4, tenant: 3, feature: 20)
        let path = try folder.file("t.lcs", data)
        let plain = try Trace.load(path)
        #expect(!plain.hasUsers)
        #expect(plain.report.columns.unused == ["op", "tenant", "ttl", "feature2"])
        let named = try Trace.load(
            path,
            .with {
                $0.names = .all
                $0.columns.category = "feature2"
                $0.columns.user = "tenant"
            })
        #expect((0..<2).map { named.names.categories[$0] } == ["11", "21"])
        #expect(named.names.users[0] == "3")
        #expect(
            fault(path, .with { $0.columns.category = "feature3" })
                == "t.lcs: version 5 of lcs has no field 'feature3' for the category; op, tenant, ttl, feature1, feature2 "
                + "are accepted")
        #expect(
            fault(path, .with { $0.columns.size = "ttl" })
                == "t.lcs: the size of lcs is obj_size; only category and user can be named")
    }

    @Test("A fault of an lcs file names the byte or the record")
    func faultsOfLCSNameTheByte() throws {
        let data = Self.header(2, requests: 2) + Self.record(2, 1, 1, 4) + Self.record(2, 1, 2, 4)
        func sentence(_ bytes: [UInt8]) throws -> String? { fault(try folder.file("t.lcs", bytes)) }
        #expect(
            try sentence(Array(data.prefix(8191)))
                == "t.lcs: the header ends at byte 8191 of 8192: the file is truncated or of another format")
        #expect(try sentence([]) == "t.lcs: is empty; a trace has at least one request")
        for place in [0, 8184] {
            var wrong = data
            wrong[place] = 0xf1
            #expect(
                try sentence(wrong)
                    == "t.lcs: has 0x123456789abcdef1 at byte \(place) where lcs has 0x123456789abcdef0: the file is "
                    + "damaged or of another format")
        }
        for version in [0, 9] as [UInt64] {
            #expect(
                try sentence(Self.header(version, requests: 1))
                    == "t.lcs: has version \(version) of lcs at byte 8; versions 1 to 8 are accepted")
        }
        #expect(
            try sentence(Self.header(1, requests: -1))
                == "t.lcs: counts -1 requests at byte 24; 0 (unknown) or more are accepted")
        #expect(
            try sentence(Array(data.dropLast(28)))
                == "t.lcs: ends at byte 8220, after 1 records, where its header counts 2: the file is truncated")
        #expect(
            try sentence(Array(data.dropLast(3)))
                == "t.lcs: ends at byte 8245, after 1 records, where its header counts 2: the file is truncated")
        #expect(
            try sentence(Self.header(2, requests: 0) + data.suffix(56).dropLast(3))
                == "t.lcs: the last record, at byte 8220, has 25 of 28 bytes: the file is truncated or of another format"
        )
        #expect(try sentence(Self.header(2, requests: 0)) == "t.lcs: holds no request")
        #expect(
            try sentence(Self.header(3, requests: 1) + Self.record(3, 1, 1, -5))
                == "t.lcs: record 1: size -5 is not accepted; whole numbers from 0 (unknown) to 281474976710655 are")
        #expect(
            try sentence(
                Self.header(2, requests: 3) + Self.record(2, 2, 1, 4, op: 9) + Self.record(2, 2, 1, 4)
                    + Self.record(2, 1, 1, 4))
                == "t.lcs: record 3: time 1 s is before 2 s, the time of the request above it; times must not decrease "
                + "unless sorting is enabled (--sort)")
    }

    @Test func compressedLCSIsReadUpToALimit() throws {
        let data = Self.header(1, requests: 2) + Self.record(1, 1, 1, 4) + Self.record(1, 1, 2, 4)
        let path = "\(folder.path)/t.lcs.zst"
        var sink = BufferedSink(try openSink(path, compression: nil))
        sink.append(data)
        try sink.finish()
        #expect(try Trace.load(path).entries == [0, 1])
        #expect(try Trace.load(path, .with { $0.limit = 1 }).entries == [0])
        var stream = try TraceStream(path)
        var batch = StreamBatch()
        var entries: [UInt32] = []
        while try stream.next(into: &batch) { entries += batch.entries }
        #expect(entries == [0, 1])
        let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
        #expect(
            fault(try folder.file("c.lcs.zst", Array(bytes.dropLast(5))))
                == "c.lcs.zst: the zstd data ends early: the file is truncated")
        #expect(TraceFormat(path: "metaKV.lcs.zst") == .lcs)
    }
}
