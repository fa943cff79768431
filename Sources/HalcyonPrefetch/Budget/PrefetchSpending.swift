/// The part of a ``PrefetchBudget`` that has been spent.
///
/// Minutes and days are those of the requests' clock, not the last 60 seconds or 24 hours. A period begins with the
/// first request after its full minute or midnight UTC, and nothing is carried over. So four sums of objects and bytes
/// are the whole state beside the visits, and a replay and a live cache with the same clock agree exactly.
///
/// A visit of a user ends when its next request comes after the idle time. At its end it may spend what its requests did not: with 2
/// objects a request, a visit of 5 requests that spent 3 has 7 left.
///
/// A clock that is set back begins no new minute or day: the sums of the current periods remain. Requests that are out
/// of order by no more than a minute or a day change no period.
///
/// The type does no I/O; every operation is O(1).
public struct PrefetchSpending: Sendable, Equatable {
    /// The maximum of ``objectsLeft``. It bounds the memory that a caller reserves if there is no limit.
    public static let maxObjectsLeft = 1 << 16

    /// The budget. If a limit is lowered below the sum already spent, nothing is left.
    public var budget: PrefetchBudget

    /// The requests and lists of a user's visit and what it spent.
    private struct Visit: Sendable, Equatable {
        var sum = Sum()
        var requests = 0
        var lastRequest = Int64.min
        var lastList = Int64.min
        /// The last moment; `Int64.min` for none.
        var lastMoment = Int64.min
        var number = 0

        var isBegun: Bool { requests > 0 || lastList > .min }

        /// Whether it is over at a time.
        func isOver(at time: Int64, idleTime: Int64) -> Bool {
            isBegun && max(lastRequest, lastList).addingReportingOverflow(idleTime).partialValue <= time
        }
    }

    /// What a request or a list has spent.
    private struct Part: Sendable, Equatable {
        var sum = Sum()
        var number = 0
    }

    private let idleTime: Int64
    private var visits: [UInt32: Visit] = [:]
    /// The number of visits at which those with lists alone that are over are removed.
    private var sweepAt = firstSweep
    private static let firstSweep = 1_024
    /// The visit of the last request or moment, whose user is ``user``.
    private var visit = Visit()
    private var user: UInt32 = .max
    /// What may spend now.
    private enum Turn { case request, list, moment }
    private var turn = Turn.request
    /// The request, and the list. Both go on side by side: a list is still shown after a request.
    private var (request, list) = (Part(), Part())
    private var minute = Sum()
    private var day = Sum()
    private var total = Sum()
    private var partNumber = 0
    private var minuteNumber = Int64.min
    private var dayNumber = Int64.min

    /// Creates a state in which nothing has been spent.
    ///
    /// - Parameter idleTime: the idle time after which a visit has ended, in microseconds.
    public init(_ budget: PrefetchBudget, idleTime: Int64 = PlanningMoment.idleTime) {
        self.budget = budget
        self.idleTime = idleTime
    }

    /// The number of objects paid for.
    public var objectsSpent: Int { total.objects }

    /// The number of bytes paid for.
    public var bytesSpent: Int { total.bytes }

    /// Begins a request, and a new minute or day if it is the first request in it.
    ///
    /// - Parameters:
    ///   - time: the wall time in microseconds.
    ///   - user: the user whose visit the request belongs to; those of unknown users are one.
    public mutating func begin(request time: Int64, of user: UInt32 = .max) {
        take(visitOf: user, at: time)
        beginVisit(at: time)
        visit.requests += 1
        visit.lastRequest = max(visit.lastRequest, time)
        turn = .request
        request = nextPart()
        advance(to: time)
    }

    /// Begins a list that is shown, which belongs to the visit of its user.
    ///
    /// - Parameter time: the wall time in microseconds.
    public mutating func begin(listAt time: Int64, of user: UInt32) {
        take(visitOf: user, at: time)
        beginVisit(at: time)
        visit.lastList = max(visit.lastList, time)
        turn = .list
        list = nextPart()
        advance(to: time)
    }

