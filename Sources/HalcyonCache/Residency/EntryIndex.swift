import HalcyonEviction
import HalcyonSupport

/// The index of the entries of a live storage: their keys, numbers, categories and expirations, and the caches whose
/// policies decide which entries are resident.
///
/// The memory and the disk storage share this type and decide by nothing else. ``HalcyonEviction/AnyCache`` is the
/// `CacheCore` of the replay, and without category rules each access is passed on to it unchanged. The policy does
/// not receive misses. The store that follows a miss is the access, as in a replay.
///
/// An index is not thread-safe; its owner's lock protects it. All methods are O(1) plus the cost of the policy,
/// unless stated otherwise.
struct EntryIndex: ~Copyable {
    /// The data of an entry beside its data in the cache: 16 bytes.
    struct Note: BitwiseCopyable {
        var renewal = Renewal.none
        var set: CategorySetID = 0
        /// The partition in the upper 24 bits and flags in the lower 8.
        private var bits: UInt32 = 0

        /// The number of the entry's partition, less than ``mostPartitions``.
        var partition: Int {
            @inline(__always) get { Int(bits >> 8) }
            set { bits = bits & 0xFF | UInt32(newValue) << 8 }
        }
        /// Whether the entry is kept when the app enters the background.
        var staysInBackground: Bool {
            get { bits & 1 != 0 }
            set { set(1, newValue) }
        }
        /// Whether the entry is in the queue of numbers to be released.
        var awaitsRelease: Bool {
            get { bits & 2 != 0 }
            set { set(2, newValue) }
        }
        /// Whether the first hit in memory has to ask ``PrefetchMarks``; see there. The disk does not use it.
        var mayHaveMark: Bool {
            @inline(__always) get { bits & 4 != 0 }
            set { set(4, newValue) }
        }

        private mutating func set(_ flag: UInt32, _ isSet: Bool) { bits = isSet ? bits | flag : bits & ~flag }
    }

    /// The maximum number of partitions. Categories that would need more share the partition of the entries without a
    /// rule.
    static let mostPartitions = 1 << 24

    /// An entry that was removed.
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
    /// The expiration of entries that neither their category nor their store gives another.
    private let usualExpiration: StorageExpiration
    private(set) var limits: Limits
    private(set) var rules: [ByteName: CategoryRule] = [:]
    var keys = KeyTable()
    /// The keys of earlier starts that the policy remembers.
    var names = HashedNames()
    var categories = CategoryInterner()
    var partitions: [Partition] = []
    /// The calls that the cache of the entries without a rule has received, if its policy learns and that is to be
    /// kept for the next start.
    var calls: CacheCalls?
    /// The numbers of the categories' partitions.
    private var partitionNumbers: [ByteName: Int] = [:]
    var counters = StorageCounters()
    let users: UserNumbers
    var notes = SlotArray(repeating: Note())
    var awaitingRelease = Queue<EntryID>()
    var victims: [EntryID] = []
    /// The entries that were removed since the last ``forgetRemoved()``, in order.
    private(set) var removed: [RemovedEntry] = []
    /// The number of requests: hits and stores.
    var requests = 0
    /// The keys of the entries that are evicted before the policies are asked, the last first; see ``evictNext(_:)``.
    private var nextVictims: [String] = []
    /// The last set of categories, cached to avoid a look-up.
    var lastSet: CategorySetID = 0
    /// The last user, cached to avoid a look-up.
    var lastUser: (name: ByteName, number: UInt32)?

    init(
        policy: ConfiguredPolicy, limits: Limits, rules: [String: CategoryRule], usualExpiration: StorageExpiration,
        seed: UInt64, users: UserNumbers, prefetches: Bool = false, keepsCalls: Bool = false
    ) {
        calls = keepsCalls && policy.learns ? CacheCalls() : nil
        self.usualExpiration = usualExpiration
        self.policy = policy
        self.prefetches = prefetches
        self.limits = limits
        self.seed = seed
        self.users = users
        partitions = [makePartition(nil, CategoryRule(), policy)]
        apply(rules, time: 0)
    }

    /// The total size of all resident entries.
    var used: Int { partitions.reduce(0) { $0 + $1.cache.used } }
    /// The number of resident entries, including expired ones.
    var count: Int { partitions.reduce(0) { $0 + $1.cache.count } }

    /// Returns the number of a key that is resident and has not expired; `nil` otherwise.
    func find(_ key: String, at time: Int64) -> EntryID? {
        let entry = keys.number(of: key)
        guard entry != .none, cache(of: entry).contains(entry, freshAt: time) else { return nil }
        return entry
    }

    /// Returns the number of a key that is resident, expired or not; `nil` otherwise.
    func resident(_ key: String) -> EntryID? {
        let entry = keys.number(of: key)
        return entry != .none && cache(of: entry).contains(entry) ? entry : nil
    }

