import HalcyonSupport

/// The maximum number of objects and bytes that may be prefetched in each of six periods.
///
/// ```swift
/// let budget = try PrefetchBudget(parsing: "2/request,50MB/day")
/// ```
///
/// ``PrefetchSpending`` counts how much of it is spent. Every limit is optional. A limit of 0 forbids prefetching, as a
/// control: what remains of a policy is its choice of victims.
public struct PrefetchBudget: Sendable, Equatable {
    /// The limits of one period; `nil` is no limit.
    public struct Limit: Sendable, Equatable {
        /// The maximum number of objects.
        public var objects: Int?
        /// The maximum number of bytes.
        public var bytes: Int?

        /// Creates a limit; by default there is none.
        public init(objects: Int? = nil, bytes: Int? = nil) {
            self.objects = objects
            self.bytes = bytes
        }
    }

    /// The limit after one request. What a visit's requests did not use is left for its end; see ``PlanningMoment``.
    public var perRequest: Limit
    /// The limit of one list that is shown; see ``ShownList``. Without one, that of a request applies.
    public var perList: Limit
    /// The limit of a visit of one user, its end included.
    public var perVisit: Limit
    /// The limit of a minute of the clock.
    public var perMinute: Limit
    /// The limit of a day of the clock, which begins at midnight UTC.
    public var perDay: Limit
    /// The limit from the beginning to the end.
    public var inTotal: Limit

    /// Creates a budget; by default it has no limits.
    public init(
        perRequest: Limit = Limit(), perList: Limit = Limit(), perVisit: Limit = Limit(), perMinute: Limit = Limit(),
        perDay: Limit = Limit(), inTotal: Limit = Limit()
    ) {
        self.perRequest = perRequest
        self.perList = perList
        self.perVisit = perVisit
        self.perMinute = perMinute
        self.perDay = perDay
        self.inTotal = inTotal
    }

    /// The budget without limits.
    public static let unlimited = PrefetchBudget()

    /// Returns the smaller limit of this and `other` for each period.
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
    /// The period of a limit.
    enum Period: String, CaseIterable {
        case request, list, visit, minute, day, total
    }

    /// Whether any limit is in bytes.
    public var countsBytes: Bool { Period.allCases.contains { self[$0].bytes != nil } }

    /// The limit that applies to a list.
    var limitOfList: Limit { perList == Limit() ? perRequest : perList }

    /// The limit of a period.
    subscript(period: Period) -> Limit {
        get {
            switch period {
            case .request: perRequest
            case .list: perList
            case .visit: perVisit
            case .minute: perMinute
            case .day: perDay
            case .total: inTotal
            }
        }
        set {
            switch period {
            case .request: perRequest = newValue
            case .list: perList = newValue
            case .visit: perVisit = newValue
            case .minute: perMinute = newValue
            case .day: perDay = newValue
            case .total: inTotal = newValue
            }
        }
    }
}

extension PrefetchBudget: CustomStringConvertible {
    /// Parses limits that are separated by commas, as in `2/request,50MB/day,1000/total`; or `unlimited`.
    ///
    /// An amount without a unit is a number of objects, one with a unit a number of bytes. `kB`, `MB` and `GB` are
    /// powers of 1000, `KiB`, `MiB` and `GiB` of 1024; `B` is a byte. An amount with a unit may have a fraction. The
    /// case of a unit is ignored. The periods are `request`, `list`, `visit`, `minute`, `day` and `total`; each takes at most one
    /// number of objects and one of bytes.
    ///
    /// - Throws: ``PrefetchBudgetError`` if `text` is anything else, or a limit is larger than 2⁵³.
    public init(parsing text: String) throws(PrefetchBudgetError) {
        self.init()
        guard text != "unlimited" else { return }
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            try add(part)
        }
    }

    /// The limits in the format of ``init(parsing:)``, the shortest period first.
    public var description: String {
        let parts = Period.allCases.flatMap { period in
            [
                self[period].objects.map { "\($0)/\(period)" },
                self[period].bytes.map { "\(ByteUnit.text(of: $0))/\(period)" },
            ].compactMap { $0 }
        }
        return parts.isEmpty ? "unlimited" : parts.joined(separator: ",")
    }

    private mutating func add(_ part: Substring) throws(PrefetchBudgetError) {
        let halves = part.split(separator: "/", omittingEmptySubsequences: false).map { $0.trimmingSpaces[...] }
        guard halves.count == 2, !halves[0].isEmpty else {
            throw PrefetchBudgetError(
                "'\(part)' is not a limit", accepted: "an amount and a period, as in 2/request or 50MB/day")
        }
        guard let period = Period(rawValue: String(halves[1])) else {
            throw PrefetchBudgetError(
                "'\(halves[1])' is not a period", accepted: "request, list, visit, minute, day or total")
        }
        let amount = halves[0]
        let (digits, unit) = ByteCount.parts(of: amount)
        let value: Int
        if unit.isEmpty {
            guard digits.allSatisfy({ $0 != "." }), let number = Double(digits) else {
                throw PrefetchBudgetError(
                    "'\(amount)' is not a number of objects",
                    accepted: "a whole number, or bytes with a unit (\(ByteUnit.names))")
            }
            value = try PrefetchBudget.checked(number, amount)
        } else {
            guard let number = Double(digits), let factor = ByteUnit.factor(of: unit) else {
                throw PrefetchBudgetError(
                    "'\(amount)' is not an amount",
                    accepted: "a whole number of objects, or a number of bytes with a unit (\(ByteUnit.names))")
            }
            value = try PrefetchBudget.checked((number * Double(factor)).rounded(), amount)
        }
        let limited = unit.isEmpty ? \Limit.objects : \Limit.bytes
        guard self[period][keyPath: limited] == nil else {
            throw PrefetchBudgetError(
                "'\(part)' is a second limit of \(unit.isEmpty ? "objects" : "bytes") for '\(period)'", accepted: "one")
        }
        self[period][keyPath: limited] = value
    }

    /// Returns a limit as an integer. The largest, 2⁵³, is exact as a floating-point number and larger than any real
    /// budget.
    private static func checked(_ value: Double, _ amount: Substring) throws(PrefetchBudgetError) -> Int {
        guard value <= 0x1p53 else {
            throw PrefetchBudgetError("'\(amount)' is too large", accepted: "at most 9007199254740992 (9 PB)")
        }
        return Int(value)
    }
}

/// The reason why a budget could not be parsed: one sentence with the text that was found and the accepted format.
public struct PrefetchBudgetError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    init(_ found: String, accepted: String) { description = "Prefetch budget: \(found): write \(accepted)." }
}

/// The units of bytes in a budget.
private enum ByteUnit {
    static let all = ByteCount.Unit.allCases.filter { $0.bytes <= ByteCount.Unit.gibibyte.bytes }

    static let names = "B, kB, MB, GB, KiB, MiB or GiB"

    static func factor(of name: Substring) -> Int? {
        ByteCount.Unit(name: name).flatMap { all.contains($0) ? $0.bytes : nil }
    }

    /// Returns a number of bytes in the unit in which it is a whole number with the fewest digits.
    static func text(of bytes: Int) -> String {
        let unit = all.filter { bytes % $0.bytes == 0 }.max { $0.bytes < $1.bytes }
        guard let unit, bytes > 0 else { return "0B" }
        return "\(bytes / unit.bytes)\(unit.rawValue)"
    }
}
