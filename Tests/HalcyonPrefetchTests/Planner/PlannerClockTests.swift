import HalcyonEviction
import Testing

@testable import HalcyonLearning
@testable import HalcyonPrefetch

/// The planner and Mithril decide by differences of request numbers, independently of their start.
@Suite("The prefetch policies' clocks beyond 32 bits", .timeLimit(.minutes(20)))
struct PlannerClockTests {
    /// Returns the proposals for 4,000 requests.
    private func plans(from start: Int) -> [[UInt32]] {
        var parameters = PlannerParameters()
        parameters.price = 0.001
        let planner = PrefetchPlanner(parameters, context: PrefetchContext(seed: 9))
        for set in UInt32(1)...12 { planner.define(categorySet: set, members: [set, set % 3 + 20]) }
        planner.state.pointee.requests = start
        planner.state.pointee.habits.clock = start
        var plans: [[UInt32]] = []
        var held: [UInt32] = []
        for request in PrefetchTestRun.requests(4_000, seed: 3) {
            let access = request.access
            let isHit = held.contains(access.object)
            planner.note(access, isHit: isHit)
            if !isHit { held.append(access.object) }
            if held.count > 30 { planner.evicted(held.removeFirst(), from: access.user) }
            var plan = PrefetchPlan()
            let now = held
            planner.plan(
                after: access, outlook: PrefetchOutlook(limit: 2, room: 0, holds: { now.contains($0) }), into: &plan)
            plans.append(plan.proposals.map(\.object))
            held += plan.proposals.map(\.object)
            while held.count > 30 { planner.evicted(held.removeFirst(), from: access.user) }
        }
        return plans
    }

    /// Both starts are as far from the next multiple of 5,120,000 requests, at which the scores of both half-lives start again,
    /// and from the next epoch of 2¹⁷ requests.
    @Test("The planner proposes the same when its clock passes 2³²")
    func plannerProposesTheSameBeyond32Bits() {
        // 5,120,000 is 2¹³ · 625: sixteen of them are a multiple of 2¹⁷.
        let period = 16 * 5_120_000
        let passing = 1 << 32 - 2_000
        let expected = plans(from: passing % period + period)
        #expect(expected.count { !$0.isEmpty } > 500)
        #expect(plans(from: passing) == expected)
        // Far beyond, and where scores start again.
        let restarting = 100 * period - 2_000
        #expect(plans(from: restarting + 1_000 * period) == plans(from: restarting))
    }

    @Test(
        "Pending plans are found when their numbers wrap around after 2³¹", arguments: [0, 1 << 31 - 1_024] as [UInt32])
    func pendingPlansAreFoundAfterNumbersWrap(first: UInt32) {
        var plans = PendingPlans(first: first)
        let chains = HeapArray(repeating: PlanChain(), count: 2)
        for request in UInt32(0)..<3_000 {
            let user = Int(request % 2)
            plans.settle(chains.base + user, object: .max - 1, request: request, labelWindow: 5_000)
            #expect(plans.outcomeCount == 0)
            if let owner = plans.expiring { plans.close(chains.base + Int(owner)) }
            var candidates = CandidateList()
            candidates.begin(unused: 0)
            candidates.add(request, unless: { _ in false })
            plans.add(
                candidates, user: UInt32(user), request: request, previous: 0, chosen: 1, drawn: 1,
                to: chains.base + user)
            guard request > 600 else { continue }
            // Of the user's pending plans, the one of 600 requests ago proposed this object.
            plans.settle(chains.base + user, object: request - 600, request: request, labelWindow: 5_000)
            let isFound = plans.outcomeCount == 1 && plans[0].isRequested
            #expect(isFound, "request \(request)")
        }
    }

    @Test("Decayed scores stay distinct after 10⁹ requests and keep their order at a restart")
    func decayedScoresKeepTheirOrderAfterManyRequests() {
        let clock = ScoreClock(halfLife: 500)
        var lists = RankedLists(width: 4)
        var counts: [UInt32: (count: Double, last: Int)] = [:]
        var random = SplitMix64(seed: 8)
        var (restarts, wrong) = (0, 0)
        let start = 1_000_000_000
        for request in start..<start + 700_000 {
            if clock.restarts(at: request) {
                lists.lowerAll(by: Float(ScoreClock.longest))
                restarts += 1
            }
            guard request % 100 == 0 else { continue }
            let item = UInt32(random.next(below: 4))
            let (count, last) = counts[item] ?? (0, request)
            let now = count * Power.two(Double(last - request) / 500) + 1
            counts[item] = (now, request)
            lists.raise(item, to: FastMath.log2(Float(now)) + clock.time(request), in: 0)
            let exact = counts.mapValues { $0.count * Power.two(Double($0.last - request) / 500) }
            // Counts that differ by more than the error of the fast logarithm are in order. In single precision, scores had
            // steps of an eighth of an octave, 9 %.
            let listed = lists[0].filter { $0.item != .max }.map { exact[$0.item] ?? 0 }
            for (higher, lower) in zip(listed, listed.dropFirst()) { if higher < lower * 0.985 { wrong += 1 } }
        }
        #expect(restarts >= 1 && wrong == 0)
        #expect(Float(start) / 500 + 0.05 == Float(start) / 500, "lost in single precision")
    }

