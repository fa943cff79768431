import HalcyonEviction
import HalcyonPrefetch
import Testing

@Suite("Popularity within categories by hand", .timeLimit(.minutes(20)))
struct CategoryPopularPrefetchTests {
    private func requests(_ sets: [Character: CategorySetID]) -> LetteredRequests {
        let policy = CategoryPopularPrefetch(PrefetchContext())
        policy.define(categorySet: 1, members: [10])
        policy.define(categorySet: 2, members: [20])
        policy.define(categorySet: 3, members: [10, 20])
        policy.define(categorySet: 4, members: [30])
        var requests = LetteredRequests(policy)
        requests.sets = sets
        return requests
    }

    /// a and b are of category 10, c and d of 20; decay is too slow to matter here.
    ///
    ///     accesses        a 3, b 3: category 10 has 6 of 9; c 2, d 1: 20 has 3
    ///     steps           10 → 10 twice, 10 → 20 three times
    ///     P(10)           ½ (3 + 4 · 6/9) / 9 + ½ · 2/5 = 0.515
    ///     P(20)           ½ (2 + 4 · 3/9) / 9 + ½ · 3/5 = 0.485
    ///     scores          b 3/6 P(10) = 0.257; c 2/3 P(20) = 0.323; d 1/3 P(20) = 0.162
    @Test("The score is half user counts, half transitions, times the share within the category")
    func scoreMixesUserCountsTransitionsAndShares() {
        var requests = requests(["a": 1, "b": 1, "c": 2, "d": 2])
        requests.ask("bbbd", user: 1)
        requests.ask("acaca", user: 0)
        #expect(requests.plan(after: "a") == "cbd")
        #expect(requests.plan(after: "a", limit: 2) == "cb")
        #expect(requests.plan(after: "a", holding: "ac") == "bd")
    }

    /// User 7 has only the shares: a has 2/2 of 2/3, b 1/1 of 1/3.
    @Test("For an unknown user only the shares over all users count")
    func unknownUserGetsTheSharesOfAllUsers() {
        var requests = requests(["a": 1, "b": 2])
        requests.ask("aab", user: 1)
        #expect(requests.plan(after: "z", user: 7) == "ab")
    }

    /// After a step 10 → 20 the category 20 is a successor of 10 for all users.
    ///
    ///     P(10) = ½ (1 + 4 · 2/4) / 5 = 0.3
    ///     P(20) = ½ (4 · 1/4) / 5 + ½ = 0.6
    ///     P(30) = ½ (4 · 1/4) / 5 = 0.1
    @Test("Transitions are counted over all users")
    func transitionsAreCountedOverAllUsers() {
        var requests = requests(["a": 1, "b": 2, "c": 4, "d": 1])
        requests.ask("c", user: 2)
        requests.ask("ab", user: 1)
        requests.ask("d", user: 0)
        #expect(requests.plan(after: "d") == "bac")
    }

    @Test("An object with several categories has its best score and is proposed once")
    func objectWithSeveralCategoriesIsProposedOnce() {
        var requests = requests(["a": 3, "b": 1, "c": 2])
        requests.ask("abc bcb")
        #expect(requests.plan(after: "z").sorted() == ["a", "b", "c"])
        // a has 1/4 of category 10 and 1/3 of category 20.
        requests.ask("a", user: 5)
        #expect(requests.plan(after: "a", user: 5).count == 2)
    }

    @Test("An announced object is a candidate at once, after all requested ones")
    func announcedObjectIsProposedAfterRequestedOnes() {
        var requests = requests(["a": 1, "b": 1])
        requests.ask("ab")
        #expect(requests.plan(after: "b") == "a")
        requests.policy.announce(AnnouncedObject(object: requests.number("e"), categories: 1))
        requests.policy.announce(AnnouncedObject(object: requests.number("f"), categories: 99))
        requests.policy.announce(AnnouncedObject(object: requests.number("a"), categories: 1))
        #expect(requests.plan(after: "b") == "ae", "the categories of f are not defined")
    }

    @Test("A request without categories keeps the user's last category")
    func requestWithoutCategoriesKeepsTheLastCategory() {
        var requests = requests(["a": 1, "b": 2])
        requests.ask("abaz", user: 0)
        #expect(requests.plan(after: "z") == "ba")
    }
}
