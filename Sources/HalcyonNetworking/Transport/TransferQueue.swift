import HalcyonSupport

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
