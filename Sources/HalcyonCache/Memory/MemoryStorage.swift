import Foundation
import HalcyonEviction
import HalcyonSupport

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
/// A `CacheCore` under the given policy decides which entries are resident, as in a replay. A storage without category
/// rules passes every access on as it comes. Any thread may call anything.
/// Hits on several threads go on side by side, and the policy is told of them, in order, before anything
/// else happens. No value is ever destroyed and no observer called while the lock is held. A look-up takes O(length of the
/// key) beside what the policy takes.
public final class MemoryStorage<Value: CacheCostCalculable & Sendable>: Sendable {
    @usableFromInline let core: MemoryCore
    /// Whether a value is an object already; anything else is kept in a ``Box``.
    @usableFromInline let holdsObjects = Value.self is AnyObject.Type

    /// An empty storage under a policy.
    ///
    /// - Parameters:
    ///   - seed: of everything random in the policy.
    ///   - onRemoval: hears who left and why, on the thread that caused it and outside of the lock.
    public convenience init(
        config: Config = Config(), configured policy: ConfiguredPolicy, seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) {
        self.init(config, policy, seed: seed, clock: clock, users: UserNumbers(), onRemoval: onRemoval)
    }

    /// The same as one tier of several, which share the numbers of users.
    ///
    /// - Parameter prefetches: whether what is stored ahead of need waits apart from the policy.
    init(
        _ config: Config, _ policy: ConfiguredPolicy, seed: UInt64, clock: any CacheClock, users: UserNumbers,
        prefetches: Bool = false, onRemoval: (@Sendable ([Removal]) -> Void)?
    ) {
        core = MemoryCore(
            config, policy, seed: seed, clock: clock, users: users, prefetches: prefetches, onRemoval: onRemoval)
    }

    /// An empty storage under a policy of the given type, by default least recently used.
    @inline(__always)
    public convenience init<Policy: CataloguedPolicy & ~Copyable>(
        config: Config = Config(), policy: Policy.Type = LRU.self, seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) {
        self.init(
            config: config, configured: ConfiguredPolicy(policy), seed: seed, clock: clock, onRemoval: onRemoval)
    }

    /// An empty storage under a policy of a catalogue, by name: `s3-fifo`, `learned(horizon=2)`.
    ///
    /// - Throws: `PolicyError` if there is no such policy or it does not take these settings;
    ///   ``CacheError/policyNeedsFuture(_:)`` if it is one that only a replay can serve.
    public convenience init(
        config: Config = Config(), policyNamed name: String, in catalogue: PolicyCatalogue = .classical,
        seed: UInt64 = 1, clock: any CacheClock = SystemClock(),
        onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) throws {
        try self.init(
            config: config, configured: catalogue.livePolicy(name), seed: seed, clock: clock,
            onRemoval: onRemoval)
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
        store(value, key, expiration, keepInBackground, context, endOf: nil).isKept
    }

    /// A read from a slower tier is asked for, that may end with ``store(_:_:_:_:_:endOf:)``.
    func beginRead(forKey key: String) -> PendingReads.Ticket {
        core.state.withLock { $0.reads.begin(key, requestNumber: $0.entries.requests) }
    }

    /// A read has ended without a value.
    func endRead(_ ticket: PendingReads.Ticket) { core.state.withLock { _ = $0.reads.end(ticket) } }

    /// How many requests came before the next one, which is counted if `counting`: one of an ``ImageCache`` that does not end in
    /// a store here.
    func nextRequest(counting: Bool) -> Int {
        core.state.withLock { state in
            defer { if counting { state.entries.requests &+= 1 } }
            return state.entries.requests
        }
    }

    /// What was stored ahead of need in a slower tier; the next look-up here is the first since.
    func notePrefetch(forKey key: String) {
        core.state.withLock { state in
            if let entry = state.entries.resident(key) { state.entries.notes[entry].isPrefetched = true }
        }
    }

