import HalcyonSupport

/// The pending reads from a slower tier, which must not overwrite newer changes in memory.
///
/// Every read whose value may be stored in memory gets a ticket when it is requested. A store or a removal of its
/// key, or a removal of all values, voids the ticket. The storage's lock protects this value.
package struct PendingReads {
    package struct Ticket: Sendable {
        let key: String
        let number: UInt64
        /// The number of earlier requests.
        let requestNumber: Int
    }

    private var last: UInt64 = 0
    private var valid: [ByteName: Set<UInt64>] = [:]

    /// Whether a key has a pending read with a valid ticket.
    func isPending(_ key: String) -> Bool { valid[key] != nil }

    /// Begins a read and returns its ticket.
    package mutating func begin(_ key: String, requestNumber: Int) -> Ticket {
        last += 1
        valid[key, default: []].insert(last)
        return Ticket(key: key, number: last, requestNumber: requestNumber)
    }

    /// Ends a read, and returns whether its value may be stored.
    mutating func end(_ ticket: Ticket) -> Bool {
        guard valid[ticket.key]?.remove(ticket.number) != nil else { return false }
        if valid[ticket.key]?.isEmpty == true { valid[ticket.key] = nil }
        return true
    }

    /// Voids the reads of a key.
    mutating func void(_ key: String) {
        if !valid.isEmpty { valid[key] = nil }
    }

    /// Voids all reads.
    mutating func voidAll() { valid = [:] }
}
