import HalcyonEviction
import HalcyonPrefetch

/// A prefetch policy with per-user FIFO caches of 20 objects. It records the plans and the violated rules.
final class PrefetchTestRun {
    /// A request, with the announcement before it.
    struct Request {
        let access: Access
        let announced: AnnouncedObject?
    }

    /// The proposals after each request.
    private(set) var plans: [[UInt32]] = []
    /// The violated rules.
    private(set) var breaches: [String] = []
    private let policy: any PrefetchPolicy
    private let limit: Int
    private var caches: [UInt32: [UInt32]] = [:]
    /// The unused prefetches of each user.
    private var unused: [UInt32: [UInt32]] = [:]

    init(_ entry: PrefetchCatalogue.Entry, limit: Int, objects: Int = 0, keysAreNumbers: Bool = true) {
        var context = PrefetchContext(seed: 9, objects: objects)
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
            return Request(access: access, announced: announced)
        }
    }

    func serve(_ requests: [Request]) {
        for request in requests { serve(request) }
    }

    private func serve(_ request: Request) {
        let access = request.access
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
            breaches.append("request \(access.requestNumber): what was planned before is lost")
        }
        let reconsidered = plan.reconsiderations.map(\.object)
        if Set(reconsidered).count < reconsidered.count || !Set(reconsidered).isSubset(of: outlook.unused) {
            breaches.append("request \(access.requestNumber): \(reconsidered) reconsidered of \(outlook.unused)")
        }
        let objects = plan.proposals.dropFirst().map(\.object)
        if objects.count > limit { breaches.append("request \(access.requestNumber): \(objects.count) objects") }
        if Set(objects).count < objects.count { breaches.append("request \(access.requestNumber): one object twice") }
        if objects.contains(where: held.contains) { breaches.append("request \(access.requestNumber): one is held") }
        plans.append(Array(objects))
        for object in objects { insert(object, into: &cache, of: access.user) }
        unused[access.user, default: []] += objects
        caches[access.user] = cache
    }

    private func insert(_ object: UInt32, into cache: inout [UInt32], of user: UInt32) {
        cache.append(object)
        if cache.count > 20 { policy.evicted(cache.removeFirst(), from: user) }
    }
}
