import HalcyonEviction

/// The numbers of hits and misses.
public struct HitCounts: Sendable, Equatable {
    /// The look-ups that found a value.
    public var hits = 0
    /// The look-ups that found no value, or an expired one.
    public var misses = 0

    /// Creates counts, by default 0.
    public init(hits: Int = 0, misses: Int = 0) {
        self.hits = hits
        self.misses = misses
    }

    fileprivate mutating func add(_ other: HitCounts) {
        hits += other.hits
        misses += other.misses
    }
}

/// The counts of a storage since it was created.
public struct StorageStatistics: Sendable, Equatable {
    /// The look-ups.
    public var lookUps = HitCounts()
    /// The look-ups by category: the categories that the caller named, and on a hit those of the entry.
    public var lookUpsByCategory: [String: HitCounts] = [:]
    /// The stores that were kept.
    public var stores = 0
    /// The stores that were not admitted, because the value was too large or the policy refused it.
    public var refusals = 0
    /// The removals by reason.
    public var removals: [RemovalReason: Int] = [:]
    /// The contents by category. An entry counts in each of its categories.
    public var useByCategory: [String: CategoryUse] = [:]
    /// The total size of all values.
    public var cost = 0
    /// The number of values.
    public var count = 0
    /// The figures that the policy publishes about itself, by name, for the values without a category rule. A cache under
    /// `learned` says here whether it follows another policy (`shadow_following`), how often it began to (`shadow_follows`),
    /// and the evictions and refusals decided so (`shadow_decisions`).
    public var policyMetrics: [String: Double] = [:]
}

/// The contents of a storage that belong to a category.
public struct CategoryUse: Sendable, Equatable {
    /// The number of entries.
    public var count = 0
    /// The total size of the entries.
    public var cost = 0

    /// Creates a value, by default 0 entries.
    public init(count: Int = 0, cost: Int = 0) {
        self.count = count
        self.cost = cost
    }

    fileprivate mutating func add(_ other: CategoryUse) {
        count += other.count
        cost += other.cost
    }
}

/// The counters of a storage, partly by category. Categories and their sets are numbers of the storage's
/// ``CategoryInterner``.
///
/// A hit is counted by category set, which is one addition. Reading the statistics adds the hits of a set to each of
/// its categories.
struct StorageCounters: ~Copyable {
    var stores = 0
    var refusals = 0
    var removals = RemovalCounts()
    private var hitsBySet = SlotArray<Int>(repeating: 0)
    /// The hits of an ``ImageCache`` by the set of the categories that it named; set 0 if it named none.
    private var tierHitsBySet = SlotArray<Int>(repeating: 0)
    private var misses = 0
    private var missesByCategory: [Int] = []
    private var uses: [CategoryUse] = []

    func use(_ category: UInt32) -> CategoryUse {
        Int(category) < uses.count ? uses[Int(category)] : CategoryUse()
    }

    @inline(__always)
    mutating func hit(_ set: CategorySetID) { hitsBySet[set] &+= 1 }

    @inline(__always)
    mutating func tierHit(_ set: CategorySetID) { tierHitsBySet[set] &+= 1 }

    /// Returns the hits of an ``ImageCache``: in total, and by the categories that it named. O(categories of all
    /// sets).
    func tierHits(_ interner: CategoryInterner) -> (all: Int, byCategory: [String: Int]) {
        var (all, byCategory) = (0, [String: Int]())
        for (set, members) in interner.members.enumerated() {
            let hits = tierHitsBySet[CategorySetID(set)]
            if hits == 0 { continue }
            all += hits
            for member in members { byCategory[interner.names[Int(member)], default: 0] += hits }
        }
        return (all, byCategory)
    }

    mutating func missed(named names: [String], in interner: inout CategoryInterner) {
        misses += 1
        for name in names {
            guard let number = interner.isFull ? interner.number(of: name) : interner.intern(name) else { continue }
            let member = Int(number)
            while missesByCategory.count <= member { missesByCategory.append(0) }
            missesByCategory[member] += 1
        }
    }

    /// Counts misses for which no categories were named.
    mutating func missed(_ count: Int) { misses += count }

    mutating func added(_ members: [UInt32], cost: Int) {
        stores += 1
        add(members, count: 1, cost: cost)
    }

    mutating func removed(_ members: [UInt32], cost: Int) { add(members, count: -1, cost: -cost) }

    mutating func moved(from old: [UInt32], to new: [UInt32], cost: Int) {
        add(old, count: -1, cost: -cost)
        add(new, count: 1, cost: cost)
    }

    private mutating func add(_ members: [UInt32], count: Int, cost: Int) {
        for member in members {
            while uses.count <= Int(member) { uses.append(CategoryUse()) }
            uses[Int(member)].count += count
            uses[Int(member)].cost += cost
        }
    }

    /// Returns the counts, by the names of the categories. O(categories of all sets).
    func statistics(_ interner: CategoryInterner, cost: Int, count: Int) -> StorageStatistics {
        var result = StorageStatistics()
        var lookUps = [HitCounts](repeating: HitCounts(), count: interner.names.count)
        result.lookUps.misses = misses
        for (category, misses) in missesByCategory.enumerated() { lookUps[category].misses = misses }
        for (set, members) in interner.members.enumerated() {
            let hits = hitsBySet[CategorySetID(set)]
            result.lookUps.hits += hits
            for member in members { lookUps[Int(member)].hits += hits }
        }
        result.stores = stores
        result.refusals = refusals
        result.removals = removals.byReason
        result.cost = cost
        result.count = count
        for (name, lookUps) in zip(interner.names, lookUps) where lookUps != HitCounts() {
            result.lookUpsByCategory[name, default: HitCounts()].add(lookUps)
        }
        for (name, use) in zip(interner.names, uses) where use.count > 0 {
            result.useByCategory[name, default: CategoryUse()].add(use)
        }
        return result
    }
}
