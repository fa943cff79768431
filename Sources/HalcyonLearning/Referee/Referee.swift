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
    private(set) var full: [PolicyShadow] = []
    private var fullNumbers = ShadowNumbers()
    /// The shadows of the sample. With variable sizes the sample begins as all objects.
    private var sampled: [PolicyShadow] = []
    private var sampleNumbers = ShadowNumbers()
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
    private var victims: [EntryID] = []
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
        let sample = sampled.reduce(sampleNumbers.byteCount) { $0 + $1.cache.metadataBytes.total }
        let all = full.reduce(fullNumbers.byteCount + surplus.count * MemoryLayout<EntryID>.stride) {
            $0 + $1.cache.metadataBytes.total
        }
        let bits = recencyGuard.byteCount
        return context.capacity > Referee.mostResidents && context.usesUniformSizes
            ? MetadataBytes(fixed: sample, perResident: all + bits)
            : MetadataBytes(fixed: sample + all, perResident: bits)
    }

    /// The shadows whose results can lead to an override.
    var activeShadows: [PolicyShadow] { sampled.isEmpty ? full : sampled }

    /// Whether a shadow is followed.
    var isFollowing: Bool { leader != nil }

    /// The number of times that LRU took over with uniform sizes.
    var overrides: Int { recencyGuard.overrides }

    private mutating func start() {
        (leader, surplus, learnerDecisions, failures) = (nil, [], 0, 0)
        (full, sampled) = ([], [])
        fullNumbers = ShadowNumbers()
        guard context.usesUniformSizes else {
            sampled = [PolicyShadow(.lru, cache: makeCache(.lru, shift: shift))]
            sampleNumbers = ShadowNumbers(isSample: shift > 0)
            return
        }
        shift = Referee.uniformShift(context.capacity)
        sampleNumbers = ShadowNumbers(isSample: true)
        let beginsWithSample = context.capacity > Referee.mostResidents
        let shadows = [SimulatedPolicy.s3FIFO, .wTinyLFU, .lirs].map {
            PolicyShadow($0, cache: makeCache($0, shift: beginsWithSample ? shift : 0))
        }
        if beginsWithSample { sampled = shadows } else { full = shadows }
    }

    /// The smallest shift by which a sample fits the bound.
    private static func uniformShift(_ capacity: Int) -> Int {
        var shift = 0
        while capacity >> shift > mostSimulated { shift += 1 }
        return shift
    }

    private func makeCache(_ policy: SimulatedPolicy, shift: Int) -> AnyCache {
        policy.makeCache(capacity: context.capacity >> shift, beside: context)
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
        if record.pointee.isSampled && !sampled.isEmpty {
            if !context.usesUniformSizes {
                if history.count >> shift > Referee.mostResidents { thin(history: history) }
                if isTrimmed && history.count > mostSeen { see(history.count) }
            }
            differs = serveSample(access, isMiss: isMiss, record: record)
        }
        if !full.isEmpty {
            var numbered = access
            numbered.entry = fullNumbers.number(of: access.entry)
            for index in full.indices {
                let isHit = full[index].cache.access(numbered).isHit
                if !isHit { collectVictims(of: index, history: history) }
                if isHit != isMiss { continue }
                differs = true
                full[index].count(difference(isHit, size: access.size))
            }
        }
        if differs { select(history: history) }
    }

    /// Serves a request in the shadows of the sample, and returns whether one of them differs.
    private mutating func serveSample(
        _ access: Access, isMiss: Bool, record: UnsafeMutablePointer<ObjectRecord>
    ) -> Bool {
        // With variable sizes, an object that is not new and has no number was drawn for a larger sample.
        if !context.usesUniformSizes, shift > 0, record.pointee.accesses > 0,
            sampleNumbers.known(access.entry) == nil
        {
            record.pointee.isSampled = draw(Referee.thinning)
            if !record.pointee.isSampled { return false }
        }
        var numbered = access
        numbered.entry = sampleNumbers.number(of: access.entry)
        var differs = false
        for index in sampled.indices {
            let isHit = sampled[index].cache.access(numbered).isHit
            if !isHit { dropVictims(of: sampled[index]) }
            if isHit != isMiss { continue }
            differs = true
            sampled[index].count(difference(isHit, size: access.size))
        }
        return differs
    }

    /// What counts for a shadow that differs from this cache.
    private func difference(_ isHit: Bool, size: Int) -> Double {
        let cost = Double(missCost.cost(size: size))
        return isHit ? cost : -cost
    }

    /// Removes an object that the owner of the cache removes, or a filter in front of the policy refuses.
    ///
    /// - Parameter last: the request of its last access.
    mutating func remove(_ entry: EntryID, last: Int) {
        if isGuarded { recencyGuard.remove(last: last) }
        if let number = sampleNumbers.known(entry) { Referee.remove(number, from: sampled) }
        if let number = fullNumbers.known(entry) { Referee.remove(number, from: full) }
    }

    private static func remove(_ number: UInt32, from shadows: [PolicyShadow]) {
        for shadow in shadows where shadow.cache.contains(number) { shadow.cache.remove(number) }
    }

    /// Forgets an object that the learner's history has forgotten, so that its number may be reused. Amortised O(1).
    @inline(__always)
    mutating func forget(_ ghost: Ghost) {
        if ghost.entry != .none && (ghost.isSampled || !full.isEmpty) { retire(ghost.entry) }
    }

    private mutating func retire(_ entry: EntryID) {
        Referee.retire(entry, from: &sampleNumbers, of: sampled)
        Referee.retire(entry, from: &fullNumbers, of: full)
    }

    private static func retire(_ entry: EntryID, from numbers: inout ShadowNumbers, of shadows: [PolicyShadow]) {
        guard let number = numbers.retire(entry) else { return }
        remove(number, from: shadows)
        if numbers.needsFreeing { numbers.free { number in shadows.contains { $0.cache.remembers(number) } } }
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
        for index in full.indices {
            full[index].cache.limit(
                capacity: context.capacity, count: .max, at: Access(entry: .none), victims: &victims)
            collectVictims(of: index, history: history)
        }
        endFollowing()
        for index in full.indices { full[index].total = Balance() }
        for index in sampled.indices { sampled[index].total = Balance() }
    }

    /// Lets the shadows hold as many objects as this cache does now.
    private mutating func see(_ residents: Int) {
        mostSeen = residents
        limitSampled()
    }

    private mutating func limitSampled() {
        for shadow in sampled {
            let count = mostSeen == 0 ? Int.max : max(mostSeen >> shift, 1)
            shadow.cache.limit(
                capacity: context.capacity >> shift, count: count, at: Access(entry: .none), victims: &victims)
            victims.removeAll(keepingCapacity: true)
        }
    }

    /// Adds residents that left the leader to the surplus.
    private mutating func collectVictims(of index: Int, history: borrowing ObjectHistory) {
        full[index].cache.takeVictims(into: &victims)
        if full[index].policy == leader {
            for victim in victims {
                let entry = fullNumbers.entry(of: victim)
                if history.resident(entry) != ObjectRecord.none { surplus.append(entry) }
            }
            if surplus.count > 2 * history.count + 64 { findSurplus(history: history) }
        }
        victims.removeAll(keepingCapacity: true)
    }

    private mutating func dropVictims(of shadow: PolicyShadow) {
        shadow.cache.takeVictims(into: &victims)
        victims.removeAll(keepingCapacity: true)
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
        for index in full.indices { full[index].decisionsUntilFair = history.count }
        for index in sampled.indices { sampled[index].decisionsUntilFair = history.count }
    }

    // MARK: Decisions

    /// Returns whether the leader, which is not LRU, holds an object.
    func leaderHolds(_ entry: EntryID) -> Bool {
        guard let number = fullNumbers.known(entry), let shadow = full.first(where: { $0.policy == leader })
        else { return false }
        return shadow.cache.contains(number)
    }

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
        for index in full.indices { full[index].awaitFairness() }
        for index in sampled.indices { sampled[index].awaitFairness() }
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
        } else if !sampled.contains(where: { shadow in
            shadow.recent.excess > 0 && full.contains { $0.policy == shadow.policy }
        }) {
            endFull()
        }
    }

    /// Follows the shadow that is furthest ahead, if it is ahead beyond chance.
    private mutating func select(history: borrowing ObjectHistory) {
        if context.usesUniformSizes { propose(history: history) }
        let shadows = context.usesUniformSizes ? full : sampled
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
        for shadow in sampled
        where min(shadow.recent.lead, shadow.total.lead) > Referee.errorsOfProposal
            && !full.contains(where: { $0.policy == shadow.policy })
        {
            var twin = PolicyShadow(shadow.policy, cache: makeCache(shadow.policy, shift: 0))
            var slot = history.oldest
            while slot != ObjectRecord.none {
                let record = history.records[Int(slot)]
                _ = twin.cache.access(Access(entry: fullNumbers.number(of: record.entry), time: time))
                slot = record.newer
            }
            dropVictims(of: twin)
            twin.decisionsUntilFair = history.count
            full.append(twin)
            learnerDecisions = -history.count
        }
    }

    /// Replaces the shadows of all objects by those of a sample, from the residents. O(residents).
    private mutating func beginSample(history: borrowing ObjectHistory) {
        sampled = full.map { PolicyShadow($0.policy, cache: makeCache($0.policy, shift: shift)) }
        var slot = history.oldest
        while slot != ObjectRecord.none {
            let record = history.records[Int(slot)]
            if record.isSampled {
                let access = Access(entry: sampleNumbers.number(of: record.entry), time: time)
                for shadow in sampled { _ = shadow.cache.access(access) }
            }
            slot = record.newer
        }
        for index in sampled.indices {
            dropVictims(of: sampled[index])
            sampled[index].decisionsUntilFair = history.count
        }
        endFull()
    }

    /// Ends the shadows of all objects. The balances of those of the sample start again.
    private mutating func endFull() {
        full = []
        fullNumbers = ShadowNumbers()
        for index in sampled.indices { sampled[index].total = Balance() }
        forgetRecent()
        learnerDecisions = 0
    }

    /// Finds all residents that the leader does not hold. O(residents).
    private mutating func findSurplus(history: borrowing ObjectHistory) {
        surplus = []
        if leader == .lru { return }
        var slot = history.oldest
        while slot != ObjectRecord.none {
            let record = history.records[Int(slot)]
            if !leaderHolds(record.entry) { surplus.append(record.entry) }
            slot = record.newer
        }
    }

    private mutating func forgetRecent() {
        for index in full.indices { full[index].recent = Balance() }
        for index in sampled.indices { sampled[index].recent = Balance() }
    }
}
