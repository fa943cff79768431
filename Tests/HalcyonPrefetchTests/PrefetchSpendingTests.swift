import Foundation
import Testing

@testable import HalcyonPrefetch

@Suite("Spending of a prefetch budget", .timeLimit(.minutes(20)))
struct PrefetchSpendingTests {
    private let second: Int64 = 1_000_000

    private func spending(_ budget: String) throws -> PrefetchSpending {
        PrefetchSpending(try PrefetchBudget(parsing: budget))
    }

    @Test func eachRequestHasItsOwnLimit() throws {
        var spending = try spending("2/request")
        for time in 0..<3 as Range<Int64> {
            spending.begin(request: time)
            #expect(spending.objectsLeft == 2)
            spending.spend(size: 9)
            #expect(spending.objectsLeft == 1 && spending.allows(size: 9))
            spending.spend(size: 9)
            #expect(spending.objectsLeft == 0 && !spending.allows(size: 0))
        }
        #expect(spending.objectsSpent == 6 && spending.bytesSpent == 54)
    }

    @Test func spendingContinuesFromAStoredAccount() throws {
        let day = 86_400 * second
        var spending = try spending("100B/day,5/minute,9/total")
        spending.begin(request: 3 * day)
        for _ in 0..<3 { spending.spend(size: 30) }
        let kept = try JSONDecoder().decode(PrefetchAccount.self, from: JSONEncoder().encode(spending.account))
        #expect(kept == spending.account)
        // On the same day, on the next, and with a clock that was set back by two days.
        for (time, left, allowed) in [(3 * day + second, 2, 10), (4 * day, 5, 100), (day, 2, 10)] {
            var next = PrefetchSpending(spending.budget)
            next.resume(kept, at: time)
            next.begin(request: time)
            #expect(next.objectsLeft == left && next.allows(size: allowed) && !next.allows(size: allowed + 1))
            #expect(next.objectsSpent == 3 && next.bytesSpent == 90)
            next.begin(request: time + day)
            #expect(next.objectsLeft == 5)
        }
    }

    @Test func impossibleAccountIsIgnored() throws {
        var spending = try spending("9/total")
        let sum = PrefetchSpending.Sum(objects: .max, bytes: 0)
        let account = PrefetchAccount(minute: sum, minuteNumber: 0, day: sum, dayNumber: .max, total: sum)
        spending.resume(account, at: 0)
        #expect(spending.objectsLeft == 9)
    }

    @Test func minuteStartsWithTheClockMinute() throws {
        var spending = try spending("3/minute")
        spending.begin(request: 59 * second)
        for _ in 0..<3 { spending.spend(size: 1) }
        spending.begin(request: 60 * second - 1)
        #expect(spending.objectsLeft == 0)
        spending.begin(request: 60 * second)
        #expect(spending.objectsLeft == 3)
        spending.spend(size: 1)
        spending.begin(request: 119 * second)
        #expect(spending.objectsLeft == 2)
    }

    @Test func dayStartsAtMidnightWithoutACarryOver() throws {
        let day = 86_400 * second
        var spending = try spending("100B/day")
        spending.begin(request: 19_000 * day)
        spending.spend(size: 60)
        #expect(spending.allows(size: 40) && !spending.allows(size: 41))
        spending.begin(request: 19_001 * day - 1)
        #expect(!spending.allows(size: 41))
        spending.begin(request: 19_001 * day)
        #expect(spending.allows(size: 100) && !spending.allows(size: 101))
    }

    @Test func timesBeforeTheEpochHaveMinutes() throws {
        var spending = try spending("1/minute")
        spending.begin(request: -1)
        spending.spend(size: 1)
        spending.begin(request: 0)
        #expect(spending.objectsLeft == 1)
    }

    @Test func clockSetBackRefundsNothing() throws {
        var spending = try spending("1/minute")
        spending.begin(request: 600 * second)
        spending.spend(size: 1)
        spending.begin(request: 0)
        #expect(spending.objectsLeft == 0)
        spending.begin(request: 59 * second)
        #expect(spending.objectsLeft == 0)
        // The next minute is that of the present clock, not ten minutes later.
        spending.begin(request: 60 * second)
        #expect(spending.objectsLeft == 1)
    }

