import CProcessor
import HalcyonEviction

/// Who is resident in a live storage: the keys, their numbers, their categories and expirations, and the index that decides.
///
/// This is all that a memory and a disk storage share, and all that they decide by: the ``HalcyonEviction/AnyCache`` is the replayer's
/// `CacheCore`, and a entries without category rules hands it every access as it comes. A look-up that misses tells
/// the policy nothing; the store that follows is the access, as it is in a replay. Not thread-safe: it belongs inside its
/// owner's lock. All verbs are O(1) beside what the policy takes, unless they say otherwise.
struct EntryIndex: ~Copyable {
    /// What is kept of an entry beside what the index keeps: 16 bytes.
    struct Note: BitwiseCopyable {
        var renewal = Renewal.none
        var set: CategorySetID = 0
        /// The partition above eight flags.
        private var bits: UInt32 = 0

        /// The number of its partition, below ``mostPartitions``.
        var partition: Int {
            @inline(__always) get { Int(bits >> 8) }
            set { bits = bits & 0xFF | UInt32(newValue) << 8 }
        }
        /// Whether it stays when the app goes to the background.
        var staysInBackground: Bool {
            get { bits & 1 != 0 }
            set { set(1, newValue) }
        }
        /// Whether it waits among those whose number may be given away.
        var awaitsRelease: Bool {
            get { bits & 2 != 0 }
            set { set(2, newValue) }
        }
        /// Whether it was stored ahead of need and not asked for since.
        var isPrefetched: Bool {
            @inline(__always) get { bits & 4 != 0 }
            set { set(4, newValue) }
        }

        private mutating func set(_ flag: UInt32, _ isSet: Bool) { bits = isSet ? bits | flag : bits & ~flag }
    }

    /// The most partitions. Categories whose rules would need further ones share the partition of those without a rule.
    static let mostPartitions = 1 << 24

    /// A resident that left.
    struct RemovedEntry {
        let entry: EntryID
        let key: String
        let cost: Int
        let set: CategorySetID
        let reason: RemovalReason
    }

    let policy: ConfiguredPolicy
    let seed: UInt64
    /// Whether prefetched entries are kept apart from the policy; see ``HalcyonEviction/PolicyContext/prefetches``.
    let prefetches: Bool
    private(set) var limits: Limits
    private(set) var rules: [String: CategoryRule] = [:]
    private(set) var keys = KeyTable()
    var categories = CategoryTable()
    private(set) var partitions: [Partition] = []
    /// The partitions of categories.
    private var partitionNumbers: [String: Int] = [:]
    var counters = StorageCounters()
    let users: UserNumbers
    var notes = SlotArray(repeating: Note())
    private var awaitingRelease = NumberQueue()
    var victims: [EntryID] = []
    /// Who left since ``forgetRemoved()``, in that order.
    private(set) var removed: [RemovedEntry] = []
    /// How many requests were served: hits and stores.
    var requests = 0
    /// The user who asked last, whose number needs no look-up.
    private var lastUser: (name: String, number: UInt32)?

    init(
        policy: ConfiguredPolicy, limits: Limits, rules: [String: CategoryRule], seed: UInt64, users: UserNumbers,
        prefetches: Bool = false
    ) {
        self.policy = policy
        self.prefetches = prefetches
        self.limits = limits
        self.seed = seed
        self.users = users
        partitions = [makePartition(nil, CategoryRule())]
        apply(rules, time: 0)
    }

    /// What all residents cost together.
    var used: Int { partitions.reduce(0) { $0 + $1.cache.used } }
    /// The number of residents, expired ones included.
    var count: Int { partitions.reduce(0) { $0 + $1.cache.count } }

    /// The number of a key that is resident and has not expired; `nil` otherwise.
    func find(_ key: String, at time: Int64) -> EntryID? {
        let entry = keys.number(of: key)
        guard entry != .none, cache(of: entry).contains(entry, freshAt: time) else { return nil }
        return entry
    }

    /// The number of a key that is resident, expired or not.
    func resident(_ key: String) -> EntryID? {
        let entry = keys.number(of: key)
        return entry != .none && cache(of: entry).contains(entry) ? entry : nil
    }

    func key(of entry: EntryID) -> String { keys.key(of: entry) }
    func cost(of entry: EntryID) -> Int { cache(of: entry).lastSize(of: entry) }
    func deadline(of entry: EntryID) -> Int64 { cache(of: entry).deadline(of: entry) }
    func renewal(of entry: EntryID) -> Renewal { notes[entry].renewal }
    func categories(of entry: EntryID) -> [String] { categories.names(ofSet: notes[entry].set) }

