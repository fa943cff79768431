import HalcyonEviction
import Testing

@testable import HalcyonPrefetch

@Suite("Prefetching from announced lists", .timeLimit(.minutes(20)))
struct AnnouncedPrefetchTests {
    private func announce(_ letters: String, to requests: LetteredRequests) {
        for (rank, letter) in letters.enumerated() {
            requests.policy.announce(AnnouncedObject(object: requests.number(letter), rank: rank))
        }
    }

    @Test("The first objects of the last list that the cache lacks are proposed, in its order")
    func firstMissingObjectsOfTheListAreProposed() {
        let requests = LetteredRequests(AnnouncedPrefetch(AnnouncedParameters(), PrefetchContext()))
        #expect(requests.plan(after: "a") == "")
        announce("dbca", to: requests)
        #expect(requests.plan(after: "a", limit: 2) == "db")
        #expect(requests.plan(after: "a", holding: "d") == "bc", "what is being requested is not fetched")
        #expect(requests.plan(after: "e", limit: 2, holding: "db") == "ca")
        #expect(requests.plan(after: "e", limit: 2) == "db", "an evicted object is fetched again")
        announce("fb", to: requests)
        #expect(requests.plan(after: "e") == "fb", "a list replaces the one before")
        requests.policy.announce(AnnouncedObject(object: requests.number("g")))
        requests.policy.announce(AnnouncedObject(object: requests.number("g")))
        #expect(requests.plan(after: "e") == "fbg", "an object without a rank comes last, once")
    }

    @Test("Only the first objects of a list are proposed")
    func onlyTheFirstObjectsAreProposed() {
        var parameters = AnnouncedParameters()
        parameters.first = 2
        let requests = LetteredRequests(AnnouncedPrefetch(parameters, PrefetchContext()))
        announce("dbca", to: requests)
        #expect(requests.plan(after: "e") == "db")
        #expect(requests.plan(after: "e", holding: "d") == "b")
    }

    @Test("At most 10,000 objects of a list are kept, the first ones")
    func longestListIsBounded() {
        let policy = AnnouncedPrefetch(AnnouncedParameters(), PrefetchContext())
        for rank in 0..<30_000 { policy.announce(AnnouncedObject(object: UInt32(rank), rank: rank)) }
        var plan = PrefetchPlan()
        let outlook = PrefetchOutlook(limit: 3, room: .max, holds: { $0 < 9_999 })
        policy.plan(after: Access(entry: 70_000), outlook: outlook, into: &plan)
        #expect(plan.proposals.map(\.object) == [9_999])
        #expect(policy.metadataBytes < 200_000)
    }

    @Test("The planner's announced objects are ordered by the rank of the last list, then by the lists before")
    func plannerOrdersAnnouncedObjectsByRank() {
        let planner = PrefetchPlanner(context: PrefetchContext(seed: 1))
        planner.define(categorySet: 1, members: [5])
        func announce(_ objects: [UInt32]) {
            for (rank, object) in objects.enumerated() {
                planner.announce(AnnouncedObject(object: object, categories: 1, rank: rank))
            }
        }
        var newest: [UInt32] { planner.state.pointee.newest[0].map(\.item).filter { $0 < .max } }
        announce([10, 11, 12])
        #expect(newest == [10, 11, 12])
        announce([13, 12])
        #expect(newest == [13, 12, 10, 11])
        planner.announce(AnnouncedObject(object: 14, categories: 1))
        #expect(newest == [14, 13, 12, 10, 11], "an object without a list is newer than the lists before")
        // The first object of a list was requested: the order of the others is the same.
        planner.note(Access(entry: 13, categories: 1), isHit: false)
        announce([13, 15, 11])
        #expect(newest == [15, 11, 14, 13, 12, 10])
        #expect(planner.state.pointee.categories.announced[5].map(\.item).prefix(6) == [15, 11, 14, 13, 12, 10])
    }

    @Test("Lists stay in order when their numbers pass 2²⁴")
    func listsStayInOrderBeyond2To24() {
        let planner = PrefetchPlanner(context: PrefetchContext(seed: 1))
        for list in 0..<4_000 as Range<UInt32> {
            for rank in 0..<3 as Range<UInt32> {
                planner.announce(AnnouncedObject(object: list * 3 + rank, rank: Int(rank)))
            }
        }
        let last: UInt32 = 3_999 * 3
        #expect(
            planner.state.pointee.newest[0].map(\.item)
                == [last, last + 1, last + 2, last - 3, last - 2, last - 1, last - 6, last - 5])
    }
}
