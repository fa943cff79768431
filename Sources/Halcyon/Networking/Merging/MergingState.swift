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
/// Joining and leaving are O(1); an answer is O(n log n) in its waiters, who are told in the order of their tokens.
struct MergingState<Key: Hashable, Processor: Hashable> {
    typealias Token = UInt64
    typealias TransferID = UInt64

    enum Event {
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

    enum Action: Equatable {
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

    private struct Waiter {
        let transfer: TransferID
        let processor: Processor
        var priority: TransferPriority
    }

    /// One processor of a transfer.
    private struct Work {
        var waiters: Set<Token> = []
        var isDone = false
    }

    private struct Transfer {
        let key: Key
        var isLoading = true
        var work: [Processor: Work] = [:]
        /// How many waiters there are of each priority.
        var counts = [Int](repeating: 0, count: TransferPriority.allCases.count)
        /// What was last said of its priority.
        var priority: TransferPriority

        var isWaitedFor: Bool { counts.contains { $0 > 0 } }
        var wanted: TransferPriority? {
            counts.lastIndex { $0 > 0 }.flatMap(TransferPriority.init(rawValue:))
        }
    }

    private var waiters: [Token: Waiter] = [:]
    private var transfers: [TransferID: Transfer] = [:]
    private var current: [Key: TransferID] = [:]
    private var lastID: TransferID = 0

    /// How many wait.
    var waiterCount: Int { waiters.count }

    /// How many transfers there are, loading or being processed.
    var transferCount: Int { transfers.count }

    /// The waiters of the keys that a test picks, in their order.
    func tokens(where picks: (Key) -> Bool) -> [Token] {
        waiters.filter { transfers[$0.value.transfer].map { picks($0.key) } ?? false }.keys.sorted()
    }

    /// The transfer that a waiter waits for; `nil` if it does not wait.
    func transfer(of token: Token) -> TransferID? { waiters[token]?.transfer }

    /// Takes an event in. What comes out is to be done in its order.
    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .join(let token, let key, let processor, let priority): join(token, key, processor, priority)
        case .leave(let token): leave(token)
        case .setPriority(let token, let priority): setPriority(token, priority)
        case .finished(let id, let succeeded): finished(id, succeeded)
        case .processed(let id, let processor, let succeeded): processed(id, processor, succeeded)
        }
    }

    private mutating func join(
        _ token: Token, _ key: Key, _ processor: Processor, _ priority: TransferPriority
    ) -> [Action] {
        guard waiters[token] == nil else { return [] }
        guard let id = current[key], transfers[id] != nil else { return start(token, key, processor, priority) }
        if transfers[id]?.work[processor]?.isDone == true { return [.deliver([token], id, processor)] }
        let isNew = transfers[id]?.work[processor] == nil
        let isLoading = transfers[id]?.isLoading == true
        add(token, Waiter(transfer: id, processor: processor, priority: priority))
        return changedPriority(id) + (isNew && !isLoading ? [.process(id, processor)] : [])
    }

    private mutating func start(
        _ token: Token, _ key: Key, _ processor: Processor, _ priority: TransferPriority
    ) -> [Action] {
        lastID += 1
        transfers[lastID] = Transfer(key: key, priority: priority)
        current[key] = lastID
        add(token, Waiter(transfer: lastID, processor: processor, priority: priority))
        return [.start(lastID, key, priority)]
    }

    private mutating func leave(_ token: Token) -> [Action] {
        guard let waiter = waiters.removeValue(forKey: token) else { return [] }
        let id = waiter.transfer
        transfers[id]?.counts[waiter.priority.rawValue] -= 1
        transfers[id]?.work[waiter.processor]?.waiters.remove(token)
        guard let transfer = transfers[id] else { return [.cancelled(token)] }
        if !transfer.isWaitedFor {
            drop(id)
            return [.cancelled(token), .cancel(id)]
        }
        // Who leaves while it loads takes an unwanted processor with it; one that runs may still serve whoever comes.
        if transfer.isLoading, transfer.work[waiter.processor]?.waiters.isEmpty == true {
            transfers[id]?.work[waiter.processor] = nil
        }
        return [.cancelled(token)] + changedPriority(id)
    }

    private mutating func setPriority(_ token: Token, _ priority: TransferPriority) -> [Action] {
        guard let waiter = waiters[token] else { return [] }
        waiters[token]?.priority = priority
        transfers[waiter.transfer]?.counts[waiter.priority.rawValue] -= 1
        transfers[waiter.transfer]?.counts[priority.rawValue] += 1
        return changedPriority(waiter.transfer)
    }

    private mutating func finished(_ id: TransferID, _ succeeded: Bool) -> [Action] {
        guard let transfer = transfers[id], transfer.isLoading else { return [] }
        if succeeded {
            transfers[id]?.isLoading = false
            let first = transfer.work.mapValues { $0.waiters.min() ?? 0 }
            return first.sorted { $0.value < $1.value }.map { .process(id, $0.key) }
        }
        let tokens = transfer.work.values.flatMap(\.waiters).sorted()
        for token in tokens { waiters[token] = nil }
        drop(id)
        return [.fail(tokens, id), .forget(id)]
    }

    private mutating func processed(_ id: TransferID, _ processor: Processor, _ succeeded: Bool) -> [Action] {
        guard let work = transfers[id]?.work[processor], !work.isDone, transfers[id]?.isLoading == false else {
            return []
        }
        let tokens = work.waiters.sorted()
        for token in tokens {
            guard let waiter = waiters.removeValue(forKey: token) else { continue }
            transfers[id]?.counts[waiter.priority.rawValue] -= 1
        }
        // What has failed is not remembered.
        transfers[id]?.work[processor] = succeeded ? Work(isDone: true) : nil
        let answer: [Action] = tokens.isEmpty ? [] : [.deliver(tokens, id, processor)]
        if transfers[id]?.isWaitedFor == true { return answer + changedPriority(id) }
        let isRunning = transfers[id]?.work.values.contains { !$0.isDone } == true
        drop(id)
        return answer + (isRunning ? [.cancel(id)] : [.forget(id)])
    }

    private mutating func add(_ token: Token, _ waiter: Waiter) {
        waiters[token] = waiter
        transfers[waiter.transfer]?.counts[waiter.priority.rawValue] += 1
        transfers[waiter.transfer]?.work[waiter.processor, default: Work()].waiters.insert(token)
    }

    /// Forgets a transfer, so that who joins later starts another.
    private mutating func drop(_ id: TransferID) {
        guard let transfer = transfers.removeValue(forKey: id) else { return }
        if current[transfer.key] == id { current[transfer.key] = nil }
    }

    /// Says how urgent a transfer is, if that has changed and it still loads.
    private mutating func changedPriority(_ id: TransferID) -> [Action] {
        guard transfers[id]?.isLoading == true, let wanted = transfers[id]?.wanted, wanted != transfers[id]?.priority
        else { return [] }
        transfers[id]?.priority = wanted
        return [.setPriority(id, wanted)]
    }
}
