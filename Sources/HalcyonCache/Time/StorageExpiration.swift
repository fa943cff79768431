import Foundation

/// The expiration of a stored value.
///
/// See `MemoryExpirationTests.expirationsHaveTheirDeadlines()`.
public enum StorageExpiration: Sendable, Equatable {
    /// The value never expires.
    case never
    /// The value expires so many seconds after the store, or after the last access if accesses extend the expiration
    /// (``ExpirationExtending``).
    case seconds(TimeInterval)
    /// The value expires so many days after the store, or after the last access.
    case days(Int)
    /// The value expires at a date, which accesses do not change.
    case date(Date)
    /// The value has expired already; storing it has no effect.
    case expired

    /// Returns whether the expiration is at or before `time`, in microseconds since 1970.
    func isPast(at time: Int64) -> Bool { deadline(from: time) <= time }

    /// Returns the expiration of a value that is stored or read at `time`, in microseconds since 1970; `Int64.max` if
    /// never.
    package func deadline(from time: Int64) -> Int64 {
        switch self {
        case .never: .max
        case .seconds(let seconds): Self.sum(time, Self.microseconds(seconds))
        case .days(let days): Self.sum(time, Self.microseconds(Double(days) * 86_400))
        case .date(let date): Self.microseconds(date.timeIntervalSince1970)
        case .expired: .min
        }
    }

    /// The time to live in microseconds; `nil` if the value does not expire, or at a date.
    var lifetime: Int64? {
        switch self {
        case .seconds, .days:
            let span = deadline(from: 0)
            return span > 0 && span < .max / 2 ? span : nil
        case .never, .date, .expired: return nil
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

/// The effect of an access on the expiration of a value.
///
/// See `MemoryExpirationTests.lookUpExtendsExpirationAsStated()` and `MemoryExpirationTests.readingDoesNotMoveDate()`.
public enum ExpirationExtending: Sendable, Equatable {
    /// The expiration does not change.
    case none
    /// The value's time to live restarts.
    case cacheTime
    /// The value gets a new expiration, which counts from the access.
    case expirationTime(StorageExpiration)
}

/// The effect of a hit on an entry's deadline, according to the entry's expiration. 8 bytes.
struct Renewal: BitwiseCopyable {
    /// The microseconds from a hit to the new deadline; `Int64.max` for never, -1 if a hit does not change the
    /// deadline.
    let span: Int64

    /// A hit does not change the deadline.
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

    /// Returns the deadline after a hit at `time`; `nil` if it does not change.
    @inline(__always)
    func deadline(from time: Int64) -> Int64? {
        if span < 0 { return nil }
        return span >= .max - time ? .max : time &+ span
    }
}

extension ExpirationExtending {
    /// Returns the deadline after a hit at `time` on an entry with this renewal; `nil` if it does not change.
    @inline(__always)
    func deadline(from time: Int64, renewal: Renewal) -> Int64? {
        switch self {
        case .none: nil
        case .cacheTime: renewal.deadline(from: time)
        case .expirationTime(let expiration): expiration.deadline(from: time)
        }
    }
}
