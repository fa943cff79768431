import HalcyonEviction

/// The transfers in flight, in the order of their start. All take the same time, so they end in this order.
///
/// A transfer that a request joins is cancelled where it stands and skipped at its turn. All operations are amortised
/// O(1). Memory: 80 bytes a transfer, those cancelled or ended included until half of the queue are.
struct TransferQueue {
    /// A transfer of a prefetched object.
    struct Transfer {
        var access: Access
        /// The time of its end, in microseconds.
        var time: Int64
        /// Whether it was started after the warm-up.
        var isCounted: Bool
    }

    /// The transfers from ``head`` on; `nil` for those cancelled or ended.
    private var transfers: [Transfer?] = []
    private var head = 0
    /// The number of the first element of ``transfers``.
    private var base = 0

    /// Adds a transfer and returns its number.
    mutating func append(_ transfer: Transfer) -> Int {
        transfers.append(transfer)
        return base + transfers.count - 1
    }

    /// Removes the transfer with a number and returns it; `nil` if it has ended or was cancelled.
    mutating func cancel(_ number: Int) -> Transfer? {
        let place = number - base
        guard place >= head, place < transfers.count, let transfer = transfers[place] else { return nil }
        transfers[place] = nil
        return transfer
    }

    /// Removes the first transfer and returns it if it ends by `time`; otherwise `nil`.
    mutating func popEnded(by time: Int64) -> Transfer? {
        while head < transfers.count, transfers[head] == nil { head += 1 }
        compact()
        guard head < transfers.count, let first = transfers[head], first.time <= time else { return nil }
        transfers[head] = nil
        head += 1
        return first
    }

    /// The transfers that have neither ended nor been cancelled.
    var remaining: some Sequence<Transfer> { transfers[head...].lazy.compactMap { $0 } }

    private mutating func compact() {
        guard head >= 64, head * 2 >= transfers.count else { return }
        transfers.removeSubrange(..<head)
        base += head
        head = 0
    }
}
