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

    /// Counts a decision of the cache.
    mutating func awaitFairness() {
        if decisionsUntilFair > 0 { decisionsUntilFair -= 1 }
    }

    /// Counts a difference.
    mutating func count(_ difference: Double) {
        if decisionsUntilFair > 0 { return }
        recent.count(difference, keeping: PolicyShadow.memory)
        total.count(difference, keeping: 1)
    }
}
