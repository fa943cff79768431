import HalcyonEviction
import HalcyonSupport

/// What ``MemoryStorage`` is made of, for objects of any class: compiled once, and not anew through the tables of a generic
/// type at each call.
@usableFromInline
final class MemoryCore: Sendable {
    /// A value of a type that only the storage knows.
    @usableFromInline typealias Item = any AnyObject & Sendable

    struct State: ~Copyable {
        var config: MemoryStorageConfig
        var ledger: Ledger
        var values: [Item?] = []
        var reads = PendingReads()
    }

    /// Those that left, and the values that go with them; one alone, as is common, takes no memory.
    struct Leavers: ~Copyable, Sendable {
        private var first: Item?
        private var others: [Item] = []
        var departures: [Departure] = []

        mutating func add(_ value: Item) {
            if first == nil { first = value } else { others.append(value) }
        }
    }

    let state: MemoryState
    let clock: any CacheClock
    private let hasher: KeyHash
    private let sweeper = Sweeper()
    private let onDeparture: (@Sendable ([Departure]) -> Void)?

    var reports: Bool { onDeparture != nil }

    init(
        _ config: MemoryStorageConfig, _ policy: ConfiguredPolicy, seed: UInt64, clock: any CacheClock,
        users: UserNumbers, prefetches: Bool, onDeparture: (@Sendable ([Departure]) -> Void)?
    ) {
        self.clock = clock
        self.onDeparture = onDeparture
        let ledger = Ledger(
            policy: policy, limits: config.limits, rules: config.categoryRules, seed: seed, users: users,
            prefetches: prefetches)
        hasher = ledger.hasher
        state = MemoryState(State(config: config, ledger: ledger))
        sweeper.start(
            clock: clock,
            interval: { [weak self] in
                // Where sweeping is off, ask again after a while whether it still is.
                self.map { core in
                    let seconds = core.state.withLock { $0.config.cleanInterval }
                    return seconds > 0 ? Int64((min(seconds, 1e9) * 1e6).rounded()) : 120_000_000
                }
            },
            work: { [weak self] in
                guard let self else { return false }
                if state.withLock({ $0.config.cleanInterval }) > 0 {
                    change { state, now in state.ledger.departExpired(at: now) }
                }
                return true
            })
    }

    /// Keeps a value, unless it was read and its key was stored or removed since that was asked for.
    @discardableResult
    func store(
        _ value: Item, cost: Int, _ key: String, _ expiration: StorageExpiration?, _ keepInBackground: Bool?,
        _ context: AccessContext, endOf ticket: PendingReads.Ticket?
    ) -> Bool {
        let now = clock.now
        var leavers: Leavers?
        let isKept = hasher.withHashed(key) { hashed in
            state.withLock { state in
                let expiration =
                    expiration ?? state.ledger.expiration(ruledFor: context.categories) ?? state.config.expiration
                if let ticket {
                    if !state.reads.end(ticket) { return false }
                } else {
                    state.reads.void(key)
                }
                if expiration.isPast(at: now) { return false }
                let entry = state.ledger.store(
                    key, hashed, cost: cost, at: now, expiration: expiration,
                    staysInBackground: keepInBackground ?? state.config.keepWhenEnteringBackground, context: context)
                leavers = state.takeLeavers(reporting: reports)
                if let entry, let old = state.put(value, at: entry) { leavers.add(old) }
                return entry != nil
            }
        }
        report(leavers)
        return isKept
    }

    /// The value of a key; `nil` if there is none or it has expired.
    @usableFromInline
    func load(_ key: String, _ extending: ExpirationExtending, _ context: AccessContext) -> Item? {
        let now = clock.now
        if let found = hasher.withHashedAtOnce(key, { load($0, at: now, extending, context) }) { return found }
        return loadCopied(key, at: now, extending, context)
    }

    @inline(never)
    private func loadCopied(
        _ key: String, at now: Int64, _ extending: ExpirationExtending, _ context: AccessContext
    ) -> Item? {
        hasher.withHashed(key) { load($0, at: now, extending, context) }
    }

    @inline(never)
    private func load(
        _ key: HashedKey, at now: Int64, _ extending: ExpirationExtending, _ context: AccessContext
    ) -> Item? {
        var leavers: Leavers?
        let found = state.load(key, at: now, extending, context, leavers: &leavers, reporting: reports)
        report(leavers)
        if let found { return found }
        return loadAlone(key, at: now, extending, context)
    }

    /// The same with nobody else about.
    @inline(never)
    private func loadAlone(
        _ key: HashedKey, at now: Int64, _ extending: ExpirationExtending, _ context: AccessContext
    ) -> Item? {
        var leavers: Leavers?
        let value = state.withLock { state -> Item? in
            let value = state.load(key, at: now, extending, context)
            leavers = state.takeLeavers(reporting: reports)
            return value
        }
        report(leavers)
        return value
    }

    /// Changes the ledger, and lets the values of those that left go once the lock is free.
    func change(_ body: (inout State, _ now: Int64) -> Void) {
        let now = clock.now
        let leavers = state.withLock { state -> Leavers? in
            body(&state, now)
            return state.takeLeavers(reporting: reports)
        }
        report(leavers)
    }

    @inline(__always)
    func report(_ leavers: consuming Leavers?) {
        if let leavers { report(leavers) }
    }

    private func report(_ leavers: consuming Leavers) {
        if !leavers.departures.isEmpty { onDeparture?(leavers.departures) }
    }
}

extension MemoryCore.State {
    /// Serves a load.
    @inline(__always)
    mutating func load(
        _ key: HashedKey, at now: Int64, _ extending: ExpirationExtending, _ context: AccessContext
    ) -> MemoryCore.Item? {
        let entry = ledger.load(key, at: now, extending: extending, context: context)
        return entry.map { values[Int($0)] } ?? nil
    }

    /// Puts a value at the number of its key, and returns the one that it replaces.
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

    /// The values of those that left, to be destroyed by the caller once the lock is free; `nil` if nobody left.
    @inline(__always)
    mutating func takeLeavers(reporting: Bool) -> MemoryCore.Leavers? {
        ledger.gone.isEmpty ? nil : takeLeavers(reporting)
    }

    private mutating func takeLeavers(_ reporting: Bool) -> MemoryCore.Leavers {
        var leavers = MemoryCore.Leavers()
        for gone in ledger.gone {
            if let value = values[Int(gone.entry)].take() { leavers.add(value) }
            if reporting { leavers.departures.append(ledger.departure(gone)) }
        }
        ledger.forgetGone()
        return leavers
    }
}

extension Optional<MemoryCore.Leavers> where Wrapped: ~Copyable {
    /// One more value to be destroyed once the lock is free.
    fileprivate mutating func add(_ value: MemoryCore.Item) {
        if self == nil { self = MemoryCore.Leavers() }
        self?.add(value)
    }
}