    /// Begins a moment between requests, which may spend what the visit of its user has left.
    ///
    /// - Parameter time: the wall time in microseconds.
    public mutating func begin(momentAt time: Int64, of user: UInt32) {
        take(visitOf: user, at: time)
        visit.lastMoment = max(visit.lastMoment, time)
        turn = .moment
        request = nextPart()
        advance(to: time)
    }

    /// Says whether the list that was begun last spends next, or the last request or moment.
    package mutating func spend(ofList isOfList: Bool) {
        if isOfList { turn = .list } else if turn == .list { turn = .request }
    }

    /// Returns the last request and the last moment of a user's visit; `nil` for a user without a visit. The moment is `Int64.min` if
    /// there was none.
    package func visit(of user: UInt32) -> (lastRequest: Int64, lastMoment: Int64)? {
        guard let visit = user == self.user ? visit : visits[user], visit.requests > 0 else { return nil }
        return (visit.lastRequest, visit.lastMoment)
    }

    /// The number of visits that are remembered beside that of the last request, list or moment.
    package var visitCount: Int { visits.count }

    /// Forgets the visit of a user. Its next request begins another.
    package mutating func forget(visitOf user: UInt32) {
        visits[user] = nil
        if user == self.user { visit = Visit(number: visit.number + 1) }
    }

    private mutating func take(visitOf next: UInt32, at time: Int64) {
        guard next != user else { return }
        if visit.isBegun { visits[user] = visit }
        visit = visits[next] ?? Visit()
        user = next
        guard visits.count >= sweepAt else { return }
        // Visits with requests are forgotten by the owner; those with lists alone spend nothing once they are over.
        visits = visits.filter { $0.value.requests > 0 || !$0.value.isOver(at: time, idleTime: idleTime) }
        sweepAt = max(Self.firstSweep, 2 * visits.count)
    }

    private mutating func beginVisit(at time: Int64) {
        if visit.isOver(at: time, idleTime: idleTime) { visit = Visit(number: visit.number + 1) }
    }

    private mutating func nextPart() -> Part {
        partNumber += 1
        return Part(number: partNumber)
    }

    private mutating func advance(to time: Int64) {
        Self.move(&minuteNumber, &minute, to: Self.floor(time, 60_000_000))
        Self.move(&dayNumber, &day, to: Self.floor(time, 86_400_000_000))
    }

    private static func move(_ number: inout Int64, _ sum: inout Sum, to new: Int64) {
        if new > number { sum = Sum() }
        if new > number || new < number - 1 { number = new }
    }

    /// Returns whether another object of this size may be fetched.
    ///
    /// - Parameter size: the size in bytes; 0 if it is not known. ``correct(_:to:)`` pays for it once it is known.
    public func allows(size: Int) -> Bool {
        requestSum.allows(size, requestLimit) && visit.sum.allows(size, budget.perVisit)
            && minute.allows(size, budget.perMinute)
            && day.allows(size, budget.perDay) && total.allows(size, budget.inTotal)
    }

    /// The number of objects that may be fetched now, from 0 to ``maxObjectsLeft``; 0 once a limit of bytes is used
    /// up.
    public var objectsLeft: Int {
        let left = min(
            min(requestSum.left(requestLimit), visit.sum.left(budget.perVisit), minute.left(budget.perMinute)),
            min(day.left(budget.perDay), total.left(budget.inTotal)))
        return min(max(left, 0), Self.maxObjectsLeft)
    }

    /// The number of bytes that may be fetched now, whatever the limits of objects; `nil` without a limit of bytes.
    public var bytesLeft: Int? {
        let left = min(
            min(requestSum.bytesLeft(requestLimit), visit.sum.bytesLeft(budget.perVisit)),
            min(minute.bytesLeft(budget.perMinute), day.bytesLeft(budget.perDay), total.bytesLeft(budget.inTotal)))
        return left == .max ? nil : left
    }

    /// What counts against ``requestLimit``.
    private var requestSum: Sum {
        switch turn {
        case .request: request.sum
        case .list: list.sum
        case .moment: visit.sum
        }
    }

