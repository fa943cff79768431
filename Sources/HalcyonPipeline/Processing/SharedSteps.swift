import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonSupport
import Synchronization

/// Values that are made once for all loads that share this, each by the first load whose work has a turn. They stay as long as this does.
///
/// See `SharedStepTests`.
final class SharedSteps<Value: Sendable>: Sendable {
    private struct Step {
        var isRunning = false
        var result: Result<Value, any Error>?
        var waiters: [Int: CheckedContinuation<Value, any Error>] = [:]
    }

    private struct State {
        var steps: [ByteName: Step] = [:]
        var lastWaiter = 0
    }

    private let state = Mutex(State())

    /// Returns a value, once a load has made it.
    ///
    /// - Parameters:
    ///   - work: has the turns of this load.
    ///   - make: makes the value, if this load is the first that has a turn.
    ///   - further: called with the value in the same turn, if this load has made it, and with the load's cancellation.
    /// - Throws: the error of making it, which all loads get; `CancellationError`, at once, if the task is cancelled. A value that no
    ///   load waits for is not made.
    func value(
        of name: ByteName, _ work: LimitedWork, _ make: @escaping @Sendable () throws -> Value,
        then further: @escaping @Sendable (Value, LoadCancellation) -> Void = { _, _ in }
    ) async throws -> Value {
        let waiter = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let cancellation = LoadCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (known, isRunning) = state.withLock { state -> (Result<Value, any Error>?, Bool) in
                    if Task.isCancelled { return (.failure(CancellationError()), false) }
                    if let result = state.steps[name]?.result { return (result, false) }
                    state.steps[name, default: Step()].waiters[waiter] = continuation
                    return (nil, state.steps[name]?.isRunning == true)
                }
                if let known { return continuation.resume(with: known) }
                if !isRunning {
                    work.enqueue { [self] in
                        // Nothing is made for loads that were cancelled.
                        let (isWanted, isOwn) = state.withLock { state in
                            let waiters = state.steps[name]?.waiters ?? [:]
                            return (!waiters.isEmpty, waiters[waiter] != nil)
                        }
                        if isWanted, let value = made(name, by: make), isOwn { further(value, cancellation) }
                    }
                }
            }
        } onCancel: {
            cancellation.cancel()
            state.withLock { $0.steps[name]?.waiters.removeValue(forKey: waiter) }?.resume(
                throwing: CancellationError())
        }
    }

    /// Makes a value in the turn of the caller, unless it is there.
    ///
    /// - Returns: the value; `nil` if it cannot be made, or another load is making it.
    func made(_ name: ByteName, by make: () throws -> Value) -> Value? {
        let (known, isFirst) = state.withLock { state -> (Value?, Bool) in
            if let result = state.steps[name]?.result { return (try? result.get(), false) }
            defer { state.steps[name, default: Step()].isRunning = true }
            return (nil, state.steps[name]?.isRunning != true)
        }
        guard isFirst else { return known }
        let result = Result { try make() }
        let waiters = state.withLock { state in
            defer { state.steps[name] = Step(result: result) }
            return state.steps[name]?.waiters ?? [:]
        }
        for waiter in waiters.values { waiter.resume(with: result) }
        return try? result.get()
    }
}

/// The cached files of which images are being made. Loads that make several images of the same bytes decode them once.
final class SharedFiles: Sendable {
    /// Identifies the content of a file.
    struct File: Hashable, Sendable {
        let entry: CacheEntry
        let bytes: Data
    }

    private struct Use {
        let steps = SharedSteps<MadeImage>()
        var loads = 0
    }

    private let uses = Mutex<[File: Use]>([:])

    /// The number of files of which something is being made.
    var count: Int { uses.withLock { $0.count } }

    /// Executes some work with the images that are made of a file, or without a file with none that others share.
    func with<Result>(
        _ file: File?, _ work: (SharedSteps<MadeImage>) async throws -> Result
    ) async rethrows -> Result {
        guard let file else { return try await work(SharedSteps()) }
        let steps = uses.withLock { uses in
            var use = uses[file] ?? Use()
            use.loads += 1
            uses[file] = use
            return use.steps
        }
        defer {
            uses.withLock { uses in
                uses[file]?.loads -= 1
                if uses[file]?.loads == 0 { uses[file] = nil }
            }
        }
        return try await work(steps)
    }
}
