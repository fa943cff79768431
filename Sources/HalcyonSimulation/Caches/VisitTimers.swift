import HalcyonEviction
import HalcyonPrefetch

/// The timers that a replay fires between requests: a user's visit ends, and then the next day starts.
///
/// A timer fires before the first request, of any user, that is not earlier than it, and knows nothing of that request. Each fires
/// once between two requests of its user. A timer that no request of the trace follows does not fire. All operations are O(1). Bytes:
/// 17 a user.
final class VisitTimers {
    private static let day: Int64 = 86_400_000_000

    private enum Place: UInt8 {
        case nowhere, visiting, waiting
    }

    private let idleTime: Int64
    private var lastRequests = SlotArray<Int64>(repeating: .min)
    private var places = SlotArray<UInt8>(repeating: Place.nowhere.rawValue)
    private var links = LinkArena()
    /// The users whose visit has not ended, the one that is idle for longest at the tail.
    private var visiting = EntryList()
    /// The users whose next day is awaited, the one whose visit ended first at the tail.
    private var waiting = EntryList()
    private var now = Int64.min

    /// - Parameter idleTime: the idle time after which a visit has ended, in microseconds.
    init(idleTime: Int64) { self.idleTime = idleTime }

    /// Records a request of a user. Unknown users have no visits.
    func note(_ user: UInt32, at time: Int64) {
        guard user < .max - 1 else { return }
        // Requests may be slightly out of order; the lists stay in order.
        now = max(now, time)
        leave(user)
        lastRequests[user] = now
        links.pushHead(user, to: &visiting)
        places[user] = Place.visiting.rawValue
    }

    /// Removes the first timer due and returns it if it is due by `time`; otherwise `nil`.
    func next(by time: Int64) -> PlanningMoment? {
        let (visitor, waiter) = (visiting.tail, waiting.tail)
        let visitEnd = visitor == .none ? Int64.max : end(of: visitor)
        let dayStart = waiter == .none ? Int64.max : nextDay(after: end(of: waiter))
        guard min(visitEnd, dayStart) <= time, min(visitEnd, dayStart) < .max else { return nil }
        if visitEnd <= dayStart {
            leave(visitor)
            links.pushHead(visitor, to: &waiting)
            places[visitor] = Place.waiting.rawValue
            return PlanningMoment(.visitEnd, user: visitor, time: visitEnd)
        }
        leave(waiter)
        return PlanningMoment(.dayStart, user: waiter, time: dayStart)
    }

    private func leave(_ user: UInt32) {
        switch Place(rawValue: places[user]) {
        case .visiting: links.remove(user, from: &visiting)
        case .waiting: links.remove(user, from: &waiting)
        case .nowhere, nil: break
        }
        places[user] = Place.nowhere.rawValue
    }

    private func end(of user: UInt32) -> Int64 {
        let (end, isNever) = lastRequests[user].addingReportingOverflow(idleTime)
        return isNever ? .max : end
    }

    private func nextDay(after time: Int64) -> Int64 {
        let days = time / Self.day + (time % Self.day < 0 ? 0 : 1)
        let (start, isNever) = days.multipliedReportingOverflow(by: Self.day)
        return isNever ? .max : start
    }
}
