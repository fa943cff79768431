import HalcyonNetworking
import HalcyonSupport
import Synchronization

/// Merges asynchronous work by key: the first caller starts it, later ones wait for the same result.
///
/// The work runs in a task of its own. It is cancelled when the last caller that waits for it is; results are not remembered.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Running {
        let number: Int
        let task: Task<Value, any Error>
        var waiters: Int
    }

    private struct State {
        var running: [Key: Running] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    /// Returns the result of a key's work, and whether this call has started it.
    ///
    /// - Throws: what the work throws; `CancellationError` if the calling task is cancelled already.
    func value(
        of key: Key, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> (value: Value, isFirst: Bool) {
        try Task.checkCancellation()
        let (number, task, isFirst) = state.withLock { state in
            if let running = state.running[key] {
                state.running[key]?.waiters += 1
                return (running.number, running.task, false)
            }
            state.count += 1
            let number = state.count
            let task = Task { [self] in
                defer { end(key, number) }
                return try await work()
            }
            state.running[key] = Running(number: number, task: task, waiters: 1)
            return (number, task, true)
        }
        return try await withTaskCancellationHandler {
            (try await task.value, isFirst)
        } onCancel: {
            leave(key, number)
        }
    }

    /// The number of keys whose work runs.
    var count: Int { state.withLock { $0.running.count } }

    /// The number of callers that wait.
    var waiterCount: Int { state.withLock { $0.running.values.reduce(0) { $0 + $1.waiters } } }

    private func end(_ key: Key, _ number: Int) {
        state.withLock { state in
            if state.running[key]?.number == number { state.running[key] = nil }
        }
    }

    private func leave(_ key: Key, _ number: Int) {
        let task = state.withLock { state -> Task<Value, any Error>? in
            guard let running = state.running[key], running.number == number else { return nil }
            state.running[key]?.waiters -= 1
            guard running.waiters == 1 else { return nil }
            state.running[key] = nil
            return running.task
        }
        task?.cancel()
    }
}

/// Work on a queue that callers of a higher priority queue again on their own queues. Whichever begins first does it.
final class QueuedWork: Sendable {
    private struct State {
        /// The work that has not begun: that of the latest callers, and of cancelled ones.
        var blocks: [@Sendable () -> Void] = []
        /// The queue of the caller with the highest priority.
        var best: (priority: TransferPriority, queue: CallbackQueue)?
    }

    private let state = Mutex(State())

    /// Adds the queue of a caller.
    func join(_ priority: TransferPriority, _ queue: CallbackQueue) {
        let isUrgent = state.withLock { state in
            if let best = state.best, best.priority >= priority { return false }
            state.best = (priority, queue)
            return !state.blocks.isEmpty
        }
        if isUrgent { enqueue(on: queue) }
    }

    /// Returns the result of the work. At least one caller has joined.
    func result<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let queue = state.withLock { state in
                state.blocks.append { continuation.resume(with: Result { try work() }) }
                return state.best?.queue
            }
            enqueue(on: queue ?? .dispatch(.global()))
        }
    }

    private func enqueue(on queue: CallbackQueue) {
        queue.execute { [self] in
            let blocks = state.withLock { state in
                defer { state.blocks = [] }
                return state.blocks
            }
            for block in blocks { block() }
        }
    }
}

/// The queued work of each key, as long as it has callers.
final class QueuedWorks<Key: Hashable & Sendable>: Sendable {
    private let works = Mutex<[Key: (work: QueuedWork, callers: Int)]>([:])

    /// Calls a closure with the queued work of a key.
    func with<Value>(_ key: Key, _ body: (QueuedWork) async throws -> Value) async rethrows -> Value {
        let work = works.withLock { works in
            let (work, callers) = works[key] ?? (QueuedWork(), 0)
            works[key] = (work, callers + 1)
            return work
        }
        defer {
            works.withLock { works in
                works[key]?.callers -= 1
                if works[key]?.callers == 0 { works[key] = nil }
            }
        }
        return try await body(work)
    }

    /// The number of keys that have callers.
    var count: Int { works.withLock { $0.count } }
}

/// The result of some work, or its cancellation, whichever comes first.
///
/// A cancelled load cannot end all its work at once: a file is read, a processor runs, a user's provider ignores cancellation. The
/// caller does not wait for these.
final class FirstAnswer<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Value, any Error>?
        var work: Task<Void, Never>?
        var isCancelled = false
    }

    private let state = Mutex(State())

    private init() {}

    /// Returns the value of some work, which is cancelled with the task that waits for it.
    ///
    /// - Throws: what the work throws; `CancellationError`, at once, if the task is cancelled.
    static func of(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let answer = FirstAnswer()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                answer.wait(continuation)
                answer.run(
                    Task {
                        let result: Result<Value, any Error>
                        do {
                            try Task.checkCancellation()
                            result = .success(try await work())
                        } catch {
                            result = .failure(error.isCancellation ? CancellationError() : error)
                        }
                        answer.give(result)
                    })
            }
        } onCancel: {
            answer.cancel()
        }
    }

    private func wait(_ continuation: CheckedContinuation<Value, any Error>) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.continuation = continuation }
            return state.isCancelled
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
    }

    private func run(_ work: Task<Void, Never>) {
        let isCancelled = state.withLock { state in
            state.work = work
            return state.isCancelled
        }
        if isCancelled { work.cancel() }
    }

    private func give(_ result: Result<Value, any Error>) {
        state.withLock { $0.continuation.take() }?.resume(with: result)
    }

    private func cancel() {
        let (continuation, work) = state.withLock { state in
            state.isCancelled = true
            return (state.continuation.take(), state.work)
        }
        continuation?.resume(throwing: CancellationError())
        work?.cancel()
    }
}
