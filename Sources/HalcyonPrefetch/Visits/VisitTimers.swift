import HalcyonEviction

/// The timers that fire between requests, in a replay and in a live cache: a user's visit ends, and then days start until the user
/// returns. The first day after the visit's end has a timer, and each later one by which the absence has doubled.
///
/// In a replay, a timer fires before the first request, of any user, that is not earlier than it, and knows nothing of that request. A
/// timer that no request of the trace follows does not fire. An operation is O(log users). Bytes: 36 a user.
package final class VisitTimers {
    private static let day: Int64 = 86_400_000_000

    private struct Due: Comparable, BitwiseCopyable {
        var time: Int64
        var user: UInt32
        /// The days from the end of the visit to this timer; 0 for the end itself.
        var days: Int64

        static func < (left: Due, right: Due) -> Bool { (left.time, left.user) < (right.time, right.user) }

        /// The timer after this one.
        var next: Due {
            let today = time / VisitTimers.day - (time % VisitTimers.day < 0 ? 1 : 0)
            let wait = max(1, days)
            let (next, isNever) = (today + wait).multipliedReportingOverflow(by: VisitTimers.day)
            return Due(time: isNever ? .max : next, user: user, days: days + wait)
        }

        var moment: PlanningMoment {
            PlanningMoment(days > 0 ? .dayStart : .visitEnd, user: user, time: time)
        }
    }

    private let idleTime: Int64
    private let timesUnknownUsers: Bool
    /// By ``BaselineBounds/slot(ofUser:)``.
    private var timers = IndexedHeap<Due>(room: 16)

    /// - Parameters:
    ///   - idleTime: the idle time after which a visit has ended, in microseconds.
    ///   - timesUnknownUsers: whether requests without a user are those of one user. Otherwise they belong to no visit.
    package init(idleTime: Int64, timesUnknownUsers: Bool = false) {
        self.idleTime = idleTime
        self.timesUnknownUsers = timesUnknownUsers
    }

    /// Records a request of a user.
    ///
    /// - Parameter lastMoment: the time until which timers have fired already; by default none has.
    package func note(_ user: UInt32, at time: Int64, lastMoment: Int64 = .min) {
        guard isTimed(user) else { return }
        let (end, isNever) = time.addingReportingOverflow(idleTime)
        var due = Due(time: isNever ? .max : end, user: user, days: 0)
        while due.time <= lastMoment, due.time < .max { due = due.next }
        set(due)
    }

    /// The time at which the first timer is due; `nil` for none.
    package var nextTime: Int64? {
        guard let due = timers.smallest?.key, due.time < .max else { return nil }
        return due.time
    }

    /// Removes the first timer due and returns it if it is due by `time`; otherwise `nil`.
    package func next(by time: Int64) -> PlanningMoment? {
        guard let due = timers.smallest?.key, due.time <= time, due.time < .max else { return nil }
        set(due.next)
        return due.moment
    }

    /// Removes all timers of a user.
    package func forget(_ user: UInt32) {
        if isTimed(user) { timers.remove(BaselineBounds.slot(ofUser: user)) }
    }

    private func isTimed(_ user: UInt32) -> Bool { user < .max - 1 || user == .max && timesUnknownUsers }

    private func set(_ due: Due) {
        let slot = BaselineBounds.slot(ofUser: due.user)
        if timers.contains(slot) { timers.update(slot, key: due) } else { timers.insert(slot, key: due) }
    }
}
