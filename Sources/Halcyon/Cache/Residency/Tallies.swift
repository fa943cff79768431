/// The counts of a storage, by category where that makes sense. Categories are numbers of its ``CategoryTable``.
struct Tallies {
    var stores = 0
    var refusals = 0
    var departures = DepartureCounts()
    private(set) var lookUps = HitCounts()
    private var lookUpsByCategory: [HitCounts] = []
    private var uses: [CategoryUse] = []

    func use(_ category: UInt32) -> CategoryUse {
        Int(category) < uses.count ? uses[Int(category)] : CategoryUse()
    }

    mutating func hit() { lookUps.hits += 1 }

    mutating func hit(_ members: [UInt32]) {
        lookUps.hits += 1
        for member in members {
            extend(to: member)
            lookUpsByCategory[Int(member)].hits += 1
        }
    }

    mutating func missed(named names: [String], in table: inout CategoryTable) {
        lookUps.misses += 1
        for name in names {
            let member = table.intern(name)
            extend(to: member)
            lookUpsByCategory[Int(member)].misses += 1
        }
    }

    mutating func came(_ members: [UInt32], cost: Int) {
        stores += 1
        add(members, count: 1, cost: cost)
    }

    mutating func left(_ members: [UInt32], cost: Int) { add(members, count: -1, cost: -cost) }

    mutating func moved(from old: [UInt32], to new: [UInt32], cost: Int) {
        add(old, count: -1, cost: -cost)
        add(new, count: 1, cost: cost)
    }

    private mutating func add(_ members: [UInt32], count: Int, cost: Int) {
        for member in members {
            extend(to: member)
            uses[Int(member)].count += count
            uses[Int(member)].cost += cost
        }
    }

    private mutating func extend(to member: UInt32) {
        while uses.count <= Int(member) {
            uses.append(CategoryUse())
            lookUpsByCategory.append(HitCounts())
        }
    }

    /// The counts under the names of a table.
    func statistics(_ table: CategoryTable, cost: Int, count: Int) -> StorageStatistics {
        var result = StorageStatistics()
        result.lookUps = lookUps
        result.stores = stores
        result.refusals = refusals
        result.departures = departures.byReason
        result.cost = cost
        result.count = count
        for (number, use) in uses.enumerated() {
            let name = table.names[number]
            if use.count > 0 { result.useByCategory[name] = use }
            if lookUpsByCategory[number] != HitCounts() { result.lookUpsByCategory[name] = lookUpsByCategory[number] }
        }
        return result
    }
}
