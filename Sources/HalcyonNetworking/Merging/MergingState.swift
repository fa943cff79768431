/// Who waits for which transfer: one transfer a key, any number of waiters, each with a priority and a processor.
///
/// Events go in, actions come out; there are no sockets, threads or locks here, and what was loaded is not kept here either.
/// A waiter, once joined, is answered exactly once: by `deliver`, `fail` or `cancelled`.
///
/// - A waiter joins the transfer of its key, whether that is loading or its result is being processed; else one starts.
/// - A transfer is as urgent as its most urgent waiter.
/// - Each processor that is waited for runs once a transfer, when the transfer has succeeded.
/// - When the last waiter leaves, the transfer is cancelled. One that has failed is forgotten: who joins later starts anew.
///
/// Joining and leaving are O(1) in the waiters and O(p) in the processors of the transfer; an answer is O(n log n) in its waiters, who
/// are told in the order of their tokens.
package struct MergingState<Key: Hashable, Processor: Hashable> {
    package typealias Token = UInt64
    package typealias TransferID = UInt64

    package enum Event {
        /// A waiter comes. Its token must be new.
        case join(Token, Key, Processor, TransferPriority)
        /// A waiter does not wait any more.
        case leave(Token)
        /// A waiter's priority changes.
        case setPriority(Token, TransferPriority)
        /// A transfer has ended, well or not.
        case finished(TransferID, succeeded: Bool)
        /// A processor is done with a transfer's result, well or not.
        case processed(TransferID, Processor, succeeded: Bool)
    }

    package enum Action: Equatable {
        /// Start the transfer of a key.
        case start(TransferID, Key, TransferPriority)
        /// A transfer is more or less urgent now.
        case setPriority(TransferID, TransferPriority)
        /// Nobody waits for a transfer: end it, and what processes its result.
        case cancel(TransferID)
        /// Let a processor work on what a transfer has brought.
        case process(TransferID, Processor)
        /// Give these waiters what a processor has made, or why it has not.
        case deliver([Token], TransferID, Processor)
        /// Tell these waiters why the transfer has failed.
        case fail([Token], TransferID)
        /// Tell this waiter that it has left.
        case cancelled(Token)
        /// What a transfer has brought is not needed any more.
        case forget(TransferID)
    }

    /// What joining comes to.
    package struct Joined {
        /// The transfer that is waited for, or that has the answer already.
        package let transfer: TransferID
        /// Whether its processor is the first of its kind there.
        package var isNewProcessor = false
        package let actions: [Action]
    }

    private struct Waiter {
        /// Where its transfer is, and where in that its processor.
        let slot: Int
        let work: Int
        var priority: TransferPriority
    }

    private var waiters: [Token: Waiter] = [:]
    /// The transfers, in places that are used again: who knows the place need not search.
    private var slots: [MergedTransfer<Key, Processor>?] = []
    private var freeSlots: [Int] = []
    private var slotOfKey: [Key: Int] = [:]
    private var slotOfID: [TransferID: Int] = [:]
    private var lastID: TransferID = 0

    /// How many wait.
    package var waiterCount: Int { waiters.count }

    /// How many transfers there are, loading or being processed.
    package var transferCount: Int { slotOfID.count }

    /// The waiters of the keys that a test picks, in their order.
    package func tokens(where picks: (Key) -> Bool) -> [Token] {
        waiters.filter { slots[$0.value.slot].map { picks($0.key) } ?? false }.keys.sorted()
    }

    /// Takes an event in. What comes out is to be done in its order.
    package mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .join(let token, let key, let processor, let priority):
            join(token, key, processor, priority)?.actions ?? []
        case .leave(let token): leave(token)
        case .setPriority(let token, let priority): setPriority(token, priority)
        case .finished(let id, let succeeded): finished(id, succeeded)
        case .processed(let id, let processor, let succeeded): processed(id, processor, succeeded)
        }
    }

    /// A waiter comes; `nil` if its token is not new.
    package mutating func join(
        _ token: Token, _ key: Key, _ processor: Processor, _ priority: TransferPriority
    ) -> Joined? {
        guard waiters[token] == nil else { return nil }
        guard let slot = slotOfKey[key], let id = slots[slot]?.id, let known = slots[slot]?.work(of: processor) else {
            return start(token, key, processor, priority)
        }
        if slots[slot]?.works[known.index].phase == .done {
            return Joined(transfer: id, actions: [.deliver([token], id, processor)])
        }
        waiters[token] = Waiter(slot: slot, work: known.index, priority: priority)
        var actions: [Action] = []
        if slots[slot]?.add(token, to: known.index, priority) == true { actions.append(.process(id, processor)) }
        if let priority = slots[slot]?.changedPriority() { actions.append(.setPriority(id, priority)) }
        return Joined(transfer: id, isNewProcessor: known.isNew, actions: actions)
    }

    private mutating func start(
        _ token: Token, _ key: Key, _ processor: Processor, _ priority: TransferPriority
    ) -> Joined {
        lastID += 1
        var transfer = MergedTransfer(id: lastID, key: key, first: processor, priority: priority)
        _ = transfer.add(token, to: 0, priority)
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(transfer) } else { slots[slot] = transfer }
        (slotOfKey[key], slotOfID[lastID]) = (slot, slot)
        waiters[token] = Waiter(slot: slot, work: 0, priority: priority)
        return Joined(transfer: lastID, isNewProcessor: true, actions: [.start(lastID, key, priority)])
    }

    private mutating func leave(_ token: Token) -> [Action] {
        guard let waiter = waiters.removeValue(forKey: token), let id = slots[waiter.slot]?.id else { return [] }
        slots[waiter.slot]?.counts[waiter.priority.rawValue] -= 1
        guard slots[waiter.slot]?.isWaitedFor == true else {
            drop(waiter.slot)
            return [.cancelled(token), .cancel(id)]
        }
        slots[waiter.slot]?.works[waiter.work].left { waiters[$0] != nil }
        guard let priority = slots[waiter.slot]?.changedPriority() else { return [.cancelled(token)] }
        return [.cancelled(token), .setPriority(id, priority)]
    }

    private mutating func setPriority(_ token: Token, _ priority: TransferPriority) -> [Action] {
        guard let waiter = waiters[token], let id = slots[waiter.slot]?.id else { return [] }
        waiters[token]?.priority = priority
        slots[waiter.slot]?.counts[waiter.priority.rawValue] -= 1
        slots[waiter.slot]?.counts[priority.rawValue] += 1
        guard let priority = slots[waiter.slot]?.changedPriority() else { return [] }
        return [.setPriority(id, priority)]
    }

    private mutating func finished(_ id: TransferID, _ succeeded: Bool) -> [Action] {
        guard let slot = slotOfID[id], slots[slot]?.isLoading == true, let works = slots[slot]?.works else { return [] }
        guard succeeded else {
            var tokens: [Token] = []
            for work in works { tokens += work.tokens.filter { waiters.removeValue(forKey: $0) != nil } }
            drop(slot)
            return [.fail(tokens.sorted(), id), .forget(id)]
        }
        slots[slot]?.isLoading = false
        var wanted: [(first: Token, work: Int)] = []
        for (index, work) in works.enumerated() {
            guard let first = work.tokens.filter({ waiters[$0] != nil }).min() else { continue }
            wanted.append((first, index))
            slots[slot]?.works[index].phase = .running
        }
        return wanted.sorted { $0.first < $1.first }.map { .process(id, works[$0.work].processor) }
    }

    private mutating func processed(_ id: TransferID, _ processor: Processor, _ succeeded: Bool) -> [Action] {
        guard let slot = slotOfID[id],
            let index = slots[slot]?.works.firstIndex(where: { $0.processor == processor && $0.phase == .running }),
            var tokens = slots[slot]?.works[index].answered(succeeded)
        else { return [] }
        tokens.removeAll { token in
            guard let waiter = waiters.removeValue(forKey: token) else { return true }
            slots[slot]?.counts[waiter.priority.rawValue] -= 1
            return false
        }
        tokens.sort()
        let answer: [Action] = tokens.isEmpty ? [] : [.deliver(tokens, id, processor)]
        if slots[slot]?.isWaitedFor == true { return answer }
        let isRunning = slots[slot]?.works.contains { $0.phase == .running } == true
        drop(slot)
        return answer + (isRunning ? [.cancel(id)] : [.forget(id)])
    }

    /// Forgets a transfer, so that who joins later starts another.
    private mutating func drop(_ slot: Int) {
        guard let transfer = slots[slot] else { return }
        (slotOfKey[transfer.key], slotOfID[transfer.id]) = (nil, nil)
        slots[slot] = nil
        freeSlots.append(slot)
    }
}

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
