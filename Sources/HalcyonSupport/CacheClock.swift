import Foundation

/// The clock of a cache, which a test can replace.
///
/// Its unit, microseconds since 1970, is that of the access log and the policies. Configurations use `Duration` and `Date`.
public protocol CacheClock: Sendable {
    /// The wall time in microseconds since 1970.
    var now: Int64 { get }
    /// Returns when that many microseconds have passed.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before.
    func sleep(microseconds: Int64) async throws
    /// Returns when the wall time has reached a time in microseconds since 1970; at once if it is past. By default it sleeps for the span
    /// from ``now`` to that time.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before.
    func sleep(until time: Int64) async throws
}

extension CacheClock {
    public func sleep(until time: Int64) async throws {
        let (span, isTooLong) = time.subtractingReportingOverflow(now)
        if isTooLong || span > 0 { try await sleep(microseconds: isTooLong ? .max : span) }
    }
}

extension Duration {
    /// The whole microseconds, from 0 to those of a century.
    package var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(max(seconds, 0), 3_155_760_000) * 1_000_000 + max(attoseconds, 0) / 1_000_000_000_000
    }
}

/// The system's clock.
public struct SystemClock: CacheClock {
    /// The system's clock.
    public init() {}

    public var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1_000
    }

    public func sleep(microseconds: Int64) async throws {
        try await Task.sleep(for: .microseconds(microseconds))
    }
}
