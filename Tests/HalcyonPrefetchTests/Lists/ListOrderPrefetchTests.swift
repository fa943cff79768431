import HalcyonEviction
import Testing

@testable import HalcyonPrefetch

@Suite("Baselines on lists", .timeLimit(.minutes(20)))
struct ListOrderPrefetchTests {
    private static let hour: Int64 = 3_600_000_000

    private func proposed(
        _ policy: ListOrderPrefetch, _ objects: [UInt32], user: UInt32 = 0, at time: Int64, limit: Int = 9,
        holding held: Set<UInt32> = []
    ) -> [UInt32] {
        var plan = PrefetchPlan()
        policy.plan(
            on: ShownList(user: user, time: time, items: objects.map { .init(object: $0, categories: $0 % 3 + 1) }),
            outlook: PrefetchOutlook(limit: limit, room: .max, holds: { held.contains($0) }), into: &plan)
        return plan.proposals.map(\.object)
    }

    private func policy(_ order: ListOrderPrefetch.Order, requests: [(UInt32, UInt32, Int64)]) -> ListOrderPrefetch {
        let policy = ListOrderPrefetch(order, PrefetchContext())
        for set in UInt32(1)...3 { policy.define(categorySet: set, members: [set]) }
        for (user, object, time) in requests {
            policy.note(
                Access(entry: 0, time: time, categories: object % 3 + 1, user: user, object: object), isHit: false)
        }
        return policy
    }

    @Test("The order of the list, without what the cache holds, at most as many as may be fetched")
    func shownOrder() {
        let policy = policy(.shown, requests: [(0, 4, 1)])
        #expect(proposed(policy, [7, 4, 9, 4, 1], at: 5) == [7, 4, 9, 1])
        #expect(proposed(policy, [7, 4, 9, 4, 1], at: 5, limit: 2, holding: [7]) == [4, 9])
    }

    @Test("Newest first: what was shown or requested first at the latest time")
    func newestFirst() {
        let policy = policy(.newest, requests: [(0, 4, 1), (0, 7, 3), (0, 4, 4)])
        #expect(proposed(policy, [4, 7, 9], at: 5) == [9, 7, 4])
        #expect(proposed(policy, [4, 9, 2, 7], at: 6) == [2, 9, 7, 4])
    }

    @Test("Popular first: requests of all users, halved every three hours")
    func popularFirst() {
        let policy = policy(.popular, requests: [(0, 4, 0), (1, 4, 0), (2, 7, 6 * Self.hour)])
        // After six hours, the two requests of 4 count as half of one.
        #expect(proposed(policy, [9, 4, 7], at: 6 * Self.hour) == [7, 4, 9])
        let earlier = self.policy(.popular, requests: [(0, 4, 0), (1, 4, 0), (2, 7, Self.hour)])
        #expect(proposed(earlier, [9, 7, 4], at: Self.hour) == [4, 7, 9])
    }

    @Test("Last opened first: what this user requested last")
    func lastOpenedFirst() {
        let policy = policy(.lastOpened, requests: [(0, 4, 1), (0, 7, 2), (1, 9, 3)])
        #expect(proposed(policy, [9, 4, 7], at: 5) == [7, 4, 9])
        #expect(proposed(policy, [7, 4, 9], user: 1, at: 5) == [9, 7, 4])
    }

    @Test("Affinity: this user's requests by category")
    func affinityFirst() {
        let policy = policy(.affinity, requests: [(0, 1, 1), (0, 4, 2), (0, 2, 3), (1, 3, 4), (1, 6, 4), (1, 9, 4)])
        #expect(proposed(policy, [12, 5, 10], at: 5) == [10, 5, 12])
        #expect(proposed(policy, [10, 5, 12], user: 1, at: 5) == [12, 10, 5])
    }

    @Test("At random: every item, and another order in another list")
    func randomOrder() {
        let policy = policy(.random, requests: [])
        let orders = (0..<8).map { proposed(policy, Array(0..<9), at: $0) }
        #expect(orders.allSatisfy { Set($0) == Set(0..<9) } && Set(orders).count > 6)
    }
}
