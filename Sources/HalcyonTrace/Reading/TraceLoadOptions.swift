import HalcyonSupport

/// The options of a reader. Every option has a default; `TraceLoadOptions()` reads a well-formed trace.
public struct TraceLoadOptions: Sendable {
    /// The published trace whose columns, units and operations to expect; `nil` reads the format as it is.
    ///
    /// With a preset, ``format`` is text or `nil`, ``timeUnit`` is ignored, and ``columns`` may name the columns of
    /// size, category and user.
    public var preset: TracePreset?
    /// The files that continue the trace, in this order.
    ///
    /// They are read as if all rows were in one file: keys, categories and users have one numbering. Each file may
    /// have a format and columns of its own, and is opened with these options. Times must not decrease from one file
    /// to the next, unless ``sort`` is
    /// set, and either all files have times or none. A size, category or user that a file does not have is unknown.
    public var continuations: [String] = []
    /// The format; `nil` derives it from the file's name, and from its first lines where these show a format beyond
    /// doubt.
    public var format: TraceFormat?
    /// The compression; `nil` derives it from the file's first bytes.
    public var compression: Compression?
    /// The byte between the fields of a CSV; `nil` is a tab in `.tsv` files, otherwise a comma.
    ///
    /// A run of spaces counts as one delimiter if this is a space, and spaces at the start and the end of a line do
    /// not count.
    public var delimiter: UInt8?
    /// Whether the first line of a CSV is a header. Other formats accept ``HeaderRule/auto`` alone.
    public var header = HeaderRule.auto
    /// The names of the columns of a CSV, or their numbers from 1 if it has no header.
    public var columns = ColumnNames()
    /// The unit of times in a CSV.
    public var timeUnit = TimeUnit.seconds
    /// The objects that a request for a range of a disk requests, in the formats `arc`, `spc` and `msr`; `nil` is every
    /// block of 512 bytes. Other formats accept only `nil`.
    public var blocks: BlockRule?
    /// Whether writes are requests, too, in the formats `spc`, `msr` and `objectStore`. The default is false. Other
    /// formats accept only false.
    public var countsWrites = false
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
    /// Whether to read what an access log has beside its accesses (``Trace/recording``); by default not. Other formats have nothing, nor
    /// has a log that is sorted or whose first requests are skipped.
    public var recording = false
    /// Whether to read ``Trace/lifetimes``; by default not. A CSV has them in a column `ttl`, in any case, or in
    /// ``ColumnNames/ttl``. Twitter's text, lcs from version 3 and the presets ``TracePreset/metaKV`` and
    /// ``TracePreset/twitter`` have them; other formats are refused, and so is a stream.
    public var lifetimes = false
    /// The largest number of requests to read; `nil` reads all.
    public var limit: Int?
    /// The number of requests to skip at the start; ``limit`` does not count them.
    public var skip = 0
    /// The number of threads that parse; `nil` is one a core. The result does not depend on it.
    public var threads: Int?
    /// The number of bytes in the chunk that a thread parses at a time.
    var chunkBytes = 1 << 20
    /// The number of distinct keys, category fields or users that is too many.
    var tooManyNames = NameTable.tooMany
    /// The largest number of requests that are sorted by 32-bit positions.
    var narrowSort = Int(UInt32.max)
    /// The largest number of requests in a piece of a sorted trace.
    var sortedPiece = 1 << 30

    /// Creates the default options.
    public init() {}

    /// Returns the delimiter that an argument names: one ASCII character, `tab` or `\t`; otherwise `nil`.
    package static func delimiter(named argument: String) -> UInt8? {
        if argument == "tab" || argument == "\\t" { return 9 }
        guard argument.utf8.count == 1, let byte = argument.utf8.first else { return nil }
        return byte
    }
}

/// The rule that decides whether the first line of a CSV is a header.
public enum HeaderRule: String, Sendable, CaseIterable {
    /// The first line is a header. It is refused if it looks like a request, and no column has a usual name. It does
    /// if a column that ``ColumnNames`` names has a number for a name, or if the line has more digits than letters.
    case auto
    /// The first line is a header, whatever is in it.
    case yes
    /// The first line is a request. ``ColumnNames`` has the numbers of columns, counted from 1; a file of one column
    /// needs none.
    case no
}

