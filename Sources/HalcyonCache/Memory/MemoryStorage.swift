import Foundation
import HalcyonEviction
import HalcyonSupport

/// A store for values in memory with a limited total size and count. Each value is kept until it is evicted, expires
/// or is removed.
///
/// ```swift
/// let memory = MemoryStorage<Data>(config: .init(totalCostLimit: 64 << 20))
/// memory.store(value: bytes, forKey: "a")
/// let bytes = memory.value(forKey: "a")
/// let other = try MemoryStorage<Data>(policyNamed: "s3-fifo(small=0.2)")
/// let own = MemoryStorage<Data>(policy: SecondGlance.self)
/// ```
///
/// A `CacheCore` under the given policy decides which entries are resident, as in a replay. A storage without
/// category rules passes each access on unchanged. All methods can be called from any thread. Hits of several threads
/// are served in parallel; the policy receives them, in order, before any other operation. The storage destroys
/// values and calls observers only after it has released its lock. A look-up is O(length of the key) plus the cost of
/// the policy.
///
/// See `SimulatedEqualsLiveTests.memoryDecidesAsReplay()`, `WaitingHitTests.everyPolicyDecidesTheSameInLanes()`,
/// `MemoryStorageTests.everyPolicyKeepsBoundsAndEntries()` and `MemoryStorageTests.valueIsDestroyedOutsideLock()`.
public final class MemoryStorage<Value: CacheCostCalculable & Sendable>: Sendable {
    @usableFromInline let core: MemoryCore
    /// Whether values are objects. Other values are kept in a ``Box``.
    @usableFromInline let holdsObjects = Value.self is AnyObject.Type

    /// Creates an empty storage with a policy.
    ///
    /// - Parameters:
    ///   - seed: the seed of the policy's random numbers.
    ///   - onRemoval: receives the removed values and the reasons, on the thread that caused the removal and without
    ///     the lock held.
    public convenience init(
        config: Config = Config(), configured policy: ConfiguredPolicy, seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) {
        self.init(
            config, policy, seed: seed, clock: clock, users: UserNumbers(), reportsRemovals: { onRemoval != nil },
            onRemoval: onRemoval)
    }

    /// Creates the memory tier of a cache. The tiers share the numbers of users. The parameters are those of ``MemoryCore``.
    init(
        _ config: Config, _ policy: ConfiguredPolicy, seed: UInt64, clock: any CacheClock, users: UserNumbers,
        prefetches: Bool = false, keepsCalls: Bool = false, reportsRemovals: @escaping @Sendable () -> Bool,
        onRemoval: (@Sendable ([Removal]) -> Void)?
    ) {
        core = MemoryCore(
            config, policy, seed: seed, clock: clock, users: users, prefetches: prefetches, keepsCalls: keepsCalls,
            reportsRemovals: reportsRemovals, onRemoval: onRemoval)
    }

    /// Creates an empty storage with a policy of the given type, by default least recently used.
    ///
    /// The sizes of the values play no part in that order. See `MemoryStorageTests.recencyDecidesRatherThanCost()`.
    @inline(__always)
    public convenience init<Policy: CataloguedPolicy & ~Copyable>(
        config: Config = Config(), policy: Policy.Type = LRU.self, seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) {
        self.init(
            config: config, configured: ConfiguredPolicy(policy), seed: seed, clock: clock, onRemoval: onRemoval)
    }

    /// Creates an empty storage with a named policy of a catalogue: `s3-fifo`, `learned(horizon=2)`.
    ///
    /// See `MemoryStorageTests.policyIsLRUByDefault()` and `MemoryStorageTests.unknownAndFuturePoliciesAreRefused()`.
    ///
    /// - Throws: `PolicyError` if there is no such policy or it does not accept these parameters;
    ///   ``CacheError/policyNeedsFuture(_:)`` if only a replay can use the policy.
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

    /// Stores a value under a key, and replaces an earlier value. Other values are evicted if there is no room.
    ///
    /// A value that is larger than the limit, or that the policy refuses, is not kept. It evicts no value other than
    /// those that the policy chooses. The earlier value of the key is removed in this case, too, because it is
    /// outdated. If the expiration has already passed, the call has no effect.
    ///
    /// See `MemoryStorageTests.overwritingReplacesCost()` and `MemoryExpirationTests.expiredStoreChangesNothing()`.
    ///
    /// - Parameters:
    ///   - expiration: when the value expires. By default, the rule of its category decides, or else the
    ///     configuration.
    ///   - keepInBackground: whether the value is kept when the app enters the background. By default, the
    ///     configuration decides.
    /// - Returns: whether the value is kept.
    @discardableResult
    public func store(
        value: Value, forKey key: String, expiration: StorageExpiration? = nil, keepInBackground: Bool? = nil,
        context: AccessContext = AccessContext()
    ) -> Bool {
        core.store(item(of: value), cost: value.cacheCost, key, expiration, keepInBackground, context)
    }

