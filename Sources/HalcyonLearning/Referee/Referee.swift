import HalcyonEviction

/// Decides who evicts: the learner, or a policy that is shown to save more.
///
/// The referee simulates caches of the same capacity under other policies. Such a *shadow* serves requests and holds
/// numbers only. Where a shadow and this cache differ, the difference counts for the shadow (only the shadow hit) or
/// against it, in units of the cost of a miss. There are two rules, for two ways to be better:
///
/// - **LRU, for a tenth of a turnover.** A workload can change within a few hundred requests, faster than a network
///   adapts. With uniform sizes an exact shadow of LRU costs one bit a request, and ``RecencyGuard`` hands evictions
///   to LRU after some ten hits that only LRU had.
/// - **S3-FIFO, W-TinyLFU or LIRS, for a turnover and longer.** A shadow is followed while it is ahead beyond chance.
///   That is by ``PolicyShadow/standardErrors`` standard deviations of the last thousand differences, and of all of
///   them. To follow it means to evict what it does not hold, and to refuse a new object that it does not hold. What
///   it holds and this cache does not comes back with the next request. Then the learner decides again. If it falls
///   behind again, the shadow is followed for twice as long as before, until the learner is ahead of all shadows
///   beyond chance after ``turnoversUntilReview`` turnovers. So a shadow that is behind is followed a number of times
///   that grows with the logarithm of the number of turnovers. A shadow that is ahead of the one that is followed
///   takes its place.
///
/// In a cache of more than ``mostSimulated`` entries shadows end once the learner is ahead of all of them beyond
/// chance after ``turnoversUntilReview`` turnovers. From then on they serve a sample of the objects, in a cache of the
/// same part of the capacity. What these hold cannot be followed, and a sample is not quite fair. So one that is ahead
/// there by ``errorsOfProposal`` standard deviations begins again as a shadow of all objects. It ends if it was not
/// followed for ``turnoversUntilReview`` turnovers and is not ahead on the sample of late. A cache of more than
/// ``mostResidents`` entries begins with the sample. A shadow that begins late has the residents at first, and its
/// differences count after a turnover. There are no such shadows with prefetching: what is prefetched takes space that
/// a shadow has.
///
/// With variable sizes the only shadow is LRU, which protects from a model that was trained elsewhere and is followed
/// for a tenth of a turnover. A large object can take the space of many small ones, so LRU is not worth more there. In
/// a cache of more than ``mostResidents`` residents the shadow serves a sample of the objects. With variable sizes we
/// also measured shadows of S3-FIFO, W-TinyLFU, GDSF and LIRS: they cost 0.3 to 0.5 % more misses on short traces, and
/// where they gained depended on the seed.
///
/// Shadows have numbers of their own, because the decisions of W-TinyLFU depend on numbers. They know the objects that
/// the learner's history remembers. What the owner of the cache evicts, and what a filter in front of the policy
/// refuses, leaves them. Objects expire in them as in this cache, in a live cache after its usual lifetime. The first
/// request for a prefetched object counts as a miss of this cache.
///
/// Amortised O(1) a request and shadow. Bytes: at most some 600 for each of ``mostResidents`` residents, in a larger
/// cache for each resident while it has shadows of all objects, and then 4 an object number.
struct Referee: ~Copyable {
    /// With uniform sizes, the most entries of a shadow of a sample, and of a cache that needs none.
    static let mostSimulated = 256
    /// With variable sizes, the most residents of a shadow; with uniform sizes, the most entries of a cache that begins with
    /// shadows of all objects.
    static let mostResidents = 16_384
    /// The standard deviations by which a shadow of a sample is ahead when one of all objects begins.
    static let errorsOfProposal = 2.0
    /// The turnovers after which the learner is compared with the shadows again.
    static let turnoversUntilReview = 4
    /// With variable sizes, the binary logarithm of the factor by which a sample gets smaller.
    private static let thinning = 4

    /// The shadows of all objects with uniform sizes. Once there are shadows of a sample, only those that were ahead there.
    private(set) var full = ShadowGroup()
    /// The shadows of the sample. With variable sizes the sample begins as all objects.
    private var sampled = ShadowGroup()
    /// The binary logarithm of the objects for each one in the sample.
    private var shift = 0
    /// The objects that were drawn for the sample or not.
    private var draws: UInt64 = 0
    /// The time of the latest request.
    private var time: Int64 = 0

    private var missCost = MissCost(perMiss: 1, perByte: 0)
    private var context = PolicyContext(capacity: 0)

