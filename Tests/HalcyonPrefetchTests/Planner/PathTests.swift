import HalcyonEviction
import Testing

@testable import HalcyonPrefetch

/// Orders that the successors of a single object do not determine.
@Suite("The planner learns paths", .timeLimit(.minutes(20)))
struct PathTests {
    /// Returns the share of the counted requests that were proposed after the user's previous request. The label
    /// window is one request, and each plan may propose one object.
    private func share(_ requests: [(user: UInt32, object: UInt32)], counted: (Int) -> Bool) -> Double {
        var parameters = PlannerParameters()
        parameters.labelWindow = 1
        let planner = PrefetchPlanner(parameters)
        var (proposed, right, all): ([UInt32: UInt32], Int, Int) = ([:], 0, 0)
        for (index, request) in requests.enumerated() {
            if counted(index) {
                all += 1
                right += proposed[request.user] == request.object ? 1 : 0
            }
            let access = Access(
                entry: request.object, requestNumber: index, time: Int64(index) * 1_000_000, categories: 0,
                user: request.user)
            planner.note(access, isHit: false)
            var plan = PrefetchPlan()
            planner.plan(
                after: access, outlook: PrefetchOutlook(limit: 1, room: .max) { $0 == request.object }, into: &plan)
            proposed[request.user] = plan.proposals.first?.object
        }
        return Double(right) / Double(all)
    }

    @Test("Of forty users with different orders of thirty objects each order is learned")
    func eachUsersOwnOrderIsLearned() {
        var generator = SplitMix64(seed: 3)
        let orders = (0..<40).map { _ in
            var order = (0..<30).map { UInt32($0) }
            for last in order.indices.reversed() { order.swapAt(last, generator.next(below: last + 1)) }
            return order
        }
        let requests = (0..<24_000).map { (index: Int) -> (user: UInt32, object: UInt32) in
            let user = index % 40
            return (UInt32(user), orders[user][index / 40 % 30])
        }
        let share = share(requests) { $0 > 18_000 }
        #expect(share > 0.95, "\(share); successors over all users are right once in some twenty")
    }

    /// Returns visits of users with one visit each. A visit is one of ten pages, one of ten others `times` times, and
    /// a page that only both together determine.
    private static func visits(asking times: Int) -> [(user: UInt32, object: UInt32)] {
        var generator = SplitMix64(seed: 4)
        return (0..<8_000).flatMap { (visit: Int) -> [(user: UInt32, object: UInt32)] in
            let (first, second) = (UInt32(generator.next(below: 10)), UInt32(generator.next(below: 10)))
            let pages = [first] + Array(repeating: 100 + second, count: times) + [200 + (first + second) % 10]
            return pages.map { (UInt32(visit), $0) }
        }
    }

    @Test(
        "The successor of two pages is predicted, although neither determines it; repeats are no step",
        arguments: [1, 3])
    func successorOfTwoPagesIsPredicted(times: Int) {
        let length = times + 2
        let share = share(Self.visits(asking: times)) { $0 / length > 6_000 && $0 % length == length - 1 }
        #expect(share > 0.95, "\(share); one of the pages alone is right once in ten")
    }
}
