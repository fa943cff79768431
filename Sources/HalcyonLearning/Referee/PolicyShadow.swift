import HalcyonEviction

/// A policy that ``Referee`` simulates.
enum SimulatedPolicy {
    case s3FIFO, wTinyLFU, lirs, lru

    var name: String {
        switch self {
        case .s3FIFO: "s3-fifo"
        case .wTinyLFU: "w-tinylfu"
        case .lirs: "lirs"
        case .lru: "lru"
        }
    }

    /// The turnovers of the first time that it is followed. To hold what another policy holds takes a turnover; LRU serves
    /// to bridge a phase.
    var turnoversFollowed: Double { self == .lru ? 0.1 : 1 }

    /// An empty cache of a capacity, beside a cache that was made in `context`.
    func makeCache(capacity: Int, beside context: PolicyContext) -> AnyCache {
        var context = PolicyContext(
            capacity: capacity, usesUniformSizes: context.usesUniformSizes, seed: context.seed,
            lifetime: context.lifetime ?? context.usualLifetime)
        // What LRU evicts is known without a simulation: see ``Referee/followsLeastRecent``.
        context.keepsVictims = self != .lru
        return switch self {
        case .s3FIFO: ConfiguredPolicy(S3FIFO.self).makeCache(context)
        case .wTinyLFU: ConfiguredPolicy(WTinyLFU.self).makeCache(context)
        case .lirs: ConfiguredPolicy(LIRS.self).makeCache(context)
        case .lru: ConfiguredPolicy(LRU.self).makeCache(context)
        }
    }
}

/// A simulated cache with its balances against the cache of the learner.
struct PolicyShadow {
    /// The standard deviations by which a shadow must be ahead to be ahead beyond chance.
    static let standardErrors = 3.0
    /// The ratio of older differences that is kept at each new one.
    private static let memory = 0.999

    let policy: SimulatedPolicy
    let cache: AnyCache
    /// The last thousand differences; none when another begins to decide.
    var recent = Balance()
    var total = Balance()
    /// The decisions of the cache before its differences count. A shadow that begins late has the residents of the learner
    /// at first.
    var decisionsUntilFair = 0

    init(_ policy: SimulatedPolicy, cache: AnyCache) { (self.policy, self.cache) = (policy, cache) }

    /// Whether it is ahead beyond chance.
    var isAhead: Bool { min(recent.lead, total.lead) > PolicyShadow.standardErrors }

    /// Whether it is behind beyond chance of late.
    var isBehind: Bool { recent.lead < -PolicyShadow.standardErrors }

    /// Counts a difference.
    mutating func count(_ difference: Double) {
        if decisionsUntilFair > 0 { return }
        recent.count(difference, keeping: PolicyShadow.memory)
        total.count(difference, keeping: 1)
    }
}

/// Shadows that serve the same objects, under numbers of their own.
struct ShadowGroup: ~Copyable {
    private(set) var shadows: [PolicyShadow]
    private var numbers: ShadowNumbers
    private var victims: [EntryID] = []

    /// - Parameter isSample: whether few of the objects are served.
    init(_ shadows: [PolicyShadow] = [], isSample: Bool = false) {
        self.shadows = shadows
        numbers = ShadowNumbers(isSample: isSample)
    }

    var isEmpty: Bool { shadows.isEmpty }
    var byteCount: Int { shadows.reduce(numbers.byteCount) { $0 + $1.cache.metadataBytes.total } }

    /// Returns whether an object has been served and is not forgotten.
    func knows(_ entry: EntryID) -> Bool { numbers.known(entry) != nil }

    /// Returns the shadow of a policy.
    func shadow(of policy: SimulatedPolicy?) -> PolicyShadow? { shadows.first { $0.policy == policy } }

    /// Returns whether the shadow of a policy holds an object.
    func holds(_ entry: EntryID, by policy: SimulatedPolicy?) -> Bool {
        guard let number = numbers.known(entry), let shadow = shadow(of: policy) else { return false }
        return shadow.cache.contains(number)
    }

    /// Changes each shadow.
    @inline(__always)
    mutating func forEach(_ change: (inout PolicyShadow) -> Void) {
        for index in shadows.indices { change(&shadows[index]) }
    }

    /// Serves a request, and counts for or against the shadows that differ from the cache. Returns whether one differs, and
    /// whether the leader's missed.
    ///
    /// - Parameters:
    ///   - cost: the cost of the object's miss.
    ///   - leader: the policy whose victims are added to `evicted`, if it has a shadow here.
    mutating func serve(
        _ access: Access, isMiss: Bool, cost: Double, leader: SimulatedPolicy?, evicted: inout [EntryID]
    ) -> (differs: Bool, leaderMissed: Bool) {
        var numbered = access
        numbered.entry = numbers.number(of: access.entry)
        var (differs, leaderMissed) = (false, false)
        for index in shadows.indices {
            let isHit = shadows[index].cache.access(numbered).isHit
            if !isHit {
                takeVictims(of: shadows[index])
                if shadows[index].policy == leader {
                    leaderMissed = true
                    for victim in victims { evicted.append(numbers.entry(of: victim)) }
                }
            }
            if isHit != isMiss { continue }
            differs = true
            shadows[index].count(isHit ? cost : -cost)
        }
        return (differs, leaderMissed)
    }

    /// Adds a shadow that holds residents of this cache, and whose differences count after a turnover. O(residents).
    mutating func add(_ shadow: PolicyShadow, holding history: borrowing ObjectHistory, sampled: Bool, at time: Int64) {
        history.forEachResident { record in
            if sampled && !record.isSampled { return }
            _ = shadow.cache.access(Access(entry: numbers.number(of: record.entry), time: time))
        }
        takeVictims(of: shadow)
        shadows.append(shadow)
        shadows[shadows.count - 1].decisionsUntilFair = history.count
    }

    /// Removes an object from the shadows.
    mutating func remove(_ entry: EntryID) {
        if let number = numbers.known(entry) { remove(number: number) }
    }

    private func remove(number: UInt32) {
        for shadow in shadows where shadow.cache.contains(number) { shadow.cache.remove(number) }
    }

    /// Removes an object, whose number may then be reused. Amortised O(1).
    mutating func retire(_ entry: EntryID) {
        guard let number = numbers.retire(entry) else { return }
        remove(number: number)
        let shadows = shadows
        if numbers.needsFreeing { numbers.free { number in shadows.contains { $0.cache.remembers(number) } } }
    }

    /// Changes the capacity and the most objects of the shadows.
    mutating func limit(capacity: Int, count: Int = .max) {
        for shadow in shadows {
            shadow.cache.limit(capacity: capacity, count: count, at: Access(entry: .none), victims: &victims)
        }
        victims.removeAll(keepingCapacity: true)
    }

    /// Sets ``victims`` to what a shadow evicted since the last call.
    private mutating func takeVictims(of shadow: PolicyShadow) {
        victims.removeAll(keepingCapacity: true)
        shadow.cache.takeVictims(into: &victims)
    }
}
