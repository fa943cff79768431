import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// Samples in the shape of published data sets with lists, with counts by hand.
@Suite(.timeLimit(.minutes(20))) struct ListPresetTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

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

    func fault(_ preset: TracePreset, _ text: String) throws -> String? {
        HalcyonTraceTests.fault(try folder.file("f.csv", text), .with { $0.preset = preset })
    }

    /// The key of each request, with its time in seconds and its user.
    func requests(_ trace: Trace) -> [String] {
        (0..<trace.count).map { request in
            "\(trace.names.keys[trace.entries[request]]) \(trace.times[request] / 1_000_000) "
                + "\(trace.names.users[trace.users[request]])"
        }
    }

    @Test func newsPagesOfEkstraBladetAreRead() throws {
        let text = """
            impression_id,article_id,impression_time,read_time,scroll_percentage,device_type,article_ids_inview,article_ids_clicked,user_id
            149474,,2023-05-24 07:47:53,13.0,,2,"[9778623, 9778682, 9778669]",[9778669],139836
            150528,,2023-05-24T07:47:53.250000,25.0,,2,[9778718 9778728],[9778728 9778718],139836

            """
        let trace = try load(.ebnerd, text)
        // date -ud '2023-05-24 07:47:53' +%s
        #expect(
            requests(trace) == [
                "9778669 1684914473 139836", "9778728 1684914473 139836", "9778718 1684914473 139836",
            ])
        #expect(
            ShownListsTests.text(trace) == [
                "0 1684914473 139836: 9778623/1/ 9778682/1/ 9778669/1/",
                "1 1684914473 139836: 9778718/1/ 9778728/1/",
            ])
        #expect(trace.times[1] - trace.times[0] == 250_000)
        #expect(trace.report.operations == [OperationCount(name: "row", rows: 2, leftOut: 0, requests: 3)])
        #expect(
            try fault(.ebnerd, "PAR1\u{15}\u{4}")?.hasSuffix(
                "is parquet, which is not read; export it as CSV with the same column names first") == true)
    }

    @Test func newsPagesOfMINDAreRead() throws {
        let text =
            "1\tU13740\t11/11/2019 9:05:58 AM\tN55189 N42782\tN55689-1 N35729-0\n"
            + "2\tU91836\t11/12/2019 6:11:30 PM\t\tN20678-0 N39317-1 N55689-1\n"
            + "3\tU91836\t11/12/2019 6:11:30 PM\tN1\tN20678 N58114\n" + "4\tU1\t11/11/2019 12:00:00 AM\tN1\tN2-1\n"
        let trace = try load(.mind, text, name: "behaviors.tsv") { $0.sort = true }
        // 12:00:00 AM is midnight. date -ud '2019-11-11 09:05:58' +%s
        #expect(
            requests(trace) == [
                "N2 1573430400 U1", "N55689 1573463158 U13740", "N39317 1573582290 U91836", "N55689 1573582290 U91836",
            ])
        #expect(
            ShownListsTests.text(trace) == [
                "0 1573430400 U1: N2/1/", "1 1573463158 U13740: N55689/1/ N35729/1/",
                "2 1573582290 U91836: N20678/1/ N39317/1/ N55689/1/", "4 1573582290 U91836: N20678/1/ N58114/1/",
            ])
        #expect(
            try fault(.mind, "1\tU1\t2019-11-11 09:05:58\t\tN1-0\n")?.contains(
                "is not a time; times such as 11/15/2019 9:05:58 AM are accepted") == true)
    }

    @Test func hotelSearchesOfTrivagoAreRead() throws {
        let header =
            "user_id,session_id,timestamp,step,action_type,reference,platform,city,device,current_filters,impressions,prices\n"
        let text =
            header + "u1,s1,1541037460,1,search for poi,Newtown,AU,Sydney,mobile,,,\n"
            + "u1,s1,1541037522,2,interaction item image,666856,AU,Sydney,mobile,,,\n"
            + "u1,s1,1541037532,3,clickout item,109038,AU,Sydney,mobile,,3400638|1257342|109038,95|66|501\n"
        let trace = try load(.trivago, text)
        #expect(requests(trace) == ["666856 1541037522 u1", "109038 1541037532 u1"])
        // 2 · log₂ 95 = 13.1, of 66 12.1, of 501 17.9.
        #expect(ShownListsTests.text(trace) == ["1 1541037532 u1: 3400638/1/13 1257342/1/12 109038/1/17"])
        #expect(trace.categorySet(ofRequest: 0) == 0)
        #expect(trace.categorySets[trace.categorySet(ofRequest: 1)].map { trace.names.categories[$0] } == ["17"])
        #expect(trace.report.operations.first { $0.name == "search for poi" }?.leftOut == 1)
        #expect(
            try fault(.trivago, header + "u1,s1,1541037460,1,walk,1,AU,S,m,,,\n")?.contains(
                "operation 'walk' is unknown; clickout item, search for item, interaction item image") == true)
    }

    @Test func shortVideosOfKuaiRandAreRead() throws {
        let header =
            "user_id,video_id,date,hourmin,time_ms,is_click,is_like,is_follow,is_comment,is_forward,is_hate,long_view,"
            + "play_time_ms,duration_ms,profile_stay_time,comment_stay_time,is_profile_enter,is_rand,tab\n"
        let rest = "0,0,0,0,0,0,0,10,0,0,0,0"
        let text =
            header + "0,3784,20220509,1900,1652094000000,1,\(rest),1\n"
            + "0,4,20220509,1900,1652094009000,0,\(rest),1\n"
            + "0,5,20220509,1900,1652094009000,0,\(rest),2\n" + "1,4,20220509,1800,1652090400500,0,\(rest),1\n"
        let trace = try load(.kuairand, text) { $0.sort = true }
        #expect(requests(trace) == ["3784 1652094000 0"])
        #expect(
            ShownListsTests.text(trace) == [
                "0 1652090400 1: 4/1/", "0 1652094000 0: 3784/1/", "1 1652094009 0: 4/1/ 5/1/",
            ])
        let tabs = try load(.kuairand, text) {
            $0.sort = true
            $0.columns = ColumnNames(category: "tab")
        }
        #expect(ShownListsTests.text(tabs).last == "1 1652094009 0: 4/1/1 5/1/2")
    }

    @Test func joinedTablesOfContentWiseAreRead() throws {
        let text = """
            utc_ts_milliseconds,user_id,item_id,series_id,recommendation_id,interaction_type,recommended_series_list
            1546300801000,7,11,1,100,0,[3 1 2]
            1546300802000,7,12,9,-1,1,

            """
        let trace = try load(.contentwise, text)
        #expect(requests(trace) == ["1 1546300801 7", "9 1546300802 7"])
        #expect(ShownListsTests.text(trace) == ["0 1546300801 7: 3/1/ 1/1/ 2/1/"])
        let alone = "utc_ts_milliseconds,user_id,item_id,series_id,recommendation_id\n1546300801000,7,11,1,100\n"
        #expect(
            try fault(.contentwise, alone)?.contains(
                "there is no column 'recommended_series_list' for the list, which the preset contentwise needs; join the lists of "
                    + "impressions-direct-link to the interactions on recommendation_id first") == true)
    }
}
