import Testing

@testable import HalcyonPrefetch

@Suite("The model for lists that the package ships", .timeLimit(.minutes(20)))
struct ShippedListsTests {
    private func first(_ planner: PrefetchPlanner) -> [UInt32] {
        var plan = PrefetchPlan()
        let items = (0..<8).map { ShownList.Item(object: UInt32($0)) }
        planner.plan(
            on: ShownList(user: 0, time: 0, items: items),
            outlook: PrefetchOutlook(limit: 8, room: .max, holds: { _ in false }), into: &plan)
        return plan.proposals.map(\.object)
    }

    @Test("It is read, and was trained on many items")
    func isRead() {
        #expect(PretrainedLists.shipped.examples > 1_000_000)
        let areFinite = PretrainedLists.shipped.weights.allSatisfy { $0.isFinite }
        #expect(areFinite)
    }

    @Test("A planner that serves one user begins with it, unless told otherwise or given another")
    func servesOneUser() throws {
        var parameters = PlannerParameters.listsOnly
        let one = PrefetchContext(servesOneUser: true)
        #expect(PrefetchPlanner(parameters, context: one).isReady)
        #expect(!PrefetchPlanner(parameters, context: PrefetchContext()).isReady)
        let planner = PrefetchPlanner(parameters, context: one)
        #expect(planner.lists?.model.weights == PretrainedLists.shipped.weights)
        #expect(planner.snapshot(producer: "") == nil, "what ships is not written again")
        parameters.model = .none
        #expect(!PrefetchPlanner(parameters, context: one).isReady)
        parameters.lists = .off
        parameters.model = .auto
        #expect(PrefetchPlanner(parameters, context: one).lists == nil)
    }

    @Test("With nothing known of the user or the objects, the place in the list decides")
    func placeDecidesAtFirst() {
        var parameters = PlannerParameters.listsOnly
        parameters.listPrice = 0
        #expect(first(PrefetchPlanner(parameters, context: PrefetchContext(servesOneUser: true))) == Array(0..<8))
    }
}
