/// The queue of a transport: the highest priority first, among equals the first that was inserted, with a limit for each host.
///
/// Inserting and removing take O(log n) comparisons and move at most n small values; finding the next takes O(hosts).
///
/// See `TransferQueueTests.urgentThenOldestStartsFirst()`.
package struct TransferQueue<Element> {
    private struct Entry {
        let id: UInt64
        let sequence: Int
        var priority: TransferPriority
        let element: Element

        /// Returns whether this entry starts after another.
        func goesAfter(_ other: (priority: TransferPriority, sequence: Int)) -> Bool {
            priority != other.priority ? priority < other.priority : sequence > other.sequence
        }
    }

    private struct Place {
        let host: String
        let sequence: Int
        let priority: TransferPriority
    }

    /// The entries of each host in the reverse order of their starts, so that the next one is the last.
    private var hosts: [String: [Entry]] = [:]
    private var places: [UInt64: Place] = [:]
    private var sequence = 0

    /// The number of queued elements.
    package var count: Int { places.count }

    /// Creates an empty queue.
    package init() {}

    /// Inserts an element. Its id must not be in the queue.
    package mutating func insert(_ element: Element, id: UInt64, host: String, priority: TransferPriority) {
        sequence += 1
        insert(Entry(id: id, sequence: sequence, priority: priority, element: element), host)
    }

    /// Removes an element before its turn. Returns `nil` if it is not in the queue.
    package mutating func remove(_ id: UInt64) -> Element? { take(id)?.element }

    /// Changes the priority of an element. Among equals, the order of insertion still counts.
    package mutating func setPriority(_ id: UInt64, _ priority: TransferPriority) {
        guard let host = places[id]?.host, var entry = take(id) else { return }
        entry.priority = priority
        insert(entry, host)
    }

    /// Removes and returns the next element among the hosts that may start another.
    package mutating func next(mayHaveAnother: (String) -> Bool) -> Element? {
        var best: (host: String, entry: Entry)?
        for (host, entries) in hosts {
            guard let entry = entries.last, mayHaveAnother(host) else { continue }
            if let found = best?.entry, entry.goesAfter((found.priority, found.sequence)) { continue }
            best = (host, entry)
        }
        guard let best else { return nil }
        return take(best.entry.id)?.element
    }

    /// Removes and returns all elements, in the order of their insertion.
    package mutating func removeAll() -> [Element] {
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

    /// Returns the index at which an entry is, or would be inserted.
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