    /// What hashes the keys: a entries behind a lock is given hashes that were made before.
    var hasher: KeyHash { keys.hasher }

    /// Serves a store: the number of the key if it is resident now, or `nil` if it was not admitted.
    ///
    /// - Parameter given: when it expires where that is known already; otherwise `expiration` from now on.
    mutating func store(
        _ key: String, _ hashed: HashedKey, cost: Int, at time: Int64, expiration: StorageExpiration,
        staysInBackground: Bool = false, context: AccessContext, deadline given: Int64? = nil, renewal: Renewal? = nil
    ) -> EntryID? {
        releaseSome()
        let entry = keys.intern(key, hashed)
        let set = set(of: context.categories)
        let target = partition(of: set)
        let before = (cost: cache(of: entry).lastSize(of: entry), set: notes[entry].set)
        let wasResident = cache(of: entry).contains(entry)
        if wasResident {
            counters.removed(categories.members[Int(before.set)], cost: before.cost)
            // Among several parts it makes room for itself first, lest it be evicted for its own new value.
            if partitions.count > 1 { cache(of: entry).remove(entry) }
        }
        notes[entry].set = set
        notes[entry].partition = target
        notes[entry].renewal = renewal ?? Renewal(expiration)
        notes[entry].staysInBackground = staysInBackground
        notes[entry].isPrefetched = context.isPrefetch
        var access = access(entry, at: time, cost: cost, set: set, context: context)
        // What is replaced ahead of need was asked for before, or waits already.
        if wasResident { access.isPrefetch = false }
        let cache = partitions[target].cache
        if makeRoom(for: access, in: target) {
            _ = cache.store(access, deadline: given ?? expiration.deadline(from: time), victims: &victims)
        }
        // One ahead of need is no request.
        if !context.isPrefetch { requests &+= 1 }
        let isResident = cache.contains(entry)
        if isResident {
            counters.added(categories.members[Int(set)], cost: cost)
        } else {
            counters.refusals += 1
            if wasResident {
                counters.removals.count(.outdated)
                removed.append(
                    RemovedEntry(entry: entry, key: key, cost: before.cost, set: before.set, reason: .outdated))
            }
            release(entry)
        }
        if !victims.isEmpty { settle() }
        return isResident ? entry : nil
    }

    /// Says whether what was stored ahead of need is still likely; see `EvictionPolicy.reconsider(_:isLikely:)`.
    mutating func reconsider(_ key: String, isLikely: Bool, at time: Int64) {
        guard let entry = resident(key) else { return }
        let access = access(entry, at: time, cost: cost(of: entry), set: notes[entry].set)
        cache(of: entry).reconsider(access, isLikely: isLikely)
    }

    /// Takes a resident out.
    mutating func remove(_ entry: EntryID, reason: RemovalReason) {
        let cache = cache(of: entry)
        guard cache.contains(entry) else { return }
        cache.remove(entry)
        record(entry, reason)
    }

    /// Those who left have been told of.
    mutating func forgetRemoved() { removed.removeAll(keepingCapacity: removed.capacity <= 64) }

    /// The entries for which something holds, by number. O(numbers).
    func residents(where holds: (EntryID, Note) -> Bool) -> [EntryID] {
        (0..<EntryID(keys.bound)).filter { cache(of: $0).contains($0) && holds($0, notes[$0]) }
    }

    /// Evicts down to a cost, the lowest priority first and protected categories last.
    mutating func trim(to cost: Int, at time: Int64) {
        let now = access(.none, at: time, set: 0)
        for number in partitionsInEvictionOrder() where used > cost {
            let rest = used - partitions[number].cache.used
            partitions[number].cache.trim(to: max(cost - rest, 0), count: .max, at: now, victims: &victims)
        }
        settle()
    }

    /// Changes the limits and evicts until they hold.
    mutating func limit(_ limits: Limits, at time: Int64) {
        self.limits = limits
        let now = access(.none, at: time, set: 0)
        for partition in partitions {
            partition.cache.limit(
                capacity: partition.capacity(of: limits.cost), count: partition.countLimit(of: limits.count), at: now,
                victims: &victims)
        }
        for number in partitionsInEvictionOrder() {
            // O(partitions), once where the limits hold.
            if used <= limits.cost && count <= limits.count { break }
            let cache = partitions[number].cache
            cache.trim(
                to: max(limits.cost - (used - cache.used), 0), count: max(limits.count - (count - cache.count), 0),
                at: now, victims: &victims)
        }
        settle()
    }

    // MARK: - Parts

