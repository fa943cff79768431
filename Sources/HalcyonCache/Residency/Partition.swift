import HalcyonEviction

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