    /// The policy that is followed.
    private(set) var leader: SimulatedPolicy?
    /// The decisions that the leader still takes.
    private var remaining = 0
    /// The decisions of the learner since it decided again.
    private var learnerDecisions = 0
    /// The number of times that the learner fell behind since it was ahead of all shadows.
    private var failures = 0
    /// The residents that left the leader, the oldest first. They may have returned to it, or have left this cache.
    private var surplus = ArraySlice<EntryID>()
    private var evicted: [EntryID] = []
    /// The most residents at an eviction. With variable sizes they bound those of the shadows, because the owner of a cache
    /// may limit their number, which policies do not receive.
    private var mostSeen = 0
    /// Whether the owner of the cache made it smaller. Until then ``mostSeen`` never falls.
    private var isTrimmed = false

    /// Hands evictions to LRU for a while; used with uniform sizes.
    private var recencyGuard = RecencyGuard(capacity: 0)
    private var isGuarded = false

    /// The number of times that a shadow began to be followed.
    private(set) var follows = 0
    /// The evictions and refusals that shadows decided.
    private(set) var decisions = 0

    /// The learner always decides.
    init() {}

    /// The referee of a cache made in this context.
    ///
    /// - Parameter shadows: whether other policies than LRU are simulated, or LRU with variable sizes.
    init(_ context: PolicyContext, missCost: MissCost, shadows: Bool = true) {
        self.missCost = missCost
        self.context = context
        recencyGuard = RecencyGuard(capacity: context.capacity)
        isGuarded = context.usesUniformSizes
        if shadows { start() }
    }

    /// Who decides an eviction.
    enum Decider {
        /// The network, or ``GreedyDual`` before the network has learned enough.
        case learner
        /// LRU.
        case leastRecent
        /// The shadow that is followed; see ``leader``.
        case leader
    }

    /// Returns who decides the next eviction of a cache that has residents.
    @inline(__always)
    mutating func nextDecider() -> Decider {
        if let leader { return leader == .lru ? .leastRecent : .leader }
        return isGuarded && recencyGuard.takesEviction() ? .leastRecent : .learner
    }

    /// The heap bytes. Those of shadows of all objects of a large cache count as bytes of its residents.
    var metadataBytes: MetadataBytes {
        let sample = sampled.byteCount
        let all = full.byteCount + surplus.count * MemoryLayout<EntryID>.stride
        let bits = recencyGuard.byteCount
        return context.capacity > Referee.mostResidents && context.usesUniformSizes
            ? MetadataBytes(fixed: sample, perResident: all + bits)
            : MetadataBytes(fixed: sample + all, perResident: bits)
    }

    /// The shadows whose results can lead to an override.
    var activeShadows: [PolicyShadow] { sampled.isEmpty ? full.shadows : sampled.shadows }

    /// Whether a shadow is followed.
    var isFollowing: Bool { leader != nil }

    /// The number of times that LRU took over with uniform sizes.
    var overrides: Int { recencyGuard.overrides }

    private mutating func start() {
        (leader, surplus, learnerDecisions, failures) = (nil, [], 0, 0)
        full = ShadowGroup()
        sampled = ShadowGroup()
        guard context.usesUniformSizes else {
            sampled = ShadowGroup([makeShadow(.lru, shift: shift)], isSample: shift > 0)
            return
        }
        shift = Referee.uniformShift(context.capacity)
        let policies = [SimulatedPolicy.s3FIFO, .wTinyLFU, .lirs]
        if context.capacity > Referee.mostResidents {
            sampled = ShadowGroup(policies.map { makeShadow($0, shift: shift) }, isSample: true)
        } else {
            full = ShadowGroup(policies.map { makeShadow($0, shift: 0) })
        }
    }

    /// The smallest shift by which a sample fits the bound.
    private static func uniformShift(_ capacity: Int) -> Int {
        var shift = 0
        while capacity >> shift > mostSimulated { shift += 1 }
        return shift
    }

    private func makeShadow(_ policy: SimulatedPolicy, shift: Int) -> PolicyShadow {
        PolicyShadow(policy, cache: policy.makeCache(capacity: context.capacity >> shift, beside: context))
    }

    private mutating func forEachShadow(_ change: (inout PolicyShadow) -> Void) {
        full.forEach(change)
        sampled.forEach(change)
    }

    // MARK: Requests

    /// Counts a request, and returns whether there are shadows to ``serve(_:isMiss:record:history:)`` it.
    ///
    /// - Parameters:
    ///   - now: the number of the request.
    ///   - record: the record of the object, before the request counts there.
    @inline(__always)
    mutating func count(
        isMiss: Bool, now: Int, record: UnsafeMutablePointer<ObjectRecord>, residents: Int
    ) -> Bool {
        if isGuarded {
            let last = record.pointee.accesses == 0 ? nil : record.pointee.lastRequest(asOf: now)
            recencyGuard.compare(last: last, now: now, isMiss: isMiss, residents: residents)
        }
        if full.isEmpty && sampled.isEmpty { return false }
        if record.pointee.accesses == 0 { record.pointee.isSampled = draw(shift) }
        return record.pointee.isSampled || !full.isEmpty
    }

