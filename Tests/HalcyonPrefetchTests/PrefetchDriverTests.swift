import HalcyonEviction
import HalcyonPrefetch
import Testing

/// What can happen to a driver, to its cache of three objects, and to its two users.
private enum Event: CaseIterable {
    case firstRequestsZero, firstRequestsOne, secondRequestsZero
    case plan, fetch, momentOfFirst
    case arrival, arrivalRefused, failure, notStarted, eviction
    case pause, resume
}

/// A policy without memory. After a request for an object it proposes the other two, and releases the requested one.
private final class Script: PrefetchPolicy {
    var calls: [String] = []
    let metadataBytes = 0
    let plansBetweenRequests = true

    static func proposals(after object: UInt32?, _ holds: (UInt32) -> Bool) -> [UInt32] {
        let wanted: [UInt32] = object.map { [($0 + 1) % 3, ($0 + 2) % 3] } ?? [2, 1, 0]
        return wanted.filter { !holds($0) }
    }

    func note(_ access: Access, isHit: Bool) { calls.append("\(isHit ? "hit" : "miss") \(access.object)") }
    func evicted(_ object: UInt32, from user: UInt32) { calls.append("evicted \(object) from \(user)") }
    func dropped(_ object: UInt32) { calls.append("dropped \(object)") }

    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        calls.append("plan after \(access.object), \(outlook.limit), \(outlook.unused)")
        for object in Self.proposals(after: access.object, outlook.holds) { plan.propose(object) }
        for object in outlook.unused { plan.reconsider(object, isLikely: object % 2 == 0) }
        plan.release(access.object)
    }

    func plan(at moment: PlanningMoment, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        calls.append("plan for \(moment.user), \(outlook.limit), \(outlook.unused)")
        for object in Self.proposals(after: nil, outlook.holds) { plan.propose(object) }
    }
}

/// A driver with its cache.
private final class DrivenCache {
    private let script = Script()
    private let driver: PrefetchDriver
    private var held: Set<UInt32> = []
    private var inFlight: UInt32?
    private var arrivals = 0

    init() {
        let budget = PrefetchBudget(perRequest: .init(objects: 1), perVisit: .init(objects: 3))
        driver = PrefetchDriver(
            script, budget: budget, idleTime: 10, timers: nil, maxConcurrent: 1, servesOneUser: true)
    }

    private var outlook: PrefetchOutlook {
        let (held, inFlight) = (held, inFlight)
        return PrefetchOutlook(limit: 9, room: 0, unused: [9], holds: { held.contains($0) || inFlight == $0 })
    }

    /// Handles an event, and returns what the driver and the policy did.
    func handle(_ event: Event) -> [String] {
        switch event {
        case .firstRequestsZero: request(0, by: 1)
        case .firstRequestsOne: request(1, by: 1)
        case .secondRequestsZero: request(0, by: 2)
        case .plan: _ = driver.planAfterAccess(outlook: outlook, isCrowded: true, isHeld: held.contains)
        case .momentOfFirst:
            _ = driver.plan(
                at: PlanningMoment(.visitEnd, user: 1, time: 0), for: PrefetchUser(number: 1), outlook: outlook,
                isHeld: held.contains)
        case .fetch:
            let start = driver.nextFetch { object, _ in held.contains(object) || inFlight == object ? nil : 0 }
            if let start {
                inFlight = start.object
                script.calls.append("fetch \(start.object) for \(start.user.number)")
            }
        case .arrival:
            if let inFlight { held.insert(inFlight) }
            arrivals += 1
            end { driver.arrived($0, bytes: 5, isHeld: true, number: arrivals) }
        case .arrivalRefused: end { driver.arrived($0, bytes: 5, isHeld: false, number: 0) }
        case .failure: end { driver.ended($0, bytes: 5) }
        case .notStarted:
            guard let object = inFlight else { break }
            inFlight = nil
            driver.withdrawn(object)
        case .eviction:
            guard let object = held.min() else { break }
            held.remove(object)
            _ = driver.removed(object, of: driver.user.number, isEvicted: true)
        case .pause: set(isHeldBack: true)
        case .resume: set(isHeldBack: false)
        }
        for command in driver.takeCommands() { script.calls.append("\(command)") }
        defer { script.calls = [] }
        let unused = driver.unusedPrefetches.keys.sorted()
        return script.calls + ["unused \(unused)", "left \(driver.spending.objectsLeft)"]
    }

