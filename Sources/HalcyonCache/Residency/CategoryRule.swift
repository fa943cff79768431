import HalcyonEviction

/// A rule for the entries of one category in a storage.
///
/// If an entry has several categories, the first one that has a rule counts. A quota, a priority or a protection
/// makes the category a partition of the storage. A partition has its own cache under the same policy, so that its
/// entries compete with each other first. If the whole storage is full, entries of the partition with the lowest
/// priority are evicted. Among partitions of equal priority, it is the one that uses the largest share of its limit.
///
/// Quotas, limits and sizes hold under every policy. See `CategoryRuleTests.everyPolicyKeepsQuotas()`.
public struct CategoryRule: Sendable, Equatable {
    /// The expiration of the category's entries; `nil`, the default, for the storage's expiration.
    ///
    /// The expiration that a store states takes precedence. See
    /// `CategoryRuleTests.categoryExpirationIsOverriddenByStore()`.
    public var expiration: StorageExpiration?
    /// The maximum total size of the category's entries, in the storage's unit; `nil`, the default, for no limit of
    /// its own.
    ///
    /// Beyond it, the policy evicts within the category. See `CategoryRuleTests.quotasEvictWithinCategory()`.
    public var costLimit: Int?
    /// The maximum number of the category's entries; `nil`, the default, for no limit of its own.
    public var countLimit: Int?
    /// The priority; 0 by default and without a rule. Entries of lower priorities are evicted first. A new object
    /// never evicts an entry of a higher priority than its own.
    ///
    /// See `CategoryRuleTests.lowestPriorityIsEvictedFirst()`.
    public var priority: Int
    /// Whether only objects of the same category can evict the category's entries. The default is `false`.
    ///
    /// See `CategoryRuleTests.protectedCategoryIsEvictedOnlyFromWithin()`.
    public var isProtected: Bool

    /// Creates a rule. Without arguments it has no effect.
    public init(
        expiration: StorageExpiration? = nil, costLimit: Int? = nil, countLimit: Int? = nil, priority: Int = 0,
        isProtected: Bool = false
    ) {
        self.expiration = expiration
        self.costLimit = costLimit
        self.countLimit = countLimit
        self.priority = priority
        self.isProtected = isProtected
    }

    /// Whether the category needs a partition.
    var needsPartition: Bool { costLimit != nil || countLimit != nil || priority != 0 || isProtected }
}

/// A part of a storage that has its own limits: a category with a rule, or all other entries.
struct Partition {
    /// The category; `nil` for all other entries.
    let category: String?
    var rule: CategoryRule
    let cache: AnyCache
    /// The same cache, for hits. It is valid because this partition retains `cache`.
    let hits: UncountedCache

    init(category: String?, rule: CategoryRule, cache: AnyCache) {
        (self.category, self.rule, self.cache) = (category, rule, cache)
        hits = cache.uncounted
    }

    /// Returns the maximum total size, if the storage's is `total`.
    func capacity(of total: Int) -> Int { max(min(rule.costLimit ?? total, total), 0) }
    /// Returns the maximum number of entries, if the storage's is `total`.
    func countLimit(of total: Int) -> Int { max(min(rule.countLimit ?? total, total), 0) }

    /// Returns the used share of the maximum total size.
    func fullness(of total: Int) -> Double { Double(cache.used) / Double(max(capacity(of: total), 1)) }
}

/// The limits of a storage.
package struct Limits: Equatable {
    /// The value for no limit. It exceeds the memory and disks of all machines, and can be multiplied without
    /// overflow.
    static let none = 1 << 50

    /// The maximum total size of all entries.
    package var cost: Int
    /// The maximum number of entries.
    var count: Int

    /// Creates limits from configured values, in which 0 means no limit.
    init(cost: Int, count: Int) {
        self.cost = cost > 0 ? min(cost, Limits.none) : Limits.none
        self.count = count > 0 ? count : .max
    }
}
