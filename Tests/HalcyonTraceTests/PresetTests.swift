import Foundation
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// Samples in the published formats, with counts by hand.
@Suite(.timeLimit(.minutes(20))) struct PresetTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    static let cdnHeader =
        "timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart,rangeEnd,TTL,SamplingRate,"
        + "cache_hit,item_value,RequestHandler,cdn_content_type_id,vip_type"

    static let kvHeader = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase"

    func load(
        _ preset: TracePreset, _ text: String, name: String = "t.csv",
        _ change: (inout TraceLoadOptions) -> Void = { _ in }
    ) throws -> Trace {
        try Trace.load(
            folder.file(name, text),
            .with {
                $0.preset = preset
                $0.names = .all
                change(&$0)
            })
    }

    func fault(
        _ preset: TracePreset, _ text: String, name: String = "t.csv",
        _ change: (inout TraceLoadOptions) -> Void = { _ in }
    ) throws -> String? {
        HalcyonTraceTests.fault(
            try folder.file(name, text),
            .with {
                $0.preset = preset
                change(&$0)
            })
    }

    /// The names of the categories of each request.
    func categories(_ trace: Trace) -> [[String]] {
        (0..<trace.count).map { request in
            trace.categorySets[trace.categorySet(ofRequest: request)].map { trace.names.categories[$0] }
        }
    }

    @Test func metaCDNRowsAreRead() throws {
        let text = """
            \(Self.cdnHeader)
            1678838400,18446744073709551615,1,5000,700,200,0,499,3600,0.2,1,0,4,12,1
            1678838400,7,1,0,150,150,-1,-1,3600,0.2,0,0,4,-,1
            1678838401,-,1,10,150,150,-1,-1,3600,0.2,0,0,4,12,1
            1678838402,18446744073709551615,1,5000,5200,200,-1,-1,3600,0.2,1,0,4,12,1
            1678838403,"a,b",1,33,44,11,-1,-1,3600,0.2,1,0,4,7,1

            """
        let trace = try load(.metaCDN, text)
        #expect(trace.entries == [0, 1, 0, 2])
        #expect(trace.names.keys[0] == "18446744073709551615")
        #expect(trace.names.keys[2] == "a,b")
        #expect(Array(trace.times) == [0, 0, 2, 3].map { (1_678_838_400 + $0) * 1_000_000 })
        #expect(trace.objectSizes == [5000, 1, 33])
        #expect(trace.report.unknownSizes == 1)
        #expect(categories(trace) == [["12"], [], ["12"], ["7"]])
        #expect(!trace.hasUsers)
        #expect(
            trace.report.operations == [OperationCount(name: "request", rows: 5, leftOut: 1, requests: 4)])
        #expect(
            trace.report.columns.used.map(\.name) == ["timestamp", "cacheKey", "objectSize", "cdn_content_type_id"])
        #expect(trace.report.columns.unused.contains("TTL"))
    }

    @Test func timesOfTwelveDigitsAreMilliseconds() throws {
        let line = { (time: String) in "\(time),7,1,10,20,5,-1,-1,60,0.2,1,0,4,1,1\n" }
        let trace = try load(.metaCDN, "\(Self.cdnHeader)\n" + line("1678838400123") + line("1678838400999"))
        #expect(Array(trace.times) == [1_678_838_400_123_000, 1_678_838_400_999_000])
        let seconds = try load(.metaCDN, "\(Self.cdnHeader)\n" + line("0") + line("99999999999"))
        #expect(Array(seconds.times) == [0, 99_999_999_999_000_000])
    }

    @Test func metaKVOf2024IsRead() throws {
        let text = """
            \(Self.kvHeader)
            604038471,82131353f9ddc8c6,48,GET,3,87,3,0,366387042,3003229276
            604038471,a54f88ab02ece24d,24,GET,3,0,0,0,699950563,699950563
            604038473,a54f88ab02ece24d,24,SET,1,65,0,7200,699950563,699950563
            604038473,749ab7237b8d0372,47,GET_LEASE,2,10,2,0,176962275,176962275
            604038474,749ab7237b8d0372,47,DELETE,1,0,0,0,176962275,176962275
            604038475,82131353f9ddc8c6,48,SET_LEASE,1,87,0,60,366387042,3003229276

            """
        let trace = try load(.metaKV, text)
        #expect(trace.entries == [0, 0, 0, 1, 2, 2, 0])
        #expect(Array(trace.times) == [471, 471, 471, 473, 473, 473, 475].map { (604_038_000 + $0) * 1_000_000 })
        #expect(trace.objectSizes == [87, 65, 10])
        #expect(
            categories(trace)
                == ["366387042", "366387042", "366387042", "699950563", "176962275", "176962275", "366387042"].map {
                    [$0]
                })
        #expect(
            trace.report.operations == [
                OperationCount(name: "GET", rows: 2, leftOut: 1, requests: 3),
                OperationCount(name: "SET", rows: 1, leftOut: 0, requests: 1),
                OperationCount(name: "GET_LEASE", rows: 1, leftOut: 0, requests: 2),
                OperationCount(name: "SET_LEASE", rows: 1, leftOut: 0, requests: 1),
                OperationCount(name: "DELETE", rows: 1, leftOut: 1, requests: 0),
            ])
        let fine = try load(.metaKV, text) { $0.columns.category = "sub_usecase" }
        #expect(categories(fine).first == ["3003229276"])
    }

    @Test func metaKVOf2022IsRead() throws {
        let text = """
            key,op,size,op_count,key_size
            1668757755,SET,82,1,40
            1668757755,GET,0,1,40
            1665497896,GET,169,18,78

            """
        let trace = try load(.metaKV, text)
        #expect(trace.entries == [0] + Array(repeating: 1, count: 18))
        #expect(trace.objectSizes == [82, 169])
        #expect(trace.report.noTimes)
        #expect(!trace.hasCategories)
    }

    @Test func wikimediaUploadIsReadWithRepeatedHeaders() throws {
        let header = "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte"
        let text = """
            \(header)
            0\t-4209850583451735562\tjpeg\t18254\t1.4e-4
            0\t833946053\tsvg+xml\t610\t0.000125
            \(header)
            86400\t-4209850583451735562\tjpeg\t18254\t0.00011
            86401\t5\t-\t9\t0.1

            """
        for ending in ["\n", "\r\n"] {
            let trace = try load(
                .wikimediaUpload, text.replacingOccurrences(of: "\n", with: ending), name: "cache-u-00.gz.txt")
            #expect(trace.entries == [0, 1, 0, 2])
            #expect(trace.names.keys[0] == "-4209850583451735562")
            #expect(Array(trace.times) == [0, 0, 86_400_000_000, 86_401_000_000])
            #expect(trace.objectSizes == [18_254, 610, 9])
            #expect(categories(trace) == [["jpeg"], ["svg+xml"], ["jpeg"], []])
            #expect(trace.report.repeatedHeaders == 1)
        }
    }

    @Test(arguments: [" ", "\t", ","])
    func tencentPhotoIsReadWithAnyDelimiter(_ delimiter: String) throws {
        let text = """
            20160201235959 6D1A0C 0 b 60000 1 PHONE 12
            20160202000000 6D1A0C 5 b 40000 0 PC 0
            20160229000000 6D1A0C 0 b 60000 1 PC 0
            20160301000000 77 0 l 900 1 PC 3

            """
        let trace = try load(.tencentPhoto, text.replacingOccurrences(of: " ", with: delimiter))
        #expect(trace.entries == [0, 1, 0, 2])
        #expect((0..<3).map { trace.names.keys[$0] } == ["6D1A0C|0|b", "6D1A0C|5|b", "77|0|l"])
        #expect(categories(trace) == [["0", "b"], ["5", "b"], ["0", "b"], ["0", "l"]])
        #expect(trace.objectSizes == [60_000, 40_000, 900])
        // 2016-02-01T23:59:59Z is 1454371199; the leap day is 2016-02-29.
        #expect(
            Array(trace.times).map { $0 / 1_000_000 } == [1_454_371_199, 1_454_371_200, 1_456_704_000, 1_456_790_400])
    }

    @Test func datesEqualFoundations() throws {
        let form = DateFormatter()
        form.locale = Locale(identifier: "en_US_POSIX")
        form.timeZone = TimeZone(secondsFromGMT: 0)
        form.dateFormat = "yyyyMMddHHmmss"
        for day in stride(from: 0, to: 50_000, by: 37) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + 4_503)
            let text = Array(form.string(from: date).utf8)
            let time = text.withUnsafeBufferPointer { text in
                text.baseAddress.flatMap { PresetTime.date.parse($0, text.count) }
            }
            #expect(time == Int64(day) * 86_400_000_000 + 4_503_000_000)
        }
        for text in ["20150229000000", "20161301000000", "20160101240000", "2016010100000", "2016010100000x"] {
            #expect(
                try fault(.tencentPhoto, "\(text) a 0 b 1 1 PC 0\n")
                    == "t.csv:1:1: time '\(text)' is not a time; times such as 20160201001500 (YYYYMMDDhhmmss) are "
                    + "accepted")
        }
    }

    @Test func twitterPresetReadsNamespaces() throws {
        let text = """
            0,nz:u:eeW511W3dcH3de3d15ec,22,304,2,get,0
            1,nz:u:a,10,0,7,get,0
            1,nz:u:a,10,50,7,set,86400
            2,w,x:y,5,8,7,gets,0
            3,nz:u:a,10,0,2,delete,0
            4,"q,1,2,3,get,0

            """
        let trace = try load(.twitter, text, name: "cluster52.sort")
        #expect(trace.entries == [0, 1, 2, 3])
        #expect((0..<4).map { trace.names.keys[$0] } == ["nz:u:eeW511W3dcH3de3d15ec", "nz:u:a", "w,x:y", "\"q"])
        #expect(trace.objectSizes == [326, 60, 13, 3])
        #expect((0..<3).map { trace.names.users[$0] } == ["2", "7", "3"])
        #expect(categories(trace) == [["nz:u"], ["nz:u"], ["w,x"], []])
        #expect(
            trace.report.operations == [
                OperationCount(name: "get", rows: 3, leftOut: 1, requests: 2),
                OperationCount(name: "gets", rows: 1, leftOut: 0, requests: 1),
                OperationCount(name: "set", rows: 1, leftOut: 0, requests: 1),
                OperationCount(name: "delete", rows: 1, leftOut: 1, requests: 0),
            ])
    }

    @Test(arguments: [
        ("nz:u:eeW511W3dcH3de3d15ec", "nz:u"), ("nz:u", "nz"), ("nz", ""), ("", ""), ("a-b_c:d", "a-b_c"),
        ("a.b.c", "a.b"), ("aaaaaaaa:bbbbbbbbbb:c", "aaaaaaaa"), ("aaaaaaaaaaaaaaaaa:b:c", ""),
        ("aaaaaaaaaaaaaaaa:b", "aaaaaaaaaaaaaaaa"), (":a:b", ":a"),
    ])
    func namespaceEndsAtTheLastColon(_ key: String, _ namespace: String) {
        let bytes = Array(key.utf8)
        #expect(bytes.withUnsafeBufferPointer { String(key.prefix(Namespace.length($0))) } == namespace)
    }

    @Test("Chunks, threads, streams, skip and limit give the same requests")
    func chunksThreadsStreamsAndLimitsGiveTheSameRequests() throws {
        var random = SystemRandomNumberGenerator()
        var text = Self.kvHeader + "\n"
        var expected: [String] = []
        let seed = UInt64.random(in: 0...UInt64.max, using: &random)
        var state = seed | 1
        func draw(_ bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % bound
        }
        for time in 0..<400 {
            let key = "k\(draw(40))"
            let count = draw(6) + 1
            let size = draw(3) * 7
            let operation = ["GET", "SET", "DELETE", "GET_LEASE"][Int(draw(4))]
            text += "\(time),\(key),2,\(operation),\(count),\(size),0,0,\(draw(3)),1\n"
            if operation == "DELETE" || (operation != "SET" && size == 0) { continue }
            expected += Array(repeating: key, count: Int(count))
        }
        let path = try folder.file("t.csv", text)
        for (skip, limit) in [(0, nil), (3, nil), (1, 50), (117, 9), (0, 1)] as [(Int, Int?)] {
            let wanted = Array(expected.dropFirst(skip).prefix(limit ?? .max))
            for chunkBytes in [1, 200, 1 << 20] {
                let options = TraceLoadOptions.with {
                    $0.preset = .metaKV
                    $0.names = .all
                    $0.chunkBytes = chunkBytes
                    $0.threads = 2
                    $0.skip = skip
                    $0.limit = limit
                }
                let trace = try Trace.load(path, options)
                #expect(trace.entries.map { trace.names.keys[$0] } == wanted, "seed \(seed)")
                var stream = try TraceStream(path, options)
                var batch = StreamBatch()
                var entries: [UInt32] = []
                var users: [Int64] = []
                while try stream.next(into: &batch) {
                    entries += batch.entries
                    users += batch.times
                    #expect(batch.sizes.count == batch.entries.count)
                    #expect(batch.categorySets.count == batch.entries.count)
                }
                #expect(entries == trace.entries, "seed \(seed)")
                #expect(users == Array(trace.times), "seed \(seed)")
            }
        }
    }

    @Test func missingAndFixedColumnsAreRefused() throws {
        #expect(
            try fault(.metaCDN, "timestamp,key\n1,a\n")
                == "t.csv:1: there is no column 'cacheKey' for the key, which the preset meta-cdn needs; the columns are "
                + "'timestamp', 'key'")
        #expect(
            try fault(.metaKV, "key,size\na,1\n")
                == "t.csv:1: there is no column 'op' for the operation, which the preset meta-kv needs; the columns are "
                + "'key', 'size'")
        #expect(
            try fault(.metaKV, "key,op,size,op_count,key\n")
                == "t.csv:1: column 'key' occurs 2 times in the header")
        #expect(
            try fault(.metaKV, Self.kvHeader + "\n") { $0.columns.key = "usecase" }
                == "t.csv:1: the preset meta-kv fixes the columns of key and time; only size, category and user can be "
                + "named")
        #expect(
            try fault(.twitter, "0,a,1,1,1,get,0\n") { $0.columns.category = "tenant" }
                == "t.csv: there is no column 'tenant' for the category, which the preset twitter needs; the columns are "
                + "'timestamp', 'key', 'key_size', 'value_size', 'client', 'operation', 'ttl'")
        #expect(
            try fault(.metaKV, "a", name: "t.oracleGeneral")
                == "t.oracleGeneral: the format is oracleGeneral, but the preset meta-kv reads text; leave out the preset"
        )
    }

    @Test(arguments: [
        (
            "1,a,2,SAT,1,5,0,0,1,1",
            ":2:7: operation 'SAT' is unknown; GET, SET, GET_LEASE, SET_LEASE, DELETE are accepted"
        ),
        (
            "1,a,2,GET,0,5,0,0,1,1",
            ":2:11: '0' is not a number of operations; whole numbers from 1 to 65535 are accepted"
        ),
        (
            "1,a,2,GET,65536,5,0,0,1,1",
            ":2:11: '65536' is not a number of operations; whole numbers from 1 to 65535 are accepted"
        ),
        (
            "1,a,2,GET,1,x,0,0,1,1",
            ":2:13: size 'x' is not a number of bytes; whole numbers from 0 (unknown) to 281474976710655 are accepted"
        ),
        ("x,a,2,GET,1,5,0,0,1,1", ":2:1: time 'x' is not a time; seconds such as 12 or 12.5 are accepted"),
        ("1,,2,GET,1,5,0,0,1,1", ":2:3: the key is empty; each request needs one"),
        ("1,a,2,GET,1,5,0,0,1", ":2: '1,a,2,GET,1,5,0,0,1' has 9 fields where the header has 10"),
        (
            "1,a,2,GET,1,5,0,0,1,1,1",
            ":2: '1,a,2,GET,1,5,0,0,1,1,1' has more than the 10 fields of the header"
        ),
        (
            "1,a,2,GET,1,5,0,0,1,1\n0,a,2,GET,1,5,0,0,1,1",
            ":3:1: time 0 s is before 1 s, the time of the request above it; times must not decrease unless sorting is "
                + "enabled (--sort)"
        ),
    ])
    func badPresetLineIsRefusedWithItsPlace(_ line: String, _ sentence: String) throws {
        let text = "\(Self.kvHeader)\n\(line)\n"
        #expect(try fault(.metaKV, text) == "t.csv" + sentence)
        if sentence.contains("decrease") { return }
        let good = try load(.metaKV, text + "2,b,2,SET,1,5,0,0,1,1\n") { $0.skipBadLines = true }
        #expect(good.entries == [0])
        #expect(good.report.badLines == 1)
    }

    @Test func twitterLineWithTooFewFieldsIsRefused() throws {
        #expect(
            try fault(.twitter, "0,a,1,1,get,0\n") == "t.csv:1: '0,a,1,1,get,0' has 6 fields where the header has 7")
        #expect(
            try fault(.twitter, "0,a\u{1},1,1,1,get,0\n")
                == "t.csv:1:4: the control byte 0x01 is not text; is this a CSV?")
    }

    @Test func emptyAndTruncatedPresetFilesAreRefused() throws {
        for preset in TracePreset.allCases {
            #expect(try fault(preset, "") == "t.csv: is empty; a trace has at least one request")
        }
        #expect(try fault(.metaCDN, Self.cdnHeader + "\n") == "t.csv: holds no request")
        #expect(try fault(.metaKV, Self.kvHeader + "\n1,a,2,GET,1,0,0,0,1,1\n") == "t.csv: holds no request")
        let whole = try load(.metaKV, Self.kvHeader + "\n1,a,2,SET,9,5,0,0,1,1\n1,b,2,SET,1,5,0,0,1,1\n")
        let path = "\(folder.path)/w.csv.zst"
        try TraceWriter.write(whole, to: path)
        let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
        let cut = HalcyonTraceTests.fault(
            try folder.file("c.csv.zst", Array(bytes.dropLast(3))), .with { $0.preset = .wikimediaUpload })
        #expect(cut?.hasPrefix("c.csv.zst: the zstd data") == true, "\(cut ?? "none")")
    }

    @Test("A trace converted to CSV is the same trace")
    func convertedTraceIsTheSame() throws {
        let trace = try load(
            .tencentPhoto, "20160201235959 6D1A0C 0 b 60000 1 PHONE 12\n20160202000000 6D1A0C 5 b 40000 0 PC 0\n")
        let path = "\(folder.path)/o.csv.gz"
        try TraceWriter.write(trace, to: path)
        let again = try Trace.load(path, .with { $0.names = .all })
        #expect(again.entries == trace.entries)
        #expect(Array(again.times) == Array(trace.times))
        #expect(again.objectSizes == trace.objectSizes)
        #expect(categories(again) == categories(trace))
        #expect(again.names.keys[0] == trace.names.keys[0])
    }
}
