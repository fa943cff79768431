import HalcyonPrefetch
import HalcyonSupport

/// The user for whom a ``LivePrefetcher`` fetches.
struct PrefetchUser {
    var number = UInt32.max
    var name: String?

    /// Whether the name is the user's and not the stand-in of a hash, under which nothing can be fetched.
    var isNamed: Bool { name.map { !HashedNames.isStandIn($0) } ?? true }

    /// Whether it is the user of this name, by bytes.
    func isNamed(_ other: String) -> Bool { name.map { ByteName($0) == other } ?? false }
}

/// The users of a cache whose visits are timed: those with the latest accesses, at most ``most``.
///
/// O(log users) an access, and O(users) for one that makes another user leave.
struct TimedUsers {
    /// The maximum number of users.
    static let most = 256

    private let timers: VisitTimers
    private var users: [UInt32: (user: PrefetchUser, last: Int64)] = [:]

    /// - Parameters:
    ///   - idleTime: the idle time after which a visit has ended, in microseconds.
    ///   - servesOneUser: whether accesses without a user are those of one user.
    init(idleTime: Int64, servesOneUser: Bool) {
        timers = VisitTimers(idleTime: idleTime, timesUnknownUsers: servesOneUser)
    }

    /// The time of the first moment that is due; `nil` for none.
    var nextTime: Int64? { timers.nextTime }

    /// The users.
    var all: [PrefetchUser] { users.values.map(\.user).sorted { $0.number < $1.number } }

    /// Records an access of a user.
    ///
    /// - Parameter lastMoment: the time until which the user's moments have been planned already.
    /// - Returns: the number of the user that leaves because there are too many.
    mutating func note(_ user: PrefetchUser, at time: Int64, lastMoment: Int64 = .min) -> UInt32? {
        timers.note(user.number, at: time, lastMoment: lastMoment)
        users[user.number] = (user, time)
        guard users.count > Self.most,
            let oldest = users.min(by: { ($0.value.last, $0.key) < ($1.value.last, $1.key) })?.key
        else { return nil }
        forget(oldest)
        return oldest
    }

    /// Removes all moments that are due by a time, and returns the last of each user.
    mutating func due(by time: Int64) -> [(moment: PlanningMoment, user: PrefetchUser)] {
        var last: [(moment: PlanningMoment, user: PrefetchUser)] = []
        while let moment = timers.next(by: time) {
            guard let user = users[moment.user]?.user else { continue }
            last.removeAll { $0.user.number == moment.user }
            last.append((moment, user))
        }
        return last
    }

    /// Forgets a user.
    mutating func forget(_ number: UInt32) {
        timers.forget(number)
        users[number] = nil
    }
}
