/// A logical time modulo 2³², for records that have 32 bits for the time of an event.
///
/// The age of an event is `now &- event`, which is right up to 2³² − 1. Without more, an older event would look recent
/// again. The owner of the records therefore calls ``limited(_:now:)`` on each of them whenever `isSweepDue` says so,
/// once in 2³⁰ steps. Then no age exceeds 2³¹ + 2³⁰, and an older event counts as 2³¹ steps old.
public enum WrappingClock {
    /// The largest age that a sweep leaves.
    public static let longestAge: UInt32 = 1 << 31
    /// Whether all events must be limited at this step.
    @inlinable @inline(__always)
    public static func isSweepDue(_ now: UInt32) -> Bool { now & (1 << 30 - 1) == 0 }

    /// Whether all events must be limited at this step, by the full number of the step.
    @inlinable @inline(__always)
    public static func isSweepDue(_ now: Int) -> Bool { now & (1 << 30 - 1) == 0 }

    /// Returns the time of an event, moved so that its age is at most ``longestAge``.
    @inlinable @inline(__always)
    public static func limited(_ event: UInt32, now: UInt32) -> UInt32 {
        now &- event > longestAge ? now &- longestAge : event
    }
}
