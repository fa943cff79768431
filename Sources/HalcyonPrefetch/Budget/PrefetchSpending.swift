/// The part of a ``PrefetchBudget`` that has been spent.
///
/// Minutes and days are those of the requests' clock, not the last 60 seconds or 24 hours. A period begins with the
/// first request after its full minute or midnight UTC, and nothing is carried over. So four sums of objects and bytes
/// are the whole state, and a replay and a live cache with the same clock agree exactly.
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

    private var request = Sum()
    private var minute = Sum()
    private var day = Sum()
    private var total = Sum()
    private var requestNumber = 0
    private var minuteNumber = Int64.min
    private var dayNumber = Int64.min

    /// Creates a state in which nothing has been spent.
    public init(_ budget: PrefetchBudget) { self.budget = budget }

    /// The number of objects paid for.
    public var objectsSpent: Int { total.objects }

    /// The number of bytes paid for.
    public var bytesSpent: Int { total.bytes }

    /// Begins a request, and a new minute or day if it is the first request in it.
    ///
    /// - Parameter time: the wall time in microseconds.
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

    /// Returns whether another object of this size may be fetched.
    ///
    /// - Parameter size: the size in bytes; 0 if it is not known. ``correct(_:to:)`` pays for it once it is known.
    public func allows(size: Int) -> Bool {
        request.allows(size, budget.perRequest) && minute.allows(size, budget.perMinute)
            && day.allows(size, budget.perDay) && total.allows(size, budget.inTotal)
    }

    /// The number of objects that may be fetched now, from 0 to ``maxObjectsLeft``; 0 once a limit of bytes is used
    /// up.
    public var objectsLeft: Int {
        let left = min(
            min(request.left(budget.perRequest), minute.left(budget.perMinute)),
            min(day.left(budget.perDay), total.left(budget.inTotal)))
        return min(max(left, 0), Self.maxObjectsLeft)
    }

    /// The number of bytes that may be fetched now, whatever the limits of objects; `nil` without a limit of bytes.
    public var bytesLeft: Int? {
        zip([request, minute, day, total], [budget.perRequest, budget.perMinute, budget.perDay, budget.inTotal])
            .compactMap { sum, limit in limit.bytes.map { max($0 - sum.bytes, 0) } }
            .min()
    }

    /// Refunds the payment for an object that was not fetched, in those of its periods that are not over.
    public mutating func refund(_ payment: Payment) {
        correct(payment, to: 0)
        if payment.requestNumber == requestNumber { request.objects -= 1 }
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
        request.add(1, size)
        minute.add(1, size)
        day.add(1, size)
        total.add(1, size)
        return Payment(
            size: size, requestNumber: requestNumber, minuteNumber: minuteNumber, dayNumber: dayNumber)
    }

    /// Corrects a payment to the measured number of bytes, in those of its periods that are not over.
    public mutating func correct(_ payment: Payment, to bytes: Int) {
        let more = max(bytes, 0) - payment.size
        if payment.requestNumber == requestNumber { request.add(0, more) }
        if payment.minuteNumber == minuteNumber { minute.add(0, more) }
        if payment.dayNumber == dayNumber { day.add(0, more) }
        total.add(0, more)
    }

    /// The sums of the current minute, the current day and the total, to be stored and passed to ``resume(_:at:)``.
    public var account: PrefetchAccount {
        PrefetchAccount(minute: minute, minuteNumber: minuteNumber, day: day, dayNumber: dayNumber, total: total)
    }

    /// Restores sums that were stored before. If the clock was set back since, the stored minute and day become the
    /// current ones. An account with impossible sums is ignored.
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

    /// A payment for one object, with the periods in which it was made.
    public struct Payment: Sendable, Equatable {
        let size: Int
        let requestNumber: Int
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
    }
}

/// The sums of a ``PrefetchSpending`` that are stored, so that the next start of an app can resume them.
public struct PrefetchAccount: Codable, Sendable, Equatable {
    let minute: PrefetchSpending.Sum
    let minuteNumber: Int64
    let day: PrefetchSpending.Sum
    let dayNumber: Int64
    let total: PrefetchSpending.Sum

    /// Whether every sum is possible and can be added to.
    var isSound: Bool {
        let range = 0...(1 << 53)
        return [minute, day, total].allSatisfy { range.contains($0.objects) && range.contains($0.bytes) }
    }
}
