/// The options of a reader. Every option has a default; `LoadOptions()` reads a well-formed trace.
public struct LoadOptions: Sendable {
    /// The format; `nil` derives it from the file's name.
    public var format: TraceFormat?
    /// The compression; `nil` derives it from the file's name and, for text, from its first bytes.
    public var compression: Compression?
    /// The byte between the fields of a CSV; `nil` is a tab in `.tsv` files, otherwise a comma.
    public var delimiter: UInt8?
    /// The names of the columns of a CSV.
    public var columns = ColumnNames()
    /// The unit of times in a CSV.
    public var timeUnit = TimeUnit.seconds
    /// The rule that gives objects their sizes.
    public var sizes = SizeRule.firstRequest
    /// Whether to skip lines that cannot be parsed and count them in ``LoadReport/badLines``, instead of throwing an
    /// error.
    public var skipBadLines = false
    /// Whether to sort requests by time (equal times keep their order), instead of throwing an error if times
    /// decrease.
    public var sort = false
    /// The kinds of names to keep; by default none.
    public var names: NameKinds = []
    /// The largest number of requests to read; `nil` reads all.
    public var limit: Int?
    /// The number of requests to skip at the start; ``limit`` does not count them.
    public var skip = 0
    /// The number of threads that parse; `nil` is one a core. The result does not depend on it.
    public var threads: Int?
    /// The number of bytes in the chunk that a thread parses at a time.
    var chunkBytes = 1 << 20

    /// Creates the default options.
    public init() {}
}

/// The names of CSV columns. `nil` looks for the usual names, ignoring case.
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

    /// Creates column names; the default is the usual names.
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

/// The unit of a time column.
public enum TimeUnit: String, Sendable, CaseIterable {
    /// Seconds, with fractions to the microsecond.
    case seconds = "s"
    /// Milliseconds, with fractions to the microsecond.
    case milliseconds = "ms"
    /// Microseconds; fractions are truncated.
    case microseconds = "us"
    /// Nanoseconds, truncated to microseconds.
    case nanoseconds = "ns"

    /// The number of decimals of one microsecond in this unit; negative for units below a microsecond.
    var decimals: Int {
        switch self {
        case .seconds: 6
        case .milliseconds: 3
        case .microseconds: 0
        case .nanoseconds: -3
        }
    }
}

/// The kinds of names that a trace can keep.
public struct NameKinds: OptionSet, Sendable {
    /// The bits of the set.
    public let rawValue: Int
    /// Creates the set with these bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The names of objects.
    public static let keys = NameKinds(rawValue: 1)
    /// The names of categories.
    public static let categories = NameKinds(rawValue: 2)
    /// The names of users.
    public static let users = NameKinds(rawValue: 4)
    /// All kinds.
    public static let all: NameKinds = [.keys, .categories, .users]
}
