import HalcyonSupport

/// The order of the operations on a disk: which may run, which are void, and in which order their completions are
/// called.
///
/// It is a state machine that maps events to actions, without files, threads or locks. Every requested ticket is
/// completed exactly once, or refused.
///
/// - A change of a key waits for the earlier changes of that key and for earlier clearings. A store also waits for the
///   earlier removals whose filter matches it.
/// - A removal by a filter waits for the earlier stores that match, and for nothing else. Of those, it voids the ones
///   that do not run: in place of the store, the file of its key is removed, without a preparation.
/// - A clearing waits for all earlier changes.
/// - A read waits for the earlier changes of its key, for earlier clearings, and for the earlier removals whose filter
///   may match its key. Nothing waits for a read.
/// - A settle operation waits for all earlier changes. Nothing waits for it.
/// - A store is prepared first, in parallel with all other operations. A removal of its key and extension or a clearing
///   makes the store void unless it runs already. If the preparation fails, the file of the key is removed in place of
///   the store, because its value is older.
/// - The completions of the changes of one key are called in the order of the requests, one after the other.
///
/// Only a settle operation waits for the preparation of other keys' stores, with one exception: a removal by a filter, and
/// what waits for it, waits for an earlier store that does not match if that has the key of a matching one and writes a
/// file of another extension.
///
/// A request is O(pending changes of its key, clearings and filters). For a clearing, a removal by a filter and a settle
/// operation it is O(pending changes).
package struct DiskSchedule<Key: Hashable & Sendable>: Sendable {
    typealias Ticket = UInt64

    /// The properties of a stored value, beside its key, that a filter can refer to.
    package struct Labels: Sendable {
        /// The extension that the store asks for. Two stores of one key replace the same file if these are equal.
        package var forcedExtension: String?
        package var categories: [String]
        package var origin: EntryOrigin?

        package init(forcedExtension: String? = nil, categories: [String] = [], origin: EntryOrigin? = nil) {
            (self.forcedExtension, self.categories, self.origin) = (forcedExtension, categories, origin)
        }
    }

    /// The values that a removal removes.
    package struct Filter: Sendable {
        /// Whether it can match a value of this key. It must be `true` for each key of which a store matches.
        let mayMatch: @Sendable (Key) -> Bool
        /// Whether it matches the value of a store.
        let matches: @Sendable (Key, Labels) -> Bool

        package init(
            mayMatch: @escaping @Sendable (Key) -> Bool = { _ in true },
            matches: @escaping @Sendable (Key, Labels) -> Bool
        ) {
            (self.mayMatch, self.matches) = (mayMatch, matches)
        }
    }

    package enum Operation: Sendable {
        /// Replaces the value of a key.
        case store(Key, Labels = Labels())
        /// Removes the value of a key that was stored with this extension.
        case remove(Key, forcedExtension: String? = nil)
        /// Changes a key in another way, such as its notes.
        case change(Key)
        /// Removes all values that match.
        case removeAll(Filter)
        /// Removes all values.
        case clear
        /// Reads from a key.
        case read(Key)
        /// Runs after all earlier changes.
        case settle

        fileprivate var changedKey: Key? {
            switch self {
            case .store(let key, _), .remove(let key, _), .change(let key): key
            default: nil
            }
        }

        fileprivate var changesAll: Bool {
            switch self {
            case .clear, .removeAll: true
            default: false
            }
        }

        /// Whether this change of many keys must end before a read of a key.
        fileprivate func precedesRead(of key: Key) -> Bool {
            if case .removeAll(let filter) = self { filter.mayMatch(key) } else { true }
        }

        /// Whether this change of many keys must end before a store.
        fileprivate func precedesStore(_ key: Key, _ labels: Labels) -> Bool {
            if case .removeAll(let filter) = self { filter.matches(key, labels) } else { true }
        }

        /// Whether this is a store that a filter matches.
        fileprivate func isStore(matching filter: Filter) -> Bool {
            if case .store(let key, let labels) = self { filter.matches(key, labels) } else { false }
        }

        /// Whether this is a store of a file with this extension.
        fileprivate func isStore(forcedExtension: String?) -> Bool {
            guard case .store(_, let labels) = self else { return false }
            return labels.forcedExtension.map(ByteName.init) == forcedExtension.map(ByteName.init)
        }
    }

    enum Event: Sendable {
        /// An operation is requested. Its ticket must be greater than all earlier ones.
        case request(Ticket, Operation, isPrepared: Bool)
        /// The bytes of a store were made, or this failed.
        case prepared(Ticket, succeeded: Bool)
        /// A ready operation is about to run.
        case begin(Ticket)
        /// A running operation has ended.
        case finished(Ticket)
        /// The caller of a read no longer waits.
        case cancel(Ticket)
        /// The completion of an operation has returned.
        case delivered(Ticket)
        /// No more operations will be requested.
        case close
    }

    /// The result of an operation.
    enum Ending: Sendable, Equatable {
        case finished
        /// The store did not run, because a removal voided it.
        case void
        /// The store did not run, because its preparation failed.
        case unprepared
        case cancelled
    }

    enum Action: Sendable, Equatable {
        /// In place of this store, the file of its key is to be removed, without a preparation.
        case replace(Ticket)
        /// The operation may run.
        case ready(Ticket)
        /// The operation must run: the response to ``Event/begin(_:)``. There is no action if the operation is not
        /// ready, or not any more.
        case run(Ticket)
        /// The completion must be called.
        case complete(Ticket, Ending)
        /// The operation is refused, because the disk is closed.
        case refuse(Ticket)
        /// All operations have ended, their completions have returned, and there will be no more.
        case closed
    }

    private enum Phase { case preparing, waiting, ready, running }

    private struct Step {
        let operation: Operation
        var phase: Phase
        /// The ending of a store in whose place the file is removed; `nil` for other operations.
        var replacedEnding: Ending?
        /// The number of operations that this one waits for.
        var blockers = 0
        /// The tickets of the operations that wait for this one.
        var dependents: [Ticket] = []
    }

    private struct Completions {
        /// The changes of a key whose completions were not called, by ticket. Those that have ended have an ending.
        var waiting: [(ticket: Ticket, ending: Ending?)] = []
        var isDelivering = false
    }

    private var steps: [Ticket: Step] = [:]
    private var changes: [Key: [Ticket]] = [:]
    private var changesOfAll: [Ticket] = []
    private var completions: [Key: Completions] = [:]
    /// The operations whose completions run, with the key if completions of other changes wait for it.
    private var delivering: [Ticket: Key?] = [:]
    /// Whether no more operations are accepted.
    private(set) var isClosing = false
    private var isClosed = false

    /// The number of operations that have not ended.
    var pendingCount: Int { steps.count }

    /// The number of keys with completions that were not called, plus the number of completions that run.
    var undeliveredCount: Int { completions.count + delivering.count }

    /// Returns whether a read of a key need not wait. Such a read can run at any time without a request, because
    /// nothing waits for a read.
    func isFree(_ key: Key) -> Bool {
        !isClosing && (changes.isEmpty || changes[key] == nil)
            && !changesOfAll.contains { steps[$0]?.operation.precedesRead(of: key) == true }
    }

    /// Returns whether a key has a file with an extension once the pending changes have ended. It is `true` after a
    /// store, `false` after a removal or a clearing, and `nil` if none of them is pending.
    func pendingFile(of key: Key, _ forcedExtension: String?) -> Bool? {
        let clearing = changesOfAll.last { if case .clear? = steps[$0]?.operation { true } else { false } }
        for ticket in (changes[key] ?? []).reversed() {
            if let clearing, clearing > ticket { return false }
            guard let step = steps[ticket] else { continue }
            switch step.operation {
            case .store where step.operation.isStore(forcedExtension: forcedExtension):
                return step.replacedEnding == nil
            case .remove(_, let removed) where removed.map(ByteName.init) == forcedExtension.map(ByteName.init):
                return false
            default: continue
            }
        }
        return clearing == nil ? nil : false
    }

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
                replace(ticket, .unprepared, &actions)
            }
        case .begin(let ticket):
            guard steps[ticket]?.phase == .ready else { return [] }
            steps[ticket]?.phase = .running
            return [.run(ticket)]
        case .finished(let ticket):
            guard let step = steps[ticket], step.phase == .running else { return [] }
            end(ticket, step.replacedEnding ?? .finished, &actions)
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

    /// Returns the pending operations that must end before a read can run, by ticket: those to be prepared and those
    /// ready to run. A thread that waits for the read may run them itself.
    func work(before ticket: Ticket) -> (unprepared: [Ticket], ready: [Ticket]) {
        guard let step = steps[ticket], case .read(let key) = step.operation, step.phase == .waiting else {
            return ([], [])
        }
        var earlier = changes[key] ?? []
        // A clearing and a removal by a filter wait for changes of other keys.
        if changesOfAll.contains(where: { $0 < ticket }) {
            var needed: Set<Ticket> = [ticket]
            for other in (changes.values.flatMap { $0 } + changesOfAll).sorted(by: >) where other < ticket {
                if steps[other]?.dependents.contains(where: needed.contains) == true { needed.insert(other) }
            }
            earlier = Array(needed)
        }
        earlier = earlier.filter { $0 < ticket }.sorted()
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
        case .remove(let key, let forcedExtension): void(changes[key] ?? [], forcedExtension, &ended)
        case .clear: void(changes.values.flatMap { $0 }.sorted(), &ended)
        case .removeAll(let filter):
            for ticket in changes.values.flatMap({ $0 }).sorted(by: >)
            where steps[ticket]?.operation.isStore(matching: filter) == true { replace(ticket, .void, &ended) }
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
        case .store(let key, let labels):
            (changes[key] ?? [])
                + changesOfAll.filter { steps[$0]?.operation.precedesStore(key, labels) == true }
        case .remove(let key, _), .change(let key):
            (changes[key] ?? [])
                + changesOfAll.filter { if case .clear? = steps[$0]?.operation { true } else { false } }
        case .read(let key):
            (changes[key] ?? []) + changesOfAll.filter { steps[$0]?.operation.precedesRead(of: key) == true }
        case .removeAll(let filter):
            changes.values.flatMap { $0.filter { steps[$0]?.operation.isStore(matching: filter) == true } }
        case .clear, .settle: changes.values.flatMap { $0 } + changesOfAll
        }
    }

    /// Voids the stores among these operations that do not run yet.
    private mutating func void(_ tickets: [Ticket], _ actions: inout [Action]) {
        // In reverse order, so that the end of one store does not make the next one ready.
        for ticket in tickets.reversed() {
            guard let step = steps[ticket], step.phase != .running, case .store = step.operation else { continue }
            end(ticket, step.replacedEnding ?? .void, &actions)
        }
    }

    /// Voids the stores among these operations that do not run yet and have this extension.
    private mutating func void(_ tickets: [Ticket], _ forcedExtension: String?, _ actions: inout [Action]) {
        void(
            tickets.filter { steps[$0]?.operation.isStore(forcedExtension: forcedExtension) == true }, &actions)
    }

    /// Puts a removal of the file in the place of a store that does not run yet.
    ///
    /// The store does not merely end: it would have replaced an earlier value, which is outdated.
    private mutating func replace(_ ticket: Ticket, _ ending: Ending, _ actions: inout [Action]) {
        guard let step = steps[ticket], step.phase != .running, step.replacedEnding == nil,
            case .store(let key, let labels) = step.operation
        else { return }
        steps[ticket]?.replacedEnding = ending
        if step.phase == .preparing { steps[ticket]?.phase = .waiting }
        actions.append(.replace(ticket))
        // The earlier stores of the same file need not be written either.
        void((changes[key] ?? []).filter { $0 < ticket }, labels.forcedExtension, &actions)
        settle(ticket, &actions)
    }

    /// Makes an operation ready if it waits for nothing.
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

    /// Calls the next completion of a key, if its operation has ended and no other completion of the key runs.
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

// The operations on the entries of a cache.
extension DiskSchedule<ByteName>.Operation {
    /// Replaces the value of an entry.
    package static func store(_ key: EntryKey, _ context: AccessContext) -> Self {
        .store(
            ByteName(key.computed),
            .init(forcedExtension: key.forcedExtension, categories: context.categories, origin: context.origin))
    }

    /// Removes the value of an entry.
    package static func remove(_ key: EntryKey) -> Self {
        .remove(ByteName(key.computed), forcedExtension: key.forcedExtension)
    }

    /// Changes an entry in another way, such as its note.
    package static func change(_ key: EntryKey) -> Self { .change(ByteName(key.computed)) }

    /// Reads an entry.
    package static func read(_ key: EntryKey) -> Self { .read(ByteName(key.computed)) }
}
