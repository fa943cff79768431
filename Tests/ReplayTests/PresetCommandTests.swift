import Foundation
import HalcyonTestSupport
import HalcyonTrace
import Testing

@Suite("--preset", .timeLimit(.minutes(20)))
struct PresetCommandTests {
    private let folder: TemporaryFolder
    private static let kv = """
        op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase
        604038471,82131353f9ddc8c6,48,GET,3,87,3,0,366387042,3003229276
        604038471,a54f88ab02ece24d,24,GET,3,0,0,0,699950563,699950563
        604038473,a54f88ab02ece24d,24,SET,1,65,0,7200,699950563,699950563
        604038474,749ab7237b8d0372,47,DELETE,1,0,0,0,176962275,176962275

        """

    init() throws { folder = try TemporaryFolder() }

    @Test("inspect reports used columns, and rows by operation with those left out")
    func inspectReportsColumnsAndOperationsOfAPreset() throws {
        _ = try folder.file("kv.csv", Self.kv)
        let outcome = try Replay.run("inspect", "kv.csv", "--preset", "meta-kv", in: folder)
        #expect(outcome.code == 0)
        #expect(outcome.text.contains("requests            4\n"))
        #expect(
            outcome.text.contains(
                "columns             time=op_time, key, size, category=usecase; not used: key_size, cache_hits, ttl, "
                    + "sub_usecase"))
        #expect(outcome.text.contains(TracePreset.metaKV.summary))
        #expect(
            outcome.text.contains("Rows by operation: GET 2 (1 left out, 3 requests), SET 1, DELETE 1 (left out).\n"))
    }

    @Test("convert writes a trace that needs no preset")
    func convertedPresetTraceNeedsNoPreset() throws {
        _ = try folder.file("kv.csv", Self.kv)
        let outcome = try Replay.run("convert", "--preset", "meta-kv", "kv.csv", "out.csv", in: folder)
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(
            try String(contentsOfFile: "\(folder.path)/out.csv", encoding: .utf8)
                == """
                time,key,size,category
                604038471,82131353f9ddc8c6,87,366387042
                604038471,82131353f9ddc8c6,87,366387042
                604038471,82131353f9ddc8c6,87,366387042
                604038473,a54f88ab02ece24d,65,699950563

                """)
        let input = try Replay.run("convert", "--preset", "meta-kv", "-", "-", in: folder, input: Self.kv)
        #expect(input.lines.count == 5)
    }

    @Test("The two commands of Traces/README.md work for a sample of each preset")
    func documentedCommandsWorkForEachPreset() throws {
        let kv = (0..<200).map { "\($0),k\($0 % 60 * 7 % 50),2,SET,2,\($0 % 60 * 7 % 50 + 10),0,0,\($0 % 3),1\n" }
        let samples: [(TracePreset, String)] = [
            (.metaKV, "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n" + kv.joined()),
            (.twitter, (0..<200).map { "\($0),n\($0 % 3):k\($0 * 7 % 50),5,9,1,get,0\n" }.joined()),
            (
                .tencentPhoto,
                (0..<200).map { "201602010\(10_000 + $0 / 60 * 100 + $0 % 60) \($0 * 7 % 50) 0 b 1 1 PC 0\n" }.joined()
            ),
            (
                .wikimediaUpload,
                "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n"
                    + (0..<200).map { "\($0)\t\($0 * 7 % 50)\tjpeg\t\($0 * 7 % 50 + 1)\t0.1\n" }.joined()
            ),
            (
                .metaCDN,
                "timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart,rangeEnd,TTL,"
                    + "SamplingRate,cache_hit,item_value,RequestHandler,cdn_content_type_id,vip_type\n"
                    + (0..<200).map { "\($0),\($0 * 7 % 50),1,9,20,5,-1,-1,60,0.2,1,0,4,\($0 % 2),1\n" }.joined()
            ),
        ]
        let lists: [(TracePreset, String)] = [
            (
                .ebnerd,
                "impression_id,impression_time,article_ids_inview,article_ids_clicked,user_id\n"
                    + (10..<60).map { "\($0),2023-05-24 07:47:\($0),[\($0 % 9) \($0 % 7)],[\($0 % 7)],1\n" }.joined()
            ),
            (.mind, (10..<60).map { "\($0)\tU1\t11/11/2019 9:05:\($0) AM\t\tN\($0 % 9)-0 N\($0 % 7)-1\n" }.joined()),
            (
                .trivago,
                "user_id,timestamp,action_type,reference,impressions,prices\n"
                    + (0..<50).map { "u,\($0),clickout item,\($0 % 9),\($0 % 9)|\($0 % 7),50|\($0 + 1)\n" }.joined()
            ),
            (
                .kuairand,
                "user_id,video_id,time_ms,is_click\n" + (0..<50).map { "1,\($0 % 9),\($0)000,\($0 % 2)\n" }.joined()
            ),
            (
                .contentwise,
                "utc_ts_milliseconds,user_id,series_id,recommendation_id,recommended_series_list\n"
                    + (0..<50).map { "\($0)000,1,\($0 % 9),\($0),[\($0 % 9) \($0 % 7)]\n" }.joined()
            ),
        ]
        #expect(Set((samples + lists).map(\.0)) == Set(TracePreset.allCases))
        for (preset, sample) in samples + lists {
            _ = try folder.file("in.txt", sample)
            let converted = try Replay.run("convert", "--preset", preset.rawValue, "in.txt", "out.csv.gz", in: folder)
            #expect(converted.code == 0, "\(preset): \(converted.errors)")
            let replayed = try Replay.run("out.csv.gz", "--policy", "lru", "--capacity", "20%", in: folder)
            #expect(replayed.code == 0, "\(preset): \(replayed.errors)")
            try FileManager.default.removeItem(atPath: "\(folder.path)/out.csv.gz")
        }
    }

    @Test(
        "An unknown preset, conflicting options and missing columns are refused",
        arguments: [
            (
                ["--preset", "nope"], 64,
                "The value 'nope' is invalid for '--preset <preset>'. Please provide one of meta-cdn, meta-kv, "
                    + "wikimedia-upload, tencent-photo, twitter, ebnerd, mind, trivago, kuairand, contentwise. See "
                    + "'replay inspect --help'."
            ),
            (
                ["--preset", "meta-kv", "--time-unit", "ms"], 64,
                "--preset meta-kv gives the unit of times: leave out --time-unit."
            ),
            (
                ["--preset", "meta-kv", "--trace-format", "vscsi"], 64,
                "--preset meta-kv reads text, not vscsi: leave out --trace-format."
            ),
            (
                ["--preset", "wikimedia-upload"], 65,
                "kv.csv:1: there is no column 'relative_unix' for the time, which the preset wikimedia-upload needs; the "
                    + "columns are 'op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase…'"
            ),
        ] as [([String], Int32, String)])
    func presetConflictsAreRefused(_ options: [String], _ code: Int32, _ sentence: String) throws {
        _ = try folder.file("kv.csv", Self.kv)
        let outcome = try Replay.run(["inspect", "kv.csv"] + options, in: folder)
        #expect((outcome.code, outcome.text, outcome.errors) == (code, "", "replay: \(sentence)\n"))
    }

    @Test("A preset for a binary trace is refused, and no file is left")
    func presetOfABinaryTraceIsRefused() throws {
        _ = try folder.file("t.oracleGeneral", [UInt8](repeating: 0, count: 24))
        let outcome = try Replay.run("convert", "--preset", "twitter", "t.oracleGeneral", "o.csv", in: folder)
        #expect(outcome.code == 65)
        #expect(
            outcome.errors
                == "replay: t.oracleGeneral: the format is oracleGeneral, but the preset twitter reads text; leave out the "
                + "preset\n")
        #expect(folder.contents == ["t.oracleGeneral"])
    }
}
