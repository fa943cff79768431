import HalcyonNetworking
import HalcyonSupport
import Synchronization

/// Merges asynchronous work by key: the first caller starts it, later ones wait for the same result.
///
/// The work runs in a task of its own. It is cancelled when the last caller that waits for it is; results are not remembered. What it
/// decodes or processes has the priority and the queue of the most urgent caller that still waits (``LimitedWork``).
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Running {
        let number: Int
        let task: Task<Value, any Error>
        let work: LimitedWork
        var waiters: Int
    }

    private struct State {
        var running: [Key: Running] = [:]
        var count = 0
    }

    private let limiter: DecodeLimiter
    private let state = Mutex(State())

    /// - Parameter limiter: bounds how much of the work runs at the same time.
    init(_ limiter: DecodeLimiter) { self.limiter = limiter }

    /// Returns the result of a key's work, and whether this call has started it.
    ///
    /// - Parameters:
    ///   - priority: the priority of this caller; a task changes it.
    ///   - queue: where the work is done if this caller is the most urgent.
    /// - Throws: what the work throws; `CancellationError` if the calling task is cancelled.
    func value(
        of key: Key, _ priority: TransferPriority = .normal, _ queue: CallbackQueue = .untouch,
        _ task: DownloadTask? = nil, _ work: @escaping @Sendable (LimitedWork) async throws -> Value
    ) async throws -> (value: Value, isFirst: Bool) {
        try Task.checkCancellation()
        let (running, isFirst) = state.withLock { state in
            if let running = state.running[key] {
                state.running[key]?.waiters += 1
                return (running, false)
            }
            state.count += 1
            let (number, limited) = (state.count, LimitedWork(limiter, priority, queue))
            let task = Task { [self] in
                defer { end(key, number) }
                return try await work(limited)
            }
            let running = Running(number: number, task: task, work: limited, waiters: 1)
            state.running[key] = running
            return (running, true)
        }
        let load = isFirst ? LimitedWork.firstLoad : running.work.join(priority, queue)
        task?.follow { [work = running.work] in work.setPriority($0, of: load) }
        return try await withTaskCancellationHandler {
            let value = try await running.task.value
            try Task.checkCancellation()
            return (value, isFirst)
        } onCancel: {
            running.work.leave(load)
            leave(key, running.number)
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