    /// Makes the next hit on a key ask ``PrefetchMarks``, because a slower tier alone got its prefetched value.
    func askForMark(ofKey key: String) {
        core.withLock { state in
            if let entry = state.entries.resident(key) { state.entries.notes[entry].mayHaveMark = true }
        }
    }

    /// Passes a request to the policy whose load has joined that of the key's value.
    ///
    /// - Returns: whether the policy received it: there is a value.
    func joined(forKey key: String, context: AccessContext) -> Bool {
        core.change { state, now in state.entries.joined(key, context, at: now) }
    }

    /// The number of hits of an ``ImageCache``: in total, and by the categories that the cache named.
    var tierHits: (all: Int, byCategory: [String: Int]) {
        core.withLock { $0.entries.counters.tierHits($0.entries.categories) }
    }

    /// Returns the item of ``core`` for a value.
    func item(of value: Value) -> MemoryCore.Item {
        // The values of a class are references. All references have the same size and layout, so the cast is safe.
        holdsObjects ? unsafeBitCast(value, to: MemoryCore.Item.self) : Box(value)
    }

    /// Returns the value of a key; `nil` if there is none or it has expired.
    ///
    /// See `MemoryExpirationTests.lookUpExtendsExpirationAsStated()`.
    ///
    /// - Parameter extendingExpiration: how the access changes the expiration. By default, the value's time to live
    ///   restarts.
    @inlinable
    public func value(
        forKey key: String, extendingExpiration: ExpirationExtending = .cacheTime,
        context: AccessContext = AccessContext()
    ) -> Value? {
        let found = core.load(
            key, extendingExpiration, categories: context.categories, user: context.user, kind: .storage)
        return found.item.map(value(of:))
    }

    /// Returns the value of an item of ``core``.
    @inlinable @inline(__always)
    func value(of item: MemoryCore.Item) -> Value {
        holdsObjects ? unsafeBitCast(item, to: Value.self) : unsafeDowncast(item, to: Box<Value>.self).value
    }

    /// Returns whether there is a value that has not expired. The call does not extend the expiration and is not an
    /// access.
    ///
    /// See `MemoryExpirationTests.isCachedDoesNotExtend()`.
    public func isCached(forKey key: String) -> Bool {
        let now = core.clock.now
        return core.withLock { $0.entries.find(key, at: now) != nil }
    }

    // MARK: - Removing

    /// Removes the value of a key.
    public func remove(forKey key: String) {
        core.change { state, _ in
            state.reads.void(key)
            if let entry = state.entries.resident(key) { state.entries.remove(entry, reason: .removed) }
        }
    }

    /// Removes the values of a category. O(values).
    public func remove(category: String) {
        core.change { state, _ in
            state.reads.voidAll()
            state.entries.remove(category: category, reason: .removed)
        }
    }

    /// Removes the values whose keys satisfy a condition. O(values).
    func remove(where holds: (String) -> Bool) {
        core.change { state, _ in
            state.reads.voidAll()
            for entry in state.entries.residents(where: { _, _ in true }) where holds(state.entries.key(of: entry)) {
                state.entries.remove(entry, reason: .removed)
            }
        }
    }

    /// Removes all values. O(values).
    public func removeAll() {
        core.change { state, _ in
            state.reads.voidAll()
            state.entries.removeAll(reason: .cleared)
        }
    }

    /// Removes expired values. O(values).
    public func removeExpired() {
        core.change { state, now in state.entries.removeExpired(at: now) }
    }

    /// Evicts values until their total size is at most `cost`, in the order that the policy chooses. The limit does
    /// not change. Use it when memory is short.
    public func trim(toCost cost: Int) {
        core.change { state, now in state.entries.trim(to: max(cost, 0), at: now) }
    }

    /// Removes the values that are not to be kept when the app enters the background. O(values).
    ///
    /// See `MemoryStorageTests.keptEntriesSurviveEnteringBackground()`.
    public func enterBackground() {
        core.change { state, _ in
            state.reads.voidAll()
            for entry in state.entries.residents(where: { !$1.staysInBackground }) {
                state.entries.remove(entry, reason: .cleared)
            }
        }
    }

    /// Updates whether a prefetched entry is still likely to be requested. An unlikely entry is evicted first.
    func reconsider(_ key: String, isLikely: Bool) {
        core.change { state, now in state.entries.reconsider(key, isLikely: isLikely, at: now) }
    }

    /// Sets the keys whose values are evicted next when room is needed, in this order. They replace those of the last call.
    func evictNext(_ keys: [String]) { core.change { state, _ in state.entries.evictNext(keys) } }

