import Synchronization

/// One who has joined a load of a ``LoadMerger`` and is to wait for it in a task.
///
/// It joins before its task suspends, so that nothing of what it joins with has to outlast that; and it is the one object that waiting
/// takes: the merger's completion, and where the continuation is.
package final class LoadWaiter<Key: Hashable & Sendable, Body: Sendable>: Sendable {
    private enum State {
        case begun
        /// Unsafe is: resumed twice or never. It is resumed by whoever takes it out of here, which only the one answer does that the
        /// merger gives each waiter; if that came before, at once, and it is never in here.
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

    /// The answer has come.
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

    /// Waits for the answer, once; it leaves when the task is cancelled, also if that was before.
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

/// A processor among those of one load: equal identifiers with the same kind of value are the same.
package struct ProcessorKey: Hashable, Sendable {
    package let identifier: String
    package let value: ObjectIdentifier

    package init<Value>(_ identifier: String, _ value: Value.Type) {
        self.identifier = identifier
        self.value = ObjectIdentifier(value)
    }
}

/// What came of a processor's work: one object for all who share it.
package final class LoadOutcome<Value: Sendable>: LoadOutcomeOfAnyKind {
    package let result: Result<Value, any Error>

    /// Does the work.
    package init(_ work: () throws -> Value) { result = Result { try work() } }

    package var isSuccess: Bool { if case .success = result { true } else { false } }
}

/// An outcome whose kind of value only those know who wait for it.
package protocol LoadOutcomeOfAnyKind: AnyObject, Sendable {
    var isSuccess: Bool { get }
}

/// What a waiter gets: a ``LoadOutcome`` of its processor's kind of value, or why nothing was loaded.
package enum LoadAnswer: Sendable {
    case outcome(any LoadOutcomeOfAnyKind)
    case failure(any Error)

    /// The result for whoever waited for this kind of value, which is part of the processor's key.
    package func result<Value: Sendable>(_: Value.Type = Value.self) -> Result<Value, any Error> {
        switch self {
        case .failure(let error): .failure(error)
        case .outcome(let outcome): (outcome as? LoadOutcome<Value>)?.result ?? .failure(NetworkError.cancelled)
        }
    }

    /// The same value, copied once: it may be large.
    package func value<Value: Sendable>(_: Value.Type = Value.self) throws -> Value {
        switch self {
        case .failure(let error): throw error
        case .outcome(let outcome):
            guard let outcome = outcome as? LoadOutcome<Value> else { throw NetworkError.cancelled }
            return try outcome.result.get()
        }
    }
}
