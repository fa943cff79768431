import HalcyonEviction

@testable import HalcyonPrefetch

/// A prefetch policy with per-user FIFO caches of 20 objects. It records the plans and the violated rules.
final class PrefetchTestRun {
    /// A request, with the announcement and the list before it.
    struct Request {
        let access: Access
        let announced: AnnouncedObject?
        /// A list of 9 objects, the requested one and one twice among them; empty before other requests.
        var shown: [UInt32] = []
    }

    /// The proposals after each request.
    private(set) var plans: [[UInt32]] = []
    /// The violated rules.
    private(set) var breaches: [String] = []
    private static let idleTime: Int64 = 8_000_000
    /// When each user's visit ends unless a request comes before.
    private var ends: [UInt32: Int64] = [:]
    private let policy: any PrefetchPolicy
    private let limit: Int
    private var caches: [UInt32: [UInt32]] = [:]
    /// The unused prefetches of each user.
    private var unused: [UInt32: [UInt32]] = [:]

    init(_ entry: PrefetchCatalogue.Entry, limit: Int, objects: Int = 0, keysAreNumbers: Bool = true) {
        // There is a request each second; a user that is idle for 8 seconds has ended a visit.
        var context = PrefetchContext(seed: 9, objects: objects, idleTime: Self.idleTime, cachesPerUser: true)
        if keysAreNumbers { context.nextByKey = { $0 % 7 == 0 ? nil : $0 + 1 } }
        policy = entry.make(context)
        self.limit = limit
        for set in UInt32(1)...12 { policy.define(categorySet: set, members: [set, set % 3 + 20]) }
    }

    /// Returns requests of five users, one of them unknown, that move through the categories and return to pairs of
    /// objects. Category 13 is never defined. The same seed gives the same requests.
    static func requests(_ count: Int, seed: UInt64, from start: Int = 0) -> [Request] {
        var random = SplitMix64(seed: seed)
        var places: [UInt32: UInt32] = [:]
        return (start..<start + count).map { index in
            let user = [0, 1, 2, 900, UInt32.max][random.next(below: 5)]
            let step = UInt32(random.next(below: 4) == 0 ? random.next(below: 300) : 1)
            let object = ((places[user] ?? user % 300) + step) % 300
            places[user] = object
            let access = Access(
                entry: object, requestNumber: index, time: Int64(index) * 1_000_000, size: 1,
                categories: object / 23 + 1,
                user: user)
            let announced =
                index % 60 == 10
                ? AnnouncedObject(
                    object: 300 + UInt32(random.next(below: 40)), categories: UInt32(random.next(below: 14)),
                    time: access.time) : nil
            let first = (object + 7 * UInt32(index % 43)) % 300
            let others = (1...6).map { (first + $0 * $0) % 300 }
            let shown = index % 3 == 0 ? [first] + others.prefix(3) + [object, first] + others.suffix(3) : []
            return Request(access: access, announced: announced, shown: shown)
        }
    }

    func serve(_ requests: [Request]) {
        for request in requests { serve(request) }
    }

