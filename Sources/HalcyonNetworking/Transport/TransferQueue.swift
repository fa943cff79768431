/// The queue of a transport: the highest priority first, among equals the first that was inserted, with a limit of running transfers
/// for each host and for all together.
///
/// No user waits for a transfer of the priority `.low` or `.veryLow`. Such a transfer starts only if it leaves one place of each limit
/// free for the others. With a limit of one there is no place to leave free, and it starts when no other runs.
///
/// Each method takes O(log n) comparisons in the queued transfers, ``removeAll()`` O(n log n).
///
/// See `TransferQueueTests.urgentThenOldestStartsFirst()`, `TransferQueueTests.queueEqualsSortedList()` and
/// `TransferQueueTests.prefetchesLeaveOnePlaceFree()`.
package struct TransferQueue<Element> {
    /// The place in the order of starts.
    private struct Turn: Comparable {
        let priority: TransferPriority
        let sequence: Int

        static func < (one: Self, other: Self) -> Bool {
            one.priority != other.priority ? one.priority > other.priority : one.sequence < other.sequence
        }
    }

    private struct Host {
        var queued = KeyedHeap<UInt64, Turn>()
        var running = 0
    }

    private struct Entry {
        let host: String
        let sequence: Int
        let element: Element
    }

    private let limit: Int
    private let limitPerHost: Int
    /// The limits of hosts that have another one.
    private var limits: [String: Int] = [:]
    private var entries: [UInt64: Entry] = [:]
    /// The hosts with queued or running transfers.
    private var hosts: [String: Host] = [:]
    /// The first queued transfer of each host whose limit lets it start.
    private var startable = KeyedHeap<String, Turn>()
    private var sequence = 0

    /// The number of running transfers: those that ``next()`` has returned and that have not ended.
    package private(set) var running = 0
    /// The number of queued elements.
    package var count: Int { entries.count }

    /// Creates an empty queue.
    ///
    /// - Parameters:
    ///   - limit: the highest number of running transfers.
    ///   - limitPerHost: that of each host, unless ``setLimit(_:of:)`` has set another one.
    package init(limit: Int, limitPerHost: Int) { (self.limit, self.limitPerHost) = (limit, limitPerHost) }

    /// Inserts an element. Its id must not be in the queue.
    package mutating func insert(_ element: Element, id: UInt64, host: String, priority: TransferPriority) {
        sequence += 1
        entries[id] = Entry(host: host, sequence: sequence, element: element)
        hosts[host, default: Host()].queued.set(id, Turn(priority: priority, sequence: sequence))
        update(host)
    }

    /// Removes an element before its turn. Returns it with its present priority; `nil` if it is not in the queue.
    package mutating func remove(_ id: UInt64) -> (element: Element, priority: TransferPriority)? {
        guard let entry = entries.removeValue(forKey: id), let turn = hosts[entry.host]?.queued.remove(id) else {
            return nil
        }
        update(entry.host)
        return (entry.element, turn.priority)
    }

    /// Changes the priority of an element. Among equals, the order of insertion still counts.
    package mutating func setPriority(_ id: UInt64, _ priority: TransferPriority) {
        guard let entry = entries[id] else { return }
        hosts[entry.host]?.queued.set(id, Turn(priority: priority, sequence: entry.sequence))
        update(entry.host)
    }

    /// Removes and returns the next element that may start, with its present priority. It counts as running until ``ended(_:)``.
    package mutating func next() -> (element: Element, priority: TransferPriority)? {
        guard let (host, turn) = startable.first, mayStart(turn, running, limit),
            let id = hosts[host]?.queued.first?.id, let entry = entries.removeValue(forKey: id)
        else { return nil }
        running += 1
        hosts[host]?.queued.remove(id)
        hosts[host]?.running += 1
        update(host)
        return (entry.element, turn.priority)
    }

    /// Notes that a running transfer of a host has ended.
    package mutating func ended(_ host: String) {
        running -= 1
        hosts[host]?.running -= 1
        update(host)
    }

    /// Sets the limit of a host. Those of the last 1,024 hosts, about, are kept.
    package mutating func setLimit(_ limit: Int, of host: String) {
        guard limits[host] != limit else { return }
        if limits.count >= 1_024 {
            let known = limits.keys
            limits = [:]
            for host in known { update(host) }
        }
        limits[host] = limit
        update(host)
    }

    /// Removes and returns all queued elements, in the order of their insertion.
    package mutating func removeAll() -> [Element] {
        let removed = entries.values.sorted { $0.sequence < $1.sequence }
        entries = [:]
        for host in Set(removed.map(\.host)) {
            hosts[host]?.queued = KeyedHeap()
            update(host)
        }
        return removed.map(\.element)
    }

    private func mayStart(_ turn: Turn, _ running: Int, _ limit: Int) -> Bool {
        running < (turn.priority < .normal ? max(1, limit - 1) : limit)
    }

    /// Lets a host take part with its first transfer, if that may start. Any other of its transfers may start only if that one may.
    private mutating func update(_ host: String) {
        guard let state = hosts[host] else { return }
        if let first = state.queued.first, mayStart(first.order, state.running, limits[host] ?? limitPerHost) {
            startable.set(host, first.order)
        } else {
            startable.remove(host)
            if state.queued.first == nil, state.running == 0 { hosts[host] = nil }
        }
    }
}

/// A binary heap with the least order first, whose elements are found by their ids.
private struct KeyedHeap<ID: Hashable, Order: Comparable> {
    private var items: [(id: ID, order: Order)] = []
    private var places: [ID: Int] = [:]

    /// The element with the least order.
    var first: (id: ID, order: Order)? { items.first }

    /// Inserts an element, or changes its order.
    mutating func set(_ id: ID, _ order: Order) {
        let place = places[id] ?? items.count
        if place == items.count { items.append((id, order)) }
        put((id, order), at: place)
    }

    /// Removes an element. Returns its order; `nil` if it is not there.
    @discardableResult
    mutating func remove(_ id: ID) -> Order? {
        guard let place = places.removeValue(forKey: id) else { return nil }
        let order = items[place].order
        let last = items.removeLast()
        if place < items.count { put(last, at: place) }
        return order
    }

    /// Puts an element into a place whose own is gone, and moves it where it belongs.
    private mutating func put(_ item: (id: ID, order: Order), at place: Int) {
        var place = place
        while place > 0, item.order < items[(place - 1) / 2].order {
            move(from: (place - 1) / 2, to: place)
            place = (place - 1) / 2
        }
        while true {
            var child = 2 * place + 1
            guard child < items.count else { break }
            if child + 1 < items.count, items[child + 1].order < items[child].order { child += 1 }
            guard items[child].order < item.order else { break }
            move(from: child, to: place)
            place = child
        }
        items[place] = item
        places[item.id] = place
    }

    private mutating func move(from: Int, to place: Int) {
        items[place] = items[from]
        places[items[place].id] = place
    }
}
