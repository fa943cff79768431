/// How much may be fetched ahead of need, in objects and in bytes, over each of four periods.
///
/// ```swift
/// let budget = try PrefetchBudget(parsing: "2/request,50MB/day")
/// ```
///
/// ``PrefetchSpending`` keeps account of what of it is left. Every limit is optional, and one of 0 forbids prefetching.
public struct PrefetchBudget: Sendable, Equatable {
    /// What may be fetched in one period; `nil` is no limit.
    public struct Limit: Sendable, Equatable {
        /// How many objects.
        public var objects: Int?
        /// How many bytes.
        public var bytes: Int?

        /// A limit; by default none.
        public init(objects: Int? = nil, bytes: Int? = nil) {
            self.objects = objects
            self.bytes = bytes
        }
    }

    /// After one request.
    public var perRequest: Limit
    /// Within a minute of the clock.
    public var perMinute: Limit
    /// Within a day of the clock, which begins at midnight UTC.
    public var perDay: Limit
    /// From the beginning to the end.
    public var inTotal: Limit

    /// A budget; by default without any limit.
    public init(
        perRequest: Limit = Limit(), perMinute: Limit = Limit(), perDay: Limit = Limit(), inTotal: Limit = Limit()
    ) {
        self.perRequest = perRequest
        self.perMinute = perMinute
        self.perDay = perDay
        self.inTotal = inTotal
    }

    /// No limit at all.
    public static let unlimited = PrefetchBudget()

    /// What both this and `other` allow: the smaller limit of each period.
    public func limited(by other: PrefetchBudget) -> PrefetchBudget {
        var both = self
        for period in Period.allCases {
            both[period] = Limit(
                objects: [self[period].objects, other[period].objects].compactMap { $0 }.min(),
                bytes: [self[period].bytes, other[period].bytes].compactMap { $0 }.min())
        }
        return both
    }
}

extension PrefetchBudget {
    /// A period of a limit.
    enum Period: String, CaseIterable {
        case request, minute, day, total
    }

    /// Whether there is a limit in bytes.
    public var countsBytes: Bool { Period.allCases.contains { self[$0].bytes != nil } }

    /// The limit of a period.
    subscript(period: Period) -> Limit {
        get {
            switch period {
            case .request: perRequest
            case .minute: perMinute
            case .day: perDay
            case .total: inTotal
            }
        }
        set {
            switch period {
            case .request: perRequest = newValue
            case .minute: perMinute = newValue
            case .day: perDay = newValue
            case .total: inTotal = newValue
            }
        }
    }
}