    /// Returns true for one in 2^`shift` objects.
    private mutating func draw(_ shift: Int) -> Bool {
        if shift == 0 { return true }
        draws &+= 1
        return SplitMix64.mix(draws) & (1 << UInt64(shift) - 1) == 0
    }

    /// Serves a request in the shadows, and decides which of them is followed.
    @inline(never)
    mutating func serve(
        _ access: Access, isMiss: Bool, record: UnsafeMutablePointer<ObjectRecord>, history: borrowing ObjectHistory
    ) {
        var differs = false
        time = access.time
        let cost = Double(missCost.cost(size: access.size))
        if record.pointee.isSampled && !sampled.isEmpty {
            if !context.usesUniformSizes {
                if history.count >> shift > Referee.mostResidents { thin(history: history) }
                if isTrimmed && history.count > mostSeen { see(history.count) }
            }
            // With variable sizes, an object that is not new and has no number was drawn for a larger sample.
            if !context.usesUniformSizes, shift > 0, record.pointee.accesses > 0, !sampled.knows(access.entry) {
                record.pointee.isSampled = draw(Referee.thinning)
            }
            if record.pointee.isSampled {
                differs = sampled.serve(access, isMiss: isMiss, cost: cost, leader: nil, evicted: &evicted).differs
            }
        }
        if !full.isEmpty {
            let served = full.serve(access, isMiss: isMiss, cost: cost, leader: leader, evicted: &evicted)
            if served.leaderMissed { addToSurplus(history: history) }
            if served.differs { differs = true }
        }
        if differs { select(history: history) }
    }

    /// Removes an object that the owner of the cache removes, or a filter in front of the policy refuses.
    ///
    /// - Parameter last: the request of its last access.
    mutating func remove(_ entry: EntryID, last: Int) {
        if isGuarded { recencyGuard.remove(last: last) }
        sampled.remove(entry)
        full.remove(entry)
    }

    /// Forgets an object that the learner's history has forgotten, so that its number may be reused. Amortised O(1).
    @inline(__always)
    mutating func forget(_ ghost: Ghost) {
        if ghost.entry != .none && (ghost.isSampled || !full.isEmpty) { retire(ghost.entry) }
    }

    private mutating func retire(_ entry: EntryID) {
        sampled.retire(entry)
        full.retire(entry)
    }

    /// Removes an object that leaves because the owner of the cache lowers a limit or frees memory, which another policy could
    /// not have prevented. With variable sizes the shadows then hold at most as many objects as this cache.
    mutating func trim(_ entry: EntryID, last: Int, residents: Int) {
        remove(entry, last: last)
        if context.usesUniformSizes || sampled.isEmpty { return }
        isTrimmed = true
        see(max(residents, 1))
    }

    /// Changes the capacity of the shadows, whose balances start again.
    mutating func resize(to capacity: Int, history: borrowing ObjectHistory) {
        context.capacity = capacity
        recencyGuard.resize(to: capacity)
        mostSeen = 0
        if full.isEmpty && sampled.isEmpty { return }
        if context.usesUniformSizes && Referee.uniformShift(capacity) != shift {
            return restart(history: history)
        }
        limitSampled()
        full.limit(capacity: context.capacity)
        endFollowing()
        forEachShadow { $0.total = Balance() }
    }

    /// Lets the shadows hold as many objects as this cache does now.
    private mutating func see(_ residents: Int) {
        mostSeen = residents
        limitSampled()
    }

    private mutating func limitSampled() {
        sampled.limit(
            capacity: context.capacity >> shift, count: mostSeen == 0 ? Int.max : max(mostSeen >> shift, 1))
    }

    /// Adds residents that left the leader to the surplus.
    private mutating func addToSurplus(history: borrowing ObjectHistory) {
        for entry in evicted where history.resident(entry) != ObjectRecord.none { surplus.append(entry) }
        evicted.removeAll(keepingCapacity: true)
        if surplus.count > 2 * history.count + 64 { findSurplus(history: history) }
    }

    /// Goes on with the shadow of LRU on a smaller sample.
    private mutating func thin(history: borrowing ObjectHistory) {
        mostSeen = 0
        shift += Referee.thinning
        restart(history: history)
    }

