/// How a trace is to be read. Everything has a default; a plain `LoadOptions()` reads a well-formed trace.
public struct LoadOptions: Sendable {
    /// The format; `nil` goes by the file's name.
    public var format: TraceFormat?
    /// The compression; `nil` goes by the file's name and, for text, by its first bytes.
    public var compression: Compression?
    /// The byte between the fields of a CSV; `nil` is a comma, in `.tsv` files a tab.
    public var delimiter: UInt8?
    /// The names of the columns of a CSV.
    public var columns = ColumnNames()
    /// What a time in a CSV counts.
    public var timeUnit = TimeUnit.seconds
    /// How objects get their sizes.
    public var sizes = SizeRule.firstRequest
    /// Leaves out lines that cannot be read and counts them in ``LoadReport/badLines``, instead of stopping.
    public var skipBadLines = false
    /// Puts requests in order of time (equal times keep their order), instead of stopping when time runs backwards.
    public var sort = false
    /// Which names are kept.
    public var names: NameKinds = []
    /// At most so many requests; `nil` is all.
    public var limit: Int?
    /// The requests left out at the start, before ``limit`` counts.
    public var skip = 0
    /// The threads that parse; `nil` is one a core. The result does not depend on it.
    public var threads: Int?
    /// The bytes that a thread parses at a time.
    var chunkBytes = 1 << 20

    /// The defaults.
    public init() {}
}

/// Names of CSV columns that differ from the usual ones; `nil` looks for the usual ones, case ignored.
public struct ColumnNames: Sendable, Equatable {
    /// The column of keys; usually `key`, `id`, `obj_id`, `object_id`.
    public var key: String?
    /// The column of times; usually `time`, `timestamp`.
    public var time: String?
    /// The column of sizes; usually `size`, `bytes`, `obj_size`.
    public var size: String?
    /// The column of categories; usually `category`, `categories`, `tags`.
    public var category: String?
    /// The column of users; usually `user`, `user_id`, `profile`, `client`.
    public var user: String?

    /// The usual names.
    public init(
        key: String? = nil, time: String? = nil, size: String? = nil, category: String? = nil, user: String? = nil
    ) {
        self.key = key
        self.time = time
        self.size = size
        self.category = category
        self.user = user
    }
}

/// What a number in a time column counts.
public enum TimeUnit: String, Sendable, CaseIterable {
    /// Seconds; fractions are kept to the microsecond.
    case seconds = "s"
    /// Milliseconds; fractions are kept to the microsecond.
    case milliseconds = "ms"
    /// Microseconds; fractions are cut off.
    case microseconds = "us"
    /// Nanoseconds; what is below a microsecond is cut off.
    case nanoseconds = "ns"

    /// The digits behind the point that a microsecond needs in this unit; negative where it counts finer.
    var decimals: Int {
        switch self {
        case .seconds: 6
        case .milliseconds: 3
        case .microseconds: 0
        case .nanoseconds: -3
        }
    }
}

/// Kinds of names that a trace may keep.
public struct NameKinds: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int
    /// The kinds with these bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Names of objects.
    public static let keys = NameKinds(rawValue: 1)
    /// Names of categories.
    public static let categories = NameKinds(rawValue: 2)
    /// Names of users.
    public static let users = NameKinds(rawValue: 4)
    /// All of them.
    public static let all: NameKinds = [.keys, .categories, .users]
}
