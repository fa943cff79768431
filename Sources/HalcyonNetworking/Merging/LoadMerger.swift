import Foundation
import HalcyonSupport
import Synchronization

/// Does what ``MergingState`` says: starts and ends loads, lets processors work, answers who waits. What is loaded, from wherever it
/// is, is a `Body`.
///
/// Events come from any thread. What is to be done for them waits in a list that one thread at a time works off, in order,
/// without the lock: so that a load is never cancelled before it is started, and whoever is called may call back.
package final class LoadMerger<Key: Hashable & Sendable, Body: Sendable>: Sendable {
    package typealias State = MergingState<Key, ProcessorKey>

    /// Brings the body; tells of its progress, and can be told how urgent it is.
    package typealias Load =
        @Sendable (TransferControl, @escaping @Sendable (DownloadProgress) -> Void) async throws -> Body

    /// What a processor does, and where.
    package struct Job: Sendable {
        package let queue: CallbackQueue
        package let process: @Sendable (Body) -> any LoadOutcomeOfAnyKind

        package init(queue: CallbackQueue, process: @escaping @Sendable (Body) -> any LoadOutcomeOfAnyKind) {
            self.queue = queue
            self.process = process
        }
    }

    private struct Waiter {
        let complete: @Sendable (LoadAnswer) -> Void
        /// The transfer whose progress it is told of.
        let listensTo: State.TransferID?
    }

    /// One load and what comes of it.
    private struct Run {
        let load: Load
        let control: TransferControl
        var task: Task<Void, Never>?
        var jobs: [ProcessorKey: Job] = [:]
        var listeners: [State.Token: @Sendable (DownloadProgress) -> Void] = [:]
        var loaded: Result<Body, any Error>?
        var outcomes: [ProcessorKey: any LoadOutcomeOfAnyKind] = [:]
    }

    private struct Core {
        var merging = State()
        var pending: [State.Action] = []
        var isWorking = false
        var waiters: [State.Token: Waiter] = [:]
        var runs: [State.TransferID: Run] = [:]

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

    /// A number for a waiter to come.
    package func newToken() -> State.Token { lastToken.wrappingAdd(1, ordering: .relaxed).newValue }

    /// A waiter comes; `complete` is called once.
    ///
    /// - Parameters:
    ///   - load: brings the body, asked for if this is the first waiter of the key.
    ///   - job: what the processor does, asked for if it is the first of its kind for the load.
    package func join(
        _ token: State.Token, _ key: Key, _ priority: TransferPriority, _ processor: ProcessorKey,
        onProgress: (@Sendable (DownloadProgress) -> Void)?, load: () -> Load, job: () -> Job,
        complete: @escaping @Sendable (LoadAnswer) -> Void
    ) {
        take { core in
            guard let joined = core.merging.join(token, key, processor, priority) else { return [] }
            let id = joined.transfer
            if case .start? = joined.actions.first {
                core.runs[id] = Run(load: load(), control: TransferControl(priority: priority))
            }
            if joined.isNewProcessor { core.runs[id]?.jobs[processor] = job() }
            if let onProgress { core.runs[id]?.listeners[token] = onProgress }
            core.waiters[token] = Waiter(complete: complete, listensTo: onProgress == nil ? nil : id)
            return joined.actions
        }
    }

    /// A waiter leaves; nothing, if it is not there.
    package func leave(_ token: State.Token) { take { $0.merging.handle(.leave(token)) } }

    /// A waiter is more or less urgent.
    package func setPriority(_ token: State.Token, _ priority: TransferPriority) {
        take { $0.merging.handle(.setPriority(token, priority)) }
    }

    /// All waiters of the keys that are picked leave.
    package func cancelAll(where picks: (Key) -> Bool) {
        take { core in core.merging.tokens(where: picks).flatMap { core.merging.handle(.leave($0)) } }
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
        for listener in core.withLock({ Array($0.runs[id]?.listeners.values ?? [:].values) }) { listener(progress) }
    }

    // MARK: - Actions

    /// Takes an event in, and works off what is to be done unless another thread does.
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
        case .cancel(let id):
            let run = core.withLock { $0.runs.removeValue(forKey: id) }
            run?.control.cancel()
            run?.task?.cancel()
        case .process(let id, let processor): process(id, processor)
        case .deliver(let tokens, let id, let processor):
            let outcome = core.withLock { $0.runs[id]?.outcomes[processor] }
            answer(tokens, outcome.map(LoadAnswer.outcome) ?? .failure(NetworkError.cancelled))
        case .fail(let tokens, let id):
            guard case .failure(let error)? = core.withLock({ $0.runs[id]?.loaded }) else { return }
            answer(tokens, .failure(error))
        case .cancelled(let token): answer([token], .failure(NetworkError.cancelled))
        case .forget(let id): core.withLock { _ = $0.runs.removeValue(forKey: id) }
        }
    }

    private func start(_ id: State.TransferID) {
        guard let (load, control) = core.withLock({ core in core.runs[id].map { ($0.load, $0.control) } }) else {
            return
        }
        let task = Task.detached { [self] in
            do {
                finished(id, .success(try await load(control) { self.progressed(id, $0) }))
            } catch {
                finished(id, .failure(error))
            }
        }
        core.withLock { $0.runs[id]?.task = task }
    }

    private func process(_ id: State.TransferID, _ processor: ProcessorKey) {
        guard let job = core.withLock({ $0.runs[id]?.jobs[processor] }) else { return }
        job.queue.execute { [self] in
            // Nobody waits any more, if it is gone.
            guard case .success(let body)? = core.withLock({ $0.runs[id]?.loaded }) else { return }
            processed(id, processor, job.process(body))
        }
    }

    private func answer(_ tokens: [State.Token], _ answer: LoadAnswer) {
        let waiters = core.withLock { core in
            tokens.compactMap { token -> Waiter? in
                guard let waiter = core.waiters.removeValue(forKey: token) else { return nil }
                if let id = waiter.listensTo { core.runs[id]?.listeners[token] = nil }
                return waiter
            }
        }
        for waiter in waiters { waiter.complete(answer) }
    }
}