    /// Starts again in a cache that has residents. Differences count after a turnover.
    private mutating func restart(history: borrowing ObjectHistory) {
        start()
        let turnover = history.count
        forEachShadow { $0.decisionsUntilFair = turnover }
    }

    // MARK: Decisions

    /// Returns whether the leader, which is not LRU, holds an object.
    func leaderHolds(_ entry: EntryID) -> Bool { full.holds(entry, by: leader) }

    /// Removes and returns the next object that left the leader and did not return; `nil` if there is none.
    mutating func nextSurplus() -> EntryID? {
        while let entry = surplus.popFirst() {
            if !leaderHolds(entry) { return entry }
        }
        return nil
    }

    /// Counts an eviction or a refusal, whoever decided it, and returns whether it is time to ``reviewLearner(history:)``.
    mutating func countDecision(residents: Int) -> Bool {
        if full.isEmpty && sampled.isEmpty { return false }
        if !context.usesUniformSizes && residents > mostSeen { see(residents) }
        forEachShadow { if $0.decisionsUntilFair > 0 { $0.decisionsUntilFair -= 1 } }
        guard leader != nil else {
            learnerDecisions += 1
            return learnerDecisions > Referee.turnoversUntilReview * max(residents, 16)
        }
        decisions += 1
        remaining -= 1
        if remaining == 0 { endFollowing() }
        return false
    }

    private mutating func endFollowing() {
        (leader, surplus, learnerDecisions) = (nil, [], 0)
        forgetRecent()
    }

    /// Forgets the failures of the learner if it is ahead of all shadows beyond chance, and ends shadows of all objects that
    /// are not needed.
    mutating func reviewLearner(history: borrowing ObjectHistory) {
        if failures == 0 && full.isEmpty { return }
        let isAhead = activeShadows.allSatisfy { $0.isBehind }
        if isAhead { failures = 0 }
        if shift == 0 || full.isEmpty || !context.usesUniformSizes { return }
        if sampled.isEmpty {
            if isAhead { beginSample(history: history) }
        } else if !full.shadows.contains(where: { (sampled.shadow(of: $0.policy)?.recent.excess ?? 0) > 0 }) {
            endFull()
        }
    }

    /// Follows the shadow that is furthest ahead, if it is ahead beyond chance.
    private mutating func select(history: borrowing ObjectHistory) {
        if context.usesUniformSizes { propose(history: history) }
        let shadows = context.usesUniformSizes ? full.shadows : sampled.shadows
        guard let best = shadows.max(by: { $0.recent.lead < $1.recent.lead }), best.policy != leader, best.isAhead,
            total(of: best.policy) > (leader.map { total(of: $0) } ?? 0)
        else { return }
        if leader == nil { failures += 1 }
        leader = best.policy
        follows += 1
        let first = best.policy.turnoversFollowed * Double(max(history.count, 8))
        remaining = max(Int(first), 1) << min(failures - 1, 20)
        findSurplus(history: history)
        forgetRecent()
    }

    /// The cost that a policy saved beyond this cache, as far as all shadows were simulated.
    private func total(of policy: SimulatedPolicy) -> Double {
        activeShadows.first { $0.policy == policy }?.total.excess ?? 0
    }

    /// Begins shadows of all objects for those that are ahead on the sample. O(residents).
    private mutating func propose(history: borrowing ObjectHistory) {
        for shadow in sampled.shadows
        where min(shadow.recent.lead, shadow.total.lead) > Referee.errorsOfProposal
            && full.shadow(of: shadow.policy) == nil
        {
            full.add(makeShadow(shadow.policy, shift: 0), holding: history, sampled: false, at: time)
            learnerDecisions = -history.count
        }
    }

    /// Replaces the shadows of all objects by those of a sample, from the residents. O(residents).
    private mutating func beginSample(history: borrowing ObjectHistory) {
        sampled = ShadowGroup(isSample: true)
        for shadow in full.shadows {
            sampled.add(makeShadow(shadow.policy, shift: shift), holding: history, sampled: true, at: time)
        }
        endFull()
    }

    /// Ends the shadows of all objects. The balances of those of the sample start again.
    private mutating func endFull() {
        full = ShadowGroup()
        sampled.forEach { $0.total = Balance() }
        forgetRecent()
        learnerDecisions = 0
    }

    /// Finds all residents that the leader does not hold. O(residents).
    private mutating func findSurplus(history: borrowing ObjectHistory) {
        surplus = []
        if leader == .lru { return }
        history.forEachResident { if !leaderHolds($0.entry) { surplus.append($0.entry) } }
    }

    private mutating func forgetRecent() { forEachShadow { $0.recent = Balance() } }
}
