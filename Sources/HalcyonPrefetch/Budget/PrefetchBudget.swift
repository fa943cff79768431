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

extension PrefetchBudget: CustomStringConvertible {
    /// Reads limits as people write them, separated by commas: `2/request,50MB/day,1000/total`; or `unlimited`.
    ///
    /// An amount without a unit is a number of objects. One with a unit is a number of bytes: `B`; `kB`, `MB` and `GB` are
    /// powers of 1000, `KiB`, `MiB` and `GiB` of 1024, and may have a fraction. The case of a unit is ignored. The periods
    /// are `request`, `minute`, `day` and `total`; each takes at most one number of objects and one of bytes.
    ///
    /// - Throws: ``PrefetchBudgetError`` if `text` is anything else, or a limit is larger than 2⁵³.
    public init(parsing text: String) throws(PrefetchBudgetError) {
        self.init()
        guard text != "unlimited" else { return }
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            try add(part)
        }
    }

    /// The limits as ``init(parsing:)`` reads them, the shortest period first.
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
        let halves = part.split(separator: "/", omittingEmptySubsequences: false).map { $0.trimmed }
        guard halves.count == 2, !halves[0].isEmpty else {
            throw PrefetchBudgetError(
                "'\(part)' is not a limit", accepted: "an amount and a period, as in 2/request or 50MB/day")
        }
        guard let period = Period(rawValue: String(halves[1])) else {
            throw PrefetchBudgetError("'\(halves[1])' is not a period", accepted: "request, minute, day or total")
        }
        let amount = halves[0]
        let digits = amount.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = amount.dropFirst(digits.count).trimmed
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

    /// The largest limit, 2⁵³: exact as a floating-point number, and more than anybody fetches.
    private static func checked(_ value: Double, _ amount: Substring) throws(PrefetchBudgetError) -> Int {
        guard value <= 0x1p53 else {
            throw PrefetchBudgetError("'\(amount)' is too large", accepted: "at most 9007199254740992 (9 PB)")
        }
        return Int(value)
    }
}

/// Why a budget could not be read: one sentence that says what was found and what is accepted.
public struct PrefetchBudgetError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    init(_ found: String, accepted: String) { description = "Prefetch budget: \(found): write \(accepted)." }
}

/// The units in which a budget counts bytes.
private enum ByteUnit {
    static let all = [
        ("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("KiB", 1_024), ("MiB", 1_048_576),
        ("GiB", 1_073_741_824),
    ]

    static let names = "B, kB, MB, GB, KiB, MiB or GiB"

    static func factor(of name: Substring) -> Int? {
        all.first { $0.0.lowercased() == name.lowercased() }?.1
    }

    /// A number of bytes in the unit in which it is a whole number with the fewest digits.
    static func text(of bytes: Int) -> String {
        let unit = all.filter { bytes % $0.1 == 0 }.max { $0.1 < $1.1 }
        guard let unit, bytes > 0 else { return "0B" }
        return "\(bytes / unit.1)\(unit.0)"
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var part = self
        while part.first == " " { part.removeFirst() }
        while part.last == " " { part.removeLast() }
        return part
    }
}
