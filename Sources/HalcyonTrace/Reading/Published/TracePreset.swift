/// A published text trace whose columns, units and operations are known, so that no other option is needed.
///
/// A preset states which column has which role, which rows are requests, the unit of times and the delimiter. Columns
/// are found by the names in the header, in any order; a trace without a header has the names of its description.
/// ``ColumnNames`` may name another column for the size, the category and the user. A category of `-` is none. A line
/// that repeats the header, as in a file joined from several, is skipped and counted.
///
/// No policy uses a time to live, so a column of it is not used: an object stays requestable until it is evicted.
public enum TracePreset: String, Sendable, CaseIterable {
    /// Meta's CDN, 2023 and 2025: `timestamp,cacheKey,OpType,objectSize,…,cdn_content_type_id,vip_type`.
    ///
    /// The size is `objectSize`, that of the whole object also for a range request, without the response header, as in
    /// libCacheSim's use of the trace; 0 is unknown. The category is `cdn_content_type_id`. Times of 12 digits and more
    /// are milliseconds, others seconds: the description names no unit, and CacheLib divides by a configured factor.
    /// Every row is a request (CacheLib: "only support get"), except one whose key is `-`, which is left out.
    ///
    /// Source: github.com/cacheMon/cache_dataset, README; github.com/facebook/CacheLib, PieceWiseReplayGenerator.cpp.
    case metaCDN = "meta-cdn"
    /// Meta's key-value cache, 2022 (`key,op,size,op_count,key_size`, optionally with `ttl` or with `op_time` before
    /// it) and 2024 (`op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase`).
    ///
    /// The size is `size`, without that of the key. The category is `usecase`, which names the tenant; the form of
    /// 2022 has none. A row is `op_count` requests. `GET` and `GET_LEASE` with a size are requests. Those of size 0
    /// missed in the traced cache and are left out; the `SET` or `SET_LEASE` that fills the cache after them, and any
    /// other, is the request. `DELETE` is none.
    ///
    /// Source: github.com/cacheMon/cache_dataset, README; github.com/facebook/CacheLib, KVReplayGenerator.h.
    case metaKV = "meta-kv"
    /// Wikimedia's image CDN, 2019: `relative_unix hashed_path_query image_type response_size time_firstbyte`, with
    /// tabs. The category is `image_type`; every row is a request.
    ///
    /// Source: wikitech.wikimedia.org, Analytics/Data Lake/Traffic/Caching.
    case wikimediaUpload = "wikimedia-upload"
    /// Tencent's photo CDN, 2016: eight fields without a header, `timestamp photo_id image_format size_category
    /// return_size cache_hit terminal_type response_time`, with tabs, commas or spaces as the first line shows.
    ///
    /// Each form of a photo is an object of its own, so a key is `photo_id|image_format|size_category`. The categories
    /// are the format (0 is jpg, 5 is webp) and the size category (l, a, o, m, c, b, ascending). The size is
    /// `return_size`. Times such as 20160201001500 become seconds since 1970 without regard to the zone. Every row is a
    /// request.
    ///
    /// Source: github.com/cacheMon/cache_dataset, README; Zhou et al., ICS 2018.
    case tencentPhoto = "tencent-photo"
    /// Twitter's cache clusters, 2020: seven fields without a header, `timestamp key key_size value_size client
    /// operation ttl`, with commas. A key may contain commas.
    ///
    /// The size is that of key and value, the user is the client. Reads of size 0 are left out and writes are requests,
    /// as in ``metaKV``; `delete` is none. The category is the key's namespace. Each cluster separates its namespaces
    /// otherwise, so the rule is a choice: the separator is the first of `: / | ~ . _ -` that the key contains. Its
    /// first two fields are the namespace (`nz:u` in `nz:u:eeW511W3dcH3de3d15ec`), or its first if there are two in all.
    /// A namespace of more than 16 bytes is shortened to its first field, and is none if that is as long.
    ///
    /// Source: github.com/twitter/cache-trace, README; Yang et al., OSDI 2020.
    case twitter
    /// Ekstra Bladet's news pages, 2023 (EB-NeRD), `behaviors` with the columns `impression_id`, `impression_time`, `user_id`,
    /// `article_ids_inview` and `article_ids_clicked`, exported from parquet as CSV with each list on its line (`[1, 2]` or `1 2`).
    ///
    /// A row is a list of the articles in view and then the requests for those clicked, at one time. Categories are in another file
    /// of the data set, so there are none. The order in view is not that of the screen.
    ///
    /// Source: recsys.eb.dk/dataset; Kruse et al., RecSys 2024.
    case ebnerd
    /// Microsoft's news pages, 2019 (MIND): `behaviors.tsv`, five fields without a header, `impression_id user_id time history
    /// impressions`, with tabs.
    ///
    /// A row is a list of its impressions, such as `N1-0 N2-1`, and then the requests for those with `-1`, at one time. The history
    /// is not used. Categories are in `news.tsv`, so there are none. Rows are not in order of time.
    ///
    /// Source: learn.microsoft.com, Microsoft News Dataset; Wu et al., ACL 2020.
    case mind
    /// trivago's hotel searches, 2018 (RecSys Challenge 2019): `train.csv` with the columns `user_id`, `timestamp`, `action_type`,
    /// `reference`, `impressions` and `prices`.
    ///
    /// A `clickout item` is a list of its impressions and then the request for its reference. An interaction with an item and a
    /// search for one are requests for it; other actions are left out. The category is the half octave of the price, ⌊2 · log₂
    /// price⌋; a request outside a list has none. Rows are sorted by user, not by time.
    ///
    /// Source: recsys.trivago.cloud/challenge/dataset; Knees et al., RecSys 2019.
    case trivago
    /// Kuaishou's short videos, 2022 (KuaiRand): `log_standard_….csv` with the columns `user_id`, `video_id`, `time_ms` and `is_click`.
    ///
    /// A row is an item that was shown, and a request as well if `is_click` is 1. Videos of one user and time are one list. Tags of
    /// videos are in another file, so there are no categories; `--columns category=tab` uses the place in the app. Rows are sorted by
    /// user, not by time.
    ///
    /// Source: kuairand.com; Gao et al., CIKM 2022.
    case kuairand
    /// ContentWise Impressions, 2019: interactions with the columns `utc_ts_milliseconds`, `user_id`, `series_id` and
    /// `recommendation_id`, and `recommended_series_list`.
    ///
    /// The data set publishes interactions and lists as two tables, which one file cannot be: join `impressions-direct-link` to
    /// `interactions` on `recommendation_id` first, and write each list on its line (`[1 2 3]`). A row is the list, if it has
    /// one, and then the request for its series, at one time.
    ///
    /// Source: github.com/ContentWise/contentwise-impressions; Pérez Maurera et al., CIKM 2020.
    case contentwise

