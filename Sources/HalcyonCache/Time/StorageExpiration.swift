import Foundation

/// When a stored value expires.
public enum StorageExpiration: Sendable, Equatable {
    /// Never.
    case never
    /// So many seconds after it was stored, or after it was read where reading extends (``ExpirationExtending``).
    case seconds(TimeInterval)
    /// So many days after that.
    case days(Int)
    /// At a date, which reading does not move.
    case date(Date)
    /// At once: storing such a value does nothing.
    case expired

    /// Whether it lies at or before `time`, in microseconds since 1970.
    func isPast(at time: Int64) -> Bool { deadline(from: time) <= time }

    /// The microseconds since 1970 at which what is stored or read at `time` expires; `Int64.max` if never.
    func deadline(from time: Int64) -> Int64 {
        switch self {
        case .never: .max
        case .seconds(let seconds): Self.sum(time, Self.microseconds(seconds))
        case .days(let days): Self.sum(time, Self.microseconds(Double(days) * 86_400))
        case .date(let date): Self.microseconds(date.timeIntervalSince1970)
        case .expired: .min
        }
    }

    private static func microseconds(_ seconds: TimeInterval) -> Int64 {
        let value = (seconds * 1e6).rounded()
        return value >= 9.2e18 ? .max : value <= -9.2e18 ? .min : value.isNaN ? .min : Int64(value)
    }

    private static func sum(_ time: Int64, _ span: Int64) -> Int64 {
        let (sum, overflows) = time.addingReportingOverflow(span)
        return overflows ? (span > 0 ? .max : .min) : sum
    }
}

/// What reading a value does to its expiration.
public enum ExpirationExtending: Sendable, Equatable {
    /// Nothing.
    case none
    /// The time for which it was stored starts anew.
    case cacheTime
    /// It expires as given, from now on.
    case expirationTime(StorageExpiration)
}

/// What an entry's own expiration says about the deadline after a hit; 8 bytes.
struct Renewal: BitwiseCopyable {
    /// The microseconds that a hit gives; `Int64.max` for ever, -1 where a hit changes nothing.
    let span: Int64

    /// A hit changes nothing.
    static let none = Renewal(span: -1)

    init(span: Int64) { self.span = span }

    init(_ expiration: StorageExpiration) {
        span =
            switch expiration {
            case .never: .max
            case .seconds, .days: max(expiration.deadline(from: 0), 0)
            case .date, .expired: -1
            }
    }

    /// The deadline after a hit at `time`; `nil` if it stays.
    @inline(__always)
    func deadline(from time: Int64) -> Int64? {
        if span < 0 { return nil }
        return span >= .max - time ? .max : time &+ span
    }
}

extension ExpirationExtending {
    /// The deadline after a hit at `time` on an entry with such a renewal; `nil` if it stays.
    @inline(__always)
    func deadline(from time: Int64, renewal: Renewal) -> Int64? {
        switch self {
        case .none: nil
        case .cacheTime: renewal.deadline(from: time)
        case .expirationTime(let expiration): expiration.deadline(from: time)
        }
    }
}
