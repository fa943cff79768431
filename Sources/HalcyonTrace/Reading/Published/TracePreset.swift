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
            }
        return "Preset \(rawValue): \(text)."
    }

    /// The names of the fields of a trace without a header; `nil` if it has one.
    var fieldNames: [String]? {
        switch self {
        case .metaCDN, .metaKV, .wikimediaUpload: nil
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
        }
    }

    /// The roles whose column some published form does not have.
    var optional: Set<ColumnUse.Role> { self == .metaKV ? [.time, .category] : [] }

    /// The operations and what a row of each is.
    var operations: [PresetOperation] {
        switch self {
        case .metaCDN, .wikimediaUpload, .tencentPhoto: [PresetOperation("request", .write)]
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
        }
    }

    /// Returns the delimiter, for a trace that starts with this line.
    func delimiter(_ line: some Collection<UInt8>) -> UInt8 {
        switch self {
        case .metaCDN, .metaKV, .twitter: UInt8(ascii: ",")
        case .wikimediaUpload: 9
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

    /// The forms that are accepted, for a message.
    var accepted: String {
        switch self {
        case .seconds: "seconds such as 12 or 12.5 are accepted"
        case .secondsOrMilliseconds: "seconds such as 1678838400, or milliseconds, are accepted"
        case .date: "times such as 20160201001500 (YYYYMMDDhhmmss) are accepted"
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
                let hour = number(8..<10), let minute = number(10..<12), let second = number(12..<14),
                1...12 ~= month, day >= 1, day <= PresetTime.days(inMonth: month, of: year), hour < 24, minute < 60,
                second < 60
            else { return nil }
            let days = PresetTime.days(year, month, day)
            return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000
        }
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