    private func request(_ object: UInt32, by user: UInt32) {
        let isHit = held.contains(object)
        let used = driver.access(Access(entry: object, time: 0, user: user, object: object), isHit: isHit) != nil
        held.insert(object)
        if used { script.calls.append("used \(object)") }
    }

    private func end(_ end: (UInt32) -> PrefetchDriver.Fetch?) {
        guard let object = inFlight, let fetch = end(object) else { return }
        inFlight = nil
        script.calls.append("ended \(fetch.user.number) \(fetch.isWanted)")
    }

    private func set(isHeldBack: Bool) {
        let user = driver.set(
            isHeldBack: isHeldBack, isLimited: false, budget: driver.spending.budget, hasEased: !isHeldBack)
        if let user { script.calls.append("connected \(user.number)") }
    }
}

/// The same in plain lists: what is held, unused, in flight and spent, as the documentation of the driver says it.
private struct Model {
    private var calls: [String] = []
    private var held: Set<UInt32> = []
    /// The object in flight, its user, and whether it was requested meanwhile.
    private var inFlight: (object: UInt32, user: UInt32, isWanted: Bool, payer: UInt32, request: Int)?
    /// The unused objects in the order in which they are due, with their users.
    private var unused: [(object: UInt32, user: UInt32)] = []
    private var toFetch: [UInt32] = []
    private var fetchUser = UInt32.max
    private var unplanned: UInt32?
    private var lastUser = UInt32.max
    private var deferred: UInt32?
    private var (isPaused, hasNamed) = (false, false)
    /// What users' visits requested and spent, who pays, and what was spent since the last request or moment.
    private var requests: [UInt32: Int] = [:]
    private var spent: [UInt32: Int] = [:]
    private var (payer, spentNow, isMoment, period) = (UInt32.max, 0, false, 0)

    private var left: Int {
        let visit = spent[payer, default: 0]
        return max(0, min(3 - visit, isMoment ? requests[payer, default: 0] - visit : 1 - spentNow))
    }

    private func holds(_ object: UInt32) -> Bool { held.contains(object) || inFlight?.object == object }

    mutating func handle(_ event: Event) -> [String] {
        calls = []
        switch event {
        case .firstRequestsZero: request(0, by: 1)
        case .firstRequestsOne: request(1, by: 1)
        case .secondRequestsZero: request(0, by: 2)
        case .plan: planAfterRequest()
        case .momentOfFirst:
            begin(1, isMoment: true)
            let limit = isPaused ? 0 : left
            calls.append("plan for 1, \(limit), [9]")
            follow(nil, limit: limit, user: 1, released: [])
        case .fetch: fetch()
        case .arrival, .arrivalRefused, .failure: end(event)
        case .notStarted:
            guard let fetch = inFlight else { break }
            inFlight = nil
            if fetch.request == period { spentNow -= 1 }
            spent[fetch.payer, default: 0] -= 1
        case .eviction:
            guard let object = held.min() else { break }
            held.remove(object)
            calls.append(use(object) ? "dropped \(object)" : "evicted \(object) from \(lastUser)")
        case .pause:
            isPaused = true
            if inFlight != nil || !toFetch.isEmpty { deferred = fetchUser }
            toFetch = []
            if let fetch = inFlight { calls.append("cancel(\(fetch.object))") }
        case .resume:
            isPaused = false
            if let user = deferred { calls.append("connected \(user)") }
            deferred = nil
        }
        return calls + ["unused \(unused.map(\.object).sorted())", "left \(left)"]
    }

    /// Removes an object from the unused ones.
    private mutating func use(_ object: UInt32) -> Bool {
        let count = unused.count
        unused.removeAll { $0.object == object }
        return unused.count < count
    }

