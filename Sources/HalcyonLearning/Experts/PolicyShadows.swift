import HalcyonEviction

/// Simulates caches of the same capacity under other policies, and follows one of them while it saves more than the learner.
///
/// A shadow serves every request and holds numbers only. Where a shadow and this cache differ, the difference counts for the
/// shadow (only the shadow hit) or against it, in units of the cost of a miss. A recent sum covers the last thousand
/// differences, and a total all of them. A shadow is followed while it is ahead in both by more than chance explains: by
/// ``standardErrors`` standard deviations.
///
/// To follow a shadow means to evict what it does not hold, and to refuse a new object that it does not hold. What it holds
/// and this cache does not comes back with the next request. The shadow of LRU needs no such detour: the least recent
/// resident is evicted. After a turnover (``Simulated/turnoversFollowed``) the learner decides again. If it falls behind
/// again, the shadow is followed for twice as long as before, until the learner is ahead of all shadows beyond chance after
/// ``turnoversOfTrial`` turnovers. So the number of trials grows with the logarithm of the number of turnovers. A shadow
/// that is ahead of the one that is followed takes its place.
///
/// With uniform sizes the shadows are S3-FIFO and W-TinyLFU, because ``RecencyGuard`` simulates LRU. There are none in a cache
/// of more than ``mostResidents`` residents, and none with prefetching: what is prefetched takes space that a shadow has.
/// With variable sizes the only shadow is LRU, for safety. Beyond so many residents it simulates a sample of the objects.
/// With variable sizes we also measured shadows of S3-FIFO, W-TinyLFU and GDSF: they cost 0.3 % more misses on short traces,
/// and where they gained depended on the seed.
///
/// Shadows have numbers of their own, because the decisions of W-TinyLFU depend on numbers. They know the objects that the
/// learner's history remembers. The first request for a prefetched object counts as a miss of this cache. Amortised O(1) a
/// request and shadow. Bytes: at most some 100 for each of ``mostResidents`` residents.
struct PolicyShadows: ~Copyable {
    /// The most residents of a cache with shadows of all its objects, and of a shadow of a sample.
    static let mostResidents = 16_384
    /// The standard deviations by which a shadow must be ahead to be followed.
    static let standardErrors = 4.0
    /// The turnovers after which the learner may have proved itself.
    static let turnoversOfTrial = 4
    /// The ratio of older differences that is kept at each new one.
    private static let memory = 0.999
    /// The binary logarithm of the factor by which a sample gets smaller.
    private static let thinning = 4

    /// A policy that is simulated.
    private enum Simulated {
        case s3FIFO, wTinyLFU, lru

        var name: String {
            switch self {
            case .s3FIFO: "s3-fifo"
            case .wTinyLFU: "w-tinylfu"
            case .lru: "lru"
            }
        }

        /// The turnovers of the first time that it is followed. To hold what another policy holds takes a turnover; LRU
        /// serves to bridge a phase.
        var turnoversFollowed: Double { self == .lru ? 0.1 : 1 }

        func makeCache(_ context: PolicyContext) -> any AnyCache {
            switch self {
            case .s3FIFO: ConfiguredPolicy(S3FIFO.self).makeCache(context)
            case .wTinyLFU: ConfiguredPolicy(WTinyLFU.self).makeCache(context)
            case .lru: ConfiguredPolicy(LRU.self).makeCache(context)
            }
        }
    }

    /// Differences between a shadow and this cache: those that count for the shadow minus the others, and their squares.
    private struct Balance {
        var excess = 0.0
        var variance = 0.0

        /// The standard deviations by which the shadow is ahead.
        var lead: Double { variance > 0 ? excess / variance.squareRoot() : 0 }

        mutating func count(_ difference: Double, keeping memory: Double) {
            excess = excess * memory + difference
            variance = variance * memory + difference * difference
        }
    }

    /// A simulated cache with its balances against this cache.
    private struct Shadow {
        let policy: Simulated
        let cache: any AnyCache
        /// The last thousand differences; none when another begins to decide.
        var recent = Balance()
        var total = Balance()

        /// Whether it is ahead beyond chance.
        var isAhead: Bool { min(recent.lead, total.lead) > PolicyShadows.standardErrors }

        mutating func count(_ difference: Double) {
            recent.count(difference, keeping: PolicyShadows.memory)
            total.count(difference, keeping: 1)
        }
    }

