import HalcyonPrefetch
import Testing

@Suite("Markov by hand", .timeLimit(.minutes(20)))
struct MarkovPrefetchTests {
    /// b followed on a three times, c twice, d once.
    @Test("The most frequent successors come first; held ones are skipped")
    func mostFrequentSuccessorsComeFirst() {
        var requests = LetteredRequests(MarkovPrefetch(PrefetchContext()))
        requests.ask("ab ac ab ad ac ab")
        #expect(requests.plan(after: "a") == "bcd")
        #expect(requests.plan(after: "a", limit: 2) == "bc")
        #expect(requests.plan(after: "a", limit: 2, holding: "b") == "cd")
        #expect(requests.plan(after: "a", limit: 0) == "")
        #expect(requests.plan(after: "z") == "", "never requested")
    }

    @Test("Of equally frequent successors the latest comes first; a repeated request is not a step")
    func latestOfEqualSuccessorsComesFirst() {
        var requests = LetteredRequests(MarkovPrefetch(PrefetchContext()))
        requests.ask("ab ac aaad")
        #expect(requests.plan(after: "a") == "dcb")
        requests.ask("ab")
        #expect(requests.plan(after: "a") == "bdc")
    }

    /// The users take turns; for each of them x never follows on a.
    @Test("A successor is the same user's next object, counted over all users")
    func successorIsTheSameUsersNextObject() {
        var requests = LetteredRequests(MarkovPrefetch(PrefetchContext()))
        requests.ask("a", user: 1)
        requests.ask("x", user: 2)
        requests.ask("b", user: 1)
        requests.ask("y", user: 2)
        #expect(requests.plan(after: "a", user: 2) == "b")
        #expect(requests.plan(after: "x", user: .max) == "y")
        requests.ask("ac", user: .max)
        requests.ask("ac", user: .max - 1)
        #expect(requests.plan(after: "a", user: 1) == "cb")
    }

    @Test("Per-user chains do not share successors")
    func perUserChainsDoNotShareSuccessors() {
        var requests = LetteredRequests(MarkovPrefetch(PrefetchContext(), isPerUser: true))
        requests.ask("ab", user: 1)
        requests.ask("ac", user: 2)
        requests.ask("ad", user: .max)
        #expect(requests.plan(after: "a", user: 1) == "b")
        #expect(requests.plan(after: "a", user: 2) == "c")
        #expect(requests.plan(after: "a", user: .max) == "d")
        #expect(requests.plan(after: "a", user: 3) == "")
    }
}
