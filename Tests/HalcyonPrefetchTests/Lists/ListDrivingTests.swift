import HalcyonEviction
import Testing

@testable import HalcyonPrefetch

/// Proposes all items of a list, and after each request the object with the next number, at most as many as the limit.
private final class Script: PrefetchPolicy {
    let metadataBytes = 0
    let plansOnLists = true
    var limits: [Int] = []
    var ranking: [UInt32] = []
    /// What is proposed of a list; `nil` for all.
    var fetched: [UInt32]?

    func note(_ access: Access, isHit: Bool) {}

    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        limits.append(outlook.limit)
        // Only after some requests, so that others leave the list's fetches as they are.
        if access.object >= 50 { plan.propose(access.object + 1) }
    }

    func plan(on list: ShownList, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        limits.append(outlook.limit)
        plan.ranking = ranking
        for object in fetched ?? list.items.map(\.object) { plan.propose(object) }
    }
}

@Suite("Fetches of a list, driven", .timeLimit(.minutes(20)))
struct ListDrivingTests {
    private let script = Script()
    private let driver: PrefetchDriver
    private let user = PrefetchUser(number: 1)
    private let outlook = PrefetchOutlook(limit: 0, room: .max, holds: { _ in false })

    init() {
        let budget = PrefetchBudget(perRequest: .init(objects: 1), perList: .init(objects: 4))
        driver = PrefetchDriver(
            script, budget: budget, idleTime: 10, timers: nil, maxConcurrent: 1, servesOneUser: true)
    }

    private func show(_ objects: ClosedRange<UInt32>, at time: Int64) {
        let list = ShownList(user: 1, time: time, items: objects.map { ShownList.Item(object: $0) })
        _ = driver.plan(on: list, for: user, outlook: outlook, isHeld: { _ in false })
    }

    /// Shows a list to a full cache that holds some objects, and returns what is to be evicted.
    private func victims(
        of objects: [UInt32], holding held: Set<UInt32>, rankedAs ranking: [UInt32] = [], room: Int = 0,
        by driver: PrefetchDriver? = nil
    ) -> [UInt32] {
        let driver = driver ?? self.driver
        (script.ranking, script.fetched) = (ranking, objects.filter { !held.contains($0) })
        let list = ShownList(user: 1, time: 0, items: objects.map { ShownList.Item(object: $0) })
        let outlook = PrefetchOutlook(limit: 0, room: room, holds: held.contains)
        _ = driver.takeCommands()
        _ = driver.plan(on: list, for: user, outlook: outlook, isHeld: held.contains)
        for case .evictNext(let victims) in driver.takeCommands() { return victims }
        return []
    }

    private func request(_ object: UInt32, at time: Int64) {
        _ = driver.access(Access(entry: object, time: time, user: 1, object: object), isHit: false)
        _ = driver.planAfterAccess(outlook: outlook, isCrowded: false, isHeld: { _ in false })
    }

    /// Starts and ends fetches until none is left, and returns their objects.
    private func fetchAll(_ most: Int = .max) -> [UInt32] {
        var fetched: [UInt32] = []
        while fetched.count < most, let start = driver.nextFetch(size: { _, _ in 0 }) {
            fetched.append(start.object)
            driver.arrived(start.object, bytes: 1, isHeld: true, number: fetched.count)
        }
        return fetched
    }

    @Test("After a request that proposes nothing, the rest of the list is fetched within the list's budget")
    func listGoesOnAfterRequest() {
        show(1...9, at: 0)
        #expect(fetchAll(1) == [1])
        request(3, at: 1)
        #expect(fetchAll() == [2, 3, 4])
        request(5, at: 2)
        #expect(script.limits == [4, 1, 1], "a request has its own budget, whatever the list spent")
        #expect(fetchAll() == [])
    }

    @Test("A request that proposes replaces the rest of the list, and pays from its own budget")
    func proposalsReplaceList() {
        show(1...9, at: 0)
        #expect(fetchAll(2) == [1, 2])
        request(60, at: 1)
        #expect(fetchAll() == [61])
        #expect(driver.spending.objectsLeft == 0)
        show(11...12, at: 2)
        #expect(fetchAll() == [11, 12] && driver.spending.objectsLeft == 2)
    }

    @Test("For a list leave what was requested, then what was fetched of earlier lists, then what the list ranks last")
    func earlierListsLeaveFirst() {
        request(90, at: 0)
        request(91, at: 0)
        #expect(victims(of: [1, 2], holding: [90, 91]) == [90, 91], "two are fetched; a request may need room, too")
        driver.removed(90, of: 1, isEvicted: true)
        #expect(victims(of: [3, 4, 2], holding: [91, 1, 2]) == [91, 1, 2])
        request(4, at: 1)
        // 4 was requested. 1 and 2 were last shown in earlier lists, 1 before 2; 3 is shown again.
        #expect(victims(of: [3, 5, 6, 7, 8], holding: [1, 2, 3, 4]) == [4, 1, 2, 3])
        // All are of this list: the last of its ranking leaves first, and without one the last of the list.
        let again: [UInt32] = [3, 5, 6, 7, 8, 9]
        #expect(victims(of: again, holding: [3, 5, 6, 7, 8], rankedAs: [7, 3, 5, 8, 6, 9]) == [6, 8])
        #expect(victims(of: again, holding: [3, 5, 6, 7, 8]) == [8, 7])
    }

    @Test("Nothing leaves where there is room, nor what the cache does not hold, nor in a cache of several users")
    func nothingLeavesWithoutNeed() {
        request(90, at: 0)
        request(91, at: 0)
        #expect(victims(of: [1, 2], holding: [90, 91], room: 3) == [])
        #expect(
            victims(of: [3, 4, 5], holding: [91, 1], room: 2) == [91, 1], "90 was not held, and 1 is not requested")
        let shared = PrefetchDriver(
            script, budget: .unlimited, idleTime: 10, timers: nil, maxConcurrent: 1, servesOneUser: false)
        _ = shared.access(Access(entry: 90, time: 0, user: 1, object: 90), isHit: false)
        #expect(victims(of: [1, 2], holding: [90], by: shared) == [])
    }

    @Test("Of requests that a cache never keeps, the latest are remembered, and no more than twice the bound")
    func memoryOfLeavingOrderIsBounded() {
        var order = LeavingOrder()
        for object in 0..<UInt32(10 * LeavingOrder.bound) {
            order.noteRequest(object, size: 1)
            #expect(order.count < 2 * LeavingOrder.bound)
        }
        let list = ShownList(user: 0, time: 0, items: [ShownList.Item(object: .max)])
        let last = UInt32(10 * LeavingOrder.bound) - 1
        let victims = order.victims(of: list, rankedAs: [], for: [.max], room: 0) { $0 == 0 || $0 >= last - 1 }
        #expect(victims == [last - 1, last], "the first request is forgotten")
    }
}
