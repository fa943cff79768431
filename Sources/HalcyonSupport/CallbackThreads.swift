import Foundation
import Synchronization

/// Threads for code of users, which may block. They are not those of the global queues, which on Linux are as many as processors.
///
/// Work starts in the order of the calls. A thread that takes work while more waits first starts another one, so that work waits for the
/// end of other work only while ``limit`` blocks run. A thread that has had no work for ten seconds ends.
package final class CallbackThreads: Sendable {
    /// The threads of the process, at most 64.
    package static let shared = CallbackThreads(limit: 64)

    private struct State {
        var work: [@Sendable () -> Void] = []
        /// The index of the first work that has not begun.
        var next = 0
        var threads = 0
        /// The threads that wait and have not been signalled.
        var idle = 0
        /// Whether a new thread has not begun yet. It starts the one after it.
        var isStarting = false

        mutating func take() -> (@Sendable () -> Void)? {
            guard next < work.count else { return nil }
            let first = work[next]
            work[next] = {}
            next += 1
            if next * 2 > work.count, next > 32 || next == work.count {
                work.removeFirst(next)
                next = 0
            }
            return first
        }
    }

    private enum Need { case none, signal, thread }

    /// The highest number of threads.
    package let limit: Int
    private let state = Mutex(State())
    private let signals = DispatchSemaphore(value: 0)

    package init(limit: Int) { self.limit = max(1, limit) }

    /// The number of threads now.
    package var count: Int { state.withLock { $0.threads } }

    /// Executes a block on one of the threads, and returns at once.
    package func execute(_ block: @escaping @Sendable () -> Void) {
        satisfy(
            state.withLock { state in
                state.work.append(block)
                return need(&state)
            })
    }

    /// What lets another thread take work. Counts it as done.
    private func need(_ state: inout State) -> Need {
        if state.idle > 0 {
            state.idle -= 1
            return .signal
        }
        guard !state.isStarting, state.threads < limit else { return .none }
        state.isStarting = true
        state.threads += 1
        return .thread
    }

    private func satisfy(_ need: Need) {
        switch need {
        case .none: break
        case .signal: signals.signal()
        case .thread:
            let thread = Thread { [self] in serve() }
            thread.name = "halcyon.callbacks"
            thread.qualityOfService = .userInitiated
            thread.start()
        }
    }

    private func serve() {
        state.withLock { $0.isStarting = false }
        while true {
            let (block, need) = state.withLock { state -> ((@Sendable () -> Void)?, Need) in
                guard let block = state.take() else {
                    state.idle += 1
                    return (nil, .none)
                }
                return (block, state.next < state.work.count ? self.need(&state) : .none)
            }
            satisfy(need)
            if let block {
                #if canImport(ObjectiveC)
                    autoreleasepool { block() }
                #else
                    block()
                #endif
            } else if !isSignalled() {
                return
            }
        }
    }

    /// Waits for work. Returns `false` if there was none, and the thread is no longer counted.
    private func isSignalled() -> Bool {
        if signals.wait(timeout: .now() + .seconds(10)) == .success { return true }
        let ends = state.withLock { state in
            guard state.idle > 0 else { return false }
            state.idle -= 1
            state.threads -= 1
            return true
        }
        // All that wait have been signalled.
        if !ends { signals.wait() }
        return !ends
    }
}

/// Blocks that run one after another, in the order of the calls, on ``CallbackThreads/shared``.
package final class CallbackSequence: Sendable {
    private struct State {
        var blocks: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Executes a block after those before it, and returns at once.
    package func execute(_ block: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            state.blocks.append(block)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { CallbackThreads.shared.execute { self.run() } }
    }

    private func run() {
        while true {
            let blocks = state.withLock { state in
                defer { state.blocks = [] }
                state.isRunning = !state.blocks.isEmpty
                return state.blocks
            }
            if blocks.isEmpty { return }
            for block in blocks { block() }
        }
    }
}