    private var shadows: [Shadow] = []
    private var numbers = ShadowNumbers()
    private var missCost = MissCost(perMiss: 1, perByte: 0)
    private var context = PolicyContext(capacity: 0)
    /// The binary logarithm of the objects for each one in the sample; 0 if all objects are simulated.
    private var shift = 0

    /// The shadow that is followed.
    private var leader: Int?
    /// The evictions that the leader still decides.
    private var remaining = 0
    /// The evictions by the learner since it decided again.
    private var trial = 0
    /// The number of times that the learner fell behind since it proved itself.
    private var failures = 0
    /// The residents that left the leader, the oldest first. They may have returned to it, or have left this cache.
    private var surplus = ArraySlice<EntryID>()
    private var victims: [EntryID] = []
    /// The most residents at an eviction. With variable sizes they bound those of the shadows, because the owner of a cache
    /// may limit their number, which policies are not told.
    private var mostSeen = 0

    /// The number of times that a shadow began to be followed.
    private(set) var follows = 0
    /// The evictions and refusals that shadows decided.
    private(set) var decisions = 0

    /// No shadows: the learner always decides.
    init() {}

    /// The shadows of a cache made in this context.
    init(_ context: PolicyContext, missCost: MissCost) {
        self.missCost = missCost
        self.context = PolicyContext(
            capacity: context.capacity, usesUniformSizes: context.usesUniformSizes, seed: context.seed)
        self.context.keepsVictims = true
        start(context.usesUniformSizes ? [.s3FIFO, .wTinyLFU] : [.lru])
    }

    /// The heap bytes. They are bounded, and nearly all belong to tables by number.
    var byteCount: Int {
        shadows.reduce(numbers.byteCount + surplus.count * MemoryLayout<EntryID>.stride) {
            $0 + $1.cache.metadataBytes.total
        }
    }

    /// The name of the policy that is followed.
    var leaderName: String? { leader.map { shadows[$0].policy.name } }

    /// The cost that the shadow of a policy saved beyond this cache; negative if it saved less, `nil` if there is no such shadow.
    func balance(of policy: String) -> Double? { shadows.first { $0.policy.name == policy }?.total.excess }

    /// Whether a shadow is followed.
    @inline(__always)
    var isFollowing: Bool { leader != nil }

    /// Whether the least recent resident is the victim.
    var followsLeastRecent: Bool { leader.map { shadows[$0].policy == .lru } ?? false }

    private mutating func start(_ policies: [Simulated]) {
        numbers = ShadowNumbers(shift: shift)
        var context = context
        context.capacity >>= shift
        shadows = policies.map { Shadow(policy: $0, cache: $0.makeCache(context)) }
        (leader, surplus, trial, failures) = (nil, [], 0, 0)
    }

    // MARK: Requests

    /// Serves a request in each shadow, and decides which shadow is followed.
    @inline(__always)
    mutating func access(_ access: Access, isMiss: Bool, history: borrowing ObjectHistory) {
        if !shadows.isEmpty { serve(access, isMiss: isMiss, history: history) }
    }

    @inline(never)
    private mutating func serve(_ access: Access, isMiss: Bool, history: borrowing ObjectHistory) {
        if shadowed(history.count) > PolicyShadows.mostResidents {
            thin()
            if shadows.isEmpty { return }
        }
        guard let number = numbers.number(of: access.entry) else { return }
        var numbered = access
        numbered.entry = number
        var differs = false
        for index in shadows.indices {
            let isHit = shadows[index].cache.access(numbered).isHit
            collectVictims(of: index, history: history)
            if isHit != isMiss { continue }
            differs = true
            let cost = Double(missCost.cost(size: access.size))
            shadows[index].count(isHit ? cost : -cost)
        }
        if differs { select(history: history) }
    }

    /// Removes an object that the owner of the cache removes.
    mutating func remove(_ entry: EntryID) {
        guard let number = numbers.known(entry) else { return }
        for shadow in shadows where shadow.cache.contains(number) { shadow.cache.remove(number) }
    }

    /// Forgets an object that the learner's history has forgotten, so that its number may be reused. Amortised O(1).
    @inline(__always)
    mutating func forget(_ entry: EntryID) {
        if entry != .none && !shadows.isEmpty { retire(entry) }
    }

    private mutating func retire(_ entry: EntryID) {
        remove(entry)
        numbers.retire(entry)
        let bound = max(1_024, shadows.reduce(0) { $0 + 2 * $1.cache.count })
        if numbers.retiredCount > bound {
            let shadows = shadows
            numbers.free { number in shadows.contains { $0.cache.remembers(number) } }
        }
    }

