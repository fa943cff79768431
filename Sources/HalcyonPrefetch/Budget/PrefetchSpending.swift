/// What of a ``PrefetchBudget`` has been spent.
///
/// Minutes and days are those of the clock of the requests, not the last 60 seconds or 24 hours: one begins with the first
/// request after its full minute or midnight UTC, and nothing is carried over. So four numbers each of objects and bytes are
/// all there is to keep, and a replay and a live cache with the same clock agree exactly. A clock that is set back
/// begins no new minute or day: what was spent stays spent, of the minute and the day that it then is. Requests that come out of order by
/// no more than a minute or a day move nothing.
///
/// Pure; every member is O(1).
public struct PrefetchSpending: Sendable, Equatable {
    /// How many objects ``objectsLeft`` names at maximum, lest somebody makes room for as many as there is no limit to.
    public static let maxObjectsLeft = 1 << 16

    /// What may be spent. A limit that is lowered below what was spent already leaves nothing.
    public var budget: PrefetchBudget

    private var request = Sum()
    private var minute = Sum()
    private var day = Sum()
    private var total = Sum()
    private var requestNumber = 0
    private var minuteNumber = Int64.min
    private var dayNumber = Int64.min

    /// Nothing has been spent yet.
    public init(_ budget: PrefetchBudget) { self.budget = budget }

    /// The objects that were paid for so far.
    public var objectsSpent: Int { total.objects }

    /// The bytes that were paid for so far.
    public var bytesSpent: Int { total.bytes }

    /// Begins a request, and a minute or a day if it is the first one there.
    ///
    /// - Parameter time: its wall time in microseconds.
    public mutating func begin(request time: Int64) {
        request = Sum()
        requestNumber += 1
        Self.move(&minuteNumber, &minute, to: Self.floor(time, 60_000_000))
        Self.move(&dayNumber, &day, to: Self.floor(time, 86_400_000_000))
    }

    private static func move(_ number: inout Int64, _ sum: inout Sum, to new: Int64) {
        if new > number { sum = Sum() }
        if new > number || new < number - 1 { number = new }
    }

    /// Whether another object may be fetched, one of so many bytes.
    ///
    /// - Parameter size: its bytes; 0 where nobody knows, to be paid by ``spend(size:)`` once they are known.
    public func allows(size: Int) -> Bool {
        request.allows(size, budget.perRequest) && minute.allows(size, budget.perMinute)
            && day.allows(size, budget.perDay) && total.allows(size, budget.inTotal)
    }

    /// How many more objects may be fetched now, from 0 to ``maxObjectsLeft``; 0 as soon as a limit of bytes is used up.
    public var objectsLeft: Int {
        let left = min(
            min(request.left(budget.perRequest), minute.left(budget.perMinute)),
            min(day.left(budget.perDay), total.left(budget.inTotal)))
        return min(max(left, 0), Self.maxObjectsLeft)
    }

    /// How many more bytes may be fetched now, whatever the numbers of objects; `nil` without a limit.
    public var bytesLeft: Int? {
        zip([request, minute, day, total], [budget.perRequest, budget.perMinute, budget.perDay, budget.inTotal])
            .compactMap { sum, limit in limit.bytes.map { max($0 - sum.bytes, 0) } }
            .min()
    }

    /// Takes back what was paid for an object that nobody was asked for after all, in those of the periods that are not over.
    public mutating func refund(_ payment: Payment) {
        correct(payment, to: 0)
        if payment.requestNumber == requestNumber { request.objects -= 1 }
        if payment.minuteNumber == minuteNumber { minute.objects = max(minute.objects - 1, 0) }
        if payment.dayNumber == dayNumber { day.objects = max(day.objects - 1, 0) }
        total.objects -= 1
    }

    /// Pays for one object.
    ///
    /// - Returns: what to correct it with, once it is known how many bytes it has.
    @discardableResult
    public mutating func spend(size: Int) -> Payment {
        let size = max(size, 0)
        request.add(1, size)
        minute.add(1, size)
        day.add(1, size)
        total.add(1, size)
        return Payment(
            size: size, requestNumber: requestNumber, minuteNumber: minuteNumber, dayNumber: dayNumber)
    }

    /// Corrects what was paid for an object to the bytes that it turned out to have, in those of the periods in which it was paid
    /// that are not over.
    public mutating func correct(_ payment: Payment, to bytes: Int) {
        let more = max(bytes, 0) - payment.size
        if payment.requestNumber == requestNumber { request.add(0, more) }
        if payment.minuteNumber == minuteNumber { minute.add(0, more) }
        if payment.dayNumber == dayNumber { day.add(0, more) }
        total.add(0, more)
    }

    /// What was spent in this minute, on this day and in total, to be kept and gone on with by ``resume(_:at:)``.
    public var account: PrefetchAccount {
        PrefetchAccount(minute: minute, minuteNumber: minuteNumber, day: day, dayNumber: dayNumber, total: total)
    }

    /// Goes on from what was spent before. Where the clock was set back since, the periods of the account are those of now. An
    /// account that nobody can have spent is as good as none.
    ///
    /// - Parameter time: the wall time in microseconds.
    public mutating func resume(_ account: PrefetchAccount, at time: Int64) {
        guard account.isSound else { return }
        (minute, day, total) = (account.minute, account.day, account.total)
        minuteNumber = min(account.minuteNumber, Self.floor(time, 60_000_000))
        dayNumber = min(account.dayNumber, Self.floor(time, 86_400_000_000))
    }

    private static func floor(_ time: Int64, _ length: Int64) -> Int64 {
        time / length - (time % length < 0 ? 1 : 0)
    }

    /// What was paid for one object, and when.
    public struct Payment: Sendable, Equatable {
        let size: Int
        let requestNumber: Int
        let minuteNumber: Int64
        let dayNumber: Int64
    }

    /// What was spent in one period; never less than nothing.
    struct Sum: Codable, Sendable, Equatable {
        var objects = 0
        var bytes = 0

        /// As many bytes are counted: more than any limit.
        private static let maximum = 1 << 62

        mutating func add(_ count: Int, _ size: Int) {
            objects += count
            // Without a limit of bytes there may be more than can be counted.
            let (sum, isTooLarge) = bytes.addingReportingOverflow(size)
            bytes = isTooLarge ? Self.maximum : min(max(sum, 0), Self.maximum)
        }

        func allows(_ size: Int, _ limit: PrefetchBudget.Limit) -> Bool {
            if let maximum = limit.objects, objects >= maximum { return false }
            // Not `bytes + size`, which may be too large a number.
            if let maximum = limit.bytes, size > maximum - bytes { return false }
            return true
        }

        func left(_ limit: PrefetchBudget.Limit) -> Int {
            if let maximum = limit.bytes, bytes >= maximum { return 0 }
            return limit.objects.map { $0 - objects } ?? .max
        }
    }
}

/// What a ``PrefetchSpending`` keeps so that another goes on from it, such as that of the next start of an app.
public struct PrefetchAccount: Codable, Sendable, Equatable {
    let minute: PrefetchSpending.Sum
    let minuteNumber: Int64
    let day: PrefetchSpending.Sum
    let dayNumber: Int64
    let total: PrefetchSpending.Sum

    /// Whether all of these can have been spent, and be added to.
    var isSound: Bool {
        let range = 0...(1 << 53)
        return [minute, day, total].allSatisfy { range.contains($0.objects) && range.contains($0.bytes) }
    }
}