    private mutating func begin(_ user: UInt32, isMoment: Bool) {
        (payer, spentNow, self.isMoment) = (user, 0, isMoment)
        period += 1
    }

    private mutating func request(_ object: UInt32, by user: UInt32) {
        begin(user, isMoment: false)
        requests[user, default: 0] += 1
        calls.append("\(held.contains(object) ? "hit" : "miss") \(object)")
        if inFlight?.object == object { inFlight?.isWanted = true }
        (unplanned, lastUser) = (object, user)
        held.insert(object)
        if use(object) { calls.append("used \(object)") }
    }

    private mutating func planAfterRequest() {
        guard let object = unplanned else { return }
        unplanned = nil
        (toFetch, fetchUser) = ([], lastUser)
        var due: [UInt32] = []
        for _ in unused where due.isEmpty {
            let first = unused.removeFirst()
            unused.append(first)
            if first.user == lastUser { due = [first.object] }
        }
        let limit = isPaused ? 0 : left
        calls.append("plan after \(object), \(limit), \(due)")
        for object in due { calls.append("reconsider(\(object), isLikely: \(object % 2 == 0))") }
        follow(object, limit: limit, user: lastUser, released: held.contains(object) ? [object] : [])
    }

    private mutating func follow(_ object: UInt32?, limit: Int, user: UInt32, released: [UInt32]) {
        if hasNamed || !released.isEmpty { calls.append("evictNext(\(released))") }
        hasNamed = !released.isEmpty
        let proposals = Array(Script.proposals(after: object, holds).prefix(limit))
        if !proposals.isEmpty { (toFetch, fetchUser) = (proposals, user) }
        if isPaused { deferred = user }
    }

    private mutating func fetch() {
        if isPaused { toFetch = [] }
        while inFlight == nil, !toFetch.isEmpty {
            let object = toFetch.removeFirst()
            if left == 0 || holds(object) { continue }
            inFlight = (object, fetchUser, false, payer, period)
            spent[payer, default: 0] += 1
            spentNow += 1
            calls.append("fetch \(object) for \(fetchUser)")
        }
    }

    private mutating func end(_ event: Event) {
        guard let fetch = inFlight else { return }
        inFlight = nil
        if event == .arrival, !fetch.isWanted { unused.append((fetch.object, fetch.user)) }
        if event == .arrival { held.insert(fetch.object) }
        calls.append("ended \(fetch.user) \(fetch.isWanted)")
    }
}

@Suite("The driver of prefetch policies", .timeLimit(.minutes(20)))
struct PrefetchDriverTests {
    /// Plays a sequence; returns the number of the first event after which the driver differs from the model.
    private func difference(_ events: [Event]) -> (number: Int, driver: [String], model: [String])? {
        let driven = DrivenCache()
        var model = Model()
        for (number, event) in events.enumerated() {
            let (found, expected) = (driven.handle(event), model.handle(event))
            if found != expected { return (number, found, expected) }
        }
        return nil
    }

    @Test("Every sequence of up to five events has the commands, calls, unused objects and spending of the model")
    func allShortSequencesFollowModel() {
        let all = Event.allCases
        var (sequences, fetches) = (0, 0)
        var events = [Event](repeating: .plan, count: 5)
        for number in 0..<all.count * all.count * all.count * all.count * all.count {
            var rest = number
            for place in events.indices {
                events[place] = all[rest % all.count]
                rest /= all.count
            }
            sequences += 1
            if events.contains(.fetch) { fetches += 1 }
            if let difference = difference(events) {
                Issue.record("\(events): \(difference)")
                return
            }
        }
        #expect(sequences == 371_293 && fetches > 100_000)
    }

    @Test("Long random sequences follow the model")
    func randomSequencesFollowModel() {
        var random = SplitMix64(seed: 4)
        for _ in 0..<2_000 {
            let events = (0..<60).map { _ in Event.allCases[random.next(below: Event.allCases.count)] }
            if let difference = difference(events) {
                Issue.record("\(events.prefix(difference.number + 1)): \(difference)")
                return
            }
        }
    }
}