    /// The results of a planner in 12,000 requests whose announcements are counted from a number.
    private struct Announcements {
        /// The proposals after each request.
        var plans: [[UInt32]] = []
        /// The list of the newest objects after each announcement.
        var newest: [[UInt32]] = []
        /// The final list of the only category.
        var ofCategory: [UInt32] = []
        /// The final count.
        var count: Float = 0
    }

    /// Twelve objects are requested all the time. After every tenth request a new object is announced, and the fifth
    /// request after that is for it.
    private func announcing(from count: Float) -> Announcements {
        let planner = PrefetchPlanner(context: PrefetchContext(seed: 9))
        planner.define(categorySet: 1, members: [1])
        planner.state.pointee.announcements = count
        var random = SplitMix64(seed: 4)
        var result = Announcements()
        var held: Set<UInt32> = []
        for index in 0..<12_000 {
            let new = UInt32(100 + index / 10)
            if index % 10 == 0 {
                planner.announce(AnnouncedObject(object: new, categories: 1))
                result.newest.append(planner.state.pointee.newest[0].map(\.item))
            }
            let access = Access(
                entry: index % 10 == 5 ? new : UInt32(random.next(below: 12)), requestNumber: index,
                time: Int64(index) * 1_000_000, size: 1, categories: 1, user: UInt32(index / 40))
            planner.note(access, isHit: false)
            var plan = PrefetchPlan()
            planner.plan(
                after: access, outlook: PrefetchOutlook(limit: 2, room: .max) { held.contains($0) }, into: &plan)
            result.plans.append(plan.proposals.map(\.object))
            held.formUnion(plan.proposals.map(\.object).filter { $0 >= 100 })
        }
        result.ofCategory = planner.state.pointee.categories.announced[1].map(\.item)
        result.count = planner.state.pointee.announcements
        return result
    }

    /// A `Float` that counts to 2²⁴ stays there, so that all later objects would tie.
    @Test(
        "Announced objects stay in order, newest first, when their count passes 2²⁴",
        arguments: [0, WithinVisit.mostAnnouncements - 600, WithinVisit.mostAnnouncements] as [Float])
    func announcementsStayInOrderBeyond2To24(from count: Float) {
        let result = announcing(from: count)
        let width = PlannerCategories.announcedWidth
        let wrong = result.newest.indices.first { number in
            result.newest[number] != (0..<width).map { $0 <= number ? UInt32(100 + number - $0) : .max }
        }
        #expect(wrong == nil && result.newest.count == 1_200)
        #expect(result.ofCategory == result.newest.last)
        #expect(result.count == count + 1_200 || count > 0 && result.count < count, "the count is halved at its limit")
        #expect(result.plans.suffix(6_000).count { $0.contains { $0 >= 100 } } > 500)
        #expect(count == 0 || result.plans == announcing(from: 0).plans)
    }

    @Test("Mithril plans the same when its clock passes 2³²")
    func mithrilPlansTheSameBeyond32Bits() {
        func plans(from start: Int) -> [[UInt32]] {
            var parameters = MithrilParameters()
            parameters.miningRows = 8
            let policy = MithrilPrefetch(PrefetchContext(), parameters: parameters)
            policy.requests = start
            return PrefetchTestRun.requests(2_000, seed: 6).map { request in
                policy.note(request.access, isHit: false)
                var plan = PrefetchPlan()
                policy.plan(
                    after: request.access, outlook: PrefetchOutlook(limit: 4, room: 9, holds: { _ in false }),
                    into: &plan)
                return plan.proposals.map(\.object)
            }
        }
        let expected = plans(from: 0)
        #expect(expected.count { !$0.isEmpty } > 50)
        #expect(plans(from: 1 << 32 - 1_000) == expected)
    }

    @Test("The limits of each prefetch policy are those of its tables")
    func policyLimitsMatchTheirTables() throws {
        for entry in PrefetchCatalogue.entries { #expect(PrefetchLimits(policy: entry.name) != nil) }
        let planner = try #require(PrefetchLimits(policy: "planner"))
        #expect(planner.objects == 1 << 22 && planner.users == 1 << 20 - 1 && planner.categories == 1 << 16)
        let bound = UInt32(try #require(planner.users))
        let slots = Set([UInt32.max, 0, 1, bound - 1].map { PlannerUsers.slot($0) })
        #expect(slots.count == 4 && PlannerUsers.slot(bound) == PlannerUsers.slot(.max))
        let markov = UInt32(try #require(PrefetchLimits(policy: "markov")?.users))
        #expect(BaselineBounds.slot(ofUser: markov - 1) != BaselineBounds.slot(ofUser: .max))
        #expect(BaselineBounds.slot(ofUser: markov) == BaselineBounds.slot(ofUser: .max))
        #expect(PrefetchLimits(policy: "next-key") != nil && PrefetchLimits(policy: "none") == nil)
    }
}

/// Powers of two in double precision, by the standard library alone.
private enum Power {
    static func two(_ exponent: Double) -> Double {
        let whole = exponent.rounded(.down)
        // 2^x for 0 ≤ x < 1 by its series in x · ln 2.
        let scaled = (exponent - whole) * 0.693_147_180_559_945_3
        var (term, sum) = (1.0, 1.0)
        for power in 1..<20 {
            term *= scaled / Double(power)
            sum += term
        }
        return Double(sign: .plus, exponent: Int(whole), significand: 1) * sum
    }
}
