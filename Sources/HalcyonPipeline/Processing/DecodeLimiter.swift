import Foundation
import HalcyonNetworking
import HalcyonSupport
import Synchronization

/// Bounds how many loads decode and process pictures at the same time, and with them the memory that this takes. No thread waits:
/// work that has no turn yet is queued, by priority and then in the order of the calls. Work of the priority `.veryLow` leaves one
/// turn to all other, unless there is only one.
///
/// Managers and the look-ups of an `ImageCache<Bitmap>` take turns, the latter those of ``shared``. What decodes on the caller's thread
/// does not: `ImageDecoder.decode(_:options:)`, `ImageAnimation.frame(at:)`, `CacheOptions.loadDiskFileSynchronously`.
///
/// A processor has a turn while it runs, so it must not wait for another load of a manager with the same limiter.
public final class DecodeLimiter: Sendable {
    /// The limiter of managers that are given no other one: as many turns as there are processors.
    ///
    /// A turn can hold several copies of a picture at a time: the decoded pixels, a copy in sRGB if the file has a colour profile, a
    /// copy that is turned upright if the file states an orientation, and what the processor makes of it. Each takes up to 400 MB,
    /// which is four bytes for each pixel of the default `ImageDecodingOptions.pixelLimit`. The product of the copies and the turns
    /// bounds the memory. Lower the pixel limit, or use a limiter with fewer turns, where this is too much.
    public static let shared = DecodeLimiter(limit: ProcessInfo.processInfo.activeProcessorCount)

    private struct State {
        var running = 0
        /// Those of the priority `.veryLow` among them.
        var predicted = 0
        var waiting: [TransferPriority: [@Sendable () -> Void]] = [:]

        mutating func enter(_ priority: TransferPriority) {
            running += 1
            if priority == .veryLow { predicted += 1 }
        }

        mutating func leave(_ priority: TransferPriority) {
            running -= 1
            if priority == .veryLow { predicted -= 1 }
        }
    }

    /// How many work at the same time.
    public let limit: Int
    private let state = Mutex(State())

    /// A limiter.
    ///
    /// - Parameter limit: how many work at the same time, at least 1.
    public init(limit: Int) { self.limit = max(1, limit) }

    /// How many work now, and how many wait for a turn.
    public var load: (running: Int, waiting: Int) {
        state.withLock { ($0.running, $0.waiting.values.reduce(0) { $0 + $1.count }) }
    }

    /// A queue that executes blocks on another one when they have a turn.
    func queue(over base: CallbackQueue, _ priority: TransferPriority) -> CallbackQueue {
        .custom { [self] block in
            begin(priority) { [self] in
                base.later.execute { [self] in
                    defer { end(priority) }
                    block()
                }
            }
        }
    }

    /// Calls `start` when there is a turn: at once on this thread, or on the thread that ends one.
    private func begin(_ priority: TransferPriority, _ start: @escaping @Sendable () -> Void) {
        let isFree = state.withLock { state in
            if hasTurn(priority, state) {
                state.enter(priority)
                return true
            }
            state.waiting[priority, default: []].append(start)
            return false
        }
        if isFree { start() }
    }

    /// Ends a turn, and gives it to the first of the highest priority that may have one.
    private func end(_ priority: TransferPriority) {
        let next = state.withLock { state -> (@Sendable () -> Void)? in
            state.leave(priority)
            let waiting = state.waiting.filter { !$0.value.isEmpty }.keys
            guard let next = waiting.filter({ hasTurn($0, state) }).max() else { return nil }
            state.enter(next)
            return state.waiting[next]?.removeFirst()
        }
        next?()
    }

    /// Whether there is a turn. Predicted loads, whose queue may be starved, leave one to all others.
    private func hasTurn(_ priority: TransferPriority, _ state: borrowing State) -> Bool {
        state.running < limit && (priority != .veryLow || state.predicted < max(1, limit - 1))
    }
}

extension CallbackQueue {
    /// Executes a user's block that may block, on a thread that is not of the cooperative pool.
    ///
    /// - Parameter queue: where `.untouch` and `.custom` begin; by default a global queue.
    func offPool(
        on queue: DispatchQueue = .global(qos: .userInitiated), _ block: @escaping @Sendable () -> Void
    ) {
        switch self {
        case .untouch, .custom: queue.async { execute(block) }
        case .mainCurrentOrAsync, .mainAsync, .dispatch: execute(block)
        }
    }

    /// The same queue where it executes blocks later; in place of those that execute them at once, within a call that ends another
    /// block, a global one.
    fileprivate var later: CallbackQueue {
        switch self {
        case .untouch: .dispatch(.global(qos: .userInitiated))
        case .mainCurrentOrAsync: .mainAsync
        case .mainAsync, .dispatch, .custom: self
        }
    }
}
