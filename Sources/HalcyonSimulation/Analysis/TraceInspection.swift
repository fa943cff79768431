import HalcyonTrace

/// What a trace is made of: the answer of `replay inspect`.
///
/// Shares are between 0 and 1. A figure that the trace has no data for (no users, no categories) is nil.
public struct TraceInspection: Sendable, Codable, Equatable {
    /// The number of requests.
    public let requests: Int
    /// The number of distinct objects.
    public let objects: Int
    /// What sizes are counted in; with `objects` every one counts 1.
    public let unit: SizeUnit
    /// The sum of the sizes of all requests, in ``unit``.
    public let requestedCost: UInt64
    /// The sum of the sizes of all distinct objects, in ``unit``.
    public let distinctSize: UInt64
    /// The objects that are requested once only.
    public let oneHitWonders: Int
    /// The first and the last request's time, in microseconds; nil if the trace is empty or records no times.
    public let timeSpan: TimeRange?
    /// How steeply popularity falls with rank.
    public let popularity: PopularitySlope?
    /// How far apart the accesses of an object are, in distinct objects (LRU stack distance).
    public let reuse: ReuseDistances
    /// The categories and their use; nil without categories.
    public let categories: CategoryMix?
    /// The users and their use; nil without users.
    public let users: UserMix?
    /// What the reader noticed.
    public let notices: [String]

    /// The times of the first and the last request.
    public struct TimeRange: Sendable, Codable, Equatable {
        /// The time of the first request, in microseconds.
        public let first: Int64
        /// The time of the last request, in microseconds.
        public let last: Int64
    }

    /// The share of one category or user.
    public struct Share: Sendable, Codable, Equatable {
        /// Its name, or its number where names were not loaded.
        public let name: String
        /// Its number of requests.
        public let requests: Int
        /// Its share of all requests.
        public let share: Double
    }

    /// Inspects `trace`. O(requests · log objects) time; 8 bytes a request beside the trace if it has users.
    ///
    /// - Parameter top: How many categories and users to list.
    public init(of trace: Trace, top: Int = 10) {
        var counts = [Int](repeating: 0, count: trace.objectCount)
        var requested: UInt64 = 0
        for index in 0..<trace.count {
            counts[Int(trace.entries[index])] += 1
            requested &+= trace.size(ofRequest: index)
        }
        requests = trace.count
        objects = trace.objectCount
        unit = trace.sizeUnit
        requestedCost = requested
        distinctSize = trace.distinctSize
        oneHitWonders = counts.reduce(0) { $0 + ($1 == 1 ? 1 : 0) }
        if let first = trace.times.first, let last = trace.times.last, !trace.report.noTimes {
            timeSpan = TimeRange(first: first, last: last)
        } else {
            timeSpan = nil
        }
        popularity = PopularitySlope(counts: counts)
        reuse = ReuseDistances(of: trace)
        categories = CategoryMix(of: trace, top: top)
        users = UserMix(of: trace, top: top)
        notices = trace.report.sentences
    }

    /// The `top` largest of `counts` (by number), with their shares of `total`; ties by number.
    static func largest(_ counts: [Int], of total: Int, top: Int, names: StringTable) -> [Share] {
        counts.indices.filter { counts[$0] > 0 }
            .sorted { (counts[$0], $1) > (counts[$1], $0) }
            .prefix(top)
            .map { number in
                Share(
                    name: number < names.count ? names[UInt32(number)] : "\(number)", requests: counts[number],
                    share: Double(counts[number]) / Double(max(1, total)))
            }
    }
}