    /// The limit of the request, of the list, or of all requests of the visit.
    private var requestLimit: PrefetchBudget.Limit {
        switch turn {
        case .request: return budget.perRequest
        case .list: return budget.limitOfList
        case .moment: break
        }
        func times(_ limit: Int?) -> Int? {
            limit.map { $0.multipliedReportingOverflow(by: visit.requests).overflow ? .max : $0 * visit.requests }
        }
        return PrefetchBudget.Limit(objects: times(budget.perRequest.objects), bytes: times(budget.perRequest.bytes))
    }

    /// Changes the request or the list of a payment, unless another has begun.
    private mutating func changePart(_ payment: Payment, _ body: (inout Sum) -> Void) {
        if payment.partNumber == request.number {
            body(&request.sum)
        } else if payment.partNumber == list.number {
            body(&list.sum)
        }
    }

    /// Changes the visit of a payment, unless it is over.
    private mutating func change(_ payment: Payment, _ body: (inout Sum) -> Void) {
        if payment.user == user {
            if payment.visitNumber == visit.number { body(&visit.sum) }
        } else if visits[payment.user]?.number == payment.visitNumber {
            visits[payment.user].map {
                var visit = $0
                body(&visit.sum)
                visits[payment.user] = visit
            }
        }
    }

    /// Refunds the payment for an object that was not fetched, in those of its periods that are not over.
    public mutating func refund(_ payment: Payment) {
        correct(payment, to: 0)
        changePart(payment) { $0.objects -= 1 }
        change(payment) { $0.objects = max($0.objects - 1, 0) }
        if payment.minuteNumber == minuteNumber { minute.objects = max(minute.objects - 1, 0) }
        if payment.dayNumber == dayNumber { day.objects = max(day.objects - 1, 0) }
        total.objects -= 1
    }

    /// Pays for one object.
    ///
    /// - Parameter size: the size in bytes; 0 if it is not known.
    /// - Returns: the payment, to be corrected once the size is known, or refunded.
    @discardableResult
    public mutating func spend(size: Int) -> Payment {
        let size = max(size, 0)
        if turn == .list { list.sum.add(1, size) } else { request.sum.add(1, size) }
        visit.sum.add(1, size)
        minute.add(1, size)
        day.add(1, size)
        total.add(1, size)
        return Payment(
            size: size, partNumber: turn == .list ? list.number : request.number, user: user, visitNumber: visit.number,
            minuteNumber: minuteNumber,
            dayNumber: dayNumber)
    }

    /// Corrects a payment to the measured number of bytes, in those of its periods that are not over.
    public mutating func correct(_ payment: Payment, to bytes: Int) {
        let more = max(bytes, 0) - payment.size
        changePart(payment) { $0.add(0, more) }
        change(payment) { $0.add(0, more) }
        if payment.minuteNumber == minuteNumber { minute.add(0, more) }
        if payment.dayNumber == dayNumber { day.add(0, more) }
        total.add(0, more)
    }

    /// The sums of the latest visits, the current minute, the current day and the total, to be stored and passed to
    /// ``resume(_:at:)``. A visit is identified by the time of its last request and not by its user. O(visits).
    public var account: PrefetchAccount {
        let known = visits.filter { $0.key != user }.map(\.value) + [visit]
        let latest = known.filter { $0.requests > 0 }.sorted {
            ($1.lastRequest, $1.number, $1.requests) < ($0.lastRequest, $0.number, $0.requests)
        }
        return PrefetchAccount(
            minute: minute, minuteNumber: minuteNumber, day: day, dayNumber: dayNumber, total: total,
            visits: latest.prefix(PrefetchAccount.maxVisits).map {
                PrefetchAccount.Visit(
                    sum: $0.sum, requests: $0.requests, lastRequest: $0.lastRequest,
                    lastMoment: $0.lastMoment == .min ? nil : $0.lastMoment)
            })
    }

