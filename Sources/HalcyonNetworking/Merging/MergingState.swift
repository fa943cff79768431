/// The waiters of each transfer: one transfer for each key, any number of waiters, each with a priority and a processor.
///
/// Events go in, actions come out. There are no sockets, threads or locks here, and no loaded data.
/// A waiter that has joined is answered exactly once: by `deliver`, `fail` or `cancelled`.
///
/// - A waiter joins the transfer of its key, whether that is loading or its result is being processed; otherwise one
///   starts. See `MergingTests.waitersOfOneKeyShareOneTransfer()`.
/// - The priority of a transfer is the highest of its waiters. See
///   `MergingTests.transferHasHighestPriorityOfWaiters()`.
/// - Each processor that has waiters runs once for a transfer, when the transfer has succeeded. See
///   `MergingTests.equalProcessorsRunOncePerTransfer()`.
/// - The priority of a processor's work is the highest of the waiters of that processor. See
///   `MergingTests.workHasHighestPriorityOfItsWaiters()`.
/// - When the last waiter leaves, the transfer is cancelled. A failed transfer is forgotten: a later waiter starts
///   another one. See `MergingTests.lastWaiterToLeaveCancelsTransfer()` and
///   `MergingTests.failureReachesEveryWaiterAndIsForgotten()`.
///
/// Joining and leaving are O(1) in the waiters and O(p) in the processors of the transfer. An answer is O(n log n) in its waiters,
/// which are answered in the order of their tokens.
///
/// A model checks every sequence of up to seven events. See `MergingModelTests.allShortSequencesFollowModel()` and
/// `MergingModelTests.randomSequencesFollowModel()`.
package struct MergingState<Key: Hashable, Processor: Hashable> {
    package typealias Token = UInt64
    package typealias TransferID = UInt64

    package enum Event {
        /// A waiter joins. Its token must be new.
        case join(Token, Key, Processor, TransferPriority)
        /// A waiter leaves.
        case leave(Token)
        /// A waiter's priority changes.
        case setPriority(Token, TransferPriority)
        /// A transfer has ended.
        case finished(TransferID, succeeded: Bool)
        /// A processor has processed the result of a transfer.
        case processed(TransferID, Processor, succeeded: Bool)
    }

    package enum Action: Equatable {
        /// Start the transfer of a key.
        case start(TransferID, Key, TransferPriority)
        /// The priority of a transfer has changed.
        case setPriority(TransferID, TransferPriority)
        /// A transfer has no waiters: cancel it, and the processors of its result.
        case cancel(TransferID)
        /// Run a processor on the result of a transfer, with the highest priority of its waiters.
        case process(TransferID, Processor, TransferPriority)
        /// The priority of a processor's work has changed, which has begun or waits to begin.
        case setWorkPriority(TransferID, Processor, TransferPriority)
        /// Give these waiters the outcome of a processor.
        case deliver([Token], TransferID, Processor)
        /// Give these waiters the error of a transfer.
        case fail([Token], TransferID)
        /// Give this waiter, which has left, a cancellation.
        case cancelled(Token)
        /// Release the result of a transfer.
        case forget(TransferID)
    }

    /// The result of joining.
    package struct Joined {
        /// The transfer that the waiter has joined.
        package let transfer: TransferID
        /// Whether the transfer had no such processor before.
        package var isNewProcessor = false
        /// The highest priority of the waiters of the processor.
        package let priority: TransferPriority
        package let actions: [Action]
    }

    private struct Waiter {
        /// The places of its transfer, and of its processor in that.
        let slot: Int
        let work: Int
        var priority: TransferPriority
    }

    private var waiters: [Token: Waiter] = [:]
    /// The transfers, in places that are reused, so that a waiter finds its transfer without a search.
    private var slots: [MergedTransfer<Key, Processor>?] = []
    private var freeSlots: [Int] = []
    private var slotOfKey: [Key: Int] = [:]
    private var slotOfID: [TransferID: Int] = [:]
    private var lastID: TransferID = 0

    /// The number of waiters.
    package var waiterCount: Int { waiters.count }

    /// The number of transfers that load or whose results are being processed.
    package var transferCount: Int { slotOfID.count }

    /// Whether a waiter waits for the work of a processor.
    package func isWaitedFor(_ id: TransferID, _ processor: Processor) -> Bool {
        guard let slot = slotOfID[id], let works = slots[slot]?.works else { return false }
        return works.contains { $0.processor == processor && $0.counts.highest != nil }
    }

    /// The waiters of the keys that are picked, in their order.
    package func tokens(where picks: (Key) -> Bool) -> [Token] {
        waiters.filter { slots[$0.value.slot].map { picks($0.key) } ?? false }.keys.sorted()
    }

    /// Handles an event. The actions must be performed in their order.
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

    /// Adds a waiter; `nil` if its token is not new.
    package mutating func join(
        _ token: Token, _ key: Key, _ processor: Processor, _ priority: TransferPriority
    ) -> Joined? {
        guard waiters[token] == nil else { return nil }
        guard let slot = slotOfKey[key], let id = slots[slot]?.id, let known = slots[slot]?.work(of: processor) else {
            return start(token, key, processor, priority)
        }
        if slots[slot]?.works[known.index].phase == .done {
            return Joined(transfer: id, priority: priority, actions: [.deliver([token], id, processor)])
        }
        waiters[token] = Waiter(slot: slot, work: known.index, priority: priority)
        let starts = slots[slot]?.add(token, to: known.index, priority) == true
        return Joined(
            transfer: id, isNewProcessor: known.isNew,
            priority: slots[slot]?.works[known.index].counts.highest ?? priority,
            actions: starts ? [.process(id, processor, priority)] : changes(slot, known.index))
    }

    /// The change of a priority that an event of a processor's waiters has caused: of the transfer while it loads, else of the work.
    private mutating func changes(_ slot: Int, _ work: Int) -> [Action] {
        guard let id = slots[slot]?.id else { return [] }
        if let priority = slots[slot]?.changedPriority() { return [.setPriority(id, priority)] }
        guard let priority = slots[slot]?.works[work].changedPriority(),
            let processor = slots[slot]?.works[work].processor
        else { return [] }
        return [.setWorkPriority(id, processor, priority)]
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
        return Joined(
            transfer: lastID, isNewProcessor: true, priority: priority, actions: [.start(lastID, key, priority)])
    }

    private mutating func leave(_ token: Token) -> [Action] {
        guard let waiter = waiters.removeValue(forKey: token), let id = slots[waiter.slot]?.id else { return [] }
        slots[waiter.slot]?.works[waiter.work].counts[waiter.priority] -= 1
        guard slots[waiter.slot]?.isWaitedFor == true else {
            drop(waiter.slot)
            return [.cancelled(token), .cancel(id)]
        }
        slots[waiter.slot]?.works[waiter.work].left { waiters[$0] != nil }
        return [.cancelled(token)] + changes(waiter.slot, waiter.work)
    }

    private mutating func setPriority(_ token: Token, _ priority: TransferPriority) -> [Action] {
        guard let waiter = waiters[token] else { return [] }
        waiters[token]?.priority = priority
        slots[waiter.slot]?.works[waiter.work].counts[waiter.priority] -= 1
        slots[waiter.slot]?.works[waiter.work].counts[priority] += 1
        return changes(waiter.slot, waiter.work)
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
        var wanted: [(first: Token, action: Action)] = []
        for (index, work) in works.enumerated() {
            guard let first = work.tokens.filter({ waiters[$0] != nil }).min(),
                let priority = slots[slot]?.works[index].start()
            else { continue }
            wanted.append((first, .process(id, work.processor, priority)))
        }
        return wanted.sorted { $0.first < $1.first }.map(\.action)
    }

    private mutating func processed(_ id: TransferID, _ processor: Processor, _ succeeded: Bool) -> [Action] {
        guard let slot = slotOfID[id],
            let index = slots[slot]?.works.firstIndex(where: { $0.processor == processor && $0.phase == .running }),
            var tokens = slots[slot]?.works[index].answered(succeeded)
        else { return [] }
        tokens.removeAll { token in
            guard let waiter = waiters.removeValue(forKey: token) else { return true }
            slots[slot]?.works[index].counts[waiter.priority] -= 1
            return false
        }
        tokens.sort()
        let answer: [Action] = tokens.isEmpty ? [] : [.deliver(tokens, id, processor)]
        if slots[slot]?.isWaitedFor == true { return answer }
        let isRunning = slots[slot]?.works.contains { $0.phase == .running } == true
        drop(slot)
        return answer + (isRunning ? [.cancel(id)] : [.forget(id)])
    }

    /// Forgets a transfer, so that a later waiter starts another one.
    private mutating func drop(_ slot: Int) {
        guard let transfer = slots[slot] else { return }
        (slotOfKey[transfer.key], slotOfID[transfer.id]) = (nil, nil)
        slots[slot] = nil
        freeSlots.append(slot)
    }
}