/// A rule for the objects that a request for a range of a disk requests.
public enum BlockRule: Sendable, Hashable {
    /// Every block of this number of bytes that the range touches, in ascending order. At least 512, a multiple of 512.
    /// Every object counts 1.
    case split(bytes: Int)
    /// One object, which the first sector of the range names and whose size is the length of the range.
    case whole

    /// Reads an argument: `whole`, or a number of bytes such as `512` or `4KiB`; `nil` for another text, or a number
    /// that is not a positive multiple of 512.
    public init?(argument: String) {
        if argument == "whole" {
            self = .whole
            return
        }
        guard let bytes = ByteCount(argument: argument)?.value, bytes >= 512, bytes % 512 == 0, bytes <= 1 << 30 else {
            return nil
        }
        self = .split(bytes: Int(bytes))
    }

    /// The arguments that ``init(argument:)`` accepts, for error messages.
    package static let accepted = "a multiple of 512 bytes, such as 512 or 4KiB, or whole"
}

/// The names of CSV columns. `nil` looks for the usual names, ignoring case.
///
/// Without a header (``HeaderRule/no``) they are numbers from 1, and `nil` means that there is no such column.
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
    /// The column of events; usually `event`. Its values, in any case, are `request` or `opened`, and `shown` for a row that is no
    /// request but an item of a list (``Trace/lists``).
    public var event: String?
    /// The column of places of items in their lists; usually `position`. Without one it is the order of the file.
    public var position: String?
    /// The column of ids of lists; usually `list`, `list_id`. Rows with different ids are of different lists.
    public var list: String?
    /// The column of lifetimes, for ``TraceLoadOptions/lifetimes``; usually `ttl`.
    public var ttl: String?

    /// Creates column names; the default is the usual names.
    public init(
        key: String? = nil, time: String? = nil, size: String? = nil, category: String? = nil, user: String? = nil,
        event: String? = nil, position: String? = nil, list: String? = nil, ttl: String? = nil
    ) {
        self.key = key
        self.time = time
        self.size = size
        self.category = category
        self.user = user
        self.event = event
        self.position = position
        self.list = list
        self.ttl = ttl
    }

    /// Reads column names as text: `key=item,time=ts,category=brand`, or `time=1,key=2,size=3` for a file without a
    /// header. A role that is not named keeps the usual names.
    ///
    /// - Throws: ``Fault`` if a part does not name a role and a column, or a role is named twice.
    public init(parsing text: String) throws(Fault) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1).map(String.init)
            if sides.count == 2, sides[0] == "ttl" {
                guard ttl == nil else {
                    throw Fault(description: "The column of the lifetime is named twice: name it once.")
                }
                ttl = sides[1]
                continue
            }
            guard sides.count == 2, let role = ColumnUse.Role(rawValue: sides[0]) else {
                throw Fault(
                    description: "'\(String(part).shortened())' does not name a column: write key=…, time=…, size=…, "
                        + "category=…, user=…, event=…, position=… or list=…, separated by commas.")
            }
            guard self[role] == nil else {
                throw Fault(description: "The column of the \(role.rawValue) is named twice: name it once.")
            }
            self[role] = sides[1]
        }
    }

    /// The reason why text does not name columns, as one sentence.
    public struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
        /// The sentence.
        public let description: String
    }

    /// The name of the column with a role; `nil` looks for the usual names.
    public subscript(role: ColumnUse.Role) -> String? {
        get {
            switch role {
            case .time: time
            case .key: key
            case .size: size
            case .category: category
            case .user: user
            case .event: event
            case .position: position
            case .list: list
            }
        }
        set {
            switch role {
            case .time: time = newValue
            case .key: key = newValue
            case .size: size = newValue
            case .category: category = newValue
            case .user: user = newValue
            case .event: event = newValue
            case .position: position = newValue
            case .list: list = newValue
            }
        }
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