    /// Whether rows are lists of what was shown.
    var hasLists: Bool {
        switch self {
        case .ebnerd, .mind, .trivago, .kuairand, .contentwise: true
        case .metaCDN, .metaKV, .wikimediaUpload, .tencentPhoto, .twitter: false
        }
    }

    /// What the preset decides that its names do not show, as one sentence.
    public var summary: String {
        let text =
            switch self {
            case .metaCDN:
                "every row is a request for the whole object; the category is cdn_content_type_id; TTL is not used"
            case .metaKV:
                "a row is op_count requests; a read without a size missed, and the SET that fills it is the request; "
                    + "the category is usecase; ttl is not used"
            case .wikimediaUpload: "every row is a request; the category is image_type"
            case .tencentPhoto:
                "every row is a request; a photo's format and size category are part of its key and its categories"
            case .twitter:
                "a read without a value missed, and the write that fills it is the request; the category is the "
                    + "namespace of the key; ttl is not used"
            case .ebnerd, .mind: "a row is a list and the requests for what was clicked of it; there are no categories"
            case .trivago:
                "a clickout is a list and a request; interactions with items are requests; the category is the half octave of the "
                    + "price"
            case .kuairand: "a row is an item that was shown, and a request if it was clicked; there are no categories"
            case .contentwise: "a row is a list and the request for its series; there are no categories"
            }
        return "Preset \(rawValue): \(text)."
    }

    /// The names of the fields of a trace without a header; `nil` if it has one.
    var fieldNames: [String]? {
        switch self {
        case .metaCDN, .metaKV, .wikimediaUpload, .ebnerd, .trivago, .kuairand, .contentwise: nil
        case .mind: ["impression_id", "user_id", "time", "history", "impressions"]
        case .tencentPhoto:
            [
                "timestamp", "photo_id", "image_format", "size_category", "return_size", "cache_hit", "terminal_type",
                "response_time",
            ]
        case .twitter: ["timestamp", "key", "key_size", "value_size", "client", "operation", "ttl"]
        }
    }