    func key(of entry: EntryID) -> String { keys.key(of: entry) }
    func cost(of entry: EntryID) -> Int { cache(of: entry).lastSize(of: entry) }
    func deadline(of entry: EntryID) -> Int64 { cache(of: entry).deadline(of: entry) }
    func renewal(of entry: EntryID) -> Renewal { notes[entry].renewal }
    func categories(of entry: EntryID) -> [String] { categories.names(ofSet: notes[entry].set) }

    /// The hash function of the keys. Callers hash keys before they take the owner's lock.
    var hasher: KeyHasher { keys.hasher }

    /// Serves a store, and returns the key's number if it is resident; `nil` if it was not admitted.
    ///
    /// - Parameter given: the expiration, if it is known already; otherwise `expiration` counts from `time`.
    mutating func store(
        _ key: String, _ hashed: HashedKey, cost: Int, at time: Int64, expiration: StorageExpiration,
        staysInBackground: Bool = false, context: AccessContext, deadline given: Int64? = nil, renewal: Renewal? = nil
    ) -> EntryID? {
        releaseSome()
        let entry = intern(key, hashed)
        let set = set(of: context.categories)
        let target = partition(of: set)
        let before = (cost: cache(of: entry).lastSize(of: entry), set: notes[entry].set)
        let wasResident = cache(of: entry).contains(entry)
        if wasResident {
            counters.removed(categories.members[Int(before.set)], cost: before.cost)
            // With several partitions, remove the old value first. Otherwise it might be evicted to make room for its
            // own new value.
            if partitions.count > 1 {
                cache(of: entry).remove(entry)
                note(.removal(of: entry), on: notes[entry].partition)
            }
        }
        notes[entry].set = set
        notes[entry].partition = target
        notes[entry].renewal = renewal ?? Renewal(expiration)
        notes[entry].staysInBackground = staysInBackground
        var access = access(entry, at: time, cost: cost, set: set, context: context)
        // A prefetch that replaces a resident entry is not new to the policy: the entry was requested before, or is
        // prefetched already.
        if wasResident { access.isPrefetch = false }
        let cache = partitions[target].cache
        if !wasResident, !nextVictims.isEmpty { evictNamed(for: access, in: target) }
        if makeRoom(for: access, in: target) {
            let deadline = given ?? expiration.deadline(from: time)
            _ = cache.store(access, deadline: deadline, victims: &victims)
            note(CacheCalls.Call(.store, access, deadline: deadline), on: target)
        }
        // A prefetch is not a request.
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

    /// Updates whether a prefetched entry is still likely to be requested; see
    /// `EvictionPolicy.reconsider(_:isLikely:)`.
    mutating func reconsider(_ key: String, isLikely: Bool, at time: Int64) {
        guard let entry = resident(key) else { return }
        let access = access(entry, at: time, cost: cost(of: entry), set: notes[entry].set)
        cache(of: entry).reconsider(access, isLikely: isLikely)
        note(CacheCalls.Call(.reconsider, access, isLikely: isLikely), on: notes[entry].partition)
    }

    /// Sets the entries that are evicted next when a new entry needs room, in this order, before the policies are asked. They replace
    /// those of the last call. Keys that are not resident by then are skipped, as are entries that the rules protect from the new
    /// entry.
    mutating func evictNext(_ keys: [String]) { nextVictims = keys.reversed() }

    /// Evicts the entries that were named, until an object finds room or none of them is left.
    private mutating func evictNamed(for access: Access, in target: Int) {
        let own = partitions[target]
        let capacity = own.capacity(of: limits.cost)
        guard access.size <= capacity else { return }
        while !nextVictims.isEmpty {
            let isOwnFull =
                own.cache.used > capacity - access.size || own.cache.count >= own.countLimit(of: limits.count)
            guard isOwnFull || used > limits.cost - access.size || count >= limits.count else { return }
            guard let entry = resident(nextVictims.removeLast()), entry != access.entry else { continue }
            let number = notes[entry].partition
            if number == target || !isOwnFull && mayGive(number, to: target) { remove(entry, reason: .evicted) }
        }
    }

    /// Returns whether a partition may lose an entry for one of another partition.
    private func mayGive(_ number: Int, to target: Int) -> Bool {
        let rule = partitions[number].rule
        return !rule.isProtected && rule.priority <= partitions[target].rule.priority
    }

    /// Removes a resident entry.
    mutating func remove(_ entry: EntryID, reason: RemovalReason) {
        let cache = cache(of: entry)
        guard cache.contains(entry) else { return }
        cache.remove(entry)
        note(.removal(of: entry), on: notes[entry].partition)
        record(entry, reason)
    }

    /// Clears ``removed`` after its owner has reported the removals.
    mutating func forgetRemoved() { removed.removeAll(keepingCapacity: removed.capacity <= 64) }

    /// Returns the resident entries that satisfy a condition, by number. O(numbers).
    func residents(where holds: (EntryID, Note) -> Bool) -> [EntryID] {
        (0..<EntryID(keys.bound)).filter { cache(of: $0).contains($0) && holds($0, notes[$0]) }
    }

    /// Evicts entries until their total size is at most `cost`: entries of low priorities first, of protected
    /// categories last.
    mutating func trim(to cost: Int, at time: Int64) {
        let now = access(.none, at: time, set: 0)
        for number in partitionsInEvictionOrder() where used > cost {
            let rest = used - partitions[number].cache.used
            trim(number, to: max(cost - rest, 0), count: .max, at: now)
        }
        settle()
    }

    /// Changes the limits, and evicts entries until the limits hold.
    mutating func limit(_ limits: Limits, at time: Int64) {
        self.limits = limits
        let now = access(.none, at: time, set: 0)
        for (number, partition) in partitions.enumerated() {
            let capacity = partition.capacity(of: limits.cost)
            let count = partition.countLimit(of: limits.count)
            partition.cache.limit(capacity: capacity, count: count, at: now, victims: &victims)
            note(CacheCalls.Call(.limit, now, size: capacity, count: count), on: number)
        }
        for number in partitionsInEvictionOrder() {
            // O(partitions). If the limits hold already, this runs once.
            if used <= limits.cost && count <= limits.count { break }
            let cache = partitions[number].cache
            trim(
                number, to: max(limits.cost - (used - cache.used), 0),
                count: max(limits.count - (count - cache.count), 0), at: now)
        }
        settle()
    }

    /// Evicts entries of a partition.
    private mutating func trim(_ number: Int, to cost: Int, count: Int, at now: Access) {
        partitions[number].cache.trim(to: cost, count: count, at: now, victims: &victims)
        note(CacheCalls.Call(.trim, now, size: cost, count: count), on: number)
    }

    /// Adds a call to ``calls``, if the cache of a partition is theirs.
    @inline(__always)
    mutating func note(_ call: @autoclosure () -> CacheCalls.Call, on partition: Int) {
        if partition == 0, calls != nil { calls?.append(call()) }
    }

    // MARK: - Parts

    /// Changes the rules. Entries whose partition changes are moved as if they were stored again. O(numbers).
    mutating func apply(_ rules: [String: CategoryRule], time: Int64) {
        let rules = [ByteName: CategoryRule](rules)
        if rules == self.rules { return }
        self.rules = rules
        for (category, rule) in rules.sorted(by: { $0.key.text < $1.key.text }) where rule.needsPartition {
            if let known = partitionNumbers[category] {
                partitions[known].rule = rule
            } else if partitions.count < Self.mostPartitions {
                partitionNumbers[category] = partitions.count
                partitions.append(makePartition(category.text, rule, policy))
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
            self.note(.removal(of: entry), on: note.partition)
            notes[entry].partition = target
            _ = partitions[target].cache.store(access, deadline: deadline, victims: &victims)
            self.note(CacheCalls.Call(.store, access, deadline: deadline), on: target)
            if !partitions[target].cache.contains(entry) { record(entry, .evicted) }
        }
        limit(limits, at: time)
    }

    func makePartition(_ category: String?, _ rule: CategoryRule, _ policy: ConfiguredPolicy) -> Partition {
        var context = PolicyContext(
            capacity: min(rule.costLimit ?? limits.cost, limits.cost), usesUniformSizes: false, seed: seed)
        context.prefetches = prefetches
        context.entriesExpire = true
        context.servesOneUser = true
        context.usualLifetime = (rule.expiration ?? usualExpiration).lifetime
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

    func cache(of entry: EntryID) -> AnyCache {
        partitions[notes[entry].partition].cache
    }

    /// Returns the expiration that a rule states for objects of these categories.
    func expiration(ruledFor names: [String]) -> StorageExpiration? {
        if rules.isEmpty { return nil }
        for name in names { if let rule = rules[name] { return rule.expiration } }
        return nil
    }

    /// Returns the partition of a set of categories.
    func partition(of set: CategorySetID) -> Int {
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

    /// Evicts entries of other partitions until an object fits into the storage, and returns whether it fits. The
    /// only partition evicts for itself.
    private mutating func makeRoom(for access: Access, in target: Int) -> Bool {
        if partitions.count == 1 { return true }
        let own = partitions[target]
        if access.size > own.capacity(of: limits.cost) { return true }
        let now = self.access(.none, at: access.time, set: 0)
        while true {
            // Entries that the partition will evict for its own limits count as evicted.
            let cost = own.cache.used + access.size - own.capacity(of: limits.cost)
            let number = own.cache.count + 1 - own.countLimit(of: limits.count)
            let fits = used - max(cost, 0) + access.size <= limits.cost && count - max(number, 0) < limits.count
            if fits { return true }
            let candidate = partitionsInEvictionOrder().first {
                ($0 == target || mayGive($0, to: target)) && partitions[$0].cache.count > 0
            }
            guard let candidate else { return false }
            trim(candidate, to: .max, count: partitions[candidate].cache.count - 1, at: now)
        }
    }

    // MARK: - Numbers

    /// Returns the number of a key, and assigns one to a new key.
    mutating func intern(_ key: String, _ hashed: HashedKey) -> EntryID {
        if keys.number(of: hashed) == .none, let standIn = names.standIn(for: key, .key) {
            keys.rename(keys.number(of: standIn), key, hashed)
            names.remove(standIn, .key)
        }
        return keys.intern(key, hashed)
    }

    mutating func set(of names: [String]) -> CategorySetID {
        if names.isEmpty { return 0 }
        // Most stores have the categories of the one before.
        if categories.isSet(lastSet, of: names) { return lastSet }
        let (set, isNew) = categories.set(of: names)
        lastSet = set
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

    /// Forgets which number a user has, and the calls for the user.
    ///
    /// - Parameter number: the number; `nil` for a user without one.
    mutating func forget(user: String, number: UInt32?) {
        if let number { calls?.remove(user: number) }
        users.forget(user)
        if lastUser?.name == ByteName(user) { lastUser = nil }
    }

    /// Returns the number of a user; `UInt32.max` for no user.
    @inline(__always)
    mutating func number(of user: String?) -> UInt32 {
        guard let user else { return .max }
        if let lastUser, lastUser.name == user { return lastUser.number }
        return look(up: user)
    }

    @inline(never)
    private mutating func look(up user: String) -> UInt32 {
        let number = users.number(of: user)
        lastUser = (ByteName(user), number)
        return number
    }

    /// Takes over the number of earlier requests from the caller, if it serves requests with several tiers.
    @inline(__always)
    mutating func count(_ given: Int?) {
        // Requests may arrive slightly out of order. The count never decreases.
        if let given, given > requests { requests = given }
    }

    /// Records the entries that the policy evicted.
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

    /// Releases the number of an entry that is not resident, or queues it until no policy remembers the entry.
    mutating func release(_ entry: EntryID) {
        if notes[entry].awaitsRelease { return }
        if partitions.contains(where: { $0.cache.remembers(entry) }) {
            notes[entry].awaitsRelease = true
            awaitingRelease.push(entry)
        } else {
            let key = keys.key(of: entry)
            if HashedNames.isStandIn(key) { names.remove(key, .key) }
            keys.release(entry)
        }
    }

    /// Tries to release two queued numbers. The queue therefore never outgrows the entries that policies remember.
    private mutating func releaseSome() {
        for _ in 0..<2 {
            guard let entry = awaitingRelease.pop() else { return }
            notes[entry].awaitsRelease = false
            if !cache(of: entry).contains(entry) { release(entry) }
        }
    }
}

extension EntryIndex {
    /// Removes expired entries. O(numbers).
    mutating func removeExpired(at time: Int64) {
        for entry in residents(where: { entry, _ in deadline(of: entry) <= time }) { remove(entry, reason: .expired) }
    }

    /// Removes all entries. O(numbers).
    mutating func removeAll(reason: RemovalReason) {
        for entry in residents(where: { _, _ in true }) { remove(entry, reason: reason) }
    }

    /// Removes the entries of a category. O(numbers).
    mutating func remove(category: String, reason: RemovalReason) {
        guard let number = categories.number(of: category) else { return }
        let entries = residents(where: { categories.members[Int($1.set)].contains(number) })
        for entry in entries { remove(entry, reason: reason) }
    }

    /// Returns the public description of a removed entry.
    func removal(of entry: RemovedEntry) -> Removal {
        Removal(
            key: entry.key, cost: entry.cost, categories: categories.names(ofSet: entry.set), reason: entry.reason)
    }

    /// The counts so far and the current contents.
    var statistics: StorageStatistics {
        var result = counters.statistics(categories, cost: used, count: count)
        for metric in partitions[0].cache.metrics { result.policyMetrics[metric.name] = metric.value }
        return result
    }
}

/// A first-in, first-out queue. O(1) amortised.
struct Queue<Element> {
    private var items: [Element?] = []
    private var first = 0

    /// The number of elements.
    var count: Int { items.count - first }

    /// The elements in order. O(n).
    var elements: [Element] { items[first...].compactMap { $0 } }

    mutating func push(_ item: Element) { items.append(item) }

    mutating func pop() -> Element? {
        guard first < items.count else { return nil }
        defer {
            items[first] = nil
            first += 1
            if first > 1_024 && first * 2 > items.count {
                items.removeFirst(first)
                first = 0
            }
        }
        return items[first]
    }
}
