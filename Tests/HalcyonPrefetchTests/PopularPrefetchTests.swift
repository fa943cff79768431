import HalcyonEviction
import HalcyonPrefetch
import Testing

@Suite("Popularity by hand", .timeLimit(.minutes(20)))
struct PopularPrefetchTests {
    @Test("The most popular object over all users is proposed first; the one just requested never")
    func mostPopularObjectIsProposedFirst() {
        var requests = LetteredRequests(PopularPrefetch(PrefetchContext()))
        requests.ask("abc", user: 1)
        requests.ask("bcc", user: 2)
        #expect(requests.plan(after: "a", user: 3) == "cb")
        #expect(requests.plan(after: "z", limit: 2) == "cb")
        #expect(requests.plan(after: "z", holding: "cz") == "ba")
    }

    /// a was requested three times, two half-lives before b was once: ¾ of an access.
    @Test("Counts halve with each half-life", arguments: [(2, "ba"), (1, "ab")])
    func countsHalveWithEachHalfLife(halfLives: Int, expected: String) {
        var requests = LetteredRequests(PopularPrefetch(PrefetchContext()))
        requests.ask("aaa")
        for _ in 0..<PopularPrefetch.halfLife * halfLives {
            requests.policy.note(Access(entry: .max - 1), isHit: false)
        }
        requests.ask("b")
        #expect(requests.plan(after: "z") == expected)
    }

    @Test("Scaling the scores down keeps the order")
    func rescalingKeepsTheOrder() {
        var requests = LetteredRequests(PopularPrefetch(PrefetchContext()))
        requests.ask("aabbbc")
        for _ in 0..<PopularPrefetch.halfLife * 70 { requests.policy.note(Access(entry: .max - 1), isHit: false) }
        #expect(requests.plan(after: "z") == "bac")
        requests.ask("c")
        #expect(requests.plan(after: "z") == "cba")
    }

    @Test("The candidates are the 128 objects of the list")
    func candidatesAreTheListedObjects() {
        let policy = PopularPrefetch(PrefetchContext())
        for object in UInt32(0)..<500 { policy.note(Access(entry: object), isHit: false) }
        var plan = PrefetchPlan()
        let outlook = PrefetchOutlook(limit: 1_000, room: .max, holds: { _ in false })
        policy.plan(after: Access(entry: 0), outlook: outlook, into: &plan)
        // Later requests weigh more.
        #expect(plan.proposals.map(\.object) == (372..<500).reversed().map { UInt32($0) })
    }
}
