import HalcyonEviction
import HalcyonModel
import Synchronization

/// Values in memory, within a cost and a count, each until it expires.
///
/// ```swift
/// let memory = MemoryStorage<Data>(config: .init(totalCostLimit: 64 << 20))
/// memory.store(value: bytes, forKey: "a")
/// let bytes = memory.value(forKey: "a")
/// let other = try MemoryStorage<Data>(policyNamed: "s3-fifo(small=0.2)")
/// let own = MemoryStorage<Data>(policy: SecondGlance.self)
/// ```
///
/// Who is resident and who goes is decided by a ``HalcyonEviction/BoundedIndex`` under the policy given, the very one
/// that a replay runs; a storage without category rules hands it every access as it comes. Any thread may call anything.
/// No value is ever destroyed and no observer called while the lock is held. A look-up takes O(length of the key) beside
/// what the policy takes.
public final class MemoryStorage<Value: CacheCostCalculable & Sendable>: Sendable {
    struct State {
        var config: Config
        var ledger: Ledger
        var values: [Value?] = []
        var reads = PendingReads()
    }

    /// Those that left, and the values that go with them.
    struct Leavers {
        var values: [Value] = []
        var departures: [Departure] = []
    }

    let state: Mutex<State>
    let clock: any CacheClock
    private let sweeper = Sweeper()
    private let onDeparture: (@Sendable ([Departure]) -> Void)?

    var reports: Bool { onDeparture != nil }