    /// The hits of an ``ImageCache``: all, and by the categories that it named.
    var tierHits: (all: Int, byCategory: [String: Int]) {
        core.state.withLock { $0.entries.counters.tierHits($0.entries.categories) }
    }

    /// Keeps a value, unless it was read and its key was stored or removed since that was asked for.
    @discardableResult
    func store(
        _ value: Value, _ key: String, _ expiration: StorageExpiration?, _ keepInBackground: Bool?,
        _ context: AccessContext, endOf ticket: PendingReads.Ticket?
    ) -> (isKept: Bool, requestNumber: Int) {
        // The values of a class are references, each the very size and shape of any other.
        let object = holdsObjects ? unsafeBitCast(value, to: MemoryCore.Item.self) : Box(value)
        return core.store(
            object, cost: max(value.cacheCost, 0), key, expiration, keepInBackground, context, endOf: ticket)
    }

    /// The value of a key; `nil` if there is none or it has expired.
    ///
    /// - Parameter extendingExpiration: what becomes of its expiration; by default the time that it was stored for starts
    ///   anew.
    @inlinable
    public func value(
        forKey key: String, extendingExpiration: ExpirationExtending = .cacheTime,
        context: AccessContext = AccessContext()
    ) -> Value? {
        let found = core.load(
            key, extendingExpiration, categories: context.categories, user: context.user, kind: .storage)
        return found.item.map(value(of:))
    }

    /// The value in what ``core`` holds.
    @inlinable @inline(__always)
    func value(of item: MemoryCore.Item) -> Value {
        holdsObjects ? unsafeBitCast(item, to: Value.self) : unsafeDowncast(item, to: Box<Value>.self).value
    }

    /// Whether there is a value that has not expired. Neither extends its expiration nor counts as an access.
    public func isCached(forKey key: String) -> Bool {
        let now = core.clock.now
        return core.state.withLock { $0.entries.find(key, at: now) != nil }
    }

    /// When a value expires, in microseconds since 1970 (`Int64.max`: never); `nil` if there is none.
    public func deadline(forKey key: String) -> Int64? {
        let now = core.clock.now
        return core.state.withLock { state in state.entries.find(key, at: now).map { state.entries.deadline(of: $0) } }
    }

    // MARK: - Removing

    /// Removes the value of a key.
    public func remove(forKey key: String) {
        core.change { state, _ in
            state.reads.void(key)
            state.entries.resident(key).map { state.entries.remove($0, reason: .removed) }
        }
    }

    /// Removes the values that have a category. O(values).
    public func remove(category: String) {
        core.change { state, _ in
            state.reads.voidAll()
            state.entries.remove(category: category, reason: .removed)
        }
    }

    /// Removes all values. O(values).
    public func removeAll() {
        core.change { state, _ in
            state.reads.voidAll()
            state.entries.removeAll(reason: .cleared)
        }
    }

    /// Removes what has expired. O(values).
    public func removeExpired() {
        core.change { state, now in state.entries.removeExpired(at: now) }
    }

    /// Evicts down to a cost, as the policy chooses: for when memory is short. The limit stays as it is.
    public func trim(toCost cost: Int) {
        core.change { state, now in state.entries.trim(to: max(cost, 0), at: now) }
    }

    /// Removes the values that did not ask to stay when the app goes to the background. O(values).
    public func enterBackground() {
        core.change { state, _ in
            state.reads.voidAll()
            for entry in state.entries.residents(where: { !$1.staysInBackground }) {
                state.entries.remove(entry, reason: .cleared)
            }
        }
    }

    /// Says whether what was stored ahead of need is still likely to be asked for; if not, it is the first to go.
    func reconsider(_ key: String, isLikely: Bool) {
        core.change { state, now in state.entries.reconsider(key, isLikely: isLikely, at: now) }
    }

    // MARK: - What is held

    /// What all values cost together, those included that have expired and were not yet swept.
    public var totalCost: Int { core.state.withLock { $0.entries.used } }