    /// Changes the rules. Who falls under another part now moves there as if it were stored anew. O(numbers).
    mutating func apply(_ rules: [String: CategoryRule], time: Int64) {
        if rules == self.rules { return }
        self.rules = rules
        for (category, rule) in rules.sorted(by: { $0.key < $1.key }) where rule.needsPartition {
            if let known = partitionNumbers[category] {
                partitions[known].rule = rule
            } else if partitions.count < Self.mostPartitions {
                partitionNumbers[category] = partitions.count
                partitions.append(makePartition(category, rule))
            }
        }
        for number in partitions.indices where number > 0 {
            let rule = partitions[number].category.flatMap { rules[$0] }
            if rule?.needsPartition != true { partitions[number].rule = CategoryRule() }
        }
        for entry in residents(where: { partition(of: $1.set) != $1.partition }) {
            let note = notes[entry]
            let (old, target) = (partitions[note.partition].cache, partition(of: note.set))
            let access = access(entry, at: time, cost: old.lastSize(of: entry), set: note.set)
            let deadline = old.deadline(of: entry)
            old.remove(entry)
            notes[entry].partition = target
            _ = partitions[target].cache.store(access, deadline: deadline, victims: &victims)
            if !partitions[target].cache.contains(entry) { record(entry, .evicted) }
        }
        limit(limits, at: time)
    }

    private func makePartition(_ category: String?, _ rule: CategoryRule) -> Partition {
        var context = PolicyContext(
            capacity: min(rule.costLimit ?? limits.cost, limits.cost), usesUniformSizes: false, seed: seed)
        context.prefetches = prefetches
        context.entriesExpire = true
        context.keepsVictims = true
        let cache = policy.makeCache(context)
        for (number, members) in categories.members.enumerated().dropFirst() {
            cache.define(categorySet: UInt32(number), members: members)
        }
        var none: [EntryID] = []
        let partition = Partition(category: category, rule: rule, cache: cache)
        cache.limit(
            capacity: context.capacity, count: partition.countLimit(of: limits.count), at: Access(entry: .none),
            victims: &none)
        return partition
    }

    func cache(of entry: EntryID) -> any AnyCache {
        partitions[notes[entry].partition].cache
    }

    /// The expiration that a rule sets for objects of these categories.
    func expiration(ruledFor names: [String]) -> StorageExpiration? {
        if rules.isEmpty { return nil }
        for name in names { if let rule = rules[name] { return rule.expiration } }
        return nil
    }

    /// The part that a set of categories belongs to.
    private func partition(of set: CategorySetID) -> Int {
        if rules.isEmpty { return 0 }
        for member in categories.members[Int(set)] {
            let name = categories.names[Int(member)]
            guard let rule = rules[name] else { continue }
            return rule.needsPartition ? partitionNumbers[name] ?? 0 : 0
        }
        return 0
    }

    private func partitionsInEvictionOrder() -> [Int] {
        partitions.indices.sorted {
            let (left, right) = (partitions[$0], partitions[$1])
            if left.rule.isProtected != right.rule.isProtected { return right.rule.isProtected }
            if left.rule.priority != right.rule.priority { return left.rule.priority < right.rule.priority }
            return left.fullness(of: limits.cost) > right.fullness(of: limits.cost)
        }
    }

    /// Makes room in other parts, where all parts together would be too much; one part alone sees to itself.
    private mutating func makeRoom(for access: Access, in target: Int) -> Bool {
        if partitions.count == 1 { return true }
        let own = partitions[target]
        if access.size > own.capacity(of: limits.cost) { return true }
        let now = self.access(.none, at: access.time, set: 0)
        while true {
            // What the part's own quota will make it give up is as good as gone.
            let cost = own.cache.used + access.size - own.capacity(of: limits.cost)
            let number = own.cache.count + 1 - own.countLimit(of: limits.count)
            let fits = used - max(cost, 0) + access.size <= limits.cost && count - max(number, 0) < limits.count
            if fits { return true }
            let candidate = partitionsInEvictionOrder().first {
                let part = partitions[$0]
                let mayGive = $0 == target || (!part.rule.isProtected && part.rule.priority <= own.rule.priority)
                return mayGive && part.cache.count > 0
            }
            guard let candidate else { return false }
            let cache = partitions[candidate].cache
            cache.trim(to: .max, count: cache.count - 1, at: now, victims: &victims)
        }
    }

    // MARK: - Numbers

    mutating func set(of names: [String]) -> CategorySetID {
        if names.isEmpty { return 0 }
        let (set, isNew) = categories.set(of: names)
        if isNew {
            for partition in partitions {
                partition.cache.define(categorySet: set, members: categories.members[Int(set)])
            }
        }
        return set
    }

