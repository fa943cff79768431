import Synchronization

/// The first of two events for a waiter: the result of its work, or its cancellation.
///
/// Some work does not end when it is cancelled, for example reading a file, a processor, or a custom provider. A cancelled waiter
/// does not wait for it.
final class FirstAnswer<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Value, any Error>?
        var work: Task<Void, Never>?
        var isCancelled = false
    }

    private let state = Mutex(State())

    private init() {}

    /// The value of some work, which is cancelled with the task that waits for it.
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