    @Test("Requests out of order by a minute or a day start no new period", arguments: [60, 86_400])
    func requestsOutOfOrderStartNoNewPeriod(period: Int64) throws {
        var spending = try spending(period == 60 ? "1/minute" : "1/day")
        let border = 10 * period * second
        spending.begin(request: border)
        spending.spend(size: 1)
        for time in [border - 1, border, border - period * second, border + 1] {
            spending.begin(request: time)
            #expect(spending.objectsLeft == 0)
        }
    }

    @Test func refundRestoresTheLimits() throws {
        var spending = try spending("2/request,3/minute,4/day,5/total,100B/day")
        spending.begin(request: 0)
        let before = spending
        let payment = spending.spend(size: 60)
        #expect(spending.bytesLeft == 40 && spending.objectsLeft == 1)
        spending.refund(payment)
        #expect(spending == before)
        // A refund changes only the total if the other periods are over.
        let old = spending.spend(size: 60)
        spending.begin(request: 2 * 86_400 * second)
        spending.spend(size: 10)
        spending.refund(old)
        #expect(spending.objectsSpent == 1 && spending.bytesSpent == 10 && spending.bytesLeft == 90)
        #expect(spending.objectsLeft == 1)
    }

    @Test func smallerLimitOfTwoBudgetsHoldsForEachPeriod() throws {
        func limited(_ one: String, by other: String) throws -> String {
            try PrefetchBudget(parsing: one).limited(by: PrefetchBudget(parsing: other)).description
        }
        #expect(
            try limited("2/request,20/minute,10MB/day", by: "1/request,5MB/day") == "1/request,20/minute,5MB/day")
        #expect(try limited("1/total,1kB/day", by: "1/request,5MB/day") == "1/request,1kB/day,1/total")
        #expect(try limited("unlimited", by: "0/total") == "0/total")
        #expect(try limited("3/day", by: "unlimited") == "3/day")
    }

    @Test func totalIsNeverReset() throws {
        var spending = try spending("2/total,10B/total")
        spending.begin(request: 0)
        spending.spend(size: 9)
        spending.begin(request: 1_000_000_000 * second)
        #expect(spending.objectsLeft == 1 && spending.allows(size: 1) && !spending.allows(size: 2))
    }

    @Test func tightestLimitHolds() throws {
        var spending = try spending("4/request,3/minute,2/day,90/total,30B/request")
        spending.begin(request: 0)
        #expect(spending.objectsLeft == 2)
        spending.spend(size: 30)
        #expect(spending.objectsLeft == 0 && !spending.allows(size: 1))
        spending.begin(request: 1)
        #expect(spending.objectsLeft == 1)
    }

    @Test func objectLargerThanTheLimitLeavesNothing() throws {
        var spending = try spending("10B/minute")
        spending.begin(request: 0)
        spending.spend(size: 25)
        #expect(spending.objectsLeft == 0 && !spending.allows(size: 0))
    }

    @Test func loweredLimitLeavesNothing() throws {
        var spending = try spending("5/day")
        spending.begin(request: 0)
        for _ in 0..<3 { spending.spend(size: 1) }
        spending.budget = try PrefetchBudget(parsing: "2/day")
        #expect(spending.objectsLeft == 0)
    }

    @Test func estimatedSizeIsCorrected() throws {
        var spending = try spending("2/request,100B/day")
        spending.begin(request: 0)
        let payment = spending.spend(size: 80)
        #expect(!spending.allows(size: 30))
        spending.correct(payment, to: 65)
        #expect(spending.allows(size: 35) && !spending.allows(size: 36))
        #expect(spending.bytesSpent == 65 && spending.objectsSpent == 1 && spending.objectsLeft == 1)
    }

    @Test func lateCorrectionLeavesLaterPeriodsUnchanged() throws {
        let midnight = 86_400 * second
        var spending = try spending("20B/request,30B/minute,40B/day,100B/total")
        spending.begin(request: midnight - second)
        let late = spending.spend(size: 10)
        spending.begin(request: midnight)
        spending.correct(late, to: 0)
        #expect(spending.bytesSpent == 0 && spending.account.day.bytes == 0 && spending.account.minute.bytes == 0)
        #expect(spending.allows(size: 20) && !spending.allows(size: 21))
        // A minute later on the same day: the day is corrected, but not the minute or the request.
        let early = spending.spend(size: 20)
        spending.begin(request: midnight + 60 * second)
        spending.spend(size: 15)
        spending.correct(early, to: 5)
        #expect(spending.account.day.bytes == 20 && spending.account.minute.bytes == 15)
        #expect(spending.allows(size: 5) && !spending.allows(size: 6))
        // The next request in the same minute: the minute is corrected.
        let last = spending.spend(size: 5)
        spending.begin(request: midnight + 61 * second)
        spending.correct(last, to: 9)
        #expect(spending.account.minute.bytes == 24 && spending.account.day.bytes == 29)
        #expect(spending.allows(size: 6) && !spending.allows(size: 7))
    }

    @Test func negativeSizesCountAsZero() throws {
        var spending = try spending("10B/day")
        spending.begin(request: 0)
        spending.spend(size: -5)
        #expect(spending.bytesSpent == 0 && !spending.allows(size: 11))
        let payment = spending.spend(size: 4)
        spending.correct(payment, to: -4)
        #expect(spending.bytesSpent == 0 && !spending.allows(size: 11))
    }

    @Test(arguments: ["minute", "day", "total"], ["objects", "bytes"])
    func accountWithANegativeSumIsIgnored(_ period: String, _ unit: String) throws {
        let spending = try spending("9B/minute,9B/day,9B/total,9/minute,9/day,9/total")
        var sums: [String: [String: Int]] = [:]
        for name in ["minute", "day", "total"] { sums[name] = ["objects": 1, "bytes": 1] }
        func resumed() throws -> PrefetchSpending {
            let text = ["minute", "day", "total"].map { name in
                let sum = sums[name, default: [:]].map { "\"\($0.key)\": \($0.value)" }.joined(separator: ", ")
                return "\"\(name)\": {\(sum)}"
            }
            let json = "{\(text.joined(separator: ", ")), \"minuteNumber\": 0, \"dayNumber\": 0}"
            var next = spending
            next.resume(try JSONDecoder().decode(PrefetchAccount.self, from: Data(json.utf8)), at: 0)
            next.begin(request: 0)
            return next
        }
        #expect(try resumed().objectsSpent == 1)
        sums[period]?[unit] = -(1 << 53)
        let left = try resumed()
        #expect(left.objectsSpent == 0 && left.bytesSpent == 0 && left.objectsLeft == 9 && !left.allows(size: 10))
    }

    @Test func unlimitedBudgetAlwaysAllows() {
        var spending = PrefetchSpending(.unlimited)
        spending.begin(request: 0)
        spending.spend(size: .max)
        #expect(spending.objectsLeft == PrefetchSpending.maxObjectsLeft && spending.allows(size: .max))
    }

    @Test("An overflowing sum is the largest one, and no limit allows it")
    func overflowingSumIsTheLargestOne() {
        var spending = PrefetchSpending(PrefetchBudget())
        spending.begin(request: 0)
        let payments = (0..<3).map { _ in spending.spend(size: .max) }
        #expect(spending.bytesSpent == 1 << 62 && spending.objectsSpent == 3)
        #expect(spending.allows(size: .max))
        spending.budget.inTotal.bytes = 1 << 53
        #expect(!spending.allows(size: 0) && spending.objectsLeft == 0)
        for payment in payments { spending.correct(payment, to: 0) }
        #expect(spending.bytesSpent == 0 && spending.allows(size: 1))
    }
}
