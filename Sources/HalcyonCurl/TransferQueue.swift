import HalcyonNetworking

/// Transfers that wait for their turn: the most urgent first, among equals the first that came, and never more of a host
/// than it may have.
///
/// Waiting and leaving take O(log n) comparisons and move at most n small values; the next one is found in O(hosts).
struct TransferQueue<Element> {
    private struct Entry {
        let id: UInt64
        let sequence: Int
        var priority: TransferPriority
        let element: Element

        /// Whether this one goes after another.
        func goesAfter(_ other: (priority: TransferPriority, sequence: Int)) -> Bool {
            priority != other.priority ? priority < other.priority : sequence > other.sequence
        }
    }

    private struct Place {
        let host: String
        let sequence: Int
        let priority: TransferPriority
    }

    /// For each host the entries in the opposite order of their turns, so that the next one is the last.
    private var hosts: [String: [Entry]] = [:]
    private var places: [UInt64: Place] = [:]
    private var sequence = 0

    /// How many wait.
    var count: Int { places.count }

    /// Lets one wait. Its id must not be waiting already.
    mutating func insert(_ element: Element, id: UInt64, host: String, priority: TransferPriority) {
        sequence += 1
        insert(Entry(id: id, sequence: sequence, priority: priority, element: element), host)
    }

    /// Takes one out before its turn; `nil` if it does not wait.
    mutating func remove(_ id: UInt64) -> Element? { take(id)?.element }

    /// Changes how urgent one is; among those it joins it goes by when it came.
    mutating func setPriority(_ id: UInt64, _ priority: TransferPriority) {
        guard let host = places[id]?.host, var entry = take(id) else { return }
        entry.priority = priority
        insert(entry, host)
    }

    /// Takes out the one whose turn it is, among the hosts that may have another.
    mutating func next(mayHaveAnother: (String) -> Bool) -> Element? {
        var best: (host: String, entry: Entry)?
        for (host, entries) in hosts {
            guard let entry = entries.last, mayHaveAnother(host) else { continue }
            if let found = best?.entry, entry.goesAfter((found.priority, found.sequence)) { continue }
            best = (host, entry)
        }
        guard let best else { return nil }
        return take(best.entry.id)?.element
    }

    /// Takes out all.
    mutating func removeAll() -> [Element] {
        defer { (hosts, places) = ([:], [:]) }
        return hosts.values.flatMap { $0 }.sorted { $0.sequence < $1.sequence }.map(\.element)
    }

    private mutating func insert(_ entry: Entry, _ host: String) {
        places[entry.id] = Place(host: host, sequence: entry.sequence, priority: entry.priority)
        let index = index(in: host, entry.priority, entry.sequence)
        hosts[host, default: []].insert(entry, at: index)
    }

    private mutating func take(_ id: UInt64) -> Entry? {
        guard let place = places.removeValue(forKey: id) else { return nil }
        let index = index(in: place.host, place.priority, place.sequence)
        let entry = hosts[place.host]?.remove(at: index)
        if hosts[place.host]?.isEmpty == true { hosts[place.host] = nil }
        return entry
    }

    /// Where an entry of this place is or would be.
    private func index(in host: String, _ priority: TransferPriority, _ sequence: Int) -> Int {
        guard let entries = hosts[host] else { return 0 }
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].goesAfter((priority, sequence)) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