    /// The column of each role that is a plain column.
    var columns: ColumnNames {
        switch self {
        case .metaCDN:
            ColumnNames(key: "cacheKey", time: "timestamp", size: "objectSize", category: "cdn_content_type_id")
        case .metaKV: ColumnNames(key: "key", time: "op_time", size: "size", category: "usecase")
        case .wikimediaUpload:
            ColumnNames(
                key: "hashed_path_query", time: "relative_unix", size: "response_size", category: "image_type")
        case .tencentPhoto: ColumnNames(key: "photo_id", time: "timestamp", size: "return_size")
        case .twitter: ColumnNames(key: "key", time: "timestamp", size: "value_size", user: "client")
        case .ebnerd:
            ColumnNames(key: "article_ids_clicked", time: "impression_time", user: "user_id", list: "impression_id")
        case .mind: ColumnNames(key: "impressions", time: "time", user: "user_id", list: "impression_id")
        case .trivago: ColumnNames(key: "reference", time: "timestamp", user: "user_id")
        case .kuairand: ColumnNames(key: "video_id", time: "time_ms", user: "user_id", event: "is_click")
        case .contentwise:
            ColumnNames(key: "series_id", time: "utc_ts_milliseconds", user: "user_id", list: "recommendation_id")
        }
    }

    /// The roles whose column some published form does not have.
    var optional: Set<ColumnUse.Role> { self == .metaKV ? [.time, .category] : [] }

    /// The operations and what a row of each is.
    var operations: [PresetOperation] {
        switch self {
        case .metaCDN, .wikimediaUpload, .tencentPhoto: [PresetOperation("request", .write)]
        case .ebnerd, .mind, .kuairand, .contentwise: [PresetOperation("row", .write)]
        case .trivago:
            ["clickout item", "search for item"].map { PresetOperation($0, .write) }
                + ["image", "info", "rating", "deals"].map { PresetOperation("interaction item \($0)", .write) }
                + ["search for destination", "search for poi", "change of sort order", "filter selection"].map {
                    PresetOperation($0, .none)
                }
        case .metaKV:
            [
                PresetOperation("GET", .read), PresetOperation("SET", .write), PresetOperation("GET_LEASE", .read),
                PresetOperation("SET_LEASE", .write), PresetOperation("DELETE", .none),
            ]
        case .twitter:
            [PresetOperation("get", .read), PresetOperation("gets", .read)]
                + ["set", "add", "replace", "cas", "append", "prepend", "incr", "decr"].map {
                    PresetOperation($0, .write)
                } + [PresetOperation("delete", .none)]
        }
    }

    /// The way in which a time is written.
    var timeForm: PresetTime {
        switch self {
        case .metaCDN: .secondsOrMilliseconds
        case .metaKV, .wikimediaUpload, .twitter: .seconds
        case .tencentPhoto: .date
        case .trivago: .seconds
        case .kuairand, .contentwise: .milliseconds
        case .ebnerd: .isoDate
        case .mind: .usDate
        }
    }

    /// Returns the delimiter, for a trace that starts with this line.
    func delimiter(_ line: some Collection<UInt8>) -> UInt8 {
        switch self {
        case .metaCDN, .metaKV, .twitter, .ebnerd, .trivago, .kuairand, .contentwise: UInt8(ascii: ",")
        case .wikimediaUpload, .mind: 9
        case .tencentPhoto: line.contains(9) ? 9 : line.contains(UInt8(ascii: ",")) ? UInt8(ascii: ",") : 32
        }
    }
}

/// An operation of a published trace.
struct PresetOperation: Sendable {
    /// What a row with an operation is.
    enum Meaning: Sendable {
        /// A request if it has a size.
        case read
        /// A request.
        case write
        /// No request.
        case none
    }

    let name: String
    let bytes: [UInt8]
    let meaning: Meaning

    init(_ name: String, _ meaning: Meaning) {
        self.name = name
        bytes = Array(name.utf8)
        self.meaning = meaning
    }

    /// Returns the error for text that is none of the known operations.
    static func fault(_ name: some Sequence<UInt8>, _ known: [PresetOperation], column: Int) -> LineFault {
        LineFault(
            column: column,
            message: "operation \(quoted(name)) is unknown; \(known.map(\.name).joined(separator: ", ")) are accepted")
    }
}

/// The way in which a published trace writes its times.
enum PresetTime: Sendable {
    case seconds
    /// Milliseconds if there are 12 digits or more.
    case secondsOrMilliseconds
    /// `YYYYMMDDhhmmss`.
    case date
    case milliseconds
    /// `YYYY-MM-DD hh:mm:ss`, perhaps with `T` between and a fraction of a second.
    case isoDate
    /// `MM/DD/YYYY hh:mm:ss AM` or `PM`.
    case usDate