    /// Changes the capacity of the shadows, whose balances start again.
    mutating func resize(to capacity: Int, history: borrowing ObjectHistory) {
        context.capacity = capacity
        mostSeen = 0
        limitShadows(history: history)
        endFollowing()
        for index in shadows.indices { shadows[index].total = Balance() }
    }

    private mutating func limitShadows(history: borrowing ObjectHistory) {
        let count = mostSeen == 0 ? Int.max : max(mostSeen >> shift, 1)
        for index in shadows.indices {
            shadows[index].cache.limit(
                capacity: context.capacity >> shift, count: count, at: Access(entry: .none), victims: &victims)
            collectVictims(of: index, history: history)
        }
    }

    /// The residents, or as many as a sample of them has.
    private func shadowed(_ residents: Int) -> Int { residents >> shift }

    /// Adds residents that left the leader to the surplus.
    private mutating func collectVictims(of index: Int, history: borrowing ObjectHistory) {
        shadows[index].cache.takeVictims(into: &victims)
        if leader == index {
            for victim in victims {
                let entry = numbers.entry(of: victim)
                if history.resident(entry) != ObjectRecord.none { surplus.append(entry) }
            }
            if surplus.count > 2 * history.count + 64 { findSurplus(history: history) }
        }
        victims.removeAll(keepingCapacity: true)
    }

    /// Goes on with the shadow of LRU on a smaller sample; with uniform sizes without any.
    private mutating func thin() {
        mostSeen = 0
        shift += PolicyShadows.thinning
        start(context.usesUniformSizes ? [] : [.lru])
    }

    /// Returns whether an object has been requested and is simulated.
    func knows(_ entry: EntryID) -> Bool { numbers.known(entry) != nil }

    // MARK: Decisions

    /// Returns whether the leader holds an object.
    func leaderHolds(_ entry: EntryID) -> Bool {
        guard let leader, let number = numbers.known(entry) else { return false }
        return shadows[leader].cache.contains(number)
    }

    /// Removes and returns the next object that left the leader and did not return; `nil` if there is none.
    mutating func nextSurplus() -> EntryID? {
        while let entry = surplus.popFirst() {
            if !leaderHolds(entry) { return entry }
        }
        return nil
    }

    /// Counts an eviction or a refusal, whoever decided it.
    @inline(__always)
    mutating func countDecision(history: borrowing ObjectHistory) {
        if shadows.isEmpty { return }
        if !context.usesUniformSizes && history.count > mostSeen {
            mostSeen = history.count
            limitShadows(history: history)
        }
        guard leader != nil else {
            trial += 1
            if failures > 0 && trial > PolicyShadows.turnoversOfTrial * max(history.count, 16) { endTrial() }
            return
        }
        decisions += 1
        remaining -= 1
        if remaining == 0 { endFollowing() }
    }

    private mutating func endFollowing() {
        (leader, surplus, trial) = (nil, [], 0)
        restart()
    }

    /// Forgets the failures of the learner if it is ahead of all shadows beyond chance.
    private mutating func endTrial() {
        if shadows.allSatisfy({ $0.recent.lead < -PolicyShadows.standardErrors }) { failures = 0 }
    }

    /// Follows the shadow that is furthest ahead, if it is ahead beyond chance.
    private mutating func select(history: borrowing ObjectHistory) {
        var best = 0
        for index in shadows.indices where shadows[index].recent.lead > shadows[best].recent.lead { best = index }
        guard best != leader, shadows[best].isAhead,
            shadows[best].total.excess > (leader.map { shadows[$0].total.excess } ?? 0)
        else { return }
        if leader == nil { failures += 1 }
        leader = best
        follows += 1
        let first = shadows[best].policy.turnoversFollowed * Double(max(history.count, 8))
        remaining = max(Int(first), 1) << min(failures - 1, 20)
        findSurplus(history: history)
        restart()
    }

    /// Finds all residents that the leader does not hold. O(residents).
    private mutating func findSurplus(history: borrowing ObjectHistory) {
        surplus = []
        if followsLeastRecent { return }
        var slot = history.oldest
        while slot != ObjectRecord.none {
            let record = history.records[Int(slot)]
            if !leaderHolds(record.entry) { surplus.append(record.entry) }
            slot = record.newer
        }
    }

    private mutating func restart() {
        for index in shadows.indices { shadows[index].recent = Balance() }
    }
}