    private func serve(_ request: Request) {
        let access = request.access
        let moments = planMoments(before: access.time) + show(request)
        ends[access.user] = access.time + Self.idleTime
        if let announced = request.announced { policy.announce(announced) }
        var cache = caches[access.user] ?? []
        let isHit = cache.contains(access.object)
        policy.note(access, isHit: isHit)
        if !isHit { insert(access.object, into: &cache, of: access.user) }
        var plan = PrefetchPlan()
        plan.propose(.max)
        let held = cache
        unused[access.user, default: []].removeAll { $0 == access.object || !held.contains($0) }
        let due = Array(unused[access.user, default: []].prefix(UnusedPrefetches.maxPerRequest))
        let outlook = PrefetchOutlook(
            limit: limit, room: 20 - cache.count, unused: cache.count < 20 ? [] : due,
            holds: { held.contains($0) })
        policy.plan(after: access, outlook: outlook, into: &plan)
        if plan.proposals.first?.object != .max {
            breaches.append("request \(access.requestNumber): an earlier proposal is lost")
        }
        let reconsidered = plan.reconsiderations.map(\.object)
        if Set(reconsidered).count < reconsidered.count || !Set(reconsidered).isSubset(of: outlook.unused) {
            breaches.append("request \(access.requestNumber): \(reconsidered) reconsidered of \(outlook.unused)")
        }
        let objects = plan.proposals.dropFirst().map(\.object)
        if objects.count > limit { breaches.append("request \(access.requestNumber): \(objects.count) objects") }
        if Set(objects).count < objects.count { breaches.append("request \(access.requestNumber): one object twice") }
        if objects.contains(where: held.contains) { breaches.append("request \(access.requestNumber): one is held") }
        plans.append(moments + objects)
        for object in objects { insert(object, into: &cache, of: access.user) }
        unused[access.user, default: []] += objects
        caches[access.user] = cache
    }

    /// Shows the list before a request to its user. Returns the proposals.
    private func show(_ request: Request) -> [UInt32] {
        guard policy.plansOnLists, !request.shown.isEmpty else { return [] }
        let user = request.access.user
        var cache = caches[user] ?? []
        let held = cache
        var plan = PrefetchPlan()
        let list = ShownList(
            user: user, time: request.access.time,
            items: request.shown.map { ShownList.Item(object: $0, categories: $0 / 23 + 1) })
        policy.plan(
            on: list, outlook: PrefetchOutlook(limit: limit, room: 20 - cache.count, holds: { held.contains($0) }),
            into: &plan)
        let objects = plan.proposals.map(\.object)
        if objects.count > limit { breaches.append("list \(request.shown): \(objects.count) objects") }
        if Set(objects).count < objects.count { breaches.append("list \(request.shown): one object twice") }
        if objects.contains(where: held.contains) { breaches.append("list \(request.shown): one is held") }
        if !Set(objects).isSubset(of: request.shown) { breaches.append("list \(request.shown): one is not shown") }
        for object in objects { insert(object, into: &cache, of: user) }
        caches[user] = cache
        return objects
    }

    /// Plans at the ends of visits until a time. Returns the proposals.
    private func planMoments(before time: Int64) -> [UInt32] {
        guard policy.plansBetweenRequests else { return [] }
        var proposed: [UInt32] = []
        for (user, end) in ends.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) where end <= time {
            ends[user] = nil
            var cache = caches[user] ?? []
            var plan = PrefetchPlan()
            let held = cache
            policy.plan(
                at: PlanningMoment(.visitEnd, user: user, time: end),
                outlook: PrefetchOutlook(limit: limit, room: 20 - cache.count, holds: { held.contains($0) }),
                into: &plan)
            let objects = plan.proposals.map(\.object)
            if objects.count > limit { breaches.append("\(end): \(objects.count) objects") }
            if Set(objects).count < objects.count { breaches.append("\(end): one object twice") }
            if objects.contains(where: held.contains) { breaches.append("\(end): one is held") }
            if !Set(plan.releases).isSubset(of: held) { breaches.append("\(end): a released object is not held") }
            for object in plan.releases { cache.removeAll { $0 == object } }
            for object in objects { insert(object, into: &cache, of: user) }
            caches[user] = cache
            proposed += objects
        }
        return proposed
    }

    private func insert(_ object: UInt32, into cache: inout [UInt32], of user: UInt32) {
        cache.append(object)
        if cache.count > 20 { policy.evicted(cache.removeFirst(), from: user) }
    }
}

extension PrefetchPlanner {
    /// What plans after requests, of a planner that does.
    var state: UnsafeMutablePointer<WithinVisit> {
        guard let within else { preconditionFailure("a planner that plans after requests") }
        return within
    }
}
