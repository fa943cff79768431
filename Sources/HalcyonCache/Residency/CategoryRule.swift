import HalcyonEviction

/// What holds for the entries of one category in a storage.
///
/// An entry with several categories falls under the first of them that has a rule. A quota, a priority or a protection
/// makes the category a part of the storage with an index of its own under the same policy, so that its entries compete
/// with each other first; where the storage as a whole is full, room is made in the part of the lowest priority, and
/// among equals in the part that uses most for what it may.
public struct CategoryRule: Sendable, Equatable {
    /// When the category's entries expire; `nil`: as the storage says.
    public var expiration: StorageExpiration?
    /// The most that the category may cost together, in the storage's unit; `nil`: as much as there is.
    public var costLimit: Int?
    /// The most entries that the category may have; `nil`: as many as fit.
    public var countLimit: Int?
    /// Room is made among lower priorities first, and never among higher ones than the newcomer's. Without a rule: 0.
    public var priority: Int
    /// Whether nothing outside the category may displace its entries.
    public var isProtected: Bool

    /// A rule that, unless told otherwise, changes nothing.
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

    /// Whether the category needs an index of its own.
    var needsPartition: Bool { costLimit != nil || countLimit != nil || priority != 0 || isProtected }
}

/// A part of a storage that has limits of its own: a category with a rule, or everything else.
struct Partition {
    /// The category; `nil` for everything else.
    let category: String?
    var rule: CategoryRule
    let cache: any AnyCache
    /// The index, which this partition keeps, for hits.
    let hits: UncountedCache

    init(category: String?, rule: CategoryRule, cache: any AnyCache) {
        (self.category, self.rule, self.cache) = (category, rule, cache)
        hits = cache.uncounted
    }

    /// What it may use, of `total`.
    func capacity(of total: Int) -> Int { max(min(rule.costLimit ?? total, total), 0) }
    /// How many entries it may have, of `total`.
    func countLimit(of total: Int) -> Int { max(min(rule.countLimit ?? total, total), 0) }

    /// The share of what it may use that it does use.
    func fullness(of total: Int) -> Double { Double(cache.used) / Double(max(capacity(of: total), 1)) }
}

/// What a storage may use.
package struct Limits: Equatable {
    /// What stands for no limit: more than any machine has, and small enough to be divided and multiplied.
    static let none = 1 << 50

    /// The most that all residents may cost together.
    package var cost: Int
    /// The most residents.
    var count: Int

    /// Limits as one configures them, where 0 means none.
    init(cost: Int, count: Int) {
        self.cost = cost > 0 ? min(cost, Limits.none) : Limits.none
        self.count = count > 0 ? count : .max
    }
}