/// One transfer of ``MergingState``, and the processors of its waiters.
struct MergedTransfer<Key, Processor: Equatable> {
    /// One processor.
    struct Work {
        /// `idle`: it has not run, or it has failed.
        enum Phase { case idle, running, done }

        let processor: Processor
        private(set) var phase = Phase.idle
        /// The number of its waiters of each priority.
        var counts = PriorityCounts()
        /// The priority that was last reported of its work.
        private var priority = TransferPriority.normal
        /// Its waiters, and some that have left.
        private(set) var tokens: [UInt64] = []
        private var departed = 0

        init(_ processor: Processor) { self.processor = processor }

        fileprivate mutating func add(_ token: UInt64, _ priority: TransferPriority) {
            tokens.append(token)
            counts[priority] += 1
        }

        /// Begins the work. Returns its priority; `nil`, and it does not begin, without waiters.
        mutating func start() -> TransferPriority? {
            guard let highest = counts.highest else { return nil }
            (phase, priority) = (.running, highest)
            return highest
        }

        /// Returns the priority of the work if it has changed and has not been processed.
        mutating func changedPriority() -> TransferPriority? {
            guard phase == .running, let highest = counts.highest, highest != priority else { return nil }
            priority = highest
            return highest
        }

        /// A waiter leaves. Waiters that have left are removed when they are half of the list: O(1), amortised.
        mutating func left(waits: (UInt64) -> Bool) {
            departed += 1
            guard departed > 8, departed * 2 > tokens.count else { return }
            tokens.removeAll { !waits($0) }
            departed = 0
        }

