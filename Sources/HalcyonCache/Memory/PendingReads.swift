/// Keeps what is read from a slower tier from coming into memory when it has been replaced or removed meanwhile.
///
/// Each read that may end in memory has a ticket from the moment it is asked for; a store or a removal of its key, or of
/// everything, makes that void. It lives under the lock of the storage.
package struct PendingReads {
    package struct Ticket: Sendable {
        let key: String
        let number: UInt64
        /// How many requests came before.
        let requestNumber: Int
    }

    private var last: UInt64 = 0
    private var valid: [String: Set<UInt64>] = [:]

    /// Whether a key is being read and may come in.
    func isPending(_ key: String) -> Bool { valid[key] != nil }

    /// A read is asked for.
    package mutating func begin(_ key: String, requestNumber: Int) -> Ticket {
        last += 1
        valid[key, default: []].insert(last)
        return Ticket(key: key, number: last, requestNumber: requestNumber)
    }

    /// A read has ended; whether what it read may come in.
    mutating func end(_ ticket: Ticket) -> Bool {
        guard valid[ticket.key]?.remove(ticket.number) != nil else { return false }
        if valid[ticket.key]?.isEmpty == true { valid[ticket.key] = nil }
        return true
    }

    /// Reads of a key are void.
    mutating func void(_ key: String) {
        if !valid.isEmpty { valid[key] = nil }
    }

    /// All reads are void.
    mutating func voidAll() { valid = [:] }
}