    /// Restores sums that were stored before. If the clock was set back since, the stored minute and day become the
    /// current ones. An account with impossible sums is ignored.
    ///
    /// A stored visit continues as the visit, begun before this call, whose last request is the nearest within the idle time. Begin the
    /// requests of the latest accesses before. O(visits²).
    ///
    /// - Parameter time: the wall time in microseconds.
    public mutating func resume(_ account: PrefetchAccount, at time: Int64) {
        guard account.isSound else { return }
        (minute, day, total) = (account.minute, account.day, account.total)
        minuteNumber = min(account.minuteNumber, Self.floor(time, 60_000_000))
        dayNumber = min(account.dayNumber, Self.floor(time, 86_400_000_000))
        if visit.isBegun { visits[user] = visit }
        var open = visits
        for kept in account.visits ?? [] {
            let last = min(kept.lastRequest, time)
            guard
                let (user, begun) = open.min(by: {
                    (Self.distance($0.value.lastRequest, last), $0.key)
                        < (Self.distance($1.value.lastRequest, last), $1.key)
                }), Self.distance(begun.lastRequest, last) < UInt64(max(idleTime, 1))
            else { continue }
            open[user] = nil
            visits[user] = Visit(
                sum: kept.sum, requests: max(kept.requests, begun.requests), lastRequest: max(last, begun.lastRequest),
                lastMoment: min(kept.lastMoment ?? .min, time), number: begun.number)
        }
        if let resumed = visits[user] { visit = resumed }
    }

    private static func distance(_ one: Int64, _ other: Int64) -> UInt64 {
        one < other ? UInt64(bitPattern: other &- one) : UInt64(bitPattern: one &- other)
    }

    private static func floor(_ time: Int64, _ length: Int64) -> Int64 {
        time / length - (time % length < 0 ? 1 : 0)
    }

    /// A payment for one object, with the periods in which it was made.
    public struct Payment: Sendable, Equatable {
        let size: Int
        let partNumber: Int
        let user: UInt32
        let visitNumber: Int
        let minuteNumber: Int64
        let dayNumber: Int64
    }

    /// The sum spent in one period; never negative.
    struct Sum: Codable, Sendable, Equatable {
        var objects = 0
        var bytes = 0

        /// The largest sum of bytes, above every limit.
        private static let maximum = 1 << 62

        mutating func add(_ count: Int, _ size: Int) {
            objects += count
            // Without a limit of bytes the sum may overflow.
            let (sum, isTooLarge) = bytes.addingReportingOverflow(size)
            bytes = isTooLarge ? Self.maximum : min(max(sum, 0), Self.maximum)
        }

        func allows(_ size: Int, _ limit: PrefetchBudget.Limit) -> Bool {
            if let maximum = limit.objects, objects >= maximum { return false }
            // Not `bytes + size`, which may overflow.
            if let maximum = limit.bytes, size > maximum - bytes { return false }
            return true
        }

        func left(_ limit: PrefetchBudget.Limit) -> Int {
            if let maximum = limit.bytes, bytes >= maximum { return 0 }
            return limit.objects.map { $0 - objects } ?? .max
        }

        func bytesLeft(_ limit: PrefetchBudget.Limit) -> Int { limit.bytes.map { max($0 - bytes, 0) } ?? .max }
    }
}

/// The sums of a ``PrefetchSpending`` that are stored, so that the next start of an app can resume them.
public struct PrefetchAccount: Codable, Sendable, Equatable {
    let minute: PrefetchSpending.Sum
    let minuteNumber: Int64
    let day: PrefetchSpending.Sum
    let dayNumber: Int64
    let total: PrefetchSpending.Sum
    /// The latest visits, the last first; `nil` in an account of an earlier release.
    var visits: [Visit]?

    /// The maximum number of stored visits.
    static let maxVisits = 64

    /// The requests of a visit and what it spent.
    struct Visit: Codable, Sendable, Equatable {
        let sum: PrefetchSpending.Sum
        let requests: Int
        let lastRequest: Int64
        /// The last planning moment; `nil` for none.
        let lastMoment: Int64?
    }

    /// Whether every sum is possible and can be added to.
    var isSound: Bool {
        let range = 0...(1 << 53)
        let visits = visits ?? []
        return ([minute, day, total] + visits.map(\.sum)).allSatisfy {
            range.contains($0.objects) && range.contains($0.bytes)
        } && visits.count <= Self.maxVisits && visits.allSatisfy { range.contains($0.requests) }
    }
}
