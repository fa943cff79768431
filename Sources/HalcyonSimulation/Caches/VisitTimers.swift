import HalcyonEviction
import HalcyonPrefetch

/// The timers that a replay fires between requests: a user's visit ends, and then days start until the user returns.
/// The first day after the visit's end has a timer, and each later one by which the absence has doubled.
///
/// A timer fires before the first request, of any user, that is not earlier than it, and knows nothing of that request. A timer that
/// no request of the trace follows does not fire. An operation is O(log users). Bytes: 36 a user.
final class VisitTimers {
    private static let day: Int64 = 86_400_000_000

    private struct Due: Comparable, BitwiseCopyable {
        var time: Int64
        var user: UInt32
        /// The days from the end of the visit to this timer; 0 for the end itself.
        var days: Int64

        static func < (left: Due, right: Due) -> Bool { (left.time, left.user) < (right.time, right.user) }
    }

    private let idleTime: Int64
    private var timers = IndexedHeap<Due>(room: 16)

    /// - Parameter idleTime: the idle time after which a visit has ended, in microseconds.
    init(idleTime: Int64) { self.idleTime = idleTime }

    /// Records a request of a user. Unknown users have no visits.
    func note(_ user: UInt32, at time: Int64) {
        guard user < .max - 1 else { return }
        set(user, Due(time: Self.sum(time, idleTime), user: user, days: 0))
    }

    /// Removes the first timer due and returns it if it is due by `time`; otherwise `nil`.
    func next(by time: Int64) -> PlanningMoment? {
        guard let due = timers.smallest?.key, due.time <= time, due.time < .max else { return nil }
        let today = due.time / Self.day - (due.time % Self.day < 0 ? 1 : 0)
        let wait = max(1, due.days)
        let (next, isNever) = (today + wait).multipliedReportingOverflow(by: Self.day)
        set(due.user, Due(time: isNever ? .max : next, user: due.user, days: due.days + wait))
        return PlanningMoment(due.days > 0 ? .dayStart : .visitEnd, user: due.user, time: due.time)
    }

    private func set(_ user: UInt32, _ due: Due) {
        if timers.contains(user) { timers.update(user, key: due) } else { timers.insert(user, key: due) }
    }

    private static func sum(_ time: Int64, _ span: Int64) -> Int64 {
        let (sum, isTooLarge) = time.addingReportingOverflow(span)
        return isTooLarge ? .max : sum
    }
}
