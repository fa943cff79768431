import HalcyonSupport
import HalcyonTrace

/// The requests at the start of a replay that only warm the cache and are not counted.
///
/// Written `25%` or `0.25` it is a share of the requests, `60000` or `60k` a number of them, and `5d` a time from the
/// first request. A number with a point is always a share, and a whole number always a number of requests.
public enum Warmup: Sendable, Hashable, CustomStringConvertible, ExpressibleByFloatLiteral {
    /// A share of the requests, at least 0 and less than 1; the number of requests is rounded down.
    case share(Double)
    /// A number of requests.
    case requests(Int)
    /// The requests earlier than this after the first one, in microseconds.
    case time(Int64)

    /// No warm-up.
    public static let none = Warmup.share(0)

    /// Creates a share of the requests.
    public init(floatLiteral share: Double) { self = .share(share) }

    /// The forms that ``init(parsing:)`` accepts, for messages and help.
    package static let accepted =
        "a share (25% or 0.25), a number of requests (60000 or 60k) or a time (5d, 12h, 30min, 90s)"

    /// Reads a share, a number of requests or a time with the unit `ms`, `s`, `min`, `h`, `d` or `w`.
    ///
    /// - Throws: ``ReplayError`` with one sentence for any other text, and for a share that is negative or leaves
    ///   nothing. Also for a number with a point from 1 on, which can be a share or a number of requests.
    public init(parsing text: String) throws(ReplayError) {
        let number = text.last == "%" ? String(text.dropLast()) : text
        if text.last == "%" || text.contains(where: { $0 == "." }), let value = Double(number), value.isFinite {
            let share = text.last == "%" ? value / 100 : value
            guard share >= 0 else { throw .usage("A warm-up cannot be negative, and '\(text)' is.") }
            if share < 1 {
                self = .share(share)
                return
            }
            if text.last == "%" { throw .usage("A warm-up of \(text) leaves nothing to count: give less than 100%.") }
            throw .usage(
                "'\(text)' is no warm-up: a number with a point is a share below 1, and a number of requests is written "
                    + "without one.")
        }
        if let count = Int(text) {
            guard count >= 0 else { throw .usage("A warm-up cannot be negative, and '\(text)' is.") }
            self = .requests(count)
        } else if let span = TimeSpan(argument: text) {
            self = .time(span.microseconds)
        } else if text.last != "m", let count = try CapacityRequest.scaled(text, of: "warm-up", unit: "requests"),
            count <= UInt64(Int.max)
        {
            self = .requests(Int(count))
        } else {
            throw .usage("'\(text)' is no warm-up: give \(Self.accepted).")
        }
    }

    /// Whether no request is part of the warm-up.
    package var isNone: Bool {
        switch self {
        case .share(let share): share == 0
        case .requests(let count): count == 0
        case .time(let time): time == 0
        }
    }

    /// Returns how many of the requests are not counted. O(log requests).
    ///
    /// A warm-up trace (`Trace.warmed(by:)`) is not counted in any case. The warm-up is then a part of the requests
    /// after it.
    package func requests(of trace: Trace) -> Int {
        let first = trace.warmupCount
        let count = trace.count - first
        let own =
            switch self {
            case .share(let share): Int((share * Double(count)).rounded(.down))
            case .requests(let number): number
            case .time(let time) where count > 0:
                trace.times[first...].partitionPoint { $0 - trace.times[first] >= time } - first
            case .time: 0
            }
        return first + min(count, max(0, own))
    }

    /// Refuses a warm-up that the requests do not have, or that leaves none to count.
    ///
    /// - Throws: ``ReplayError/data(_:)``.
    package func verify(_ trace: Trace) throws(ReplayError) {
        if case .time(let time) = self, time > 0, trace.report.noTimes { throw Self.noTimes(self) }
        if trace.count > 0, requests(of: trace) >= trace.count { throw Self.nothingLeft(self, of: trace.count) }
    }

    static func noTimes(_ warmup: Warmup) -> ReplayError {
        .data(
            "A warm-up of \(warmup) needs times, which the trace does not have: give a number of requests or a share.")
    }

    static func nothingLeft(_ warmup: Warmup, of requests: Int) -> ReplayError {
        .data("A warm-up of \(warmup) leaves none of the \(requests.counted("request")) to count: give a smaller one.")
    }

    /// The shortest text that reads as the same warm-up: `0.25`, `60000` or `432000s`. It is part of the identity of a
    /// stored result.
    public var description: String {
        switch self {
        case .share(let share): share == share.rounded() ? "\(Int(share))" : "\(share)"
        case .requests(let count): "\(count)"
        case .time(let time) where time % 1_000_000 == 0: "\(time / 1_000_000)s"
        case .time(let time): time % 1_000 == 0 ? "\(time / 1_000)ms" : "\(Double(time) / 1_000)ms"
        }
    }
}