        /// Notes the end of the work; a failure is not remembered. Returns the waiters, and empties their list.
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
    /// The priority that was last reported.
    private var priority: TransferPriority

    init(id: UInt64, key: Key, first processor: Processor, priority: TransferPriority) {
        self.id = id
        self.key = key
        works = [Work(processor)]
        self.priority = priority
    }

    var isWaitedFor: Bool { works.contains { $0.counts.highest != nil } }

    /// Returns the place of a processor, which is added if it is new. O(processors).
    mutating func work(of processor: Processor) -> (index: Int, isNew: Bool) {
        if let index = works.firstIndex(where: { $0.processor == processor }) { return (index, false) }
        works.append(Work(processor))
        return (works.count - 1, true)
    }

    /// Adds a waiter. Returns whether its processor has to start now.
    mutating func add(_ token: UInt64, to work: Int, _ priority: TransferPriority) -> Bool {
        works[work].add(token, priority)
        guard !isLoading, works[work].phase == .idle else { return false }
        return works[work].start() != nil
    }

    /// Returns the priority of the transfer if it has changed and the transfer still loads.
    mutating func changedPriority() -> TransferPriority? {
        guard isLoading, let highest = works.lazy.compactMap(\.counts.highest).max(), highest != priority else {
            return nil
        }
        priority = highest
        return highest
    }
}

/// A number for each priority.
struct PriorityCounts {
    /// One lane for each priority; the last three are not used.
    private var counts = SIMD8<Int32>()

    subscript(_ priority: TransferPriority) -> Int32 {
        get { counts[priority.rawValue] }
        set { counts[priority.rawValue] = newValue }
    }

    /// The highest priority whose number is not 0.
    var highest: TransferPriority? { TransferPriority.allCases.last { self[$0] > 0 } }
}
