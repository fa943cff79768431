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
