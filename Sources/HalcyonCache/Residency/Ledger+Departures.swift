extension Ledger {
    /// Takes out what has expired. O(numbers).
    mutating func departExpired(at time: Int64) {
        for entry in residents(where: { entry, _ in deadline(of: entry) <= time }) { depart(entry, .expired) }
    }

    /// Takes everything out. O(numbers).
    mutating func departAll(_ reason: DepartureReason) {
        for entry in residents(where: { _, _ in true }) { depart(entry, reason) }
    }

    /// Takes out what has a category. O(numbers).
    mutating func depart(category: String, _ reason: DepartureReason) {
        guard let number = categories.number(of: category) else { return }
        let entries = residents(where: { categories.members[Int($1.set)].contains(number) })
        for entry in entries { depart(entry, reason) }
    }

    /// One that left, as its owner tells others.
    func departure(_ gone: Gone) -> Departure {
        Departure(
            key: gone.key, cost: gone.cost, categories: categories.names(ofSet: gone.set), reason: gone.reason)
    }

    /// What was counted, and what is held now.
    var statistics: StorageStatistics { tallies.statistics(categories, cost: used, count: count) }
}
