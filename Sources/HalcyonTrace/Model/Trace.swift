/// A recorded sequence of requests, in columns.
///
/// Objects are numbered densely in the order of their first request, users and categories likewise, so that
/// everything that replays a trace works with small integers. Names are kept apart and only when asked for.
///
/// Memory: 4 bytes a request for the object, 4 for the time (8 where the times need it), 4 for the user if there are
/// users, 4 for the categories if an object's categories change over time, 4 for the size under
/// ``SizeRule/perRequest``; 8 bytes a distinct object for its size and 4 for its categories.
public struct Trace: Sendable {
    /// The object that each request asks for, numbered in order of first request.
    public let entries: [UInt32]
    /// When each request was made, in microseconds; never decreasing.
    public let times: TimeColumn
    /// The user of each request, numbered in order of first request; ``noUser`` where unknown; empty if no user is known.
    public let users: [UInt32]
    /// The size of each object in bytes (all 1 where every object counts 1).
    public let objectSizes: [UInt64]
    /// The size of each request in bytes where sizes change and that is honoured; otherwise empty.
    public let requestSizes: [UInt32]
    /// The category set of each object, by its first request; empty if the trace has no categories.
    public let objectCategories: [UInt32]
    /// The category set of each request where objects change theirs; otherwise empty.
    public let requestCategories: [UInt32]
    /// What the numbers of category sets mean.
    public let categorySets: CategorySets
    /// The number of distinct categories.
    public let categoryCount: Int
    /// The number of distinct users.
    public let userCount: Int
    /// Whether sizes are counted in bytes or every object counts 1.
    public let sizeUnit: SizeUnit
    /// The size of every request in ``sizeUnit`` where all sizes are equal and not 0 (1 where every object counts 1);
    /// otherwise `nil`.
    public let uniformSize: UInt64?
    /// The names behind the numbers, where they were asked for.
    public let names: TraceNames
    /// What was noticed while loading.
    public let report: LoadReport

    /// The user number of a request without a user.
    public static let noUser = UInt32.max

    /// A trace from its columns, as readers and generators make them. O(objects), and O(requests) where requests have
    /// sizes, at most up to the first that differs.
    public init(
        entries: [UInt32], times: TimeColumn, users: [UInt32] = [], objectSizes: [UInt64],
        requestSizes: [UInt32] = [], objectCategories: [UInt32] = [], requestCategories: [UInt32] = [],
        categorySets: CategorySets = CategorySets(), categoryCount: Int = 0, userCount: Int = 0,
        sizeUnit: SizeUnit = .objects, names: TraceNames = TraceNames(), report: LoadReport = LoadReport()
    ) {
        precondition(times.count == entries.count, "a time for each request")
        precondition(users.isEmpty || users.count == entries.count, "a user for each request, or none")
        precondition(requestSizes.isEmpty || requestSizes.count == entries.count, "a size for each request, or none")
        precondition(
            requestCategories.isEmpty || requestCategories.count == entries.count,
            "categories for each request, or none")
        precondition(
            objectCategories.isEmpty || objectCategories.count == objectSizes.count,
            "categories for each object, or none")
        let objects = objectSizes.count
        precondition(entries.allSatisfy { Int($0) < objects }, "a size for each object that is requested")
        precondition(
            users.allSatisfy { Int($0) < userCount || $0 == Trace.noUser }, "the number of users is above each user")
        self.entries = entries
        self.times = times
        self.users = users
        self.objectSizes = objectSizes
        self.requestSizes = requestSizes
        self.objectCategories = objectCategories
        self.requestCategories = requestCategories
        self.categorySets = categorySets
        self.categoryCount = categoryCount
        self.userCount = userCount
        self.sizeUnit = sizeUnit
        uniformSize =
            switch sizeUnit {
            case .objects: 1
            case .bytes:
                requestSizes.isEmpty
                    ? Self.uniformSize(of: objectSizes) : Self.uniformSize(of: requestSizes).map { UInt64($0) }
            }
        self.names = names
        self.report = report
    }

    /// The number of requests.
    public var count: Int { entries.count }
    /// The number of distinct objects.
    public var objectCount: Int { objectSizes.count }
    /// Whether any request carries a category.
    public var hasCategories: Bool { categoryCount > 0 }
    /// Whether any request carries a user.
    public var hasUsers: Bool { !users.isEmpty }

    /// The size of request `index` in ``sizeUnit``. O(1).
    public func size(ofRequest index: Int) -> UInt64 {
        requestSizes.isEmpty ? objectSizes[Int(entries[index])] : UInt64(requestSizes[index])
    }

    /// The category set of request `index`; 0 is none. O(1).
    public func categorySet(ofRequest index: Int) -> UInt32 {
        if !requestCategories.isEmpty { return requestCategories[index] }
        return objectCategories.isEmpty ? 0 : objectCategories[Int(entries[index])]
    }

    /// The user of request `index`, or ``noUser``. O(1).
    public func user(ofRequest index: Int) -> UInt32 {
        users.isEmpty ? Trace.noUser : users[index]
    }

    /// The sum of the sizes of all distinct objects (the working set of the whole trace), in ``sizeUnit``. O(objects).
    public var distinctSize: UInt64 { objectSizes.reduce(0) { $0 &+ $1 } }

    /// The size that all of `sizes` have; `nil` if two differ, and where it is 0 or there is none.
    private static func uniformSize<Size: UnsignedInteger>(of sizes: [Size]) -> Size? {
        guard let first = sizes.first, first > 0, sizes.allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    /// The heap bytes that the columns hold, names excepted.
    public var columnBytes: Int {
        4 * (entries.count + users.count + requestSizes.count + requestCategories.count + objectCategories.count)
            + 8 * objectSizes.count + times.byteCount
    }
}

/// What an entry's size counts.
public enum SizeUnit: String, Sendable, Codable {
    /// Sizes are honoured: size is bytes.
    case bytes
    /// Every object counts 1.
    case objects
}

/// The names behind a trace's numbers, each table empty unless it was asked for.
public struct TraceNames: Sendable {
    /// Keys by object number.
    public var keys = StringTable()
    /// Categories by category number.
    public var categories = StringTable()
    /// Users by user number.
    public var users = StringTable()

    /// No names.
    public init() {}
}

/// What a reader noticed on the way; every report repeats the parts that change what the figures mean.
public struct LoadReport: Sendable, Equatable {
    /// Lines left out under `--skip-bad-lines`.
    public var badLines = 0
    /// Requests whose size differs from their object's first.
    public var sizeDisagreements = 0
    /// Objects of unknown size that count 1 byte in a trace where others have a size.
    public var unknownSizes = 0
    /// Whether the source had no size at all, so that every object counts 1.
    public var noSizes = false
    /// Whether the source had no times, so that request n is taken to happen n seconds after the first.
    public var noTimes = false
    /// Reads in a Twitter trace that found nothing, whose object has no known size and which are left out.
    public var unansweredReads = 0
    /// Requests that were put in order of time under `--sort`.
    public var outOfOrder = 0
    /// Accesses of a log whose clock had been set back, which are taken to happen at the latest time before.
    public var heldTimes = 0

    /// Nothing to report.
    public init() {}
}
