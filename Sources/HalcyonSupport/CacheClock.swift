import Foundation

/// What a cache reads the time from, so that a test can set it.
public protocol CacheClock: Sendable {
    /// The wall time in microseconds since 1970.
    var now: Int64 { get }
    /// Returns when that many microseconds have passed.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before.
    func sleep(microseconds: Int64) async throws
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
