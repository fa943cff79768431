/// The order of the operations on a disk: which may run now, which never have to, and in which order callers hear of them.
///
/// Events go in, actions come out; there are no files, threads or locks here. Every ticket that is requested is completed exactly
/// once, or refused.
///
/// - A change of a key waits for the earlier changes of that key, and for the earlier changes of all keys.
/// - A change of all keys waits for all earlier changes.
/// - A read waits for the earlier changes of its key and of all keys, and nothing waits for a read.
/// - A settling waits for all earlier changes, and nothing waits for it.
/// - A store is prepared first, whatever else goes on. A removal of its key and a clearing make it void unless it runs already.
/// - Completions of the changes of one key come in the order of the requests, one after the other.
///
/// A request is O(pending changes of its key and of all keys), for a change of all keys and a settling O(pending changes).
package struct DiskPlan<Key: Hashable & Sendable>: Sendable {
    typealias Ticket = UInt64

    package enum Operation: Sendable {
        /// Puts a value in the place of the key's.
        case store(Key)
        /// Removes the key's value.
        case remove(Key)
        /// Changes something of a key that is neither of both.
        case change(Key)
        /// Removes all values.
        case clear
        /// Changes something of any number of keys.
        case changeAll
        /// Reads something of a key.
        case read(Key)
        /// Does something when all earlier changes are done.
        case settle

        fileprivate var changedKey: Key? {
            switch self {
            case .store(let key), .remove(let key), .change(let key): key
            default: nil
            }
        }

        fileprivate var changesAll: Bool {
            switch self {
            case .clear, .changeAll: true
            default: false
            }
        }
    }

    enum Event: Sendable {
        /// An operation is requested. Its ticket must be greater than those before.
        case request(Ticket, Operation, isPrepared: Bool)
        /// The bytes of a store are there, or there are none.
        case prepared(Ticket, succeeded: Bool)
        /// An operation that is ready is about to run.
        case begin(Ticket)
        /// An operation that ran has ended.
        case finished(Ticket)
        /// The caller of a read does not wait any more.
        case cancel(Ticket)
        /// The caller has heard of the end of an operation.
        case delivered(Ticket)
        /// No operation is requested from now on.
        case close
    }

    /// How an operation ended.
    enum Ending: Sendable, Equatable {
        case finished
        /// It did not have to run: what it would have stored was removed.
        case void
        /// It did not run: it could not be prepared.
        case unprepared
        case cancelled
    }

    enum Action: Sendable, Equatable {
        /// The operation may run.
        case ready(Ticket)
        /// The answer to ``Event/begin(_:)``: run it. There is none if that is not, or no longer, to be done.
        case run(Ticket)
        /// Tell the caller.
        case complete(Ticket, Ending)
        /// The operation comes too late: the disk is closed.
        case refuse(Ticket)
        /// All operations have ended, their callers have heard, and there will be no more.
        case closed
    }

    private enum Phase { case preparing, waiting, ready, running }

    private struct Step {
        let operation: Operation
        var phase: Phase
        /// The number of operations that it waits for.
        var blockers = 0
        /// The operations that wait for it, by ticket.
        var dependents: [Ticket] = []
    }

    private struct Completions {
        /// The changes of a key whose callers have not heard, by ticket; those that have ended have an ending.
        var waiting: [(ticket: Ticket, ending: Ending?)] = []
        var isDelivering = false
    }

    private var steps: [Ticket: Step] = [:]
    private var changes: [Key: [Ticket]] = [:]
    private var changesOfAll: [Ticket] = []
    private var completions: [Key: Completions] = [:]
    /// The operations whose callers are being told, with the key of those that others wait for.
    private var delivering: [Ticket: Key?] = [:]
    private var (isClosing, isClosed) = (false, false)

    /// The number of operations that have not ended.
    var pendingCount: Int { steps.count }

    /// The number of ended operations and of keys of which a caller has not heard yet.
    var undeliveredCount: Int { completions.count + delivering.count }

    /// Whether a read of a key would have to wait for nothing. It can then run at any time without being requested, because nothing
    /// waits for a read.
    func isFree(_ key: Key) -> Bool { !isClosing && changesOfAll.isEmpty && changes[key] == nil }

    mutating func handle(_ event: Event) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .request(let ticket, let operation, let isPrepared):
            if isClosing { return [.refuse(ticket)] }
            request(ticket, operation, isPrepared, &actions)
        case .prepared(let ticket, let succeeded):
            guard steps[ticket]?.phase == .preparing else { return [] }
            if succeeded {
                steps[ticket]?.phase = .waiting
                settle(ticket, &actions)
            } else {
                end(ticket, .unprepared, &actions)
            }
        case .begin(let ticket):
            guard steps[ticket]?.phase == .ready else { return [] }
            steps[ticket]?.phase = .running
            return [.run(ticket)]
        case .finished(let ticket):
            guard steps[ticket]?.phase == .running else { return [] }
            end(ticket, .finished, &actions)
        case .cancel(let ticket):
            guard let step = steps[ticket], step.phase != .running, case .read = step.operation else { return [] }
            end(ticket, .cancelled, &actions)
        case .delivered(let ticket):
            guard let key = delivering.removeValue(forKey: ticket) else { return [] }
            if let key {
                completions[key]?.isDelivering = false
                deliver(key, &actions)
            }
        case .close: isClosing = true
        }
        if isClosing && !isClosed && steps.isEmpty && delivering.isEmpty {
            isClosed = true
            actions.append(.closed)
        }
        return actions
    }

    /// The pending operations that must end before a read can run, by ticket: those that are to be prepared or ready to run. A thread
    /// that waits for the read may do them itself.
    func work(before ticket: Ticket) -> (unprepared: [Ticket], ready: [Ticket]) {
        guard let step = steps[ticket], case .read(let key) = step.operation, step.phase == .waiting else {
            return ([], [])
        }
        // What changes all waits for changes of other keys.
        let isBehindAll = changesOfAll.contains { $0 < ticket }
        let earlier = (isBehindAll ? changes.values.flatMap { $0 } + changesOfAll : changes[key] ?? [])
            .filter { $0 < ticket }.sorted()
        return (
            earlier.filter { steps[$0]?.phase == .preparing }, earlier.filter { steps[$0]?.phase == .ready }
        )
    }

    // MARK: - Inside

    private mutating func request(
        _ ticket: Ticket, _ operation: Operation, _ isPrepared: Bool, _ actions: inout [Action]
    ) {
        var ended: [Action] = []
        switch operation {
        case .remove(let key): void(changes[key] ?? [], &ended)
        case .clear: void(changes.values.flatMap { $0 }.sorted(), &ended)
        default: break
        }
        var step = Step(operation: operation, phase: isPrepared ? .waiting : .preparing)
        for earlier in blockers(of: operation) {
            steps[earlier]?.dependents.append(ticket)
            step.blockers += 1
        }
        steps[ticket] = step
        if let key = operation.changedKey {
            changes[key, default: []].append(ticket)
            completions[key, default: Completions()].waiting.append((ticket, nil))
        } else if operation.changesAll {
            changesOfAll.append(ticket)
        }
        settle(ticket, &actions)
        actions += ended
    }

    private func blockers(of operation: Operation) -> [Ticket] {
        switch operation {
        case .store(let key), .remove(let key), .change(let key), .read(let key): (changes[key] ?? []) + changesOfAll
        case .clear, .changeAll, .settle: changes.values.flatMap { $0 } + changesOfAll
        }
    }

    /// Makes stores void that do not run yet.
    private mutating func void(_ tickets: [Ticket], _ actions: inout [Action]) {
        // The last first, so that none is let run by the end of one before.
        for ticket in tickets.reversed() {
            guard let step = steps[ticket], step.phase != .running, case .store = step.operation else { continue }
            end(ticket, .void, &actions)
        }
    }

    /// Lets an operation run that waits for nothing.
    private mutating func settle(_ ticket: Ticket, _ actions: inout [Action]) {
        guard let step = steps[ticket], step.phase == .waiting, step.blockers == 0 else { return }
        steps[ticket]?.phase = .ready
        actions.append(.ready(ticket))
    }

    private mutating func end(_ ticket: Ticket, _ ending: Ending, _ actions: inout [Action]) {
        guard let step = steps.removeValue(forKey: ticket) else { return }
        if let key = step.operation.changedKey {
            changes[key]?.removeAll { $0 == ticket }
            if changes[key]?.isEmpty == true { changes[key] = nil }
        } else if step.operation.changesAll {
            changesOfAll.removeAll { $0 == ticket }
        }
        for dependent in step.dependents {
            steps[dependent]?.blockers -= 1
            settle(dependent, &actions)
        }
        if let key = step.operation.changedKey {
            if let place = completions[key]?.waiting.firstIndex(where: { $0.ticket == ticket }) {
                completions[key]?.waiting[place].ending = ending
            }
            deliver(key, &actions)
        } else {
            delivering.updateValue(nil, forKey: ticket)
            actions.append(.complete(ticket, ending))
        }
    }

    /// Tells the next caller of a key, if its operation has ended and no other is being told.
    private mutating func deliver(_ key: Key, _ actions: inout [Action]) {
        guard let waiting = completions[key], !waiting.isDelivering else { return }
        guard let first = waiting.waiting.first else {
            completions[key] = nil
            return
        }
        guard let ending = first.ending else { return }
        completions[key]?.waiting.removeFirst()
        completions[key]?.isDelivering = true
        delivering.updateValue(key, forKey: first.ticket)
        actions.append(.complete(first.ticket, ending))
    }
}