    /// The number of values, those included that have expired and were not yet swept.
    public var count: Int { core.state.withLock { $0.entries.count } }

    /// What another value may cost without one having to leave.
    package var room: Int {
        core.state.withLock { state in
            let limits = state.config.limits
            return state.entries.count < limits.count ? max(limits.cost - state.entries.used, 0) : 0
        }
    }

    /// What is held of a category.
    public func use(category: String) -> CategoryUse {
        core.state.withLock { state in
            state.entries.categories.number(of: category).map { state.entries.counters.use($0) } ?? CategoryUse()
        }
    }

    /// What was counted since the storage was made. O(categories).
    public var statistics: StorageStatistics { core.state.withLock { $0.entries.statistics } }
}

/// A value in a box.
@usableFromInline
final class Box<Value: Sendable>: Sendable {
    @usableFromInline let value: Value

    init(_ value: Value) { self.value = value }
}

extension MemoryStorage {
    /// What can be set.
    public typealias Config = MemoryStorageConfig

    /// How the storage is configured, read and set under its lock.
    public var config: Config {
        get { core.state.withLock { $0.config } }
        set { withConfig { $0 = newValue } }
    }

    /// Reads and changes the configuration in one step that nobody else comes between.
    ///
    /// New limits and rules hold when this returns; `change` must not use the storage.
    public func withConfig<Result: Sendable>(_ change: @Sendable (inout Config) throws -> Result) rethrows -> Result {
        let now = core.clock.now
        var removedValues: MemoryCore.RemovedValues?
        let result = try core.state.withLock { state throws -> Result in
            let before = state.config
            let result = try change(&state.config)
            if state.config.categoryRules != before.categoryRules {
                state.entries.apply(state.config.categoryRules, time: now)
            }
            if state.config.limits != before.limits { state.entries.limit(state.config.limits, at: now) }
            removedValues = state.takeRemovedValues(reporting: core.reports)
            return result
        }
        core.report(removedValues)
        return result
    }
}

/// What can be set about a memory storage.
public struct MemoryStorageConfig: Sendable, Equatable {
    /// The most that all values may cost together; 0 for no limit. Lowering it trims at once.
    public var totalCostLimit: Int
    /// The most values; 0 for no limit. Lowering it trims at once.
    public var countLimit: Int
    /// When values expire that are stored without saying so.
    public var expiration: StorageExpiration
    /// The seconds between two sweeps for what has expired; 0 for none.
    public var cleanInterval: TimeInterval
    /// Whether values stay when the app goes to the background, unless the store says otherwise.
    public var keepWhenEnteringBackground: Bool
    /// What holds for single categories, by name.
    public var categoryRules: [String: CategoryRule]

    /// A configuration; unless given, a quarter of the memory that this process may use (``MemoryBudget``), no limit
    /// of the count, 300 s after the last access, a sweep every 120 s.
    public init(
        totalCostLimit: Int = MemoryBudget().bytes / 4, countLimit: Int = 0,
        expiration: StorageExpiration = .seconds(300), cleanInterval: TimeInterval = 120,
        keepWhenEnteringBackground: Bool = false, categoryRules: [String: CategoryRule] = [:]
    ) {
        self.totalCostLimit = totalCostLimit
        self.countLimit = countLimit
        self.expiration = expiration
        self.cleanInterval = cleanInterval
        self.keepWhenEnteringBackground = keepWhenEnteringBackground
        self.categoryRules = categoryRules
    }

    package var limits: Limits { Limits(cost: totalCostLimit, count: countLimit) }
}

/// What knows what it costs to keep it in memory.
public protocol CacheCostCalculable {
    /// The bytes that it takes in memory, or whatever else the storage's limit counts; not negative.
    ///
    /// A replay of what was recorded counts at least 1 for each object, because 0 is a size that is not known; reports say
    /// how many those were.
    var cacheCost: Int { get }
}

extension Data: CacheCostCalculable {
    /// The number of bytes.
    public var cacheCost: Int { count }
}