    /// An empty storage under a policy.
    ///
    /// - Parameters:
    ///   - seed: of everything random in the policy.
    ///   - onDeparture: hears who left and why, on the thread that caused it and outside of the lock.
    public convenience init(
        config: Config = Config(), configured policy: ConfiguredPolicy, seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), onDeparture: (@Sendable ([Departure]) -> Void)? = nil
    ) {
        self.init(config, policy, seed: seed, clock: clock, users: UserNumbers(), onDeparture: onDeparture)
    }

    /// The same as one tier of several, which share the numbers of users.
    init(
        _ config: Config, _ policy: ConfiguredPolicy, seed: UInt64, clock: any CacheClock, users: UserNumbers,
        onDeparture: (@Sendable ([Departure]) -> Void)?
    ) {
        self.clock = clock
        self.onDeparture = onDeparture
        state = Mutex(
            State(
                config: config,
                ledger: Ledger(
                    policy: policy, limits: config.limits, rules: config.categoryRules, seed: seed, users: users)))
        sweeper.start(
            clock: clock,
            interval: { [weak self] in
                // Where sweeping is off, ask again after a while whether it still is.
                self.map { storage in
                    let seconds = storage.config.cleanInterval
                    return seconds > 0 ? Int64((min(seconds, 1e9) * 1e6).rounded()) : 120_000_000
                }
            },
            work: { [weak self] in
                guard let self else { return false }
                if config.cleanInterval > 0 { removeExpired() }
                return true
            })
    }

    /// An empty storage under a policy of the given type, by default least recently used.
    @inline(__always)
    public convenience init<Policy: CataloguedPolicy & ~Copyable>(
        config: Config = Config(), policy: Policy.Type = LRU.self, seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), onDeparture: (@Sendable ([Departure]) -> Void)? = nil
    ) {
        self.init(
            config: config, configured: ConfiguredPolicy(policy), seed: seed, clock: clock, onDeparture: onDeparture)
    }

    /// An empty storage under a policy of a catalogue, by name: `s3-fifo`, `learned(horizon=2)`.
    ///
    /// - Throws: `PolicyError` if there is no such policy or it does not take these settings;
    ///   ``CacheError/policyNeedsFuture(_:)`` if it is one that only a replay can serve.
    public convenience init(
        config: Config = Config(), policyNamed name: String, in catalogue: PolicyCatalogue = .standard,
        seed: UInt64 = 1, clock: any CacheClock = SystemClock(),
        onDeparture: (@Sendable ([Departure]) -> Void)? = nil
    ) throws {
        try self.init(
            config: config, configured: catalogue.livePolicy(name), seed: seed, clock: clock,
            onDeparture: onDeparture)
    }

    // MARK: - Values

    /// Keeps a value under a key, in place of one that is there; others make room.
    ///
    /// What costs more than the limit, or is refused by the policy, is not kept and displaces nobody that the policy did
    /// not give up; a value of the same key is gone then, too, because it is out of date. An expiration that has passed
    /// already changes nothing.
    ///
    /// - Parameters:
    ///   - expiration: when it expires; by default as the rule of its category says, or else the configuration.
    ///   - keepInBackground: whether it stays when the app goes to the background; by default as configured.
    /// - Returns: whether the value is kept.
    @discardableResult
    public func store(
        value: Value, forKey key: String, expiration: StorageExpiration? = nil, keepInBackground: Bool? = nil,
        context: AccessContext = AccessContext()
    ) -> Bool {
        store(value, key, expiration, keepInBackground, context, endOf: nil)
    }

    /// A read from a slower tier is asked for, that may end with ``store(_:_:_:_:_:endOf:)``.
    func beginRead(forKey key: String) -> PendingReads.Ticket { state.withLock { $0.reads.begin(key) } }

    /// A read has ended without a value.
    func endRead(_ ticket: PendingReads.Ticket) { state.withLock { _ = $0.reads.end(ticket) } }

    /// Keeps a value, unless it was read and its key was stored or removed since that was asked for.
    @discardableResult
    func store(
        _ value: Value, _ key: String, _ expiration: StorageExpiration?, _ keepInBackground: Bool?,
        _ context: AccessContext, endOf ticket: PendingReads.Ticket?
    ) -> Bool {
        let now = clock.now
        let cost = max(value.cacheCost, 0)
        let (isKept, leavers) = state.withLock { state -> (Bool, Leavers) in
            let expiration =
                expiration ?? state.ledger.expiration(ruledFor: context.categories) ?? state.config.expiration
            if let ticket {
                if !state.reads.end(ticket) { return (false, Leavers()) }
            } else {
                state.reads.void(key)
            }
            if expiration.isPast(at: now) { return (false, Leavers()) }
            let entry = state.ledger.store(
                key, cost: cost, at: now, expiration: expiration,
                staysInBackground: keepInBackground ?? state.config.keepWhenEnteringBackground, context: context)
            var leavers = state.takeLeavers(reporting: reports)
            if let entry { state.put(value, at: entry, leavers: &leavers) }
            return (entry != nil, leavers)
        }
        report(leavers)
        return isKept
    }

    /// The value of a key; `nil` if there is none or it has expired.
    ///
    /// - Parameter extendingExpiration: what becomes of its expiration; by default the time that it was stored for starts
    ///   anew.
    public func value(
        forKey key: String, extendingExpiration: ExpirationExtending = .cacheTime,
        context: AccessContext = AccessContext()
    ) -> Value? {
        let now = clock.now
        let (value, leavers) = state.withLock { state -> (Value?, Leavers?) in
            let entry = state.ledger.load(key, at: now, extending: extendingExpiration, context: context)
            let value = entry.map { state.values[Int($0)] } ?? nil
            return (value, state.ledger.hasGone ? state.takeLeavers(reporting: reports) : nil)
        }
        if let leavers { report(leavers) }
        return value
    }

    /// Whether there is a value that has not expired. Neither extends its expiration nor counts as an access.
    public func isCached(forKey key: String) -> Bool {
        let now = clock.now
        return state.withLock { $0.ledger.find(key, at: now) != nil }
    }

    /// When a value expires, in microseconds since 1970 (`Int64.max`: never); `nil` if there is none.
    public func deadline(forKey key: String) -> Int64? {
        let now = clock.now
        return state.withLock { state in state.ledger.find(key, at: now).map { state.ledger.deadline(of: $0) } }
    }

    // MARK: - Removing

    /// Removes the value of a key.
    public func remove(forKey key: String) {
        change { state, _ in
            state.reads.void(key)
            state.ledger.resident(key).map { state.ledger.depart($0, .removed) }
        }
    }

    /// Removes the values that have a category. O(values).
    public func remove(category: String) {
        change { state, _ in
            state.reads.voidAll()
            state.ledger.depart(category: category, .removed)
        }
    }

    /// Removes all values. O(values).
    public func removeAll() {
        change { state, _ in
            state.reads.voidAll()
            state.ledger.departAll(.cleared)
        }
    }

    /// Removes what has expired. O(values).
    public func removeExpired() {
        change { state, now in state.ledger.departExpired(at: now) }
    }

    /// Evicts down to a cost, as the policy chooses: for when memory is short. The limit stays as it is.
    public func trim(toCost cost: Int) {
        change { state, now in state.ledger.trim(to: max(cost, 0), at: now) }
    }

    /// Removes the values that did not ask to stay when the app goes to the background. O(values).
    public func enterBackground() {
        change { state, _ in
            state.reads.voidAll()
            for entry in state.ledger.residents(where: { !$1.staysInBackground }) {
                state.ledger.depart(entry, .cleared)
            }
        }
    }

    // MARK: - What is held

    /// What all values cost together, those included that have expired and were not yet swept.
    public var totalCost: Int { state.withLock { $0.ledger.used } }

    /// The number of values, those included that have expired and were not yet swept.
    public var count: Int { state.withLock { $0.ledger.count } }

    /// What is held of a category.
    public func use(category: String) -> CategoryUse {
        state.withLock { state in
            state.ledger.categories.number(of: category).map { state.ledger.tallies.use($0) } ?? CategoryUse()
        }
    }

    /// What was counted since the storage was made. O(categories).
    public var statistics: StorageStatistics { state.withLock { $0.ledger.statistics } }

    // MARK: - Inside

    private func change(_ body: (inout State, _ now: Int64) -> Void) {
        let now = clock.now
        let leavers = state.withLock { state -> Leavers in
            body(&state, now)
            return state.takeLeavers(reporting: reports)
        }
        report(leavers)
    }

    func report(_ leavers: Leavers) {
        if !leavers.departures.isEmpty { onDeparture?(leavers.departures) }
    }
}

extension MemoryStorage.State {
    mutating func put(_ value: Value, at entry: EntryID, leavers: inout MemoryStorage.Leavers) {
        if Int(entry) == values.count {
            values.append(value)
        } else {
            while values.count <= Int(entry) { values.append(nil) }
            if let old = values[Int(entry)] { leavers.values.append(old) }
            values[Int(entry)] = value
        }
    }

    /// The values of those that left, to be destroyed by the caller once the lock is free.
    mutating func takeLeavers(reporting: Bool) -> MemoryStorage.Leavers {
        var leavers = MemoryStorage.Leavers()
        for gone in ledger.takeGone() {
            if let value = values[Int(gone.entry)] { leavers.values.append(value) }
            values[Int(gone.entry)] = nil
            if reporting { leavers.departures.append(ledger.departure(gone)) }
        }
        return leavers
    }
}