    // MARK: - What is held

    /// The total size of all values, including expired values that were not removed yet.
    ///
    /// It is exact also when values are replaced and under concurrent use. See
    /// `MemoryStorageTests.overwritingReplacesCost()` and `MemoryStorageTests.totalCostIsSumUnderThreads()`.
    public var totalCost: Int { core.withLock { $0.entries.used } }

    /// The number of values, including expired values that were not removed yet.
    public var count: Int { core.withLock { $0.entries.count } }

    /// The maximum size of another value that can be stored without an eviction.
    package var room: Int {
        core.withLock { state in
            let limits = state.config.limits
            return state.entries.count < limits.count ? max(limits.cost - state.entries.used, 0) : 0
        }
    }

    /// Returns the number and the total size of the values of a category.
    public func use(category: String) -> CategoryUse {
        core.withLock { state in
            state.entries.categories.number(of: category).map { state.entries.counters.use($0) } ?? CategoryUse()
        }
    }

    /// The counts since the storage was created. O(categories).
    ///
    /// Every hit and every miss of every thread is counted. See `WaitingHitTests.concurrentHitsAndMissesAreCounted()`.
    public var statistics: StorageStatistics { core.withLock { $0.entries.statistics } }
}

/// An object that contains a value.
@usableFromInline
final class Box<Value: Sendable>: Sendable {
    @usableFromInline let value: Value

    init(_ value: Value) { self.value = value }
}

extension MemoryStorage {
    /// The parameters of the storage.
    public typealias Config = MemoryStorageConfig

    /// The configuration, read and set under the storage's lock.
    public var config: Config {
        get { core.withLock { $0.config } }
        set { withConfig { $0 = newValue } }
    }

    /// Reads and changes the configuration atomically.
    ///
    /// New limits and rules are in effect when this returns. `change` must not use the storage.
    ///
    /// See `MemoryStorageTests.configurationChangesAreAtomic()`.
    public func withConfig<Result: Sendable>(_ change: @Sendable (inout Config) throws -> Result) rethrows -> Result {
        try core.change { state, now in
            let before = state.config
            let result = try change(&state.config)
            if state.config.categoryRules != before.categoryRules {
                state.entries.apply(state.config.categoryRules, time: now)
            }
            if state.config.limits != before.limits { state.entries.limit(state.config.limits, at: now) }
            return result
        }
    }
}

/// The parameters of a memory storage.
public struct MemoryStorageConfig: Sendable, Equatable {
    /// The maximum total size of all values (``CacheCostCalculable/cacheCost``); 0 for no limit. The default is a
    /// quarter of ``MemoryBudget``. A lower limit takes effect at once.
    ///
    /// A larger value is refused and evicts nothing. See `MemoryStorageTests.lowerLimitTrimsAtOnce()`.
    public var totalCostLimit: Int
    /// The maximum number of values; 0, the default, for no limit. A lower limit takes effect at once.
    public var countLimit: Int
    /// The expiration of values that are stored without one. The default is 300 s after the last access.
    public var expiration: StorageExpiration
    /// The time between two removals of expired values; `.zero` for none. The default is 120 seconds.
    ///
    /// The timer does not retain the storage. See `MemoryExpirationTests.sweepingFollowsInjectedClock()` and
    /// `MemoryExpirationTests.sweeperDoesNotRetainStorage()`.
    public var cleanInterval: Duration
    /// Whether values are kept when the app enters the background, unless the store states it. The default is
    /// `false`.
    public var keepWhenEnteringBackground: Bool
    /// The rules for categories, by name.
    public var categoryRules: [String: CategoryRule]

    /// Creates a configuration.
    ///
    /// By default, the total size is limited to a quarter of the memory that this process may use (``MemoryBudget``),
    /// and the count is unlimited. Values expire 300 s after the last access; expired values are removed every 120 s.
    ///
    /// See `MemoryExpirationTests.defaultConfigurationHasDocumentedValues()`.
    public init(
        totalCostLimit: Int = MemoryBudget().bytes / 4, countLimit: Int = 0,
        expiration: StorageExpiration = .seconds(300), cleanInterval: Duration = .seconds(120),
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

/// A type whose values state their size in memory.
///
/// See `MemoryStorageTests.anyValueWithCostCanBeStored()`.
public protocol CacheCostCalculable {
    /// The size in memory in bytes, or in another unit that the storage's limit uses. It must not be negative.
    ///
    /// A replay of an access log counts at least 1 for each object, because a size of 0 is unknown in a log. Reports
    /// state the number of these objects.
    var cacheCost: Int { get }
}

extension Data: CacheCostCalculable {
    /// The number of bytes.
    public var cacheCost: Int { count }
}
