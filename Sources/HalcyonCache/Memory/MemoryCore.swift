import HalcyonEviction
import HalcyonSupport

/// The implementation of ``MemoryStorage`` for objects of any class. It is not generic, so that it is compiled once
/// and no call goes through the tables of a generic type.
@usableFromInline
final class MemoryCore: Sendable {
    /// A value, whose type only the storage knows.
    @usableFromInline typealias Item = any AnyObject & Sendable

    struct State: ~Copyable {
        var config: MemoryStorageConfig
        var entries: EntryIndex
        var values: [Item?] = []
        var reads = PendingReads()
    }

    /// The removals, and the values of the removed entries. One value alone, the common case, needs no allocation.
    struct RemovedValues: ~Copyable, Sendable {
        private var first: Item?
        private var others: [Item] = []
        var removals: [Removal] = []

        mutating func add(_ value: Item) {
            if first == nil { first = value } else { others.append(value) }
        }
    }

    /// The result of a look-up: the value, or `nil` on a miss; and whether this is the first hit on a prefetched
    /// entry.
    @usableFromInline typealias Loaded = (item: Item?, isFirstSincePrefetch: Bool)

    let state: MemoryState
    let clock: any CacheClock
    private let usesSystemClock: Bool
    private let hasher: KeyHasher
    private let sweeper = Sweeper()
    private let onRemoval: (@Sendable ([Removal]) -> Void)?

    var reports: Bool { onRemoval != nil }

    init(
        _ config: MemoryStorageConfig, _ policy: ConfiguredPolicy, seed: UInt64, clock: any CacheClock,
        users: UserNumbers, prefetches: Bool, onRemoval: (@Sendable ([Removal]) -> Void)?
    ) {
        self.clock = clock
        usesSystemClock = clock is SystemClock
        self.onRemoval = onRemoval
        let entries = EntryIndex(
            policy: policy, limits: config.limits, rules: config.categoryRules, usualExpiration: config.expiration,
            seed: seed, users: users, prefetches: prefetches)
        hasher = entries.hasher
        state = MemoryState(State(config: config, entries: entries))
        sweeper.start(
            clock: clock,
            interval: { [weak self] in
                // While sweeping is off, check every 120 s whether it was turned on.
                self.map { core in
                    let span = core.state.withLock { $0.config.cleanInterval }
                    return span > .zero ? span.microseconds : 120_000_000
                }
            },
            work: { [weak self] in
                guard let self else { return false }
                if state.withLock({ $0.config.cleanInterval }) > .zero {
                    change { state, now in state.entries.removeExpired(at: now) }
                }
                return true
            })
    }

    /// Stores a value. A value that was read from a slower tier is dropped if its key was stored or removed after the
    /// read was requested.
    ///
    /// - Returns: whether the value is kept, and the number of earlier requests.
    @discardableResult
    func store(
        _ value: Item, cost: Int, _ key: String, _ expiration: StorageExpiration?, _ keepInBackground: Bool?,
        _ context: AccessContext, endOf ticket: PendingReads.Ticket?
    ) -> (isKept: Bool, requestNumber: Int) {
        let now = clock.now
        var removedValues: RemovedValues?
        let result = hasher.withHashed(key) { hashed in
            state.withLock { state -> (isKept: Bool, requestNumber: Int) in
                let number = state.entries.requests
                let expiration =
                    expiration ?? state.entries.expiration(ruledFor: context.categories) ?? state.config.expiration
                var isWanted = !expiration.isPast(at: now)
                if let ticket {
                    if !state.reads.end(ticket) { isWanted = false }
                } else {
                    state.reads.void(key)
                }
                if !isWanted {
                    if context.isTiered && !context.isPrefetch { state.entries.requests &+= 1 }
                    return (false, number)
                }
                let entry = state.entries.store(
                    key, hashed, cost: cost, at: now, expiration: expiration,
                    staysInBackground: keepInBackground ?? state.config.keepWhenEnteringBackground, context: context)
                removedValues = state.takeRemovedValues(reporting: reports)
                if let entry, let old = state.put(value, at: entry) { removedValues.add(old) }
                return (entry != nil, number)
            }
        }
        report(removedValues)
        return result
    }

    /// Looks a key up.
    @usableFromInline @inline(never)
    func load(
        _ key: String, _ extending: ExpirationExtending, categories: [String], user: String?, kind: LookUpKind
    ) -> Loaded {
        // A direct call, because a call through the protocol would retain the clock.
        let now = usesSystemClock ? SystemClock().now : clock.now
        if let found = hasher.withHashedAtOnce(key, { load($0, at: now, extending, categories, user, kind) }) {
            return found
        }
        return loadCopied(key, at: now, extending, categories, user, kind)
    }

    @inline(never)
    private func loadCopied(
        _ key: String, at now: Int64, _ extending: ExpirationExtending, _ categories: [String], _ user: String?,
        _ kind: LookUpKind
    ) -> Loaded {
        hasher.withHashed(key) { load($0, at: now, extending, categories, user, kind) }
    }

