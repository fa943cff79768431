import HalcyonEviction
import Testing

@testable import HalcyonPrefetch

/// Orders that the counts of what follows on one object cannot tell.
@Suite("The planner knows the paths that were taken before")
struct PathTests {
    /// How many of the requests that count were proposed after the user's request before, by a planner that is asked for what comes
    /// next only; each plan may propose one object.
    private func share(_ requests: [(user: UInt32, object: UInt32)], counted: (Int) -> Bool) -> Double {
        var parameters = PlannerParameters()
        parameters.horizon = 1
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

    @Test("Each of forty users goes through the same thirty objects in an order of their own")
    func ownOrder() {
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
        #expect(share > 0.95, "\(share); by what follows for anybody it is right once in some twenty")
    }

    /// Visits of users who come once: one of ten pages, one of ten others, so often, then one that only both together tell.
    private static func visits(asking times: Int) -> [(user: UInt32, object: UInt32)] {
        var generator = SplitMix64(seed: 4)
        return (0..<8_000).flatMap { (visit: Int) -> [(user: UInt32, object: UInt32)] in
            let (first, second) = (UInt32(generator.next(below: 10)), UInt32(generator.next(below: 10)))
            let pages = [first] + Array(repeating: 100 + second, count: times) + [200 + (first + second) % 10]
            return pages.map { (UInt32(visit), $0) }
        }
    }

    @Test(
        "What comes after two pages is known, though each of them alone tells nothing; one that is asked for again at once is no step",
        arguments: [1, 3])
    func secondOrder(times: Int) {
        let length = times + 2
        let share = share(Self.visits(asking: times)) { $0 / length > 6_000 && $0 % length == length - 1 }
        #expect(share > 0.95, "\(share); by one of the pages alone it is right once in ten")
    }
}
