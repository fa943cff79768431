import HalcyonEviction

/// The transfers in flight of one cache, the first to end first; of those that end together, the first that was started.
///
/// Large objects take longer, so transfers do not end in the order of their start. An operation is O(log n). Memory: some 200 bytes
/// a transfer, and 4 an entry of the cache.
final class TransferSchedule {
    /// A transfer of a prefetched object.
    struct Transfer {
        var access: Access
        /// The time of its end, in microseconds.
        var time: Int64
        /// Whether it was started after the warm-up.
        var isCounted: Bool
    }

    /// The place of a transfer in the order of ends.
    private struct End: Comparable, BitwiseCopyable {
        var time: Int64
        var number: Int

        static func < (left: End, right: End) -> Bool { (left.time, left.number) < (right.time, right.number) }
    }

    private var ends = IndexedHeap<End>(room: 8)
    private var transfers: [EntryID: Transfer] = [:]
    private var started = 0

    /// Starts the transfer of an entry that is not in flight.
    func start(_ transfer: Transfer) {
        ends.insert(transfer.access.entry, key: End(time: transfer.time, number: started))
        transfers[transfer.access.entry] = transfer
        started += 1
    }

    /// Removes the transfer of an entry and returns it; `nil` if it is not in flight.
    func cancel(_ entry: EntryID) -> Transfer? {
        guard !transfers.isEmpty, let transfer = transfers.removeValue(forKey: entry) else { return nil }
        ends.remove(entry)
        return transfer
    }

    /// Removes the transfer that ends first and returns it if it ends before `time`; otherwise `nil`.
    func popEnded(before time: Int64) -> Transfer? {
        guard let first = ends.smallest, first.key.time < time else { return nil }
        return cancel(first.entry)
    }

    /// The transfers in flight, in no order.
    var remaining: some Sequence<Transfer> { transfers.values }
}
