/// The whole sequence of requests, for the offline optimum alone.
///
/// 4 bytes a request beside the trace's own 4.
public struct FutureKnowledge: Sendable {
    /// The entry of each request.
    public let entries: [EntryID]
    /// For each request the index of the next one for the same entry, or ``never``.
    public let nextUse: [UInt32]

    /// The next use of an entry that is not asked for again.
    public static let never = UInt32.max

    /// Finds the next use of each request in one pass from the end. O(requests + entries).
    ///
    /// - Parameters:
    ///   - entries: the requests in order.
    ///   - entryCount: one more than the largest entry.
    public init(entries: [EntryID], entryCount: Int) {
        precondition(entries.count < Int(UInt32.max), "more than 2³² requests")
        var upcoming = SlotArray<UInt32>(repeating: FutureKnowledge.never, capacity: entryCount)
        nextUse = [UInt32](unsafeUninitializedCapacity: entries.count) { buffer, count in
            for index in stride(from: entries.count - 1, through: 0, by: -1) {
                let entry = entries[index]
                buffer[index] = upcoming[entry]
                upcoming[entry] = UInt32(truncatingIfNeeded: index)
            }
            count = entries.count
        }
        self.entries = entries
    }
}
