extension EntryIndex {
    /// Takes out what has expired. O(numbers).
    mutating func removeExpired(at time: Int64) {
        for entry in residents(where: { entry, _ in deadline(of: entry) <= time }) { remove(entry, reason: .expired) }
    }

    /// Takes everything out. O(numbers).
    mutating func removeAll(reason: RemovalReason) {
        for entry in residents(where: { _, _ in true }) { remove(entry, reason: reason) }
    }

    /// Takes out what has a category. O(numbers).
    mutating func remove(category: String, reason: RemovalReason) {
        guard let number = categories.number(of: category) else { return }
        let entries = residents(where: { categories.members[Int($1.set)].contains(number) })
        for entry in entries { remove(entry, reason: reason) }
    }

    /// One that left, as its owner tells others.
    func removal(of entry: RemovedEntry) -> Removal {
        Removal(
            key: entry.key, cost: entry.cost, categories: categories.names(ofSet: entry.set), reason: entry.reason)
    }

    /// What was counted, and what is held now.
    var statistics: StorageStatistics { counters.statistics(categories, cost: used, count: count) }
}
