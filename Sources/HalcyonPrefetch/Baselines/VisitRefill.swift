import HalcyonEviction
import HalcyonLearning

/// A heuristic that learns nothing. When a visit has ended, it refills the user's cache with what the user requested often and lately.
///
/// An object of a user has the rank
///
///     count, halved every 90 days + 0.005 × its count over all users, halved every 14 days
///
/// At the end of a visit, objects above ``threshold`` are fetched, the highest rank first, while there is room. Without room, one must
/// rank above the lowest of the user's residents, which then leaves. What all users request reaches the threshold without a request of
/// this user.
///
/// During a visit, the entry that leaves when room is needed is the one that this visit requested first. Without one, it is the
/// resident with the lowest rank.
///
/// Meant for caches of one user: of a shared cache it knows those residents that the user at hand has requested.
///
/// An access and a plan are O(objects of the user), at most ``bound``, and those that all users request. Bytes: 40 a pair of user and
/// object, 16 an object. Objects numbered 2²⁴ or more are ignored.
public final class VisitRefill: PrefetchPolicy {
    /// The half-life of a user's counts, in microseconds: 90 days.
    public static let ownHalfLife: Float = 90 * 86_400e6
    /// The half-life of the counts of all users, in microseconds: 14 days.
    public static let commonHalfLife: Float = 14 * 86_400e6
    /// The weight of a count of all users.
    public static let commonWeight: Float = 0.005
    /// The least rank of an object that is fetched.
    public static let threshold: Float = 0.15
    /// The most objects that are remembered of a user; of more, the lowest ranks are forgotten.
    public static let bound = 512

    /// A count that is halved at regular intervals.
    private struct Decaying {
        var value: Float = 0
        var time = Int64.min

        func value(at now: Int64, halfLife: Float) -> Float {
            value == 0 ? 0 : value * FastMath.exp2(-Float(max(now &- time, 0)) / halfLife)
        }

        mutating func count(at now: Int64, halfLife: Float) {
            value = value(at: now, halfLife: halfLife) + 1
            time = max(time, now)
        }
    }

    private struct Item {
        var object: UInt32
        var count = Decaying()
        /// The user's last visit with a request for the object, and the place of that request in the visit.
        var visit = 0
        var place = 0
    }

    private struct User {
        var items: [Item] = []
        var visit = 0
        var requestsOfVisit = 0
        var lastRequest = Int64.min
    }

    private let context: PrefetchContext
    private var users: [User] = []
    private var common: [Decaying] = []
    /// The objects that were above ``threshold`` for every user when they were last requested.
    private var popular: [UInt32] = []
    private var isPopular: Set<UInt32> = []

    /// Creates a policy that has recorded nothing.
    public init(_ context: PrefetchContext) { self.context = context }

    public func note(_ access: Access, isHit: Bool) {
        guard access.object < BaselineBounds.objects else { return }
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        let (object, slot) = (Int(access.object), Int(BaselineBounds.slot(ofUser: access.user)))
        while common.count <= object { common.append(Decaying()) }
        while users.count <= slot { users.append(User()) }
        common[object].count(at: access.time, halfLife: Self.commonHalfLife)
        if commonRank(access.object, at: access.time) > Self.threshold, isPopular.insert(access.object).inserted {
            popular.append(access.object)
        }
        if context.endsVisit(users[slot].lastRequest, at: access.time) {
            users[slot].visit += 1
            users[slot].requestsOfVisit = 0
        }
        users[slot].lastRequest = max(users[slot].lastRequest, access.time)
        users[slot].requestsOfVisit += 1
        let place = users[slot].items.firstIndex { $0.object == access.object } ?? addItem(access, slot)
        users[slot].items[place].count.count(at: access.time, halfLife: Self.ownHalfLife)
        if users[slot].items[place].visit != users[slot].visit {
            users[slot].items[place].visit = users[slot].visit
            users[slot].items[place].place = users[slot].requestsOfVisit
        }
    }

    private func addItem(_ access: Access, _ slot: Int) -> Int {
        let item = Item(object: access.object)
        if users[slot].items.count == Self.bound {
            let ranks = users[slot].items.map { rank($0, at: access.time) }
            if let lowest = ranks.indices.min(by: { ranks[$0] < ranks[$1] }) {
                users[slot].items[lowest] = item
                return lowest
            }
        }
        users[slot].items.append(item)
        return users[slot].items.count - 1
    }

    private func rank(_ item: Item, at time: Int64) -> Float {
        item.count.value(at: time, halfLife: Self.ownHalfLife)
            + commonRank(item.object, at: time)
    }

    private func commonRank(_ object: UInt32, at time: Int64) -> Float {
        Self.commonWeight * common[Int(object)].value(at: time, halfLife: Self.commonHalfLife)
    }

    public func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let slot = Int(BaselineBounds.slot(ofUser: access.user))
        guard outlook.room < access.size, slot < users.count else { return }
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        var least: (rank: Float, object: UInt32)?
        var first: (place: Int, object: UInt32)?
        for item in users[slot].items where outlook.isResident(item.object) {
            if item.visit == users[slot].visit {
                if item.place < first?.place ?? .max { first = (item.place, item.object) }
            } else if first == nil {
                let rank = rank(item, at: access.time)
                if rank < least?.rank ?? .infinity { least = (rank, item.object) }
            }
        }
        if let object = first?.object ?? least?.object { plan.release(object) }
    }

    public var plansBetweenRequests: Bool { true }

    public func plan(at moment: PlanningMoment, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let slot = Int(BaselineBounds.slot(ofUser: moment.user))
        guard slot < users.count else { return }
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        users[slot].items.removeAll { $0.count.value == 0 && !outlook.isResident($0.object) }
        let ranked = users[slot].items.map { (rank: rank($0, at: moment.time), object: $0.object) }
        var candidates = ranked.filter { $0.rank > Self.threshold && !outlook.holds($0.object) }
        let own = Set(ranked.lazy.map(\.object))
        popular.removeAll { object in
            let rank = commonRank(object, at: moment.time)
            if rank <= Self.threshold {
                isPopular.remove(object)
                return true
            }
            if !own.contains(object), !outlook.holds(object) { candidates.append((rank, object)) }
            return false
        }
        candidates.sort { ($1.rank, $0.object) < ($0.rank, $1.object) }
        var residents = ranked.filter { outlook.isResident($0.object) }
        residents.sort { ($0.rank, $0.object) < ($1.rank, $1.object) }
        var (room, place) = (outlook.room, 0)
        for candidate in candidates.prefix(outlook.limit) {
            if room > 0 {
                room -= 1
            } else {
                guard place < residents.count, residents[place].rank < candidate.rank else { break }
                plan.release(residents[place].object)
                place += 1
            }
            plan.propose(candidate.object)
            // What all users request is held without a request of this one.
            if !own.contains(candidate.object) { users[slot].items.append(Item(object: candidate.object)) }
        }
        // The first to leave in the next visit.
        if place < residents.count { plan.release(residents[place].object) }
    }

    public var metadataBytes: Int {
        users.reduce(common.capacity * MemoryLayout<Decaying>.stride) {
            $0 + MemoryLayout<User>.stride + $1.items.capacity * MemoryLayout<Item>.stride
        }
    }
}
