import Foundation

/// Where a callback is called.
///
/// See `ImageCacheTests.callbackQueuesRunWhereStated()`.
public enum CallbackQueue: Sendable {
    /// On the main queue, later.
    case mainAsync
    /// At once when on the main thread or queue already, otherwise on the main queue, later.
    case mainCurrentOrAsync
    /// Wherever the work ended.
    case untouch
    /// On this queue.
    case dispatch(DispatchQueue)
    /// Wherever a function executes the block that it is given, which it does once.
    case custom(@Sendable (@escaping @Sendable () -> Void) -> Void)

    /// Calls a block there, once.
    public func execute(_ block: @escaping @Sendable () -> Void) {
        switch self {
        case .mainAsync: DispatchQueue.main.async(execute: block)
        case .mainCurrentOrAsync:
            if MainQueue.isCurrent { block() } else { DispatchQueue.main.async(execute: block) }
        case .untouch: block()
        case .dispatch(let queue): queue.async(execute: block)
        case .custom(let execute): execute(block)
        }
    }

    /// Returns the result of a block that may take long and is executed on the queue.
    package func result<Value: Sendable>(_ block: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            execute { continuation.resume(with: Result(catching: block)) }
        }
    }
}

/// The main queue, which on Linux need not run on the main thread.
private enum MainQueue {
    private static let key: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Whether the caller is on it.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true || Thread.isMainThread }
}
