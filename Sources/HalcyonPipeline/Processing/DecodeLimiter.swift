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

    private struct Waiting {
        let work: LimitedWork
        let start: @Sendable (TransferPriority) -> Void
    }

    private struct State {
        var running = 0
        /// Those of the priority `.veryLow` among them.
        var predicted = 0
        /// In the order of the calls.
        var waiting: [Waiting] = []

        /// Whether there is a turn. Predicted loads, whose queue may be starved, leave one to all others.
        func hasTurn(_ priority: TransferPriority, _ limit: Int) -> Bool {
            running < limit && (priority != .veryLow || predicted < max(1, limit - 1))
        }

        mutating func enter(_ priority: TransferPriority) {
            running += 1
            if priority == .veryLow { predicted += 1 }
        }

        mutating func leave(_ priority: TransferPriority) {
            running -= 1
            if priority == .veryLow { predicted -= 1 }
        }

        /// Gives turns to work that waits: the first of the highest priority that may have one. O(waiting) for each turn.
        mutating func next(_ limit: Int) -> (start: @Sendable (TransferPriority) -> Void, priority: TransferPriority)? {
            var best: (index: Int, priority: TransferPriority)?
            for (index, item) in waiting.enumerated() {
                let priority = item.work.priority
                if hasTurn(priority, limit), best.map({ $0.priority < priority }) ?? true { best = (index, priority) }
            }
            guard let best else { return nil }
            enter(best.priority)
            return (waiting.remove(at: best.index).start, best.priority)
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
    public var load: (running: Int, waiting: Int) { state.withLock { ($0.running, $0.waiting.count) } }

    /// The priorities of those that wait, in the order of their calls.
    var waitingPriorities: [TransferPriority] { state.withLock { $0.waiting.map(\.work.priority) } }

    /// A queue that executes blocks on another one when they have a turn.
    func queue(over base: CallbackQueue, _ priority: TransferPriority) -> CallbackQueue {
        LimitedWork(self, priority, base).queue
    }

    /// Executes a block on the queue of some work when that has a turn.
    func execute(_ work: LimitedWork, _ block: @escaping @Sendable () -> Void) {
        let start = { @Sendable [self] (priority: TransferPriority) in
            work.base.later.execute { [self] in
                defer { giveTurns(ended: priority) }
                block()
            }
        }
        let priority = state.withLock { state -> TransferPriority? in
            let priority = work.priority
            guard state.hasTurn(priority, limit) else {
                state.waiting.append(Waiting(work: work, start: start))
                return nil
            }
            state.enter(priority)
            return priority
        }
        if let priority { start(priority) }
    }

    /// Gives the turns that are free, after one has ended or the priority of some work has changed.
    func giveTurns(ended: TransferPriority? = nil) {
        if let ended { state.withLock { $0.leave(ended) } }
        while let (start, priority) = state.withLock({ $0.next(limit) }) { start(priority) }
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