    /// The forms that are accepted, for a message.
    var accepted: String {
        switch self {
        case .seconds: "seconds such as 12 or 12.5 are accepted"
        case .secondsOrMilliseconds: "seconds such as 1678838400, or milliseconds, are accepted"
        case .date: "times such as 20160201001500 (YYYYMMDDhhmmss) are accepted"
        case .milliseconds: "milliseconds such as 1650812934945 are accepted"
        case .isoDate: "times such as 2023-05-21 21:06:50 are accepted"
        case .usDate: "times such as 11/15/2019 9:05:58 AM are accepted"
        }
    }

    /// Parses a time and returns it in microseconds; `nil` if it is none.
    func parse(_ text: UnsafePointer<UInt8>, _ length: Int) -> Int64? {
        switch self {
        case .seconds: return CSVNumbers.scaled(text, length, decimals: 6)
        case .secondsOrMilliseconds:
            var digits = 0
            while digits < length, text[digits] &- 48 < 10 { digits += 1 }
            return CSVNumbers.scaled(text, length, decimals: digits >= 12 ? 3 : 6)
        case .milliseconds: return CSVNumbers.scaled(text, length, decimals: 3)
        case .isoDate:
            let parts = PresetTime.numbers(text, length)
            guard parts.count == 6 || parts.count == 7, parts[0].digits == 4, length >= 19 else { return nil }
            let time = PresetTime.microseconds(parts.prefix(6).map(\.value))
            guard parts.count == 7 else { return time }
            guard var fraction = time.map({ _ in parts[6].value }), parts[6].digits <= 9 else { return nil }
            for _ in parts[6].digits..<max(6, parts[6].digits) { fraction *= 10 }
            for _ in min(6, parts[6].digits)..<parts[6].digits { fraction /= 10 }
            return time.map { $0 + fraction }
        case .usDate:
            let parts = PresetTime.numbers(text, length).map(\.value)
            let isMorning = length > 2 && text[length - 2] == UInt8(ascii: "A")
            guard parts.count == 6, 1...12 ~= parts[3], length > 2, text[length - 1] == UInt8(ascii: "M"),
                isMorning || text[length - 2] == UInt8(ascii: "P")
            else { return nil }
            let hour = parts[3] % 12 + (isMorning ? 0 : 12)
            return PresetTime.microseconds([parts[2], parts[0], parts[1], hour, parts[4], parts[5]])
        case .date:
            guard length == 14 else { return nil }
            func number(_ range: Range<Int>) -> Int64? {
                var value: Int64 = 0
                for index in range {
                    guard text[index] &- 48 < 10 else { return nil }
                    value = value * 10 + Int64(text[index] &- 48)
                }
                return value
            }
            guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8),
                let hour = number(8..<10), let minute = number(10..<12), let second = number(12..<14)
            else { return nil }
            return PresetTime.microseconds([year, month, day, hour, minute, second])
        }
    }

    /// Returns the numbers in a text and how many digits each has; empty if one has more than 18.
    private static func numbers(_ text: UnsafePointer<UInt8>, _ length: Int) -> [(value: Int64, digits: Int)] {
        var numbers: [(value: Int64, digits: Int)] = []
        var isOpen = false
        for index in 0..<length {
            let digit = text[index] &- 48
            guard digit < 10 else {
                isOpen = false
                continue
            }
            if !isOpen { numbers.append((0, 0)) }
            isOpen = true
            let last = numbers.count - 1
            if numbers[last].digits == 18 { return [] }
            numbers[last] = (numbers[last].value * 10 + Int64(digit), numbers[last].digits + 1)
        }
        return numbers
    }

    /// Returns the microseconds since 1970 of year, month, day, hour, minute and second; `nil` if there is no such time.
    private static func microseconds(_ parts: [Int64]) -> Int64? {
        let (year, month, day) = (parts[0], parts[1], parts[2])
        guard 0...9_999 ~= year, 1...12 ~= month, day >= 1, day <= PresetTime.days(inMonth: month, of: year),
            parts[3] < 24, parts[4] < 60, parts[5] < 60
        else { return nil }
        let days = PresetTime.days(year, month, day)
        return (((days * 24 + parts[3]) * 60 + parts[4]) * 60 + parts[5]) * 1_000_000
    }

    /// Returns the number of days of a month in the Gregorian calendar.
    private static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Returns the number of days from 1970-01-01 to a date of the Gregorian calendar.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        var days = day - 1
        for earlier in 1..<month { days += PresetTime.days(inMonth: earlier, of: year) }
        let past = year - 1
        return days + year * 365 + (year > 0 ? past / 4 - past / 100 + past / 400 + 1 : 0) - 719_528
    }
}