    mutating func reclassify(_ entry: EntryID, as set: CategorySetID) {
        let old = notes[entry].set
        if old == set { return }
        let cost = cache(of: entry).lastSize(of: entry)
        counters.moved(from: categories.members[Int(old)], to: categories.members[Int(set)], cost: cost)
        notes[entry].set = set
    }

    private mutating func access(
        _ entry: EntryID, at time: Int64, cost: Int = 0, set: CategorySetID, context: AccessContext = AccessContext()
    ) -> Access {
        count(context.requestNumber)
        return Access(
            entry: entry, requestNumber: requests, time: time, size: cost, categories: set,
            user: number(of: context.user), isPrefetch: context.isPrefetch)
    }

    /// The number of a user; `UInt32.max` for nobody.
    @inline(__always)
    mutating func number(of user: String?) -> UInt32 {
        guard let user else { return .max }
        if let lastUser, lastUser.name == user { return lastUser.number }
        return look(up: user)
    }

    @inline(never)
    private mutating func look(up user: String) -> UInt32 {
        let number = users.number(of: user)
        lastUser = (user, number)
        return number
    }

    /// Takes the number of a request over from who serves it with several tiers.
    @inline(__always)
    mutating func count(_ given: Int?) {
        // Requests may come a little out of order; time never runs backwards.
        if let given, given > requests { requests = given }
    }

    /// Writes down what the policy evicted.
    mutating func settle() {
        for victim in victims { record(victim, .evicted) }
        victims.removeAll(keepingCapacity: true)
    }

    private mutating func record(_ entry: EntryID, _ reason: RemovalReason) {
        let (set, cost) = (notes[entry].set, cache(of: entry).lastSize(of: entry))
        counters.removed(categories.members[Int(set)], cost: cost)
        counters.removals.count(reason)
        removed.append(RemovedEntry(entry: entry, key: keys.key(of: entry), cost: cost, set: set, reason: reason))
        release(entry)
    }

    /// Gives the number of an entry that is not resident away, as soon as no policy remembers it.
    private mutating func release(_ entry: EntryID) {
        if notes[entry].awaitsRelease { return }
        if partitions.contains(where: { $0.cache.remembers(entry) }) {
            notes[entry].awaitsRelease = true
            awaitingRelease.push(entry)
        } else {
            keys.release(entry)
        }
    }

    /// Looks again at two of those that are remembered, so that their queue never outgrows what policies remember.
    private mutating func releaseSome() {
        for _ in 0..<2 {
            guard let entry = awaitingRelease.pop() else { return }
            notes[entry].awaitsRelease = false
            if !cache(of: entry).contains(entry) { release(entry) }
        }
    }
}

extension EntryIndex {
    /// What a load finds that changes nothing but what hits change.
    enum Found {
        /// The number of the key, and the hit, of which ``serve(_:)`` must be told before anything else is asked or changed but
        /// such hits.
        case hit(WaitingHit)
        /// Nothing is held under the key; ``missed(_:)`` counts it.
        case nothing
        /// Only ``load(_:at:extending:context:)`` can serve it.
        case unknown
    }

    /// Looks a key up without changing anything, and also while others do the same.
    ///
    /// What it says holds, although the hits that wait have not been told: they cannot make any entry leave or expire sooner.
    @inline(__always)
    func find(
        _ key: HashedKey, at time: Int64, extending: ExpirationExtending, categories names: [String], hasUser: Bool,
        kind: LookUpKind
    ) -> Found {
        let extends: Bool
        switch extending {
        case .none: extends = false
        case .cacheTime: extends = true
        case .expirationTime: return .unknown
        }
        let entry = keys.number(of: key)
        if entry == .none { return names.isEmpty || kind == .probe ? .nothing : .unknown }
        let note = notes[entry]
        if note.isPrefetched { return .unknown }
        let deadline = extends ? note.renewal.deadline(from: time) : nil
        switch partitions[note.partition].hits.standing(of: entry, at: time, deadline: deadline) {
        case .deferrable: break
        case .absent:
            // A policy may remember the key, whose look-up counts as a moment then.
            return names.isEmpty && !hasUser ? .nothing : .unknown
        case .immediate: return .unknown
        }
        var set = WaitingHit.notNamed
        if !names.isEmpty {
            if categories.isSet(note.set, of: names) {
                set = note.set
            } else {
                guard let known = categories.knownSet(of: names) else { return .unknown }
                set = known
            }
        }
        return .hit(
            WaitingHit(
                time: time, stamp: halcyon_stamp(), entry: entry, set: set, extends: extends,
                isTiered: kind.isTiered))
    }