    @inline(never)
    private func load(
        _ key: HashedKey, at now: Int64, _ extending: ExpirationExtending, _ categories: [String], _ user: String?,
        _ kind: LookUpKind
    ) -> Loaded {
        var removedValues: RemovedValues?
        let found = state.load(
            key, at: now, extending, categories, user, kind, removedValues: &removedValues, reporting: reports)
        report(removedValues)
        if let found { return found }
        return loadAlone(key, at: now, extending, categories, user, kind)
    }

    /// Serves a load with exclusive access.
    @inline(never)
    private func loadAlone(
        _ key: HashedKey, at now: Int64, _ extending: ExpirationExtending, _ categories: [String], _ user: String?,
        _ kind: LookUpKind
    ) -> Loaded {
        var removedValues: RemovedValues?
        let loaded = state.withLock { state -> Loaded in
            let loaded = state.load(key, at: now, extending, categories, user, kind)
            removedValues = state.takeRemovedValues(reporting: reports)
            return loaded
        }
        report(removedValues)
        return loaded
    }

    /// Changes the state. The values of removed entries are destroyed after the lock is released.
    func change(_ body: (inout State, _ now: Int64) -> Void) {
        let now = clock.now
        let removedValues = state.withLock { state -> RemovedValues? in
            body(&state, now)
            return state.takeRemovedValues(reporting: reports)
        }
        report(removedValues)
    }

    @inline(__always)
    func report(_ removedValues: consuming RemovedValues?) {
        if let removedValues { report(removedValues) }
    }

    private func report(_ removedValues: consuming RemovedValues) {
        if !removedValues.removals.isEmpty { onRemoval?(removedValues.removals) }
    }
}

extension MemoryCore.State {
    /// Serves a load.
    @inline(__always)
    mutating func load(
        _ key: HashedKey, at now: Int64, _ extending: ExpirationExtending, _ categories: [String], _ user: String?,
        _ kind: LookUpKind
    ) -> MemoryCore.Loaded {
        let entry = entries.load(
            key, at: now, extending: extending, categories: categories, user: user, kind: kind)
        guard let entry else { return (nil, false) }
        let isPrefetched = entries.notes[entry].isPrefetched
        if isPrefetched { entries.notes[entry].isPrefetched = false }
        return (values[Int(entry)], isPrefetched)
    }

    /// Stores a value at an entry's number, and returns the value that it replaces.
    mutating func put(_ value: MemoryCore.Item, at entry: EntryID) -> MemoryCore.Item? {
        let place = Int(entry)
        if place == values.count {
            values.append(value)
            return nil
        }
        while values.count <= place { values.append(nil) }
        var value: MemoryCore.Item? = value
        swap(&values[place], &value)
        return value
    }

    /// Takes the values of removed entries; `nil` if no entry was removed. The caller must destroy them after the
    /// lock is released.
    @inline(__always)
    mutating func takeRemovedValues(reporting: Bool) -> MemoryCore.RemovedValues? {
        entries.removed.isEmpty ? nil : takeRemovedValues(reporting)
    }

    private mutating func takeRemovedValues(_ reporting: Bool) -> MemoryCore.RemovedValues {
        var removedValues = MemoryCore.RemovedValues()
        for removed in entries.removed {
            if let value = values[Int(removed.entry)].take() { removedValues.add(value) }
            if reporting { removedValues.removals.append(entries.removal(of: removed)) }
        }
        entries.forgetRemoved()
        return removedValues
    }
}

extension Optional<MemoryCore.RemovedValues> where Wrapped: ~Copyable {
    /// Adds a value that is to be destroyed after the lock is released.
    fileprivate mutating func add(_ value: MemoryCore.Item) {
        if self == nil { self = MemoryCore.RemovedValues() }
        self?.add(value)
    }
}

/// The pending reads from a slower tier, which must not overwrite newer changes in memory.
///
/// Every read whose value may be stored in memory gets a ticket when it is requested. A store or a removal of its
/// key, or a removal of all values, voids the ticket. The storage's lock protects this value.
package struct PendingReads {
    package struct Ticket: Sendable {
        let key: String
        let number: UInt64
        /// The number of earlier requests.
        let requestNumber: Int
    }

    private var last: UInt64 = 0
    private var valid: [ByteName: Set<UInt64>] = [:]

    /// Whether a key has a pending read with a valid ticket.
    func isPending(_ key: String) -> Bool { valid[key] != nil }

    /// Begins a read and returns its ticket.
    package mutating func begin(_ key: String, requestNumber: Int) -> Ticket {
        last += 1
        valid[key, default: []].insert(last)
        return Ticket(key: key, number: last, requestNumber: requestNumber)
    }

    /// Ends a read, and returns whether its value may be stored.
    mutating func end(_ ticket: Ticket) -> Bool {
        guard valid[ticket.key]?.remove(ticket.number) != nil else { return false }
        if valid[ticket.key]?.isEmpty == true { valid[ticket.key] = nil }
        return true
    }

    /// Voids the reads of a key.
    mutating func void(_ key: String) {
        if !valid.isEmpty { valid[key] = nil }
    }

    /// Voids all reads.
    mutating func voidAll() { valid = [:] }
}
