import HalcyonSupport
import Synchronization

/// A waiter of a ``LoadMerger`` that waits in a task.
///
/// It joins before its task suspends, so that nothing that it joins with has to outlive the suspension. It is the only object that
/// waiting allocates: it is the merger's completion, and holds the continuation.
package final class LoadWaiter<Key: Hashable & Sendable, Body: Sendable>: Sendable {
    private enum State {
        case begun
        /// An unsafe continuation must be resumed exactly once. The merger answers each waiter once, and only that answer takes the
        /// continuation out of the state. An answer that came first resumes it at once, and the state never holds it.
        case waiting(UnsafeContinuation<LoadAnswer, Never>)
        case answered(LoadAnswer)
        case resumed
    }

    private let state = Mutex(State.begun)
    private let merger: LoadMerger<Key, Body>
    package let token: UInt64

    package init(_ merger: LoadMerger<Key, Body>) {
        self.merger = merger
        token = merger.newToken()
    }

    /// Takes the answer.
    package func complete(_ answer: LoadAnswer) {
        let continuation = state.withLock { state -> UnsafeContinuation<LoadAnswer, Never>? in
            switch state {
            case .begun: state = .answered(answer)
            case .waiting(let continuation):
                state = .resumed
                return continuation
            case .answered, .resumed: break
            }
            return nil
        }
        continuation?.resume(returning: answer)
    }

    /// Waits for the answer, once. The waiter leaves when the task is cancelled, or was cancelled before.
    package func answer() async -> LoadAnswer {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let answer = state.withLock { state -> LoadAnswer? in
                    if case .answered(let answer) = state { return answer }
                    state = .waiting(continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            merger.leave(token)
        }
    }
}

/// The key of a processor among those of one load: its identifier and its type of value.
package struct ProcessorKey: Hashable, Sendable {
    package let identifier: ByteName
    package let value: ObjectIdentifier

    package init<Value>(_ identifier: String, _ value: Value.Type) {
        self.identifier = ByteName(identifier)
        self.value = ObjectIdentifier(value)
    }
}

/// The result of a processor's work, one object for all waiters that share it.
package final class LoadOutcome<Value: Sendable>: LoadOutcomeOfAnyKind {
    package let result: Result<Value, any Error>

    /// Runs the work.
    package init(_ work: () throws -> Value) { result = Result { try work() } }

    package var isSuccess: Bool { if case .success = result { true } else { false } }
}

/// An outcome whose type of value is known to its waiters only.
package protocol LoadOutcomeOfAnyKind: AnyObject, Sendable {
    var isSuccess: Bool { get }
}

/// The answer to a waiter: a ``LoadOutcome`` of its processor's type of value, or the error of the load.
package enum LoadAnswer: Sendable {
    case outcome(any LoadOutcomeOfAnyKind)
    case failure(any Error)

    /// The result for a waiter of this type of value, which is part of the processor's key.
    package func result<Value: Sendable>(_: Value.Type = Value.self) -> Result<Value, any Error> {
        switch self {
        case .failure(let error): .failure(error)
        case .outcome(let outcome): (outcome as? LoadOutcome<Value>)?.result ?? .failure(NetworkError.cancelled)
        }
    }

    /// Returns the same value, copied once, since it may be large.
    package func value<Value: Sendable>(_: Value.Type = Value.self) throws -> Value {
        switch self {
        case .failure(let error): throw error
        case .outcome(let outcome):
            guard let outcome = outcome as? LoadOutcome<Value> else { throw NetworkError.cancelled }
            return try outcome.result.get()
        }
    }
}