    /// Tells the policy of a hit that waited, and counts it.
    @inline(__always)
    mutating func serve(_ hit: WaitingHit) {
        let isNamed = hit.set != WaitingHit.notNamed
        if isNamed { reclassify(hit.entry, as: hit.set) }
        let note = notes[hit.entry]
        if hit.isTiered { counters.tierHit(isNamed ? hit.set : 0) }
        let access = Access(
            entry: hit.entry, requestNumber: requests, time: hit.time, size: 0, categories: note.set, user: hit.user)
        let deadline = hit.extends ? note.renewal.deadline(from: hit.time) : nil
        // Only where a policy evicts for a hit and has said that it never does is the entry gone; the hit was one all the same.
        if !serve(access, note, deadline: deadline) { counters.hit(note.set) }
    }

    /// Serves a load: the number of the key, or `nil` on a miss. One that has expired leaves.
    mutating func load(_ key: HashedKey, at time: Int64, extending: ExpirationExtending, context: AccessContext)
        -> EntryID?
    {
        count(context.requestNumber)
        return load(
            key, at: time, extending: extending, categories: context.categories, user: context.user,
            isPrefetch: context.isPrefetch)
    }

    /// The same for a request that the entries counts.
    ///
    @inline(__always)
    mutating func load(
        _ key: HashedKey, at time: Int64, extending: ExpirationExtending, categories names: [String], user: String?,
        isPrefetch: Bool = false, kind: LookUpKind = .storage
    ) -> EntryID? {
        let entry = keys.number(of: key)
        guard entry != .none else {
            if kind != .probe { miss(names) }
            return nil
        }
        if !names.isEmpty, !categories.isSet(notes[entry].set, of: names),
            partitions[notes[entry].partition].hits.contains(entry, freshAt: time)
        {
            let set = set(of: names)
            reclassify(entry, as: set)
        }
        let note = notes[entry]
        let access = Access(
            entry: entry, requestNumber: requests, time: time, size: 0, categories: note.set, user: number(of: user),
            isPrefetch: isPrefetch)
        guard serve(access, note, deadline: extending.deadline(from: time, renewal: note.renewal)) else {
            if cache(of: entry).contains(entry) { remove(entry, reason: .expired) }
            if kind != .probe { miss(names) }
            return nil
        }
        if kind.isTiered { counters.tierHit(names.isEmpty ? 0 : note.set) }
        return entry
    }

    /// Serves a load of what is known to be absent.
    mutating func miss(_ context: AccessContext) { miss(context.categories) }

    private mutating func miss(_ names: [String]) { counters.missed(named: names, in: &categories) }

    /// Counts so many loads of what is absent, for which no categories were named.
    mutating func missed(_ count: Int) { counters.missed(count) }

    @inline(__always)
    private mutating func serve(_ access: Access, _ note: Note, deadline: Int64?) -> Bool {
        guard partitions[note.partition].hits.hit(access, deadline: deadline, victims: &victims) else { return false }
        requests &+= 1
        counters.hit(note.set)
        if !victims.isEmpty { settle() }
        return true
    }
}

extension EntryIndex {
    /// Takes out what has expired. O(numbers).
    mutating func removeExpired(at time: Int64) {
        for entry in residents(where: { entry, _ in deadline(of: entry) <= time }) { remove(entry, reason: .expired) }
    }

    /// Takes everything out. O(numbers).
    mutating func removeAll(reason: RemovalReason) {
        for entry in residents(where: { _, _ in true }) { remove(entry, reason: reason) }
    }

    /// Takes out what has a category. O(numbers).
    mutating func remove(category: String, reason: RemovalReason) {
        guard let number = categories.number(of: category) else { return }
        let entries = residents(where: { categories.members[Int($1.set)].contains(number) })
        for entry in entries { remove(entry, reason: reason) }
    }

    /// One that left, as its owner tells others.
    func removal(of entry: RemovedEntry) -> Removal {
        Removal(
            key: entry.key, cost: entry.cost, categories: categories.names(ofSet: entry.set), reason: entry.reason)
    }

    /// What was counted, and what is held now.
    var statistics: StorageStatistics { counters.statistics(categories, cost: used, count: count) }
}

/// Numbers in the order in which they came. O(1) amortised.
struct NumberQueue {
    private var items: [EntryID] = []
    private var first = 0

    mutating func push(_ number: EntryID) { items.append(number) }

    mutating func pop() -> EntryID? {
        guard first < items.count else { return nil }
        defer {
            first += 1
            if first > 1_024 && first * 2 > items.count {
                items.removeFirst(first)
                first = 0
            }
        }
        return items[first]
    }
}
