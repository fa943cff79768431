import HalcyonPrefetch
import Testing

@Suite("The budget of a visit", .timeLimit(.minutes(20)))
struct VisitSpendingTests {
    private let minute: Int64 = 60_000_000

    private func spending(_ budget: String) throws -> PrefetchSpending {
        PrefetchSpending(try PrefetchBudget(parsing: budget))
    }

    @Test("Limits unused by the requests of a visit accumulate for its end, and not beyond")
    func unusedRequestLimitsAccumulateUntilTheVisitEnds() throws {
        var spending = try spending("2/request")
        for request in 0..<5 as Range<Int64> {
            spending.begin(request: request * minute, of: 1)
            #expect(spending.objectsLeft == 2, "no request has more than its own")
            if request < 3 { spending.spend(size: 1) }
        }
        spending.begin(momentAt: 34 * minute, of: 1)
        #expect(spending.objectsLeft == 7)
        for _ in 0..<4 { spending.spend(size: 1) }
        spending.begin(momentAt: 1_440 * minute, of: 1)
        #expect(spending.objectsLeft == 3, "the same visit's, the next day")
        spending.begin(request: 2_000 * minute, of: 1)
        spending.begin(momentAt: 2_030 * minute, of: 1)
        #expect(spending.objectsLeft == 2, "another visit, of one request")
    }

    @Test("A limit of a visit holds for its requests and its end; 30 minutes later another starts")
    func visitLimitHoldsForRequestsAndEnd() throws {
        var spending = try spending("2/request,5/visit")
        for request in 0..<4 as Range<Int64> {
            spending.begin(request: request * minute, of: 1)
            while spending.objectsLeft > 0 { spending.spend(size: 1) }
        }
        #expect(spending.objectsSpent == 5)
        spending.begin(momentAt: 33 * minute, of: 1)
        #expect(spending.objectsLeft == 0 && !spending.allows(size: 0))
        spending.begin(request: 32 * minute, of: 1)
        #expect(spending.objectsLeft == 0, "29 minutes after the last request")
        spending.begin(request: 62 * minute, of: 1)
        #expect(spending.objectsLeft == 2)
    }

    @Test("Each user has visits; a correction and a refund reach the visit of their payment")
    func correctionsAndRefundsReachTheirVisit() throws {
        var spending = try spending("10B/request,25B/visit")
        spending.begin(request: 0, of: 1)
        let first = spending.spend(size: 10)
        spending.begin(request: minute, of: 2)
        #expect(spending.bytesLeft == 10)
        spending.begin(momentAt: 31 * minute, of: 1)
        #expect(spending.bytesLeft == 0)
        spending.begin(request: 32 * minute, of: 2)
        spending.correct(first, to: 4)
        spending.begin(momentAt: 33 * minute, of: 1)
        #expect(spending.bytesLeft == 6)
        spending.refund(first)
        spending.begin(momentAt: 62 * minute, of: 2)
        #expect(spending.bytesLeft == 10, "32 minutes after its first request: a visit of one request")
    }

    @Test("A visit is a period in the text of a budget")
    func visitIsAPeriodOfABudget() throws {
        let budget = try PrefetchBudget(parsing: "50MB/day,20/visit,2/request")
        #expect(budget.perVisit.objects == 20 && budget.description == "2/request,20/visit,50MB/day")
        #expect(throws: PrefetchBudgetError.self) { try PrefetchBudget(parsing: "2/visits") }
    }

    @Test("Lists before the first request are of its visit; 30 minutes after the last of them another starts")
    func listsBelongToTheVisit() throws {
        var spending = try spending("4/list,5/visit")
        spending.begin(listAt: 0, of: 1)
        for _ in 0..<4 { spending.spend(size: 1) }
        spending.begin(listAt: minute, of: 2)
        #expect(spending.objectsLeft == 4, "another user's")
        spending.begin(listAt: 2 * minute, of: 1)
        #expect(spending.objectsLeft == 1)
        spending.spend(size: 1)
        spending.begin(request: 31 * minute, of: 1)
        #expect(spending.objectsLeft == 0, "29 minutes after the last list")
        spending.begin(listAt: 60 * minute, of: 1)
        #expect(spending.objectsLeft == 0, "29 minutes after the request")
        spending.begin(listAt: 90 * minute, of: 1)
        #expect(spending.objectsLeft == 4)
    }

    @Test("A list is shown beside requests: each spends its own limit, and gets its own refunds")
    func listsAndRequestsSpendApart() throws {
        var spending = try spending("1/request,3/list")
        spending.begin(listAt: 0, of: 1)
        let ofList = spending.spend(size: 1)
        spending.begin(request: 1, of: 1)
        let ofRequest = spending.spend(size: 1)
        #expect(spending.objectsLeft == 0)
        spending.spend(ofList: true)
        #expect(spending.objectsLeft == 2)
        spending.refund(ofRequest)
        #expect(spending.objectsLeft == 2)
        spending.refund(ofList)
        #expect(spending.objectsLeft == 3)
        spending.spend(ofList: false)
        #expect(spending.objectsLeft == 1)
        spending.begin(listAt: 2, of: 1)
        spending.refund(ofList)
        #expect(spending.objectsLeft == 3, "the list of the payment is over")
    }

    @Test("Of users who saw lists alone, those whose visit is over are forgotten")
    func listsOfManyUsersAreForgotten() throws {
        var spending = try spending("1/list,1/visit")
        for user in UInt32(0)..<100_000 {
            spending.begin(listAt: Int64(user) * minute, of: user)
            spending.spend(size: 1)
        }
        spending.begin(listAt: 99_990 * minute, of: 99_990)
        #expect(spending.objectsLeft == 0, "ten minutes later it is the same visit")
        #expect(spending.visitCount < 3_000)
    }
}
