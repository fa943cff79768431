/// One transfer of ``MergingState``, and what its waiters want made of it.
struct MergedTransfer<Key, Processor: Equatable> {
    /// One processor.
    struct Work {
        /// Nobody has let it work yet, or it has failed; it works; it is done.
        enum Phase { case idle, running, done }

        let processor: Processor
        var phase = Phase.idle
        /// Who waits for it, and some who have left.
        private(set) var tokens: [UInt64] = []
        private var departed = 0

        init(_ processor: Processor) { self.processor = processor }

        fileprivate mutating func add(_ token: UInt64) { tokens.append(token) }

        /// One who waits leaves. Who has left is struck off once that is half of the list: O(1) on the average.
        mutating func left(waits: (UInt64) -> Bool) {
            departed += 1
            guard departed > 8, departed * 2 > tokens.count else { return }
            tokens.removeAll { !waits($0) }
            departed = 0
        }

        /// It has done its work, or failed, which is not remembered. Returns the list, which is empty now.
        mutating func answered(_ succeeded: Bool) -> [UInt64] {
            defer { (tokens, departed) = ([], 0) }
            phase = succeeded ? .done : .idle
            return tokens
        }
    }

    let id: UInt64
    let key: Key
    var isLoading = true
    var works: [Work]
    /// How many waiters there are of each priority.
    var counts = [Int](repeating: 0, count: TransferPriority.allCases.count)
    /// What was last said of its priority.
    private var priority: TransferPriority

    init(id: UInt64, key: Key, first processor: Processor, priority: TransferPriority) {
        self.id = id
        self.key = key
        works = [Work(processor)]
        self.priority = priority
    }

    var isWaitedFor: Bool { counts.contains { $0 > 0 } }

    /// Where a processor is, which is added if it is new. O(processors).
    mutating func work(of processor: Processor) -> (index: Int, isNew: Bool) {
        if let index = works.firstIndex(where: { $0.processor == processor }) { return (index, false) }
        works.append(Work(processor))
        return (works.count - 1, true)
    }

    /// A waiter comes. Returns whether its processor has to begin now.
    mutating func add(_ token: UInt64, to work: Int, _ priority: TransferPriority) -> Bool {
        works[work].add(token)
        counts[priority.rawValue] += 1
        guard !isLoading, works[work].phase == .idle else { return false }
        works[work].phase = .running
        return true
    }

    /// How urgent it is now, if that has changed and it still loads.
    mutating func changedPriority() -> TransferPriority? {
        guard isLoading, let highest = counts.lastIndex(where: { $0 > 0 }),
            let wanted = TransferPriority(rawValue: highest), wanted != priority
        else { return nil }
        priority = wanted
        return wanted
    }
}
