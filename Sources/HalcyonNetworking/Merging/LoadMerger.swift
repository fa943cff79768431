import Foundation
import HalcyonSupport
import Synchronization

/// Performs the actions of ``MergingState``: starts and cancels loads, runs processors, answers waiters. A load, from whatever
/// source, produces a `Body`.
///
/// Events come from any thread. Their actions wait in a list that one thread at a time works off in order, without the lock, so
/// that a load is never cancelled before it is started.
///
/// No code of a caller runs in that loop or in the lock. Completions, progress listeners and processors run on their queues, which
/// the loop only enqueues to (see ``CallbackLane``). A callback may therefore block, cancel loads or wait for another load without
/// delaying other loads.
///
/// See `DownloaderTests.reentrantLoadsDoNotDeadlock()`.
package final class LoadMerger<Key: Hashable & Sendable, Body: Sendable>: Sendable {
    package typealias State = MergingState<Key, ProcessorKey>

    /// Produces the body, reports progress, and takes changes of its priority from its control.
    package typealias Load =
        @Sendable (TransferControl, @escaping @Sendable (DownloadProgress) -> Void) async throws -> Body

    /// The work of a processor, its queue, and where it waits for a turn before that; `nil` if it needs none.
    package struct Job: Sendable {
        package let queue: CallbackQueue
        package let turns: (any WorkTurns)?
        package let process: @Sendable (Body) -> any LoadOutcomeOfAnyKind

        package init(
            queue: CallbackQueue, turns: (any WorkTurns)? = nil,
            process: @escaping @Sendable (Body) -> any LoadOutcomeOfAnyKind
        ) {
            self.queue = queue
            self.turns = turns
            self.process = process
        }
    }

    /// The work of a processor that is queued. The number distinguishes it from later work of the same processor.
    private struct QueuedWork {
        let number: UInt64
        let priority: WorkPriority
    }

    /// What a waiter is called with.
    package struct Callbacks: Sendable {
        private let progressLane: CallbackLane?
        private let completionLane: CallbackLane?
        private let onProgress: (@Sendable (DownloadProgress) -> Void)?
        private let complete: @Sendable (LoadAnswer) -> Void

        /// The callbacks of a user, both on one lane. `complete` is called once, after all progress.
        package init(
            _ lane: CallbackLane, onProgress: (@Sendable (DownloadProgress) -> Void)? = nil,
            complete: @escaping @Sendable (LoadAnswer) -> Void
        ) {
            (progressLane, completionLane) = (lane, lane)
            self.onProgress = onProgress
            self.complete = complete
        }

        /// The callbacks of a waiter that waits in a task. It is resumed within the loop, except that progress which goes through a
        /// queue of its own lane comes before.
        package init(
            _ waiter: LoadWaiter<Key, Body>, _ lane: CallbackLane? = nil,
            onProgress: (@Sendable (DownloadProgress) -> Void)? = nil
        ) {
            progressLane = lane
            completionLane = lane?.isIndirect == true ? lane : nil
            self.onProgress = onProgress
            complete = waiter.complete
        }

        fileprivate var listener: Listener? {
            guard let progressLane, let onProgress else { return nil }
            return Listener(lane: progressLane, call: onProgress)
        }

        fileprivate func answer(_ answer: LoadAnswer) {
            guard let completionLane else { return complete(answer) }
            completionLane.execute { [complete] in complete(answer) }
        }
    }

    private struct Waiter {
        let callbacks: Callbacks
        /// A name besides the key, by which its load can be cancelled.
        let alias: String?
        /// The transfer whose progress the waiter receives.
        let listensTo: State.TransferID?
    }

    fileprivate struct Listener {
        let lane: CallbackLane
        let call: @Sendable (DownloadProgress) -> Void
    }

    /// One load and its results.
    private struct Run {
        let load: Load
        let control: TransferControl
        var task: Task<Void, Never>?
        /// For each processor the job of the waiter whose priority was the highest when it joined.
        var jobs: [ProcessorKey: (job: Job, priority: TransferPriority)] = [:]
        var listeners: [State.Token: Listener] = [:]
        var loaded: Result<Body, any Error>?
        var outcomes: [ProcessorKey: any LoadOutcomeOfAnyKind] = [:]
        /// The work of each processor that is queued and has not begun.
        var queued: [ProcessorKey: QueuedWork] = [:]
    }

    private struct Core {
        var merging = State()
        var pending: [State.Action] = []
        var isWorking = false
        var waiters: [State.Token: Waiter] = [:]
        var runs: [State.TransferID: Run] = [:]
        /// The number of the work that was queued last.
        var lastWork: UInt64 = 0

        mutating func takePending() -> [State.Action] {
            defer { pending = [] }
            return pending
        }
    }

    private let core = Mutex(Core())
    private let lastToken = Atomic<State.Token>(0)

    package init() {}

    package var transferCount: Int { core.withLock { $0.merging.transferCount } }
    package var waiterCount: Int { core.withLock { $0.merging.waiterCount } }

    // MARK: - Events

    /// A number for a new waiter.
    package func newToken() -> State.Token { lastToken.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Adds a waiter, which is answered once.
    ///
    /// - Parameters:
    ///   - alias: a name besides the key, for ``cancelAll(where:orAlias:)``.
    ///   - load: makes the load if this is the first waiter of the key. It is called in the lock and must not call code of a user.
    ///   - job: makes the processor's work if it is the first of its kind for the load, or has a higher priority than the earlier
    ///     ones; under the same rule.
    package func join(
        _ token: State.Token, _ key: Key, _ priority: TransferPriority, _ processor: ProcessorKey,
        alias: String? = nil, _ callbacks: Callbacks, load: () -> Load, job: () -> Job
    ) {
        // Destroyed after the lock, since it may hold the last reference to a user's processor.
        var replaced: Job?
        var urgent: (id: State.TransferID, job: Job, work: QueuedWork)?
        take { core in
            guard let joined = core.merging.join(token, key, processor, priority) else { return [] }
            let id = joined.transfer
            if case .start? = joined.actions.first {
                core.runs[id] = Run(load: load(), control: TransferControl(priority: priority))
            }
            if joined.isNewProcessor || core.runs[id]?.jobs[processor].map({ $0.priority < priority }) == true {
                let job = job()
                replaced = core.runs[id]?.jobs.updateValue((job, priority), forKey: processor)?.job
                if let number = core.runs[id]?.queued[processor]?.number {
                    let work = QueuedWork(number: number, priority: WorkPriority(joined.priority))
                    core.runs[id]?.queued[processor] = work
                    urgent = (id, job, work)
                }
            }
            let listener = callbacks.listener
            if let listener { core.runs[id]?.listeners[token] = listener }
            core.waiters[token] = Waiter(callbacks: callbacks, alias: alias, listensTo: listener == nil ? nil : id)
            return joined.actions
        }
        withExtendedLifetime(replaced) {}
        // The bytes are there, and a job of lower priority is queued. Whichever begins first does the work.
        if let urgent { enqueue(urgent.job, urgent.work, urgent.id, processor) }
    }

    /// Removes a waiter, if it is there.
    package func leave(_ token: State.Token) { take { $0.merging.handle(.leave(token)) } }

    /// Changes the priority of a waiter.
    package func setPriority(_ token: State.Token, _ priority: TransferPriority) {
        take { $0.merging.handle(.setPriority(token, priority)) }
    }

    /// Removes all waiters whose keys are picked, or that have this alias. O(waiters).
    package func cancelAll(where picks: (Key) -> Bool, orAlias alias: String? = nil) {
        take { core in
            var tokens = core.merging.tokens(where: picks)
            if let alias {
                let named = core.waiters.filter { $0.value.alias == alias }.keys
                tokens = Set(tokens).union(named).sorted()
            }
            return tokens.flatMap { core.merging.handle(.leave($0)) }
        }
    }

    private func finished(_ id: State.TransferID, _ result: Result<Body, any Error>) {
        take { core in
            core.runs[id]?.loaded = result
            if case .success = result { return core.merging.handle(.finished(id, succeeded: true)) }
            return core.merging.handle(.finished(id, succeeded: false))
        }
    }

    private func processed(
        _ id: State.TransferID, _ processor: ProcessorKey, _ outcome: any LoadOutcomeOfAnyKind
    ) {
        take { core in
            core.runs[id]?.outcomes[processor] = outcome
            return core.merging.handle(.processed(id, processor, succeeded: outcome.isSuccess))
        }
    }

    private func progressed(_ id: State.TransferID, _ progress: DownloadProgress) {
        for listener in core.withLock({ Array($0.runs[id]?.listeners.values ?? [:].values) }) {
            listener.lane.execute { [call = listener.call] in call(progress) }
        }
    }

    // MARK: - Actions

    /// Takes an event in, and works off its actions unless another thread does.
    private func take(_ event: (inout Core) -> [State.Action]) {
        var work = core.withLock { core -> [State.Action] in
            core.pending += event(&core)
            guard !core.isWorking, !core.pending.isEmpty else { return [] }
            core.isWorking = true
            return core.takePending()
        }
        while !work.isEmpty {
            for action in work { perform(action) }
            work = core.withLock { core in
                let next = core.takePending()
                core.isWorking = !next.isEmpty
                return next
            }
        }
    }

    private func perform(_ action: State.Action) {
        switch action {
        case .start(let id, _, _): start(id)
        case .setPriority(let id, let priority):
            core.withLock { $0.runs[id]?.control }?.setPriority(priority)
        case .cancel(let id): cancel(id)
        case .process(let id, let processor, let priority): process(id, processor, priority)
        case .setWorkPriority(let id, let processor, let priority):
            core.withLock { $0.runs[id]?.queued[processor]?.priority }?.set(priority)
        case .deliver(let tokens, let id, let processor):
            let outcome = core.withLock { $0.runs[id]?.outcomes[processor] }
            answer(tokens, outcome.map(LoadAnswer.outcome) ?? .failure(NetworkError.cancelled))
        case .fail(let tokens, let id):
            guard case .failure(let error)? = core.withLock({ $0.runs[id]?.loaded }) else { return }
            answer(tokens, .failure(error))
        case .cancelled(let token): answer([token], .failure(NetworkError.cancelled))
        // What a run holds is destroyed outside the lock, since that may call code of a user.
        case .forget(let id): _ = core.withLock { $0.runs.removeValue(forKey: id) }
        }
    }

    private func start(_ id: State.TransferID) {
        core.withLock { core in
            guard let run = core.runs[id] else { return }
            let (load, control) = (run.load, run.control)
            core.runs[id]?.task = Task.detached { [self] in
                guard !control.isCancelled else { return }
                do {
                    finished(id, .success(try await load(control) { self.progressed(id, $0) }))
                } catch {
                    finished(id, .failure(error))
                }
            }
        }
    }

    private func cancel(_ id: State.TransferID) {
        guard let run = core.withLock({ $0.runs.removeValue(forKey: id) }) else { return }
        // This ends the transfer, and the load asks it before each step. The task only informs what a user's code waits for, whose
        // cancellation handlers run within the call.
        run.control.cancel()
        if let task = run.task { CallbackThreads.shared.execute { task.cancel() } }
    }

    private func process(_ id: State.TransferID, _ processor: ProcessorKey, _ priority: TransferPriority) {
        let queued = core.withLock { core -> (Job, QueuedWork)? in
            guard let job = core.runs[id]?.jobs[processor]?.job else { return nil }
            core.lastWork += 1
            let work = QueuedWork(number: core.lastWork, priority: WorkPriority(priority))
            core.runs[id]?.queued[processor] = work
            return (job, work)
        }
        if let (job, work) = queued { enqueue(job, work, id, processor) }
    }

    /// Queues a job, which does nothing if another one has begun the same work, or no waiter waits for it any more.
    private func enqueue(_ job: Job, _ work: QueuedWork, _ id: State.TransferID, _ processor: ProcessorKey) {
        let lane = CallbackLane.processors(job.queue)
        let block: @Sendable () -> Void = { [self] in
            var body: Body?
            take { core in
                guard core.runs[id]?.queued[processor]?.number == work.number,
                    case .success(let loaded)? = core.runs[id]?.loaded
                else { return [] }
                core.runs[id]?.queued[processor] = nil
                guard core.merging.isWaitedFor(id, processor) else {
                    return core.merging.handle(.processed(id, processor, succeeded: false))
                }
                body = loaded
                return []
            }
            if let body { processed(id, processor, job.process(body)) }
        }
        if let turns = job.turns { turns.enqueue(block, on: lane, work.priority) } else { lane.execute(block) }
    }

    private func answer(_ tokens: [State.Token], _ answer: LoadAnswer) {
        let waiters = core.withLock { core in
            tokens.compactMap { token -> Waiter? in
                guard let waiter = core.waiters.removeValue(forKey: token) else { return nil }
                if let id = waiter.listensTo { core.runs[id]?.listeners[token] = nil }
                return waiter
            }
        }
        for waiter in waiters { waiter.callbacks.answer(answer) }
    }
}

/// A queue to which a block of a user can be handed without running it, or any other code of a user, in the call.
///
/// Blocks for a `DispatchQueue` and the main queue go there directly, and so keep their order. Blocks for ``CallbackQueue/untouch``
/// and ``CallbackQueue/custom(_:)`` go to ``CallbackThreads``, so that up to 64 of them may block without delaying others. Processors
/// go to a global queue in place of these threads: they compute, and so many at a time would only take memory.
package struct CallbackLane: Sendable {
    private enum Base {
        case queue(DispatchQueue)
        case threads
        case sequence(CallbackSequence)
    }

    private let base: Base
    private let execute: (@Sendable (@escaping @Sendable () -> Void) -> Void)?
    /// Whether blocks go through threads of this package before they run where the user said.
    package var isIndirect: Bool { if case .queue = base { false } else { true } }

    /// The lane of callbacks.
    ///
    /// - Parameter isOrdered: whether the blocks of an indirect lane run one after another, in the order of the calls.
    package init(_ queue: CallbackQueue, isOrdered: Bool) {
        self.init(queue, indirect: isOrdered ? .sequence(CallbackSequence()) : .threads)
    }

    /// The lane of processors.
    package static func processors(_ queue: CallbackQueue) -> CallbackLane {
        CallbackLane(queue, indirect: .queue(.global(qos: .userInitiated)))
    }

    private init(_ queue: CallbackQueue, indirect: @autoclosure () -> Base) {
        switch queue {
        case .mainAsync, .mainCurrentOrAsync: (base, execute) = (.queue(.main), nil)
        case .dispatch(let queue): (base, execute) = (.queue(queue), nil)
        case .untouch: (base, execute) = (indirect(), nil)
        case .custom(let custom): (base, execute) = (indirect(), custom)
        }
    }

    /// Hands a block to the queue and returns.
    package func execute(_ block: @escaping @Sendable () -> Void) {
        let work = execute.map { execute in { @Sendable in execute(block) } } ?? block
        switch base {
        case .queue(let queue): queue.async(execute: work)
        case .threads: CallbackThreads.shared.execute(work)
        case .sequence(let sequence): sequence.execute(work)
        }
    }
}
