import HalcyonEviction
import HalcyonPrefetch
import Testing

/// Proposes all items of a list, and after each request the object with the next number, at most as many as the limit.
private final class Script: PrefetchPolicy {
    let metadataBytes = 0
    let plansOnLists = true
    var limits: [Int] = []

    func note(_ access: Access, isHit: Bool) {}

    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        limits.append(outlook.limit)
        // Only after some requests, so that others leave the list's fetches as they are.
        if access.object >= 50 { plan.propose(access.object + 1) }
    }

    func plan(on list: ShownList, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        limits.append(outlook.limit)
        for item in list.items { plan.propose(item.object) }
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
        driver = PrefetchDriver(script, budget: budget, idleTime: 10, timers: nil, maxConcurrent: 1)
    }

    private func show(_ objects: ClosedRange<UInt32>, at time: Int64) {
        let list = ShownList(user: 1, time: time, items: objects.map { ShownList.Item(object: $0) })
        _ = driver.plan(on: list, for: user, outlook: outlook, isHeld: { _ in false })
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
}
