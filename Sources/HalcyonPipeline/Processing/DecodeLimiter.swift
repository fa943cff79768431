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
        let work: @Sendable () -> Void
        let lane: CallbackLane
        let priority: WorkPriority
    }

    private struct State {
        var running = 0
        /// Those of the priority `.veryLow` among them.
        var predicted = 0
        /// In the order of the calls.
        var waiting: [Waiting] = []

        /// Gives a turn to work that waits: the first of the highest priority that may have one. O(waiting).
        mutating func next(_ limit: Int) -> (item: Waiting, priority: TransferPriority)? {
            guard running < limit else { return nil }
            // Predicted loads, whose queue may be starved, leave a turn to all others.
            let least: TransferPriority = predicted < max(1, limit - 1) ? .veryLow : .low
            var best: (index: Int, priority: TransferPriority)?
            for (index, item) in waiting.enumerated() {
                let priority = item.priority.value
                if priority >= least, best.map({ $0.priority < priority }) ?? true { best = (index, priority) }
            }
            guard let best else { return nil }
            running += 1
            if best.priority == .veryLow { predicted += 1 }
            return (waiting.remove(at: best.index), best.priority)
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
    public var load: (running: Int, waiting: Int) { state.withLock { ($0.running, $0.waiting.count) } }

    /// The priorities of those that wait, in the order of their calls.
    var waitingPriorities: [TransferPriority] { state.withLock { $0.waiting.map(\.priority.value) } }

    /// A queue that executes blocks on another one when they have a turn.
    func queue(over base: CallbackQueue, _ priority: TransferPriority) -> CallbackQueue {
        .custom { [self] in enqueue($0, on: CallbackLane(base, isOrdered: false), WorkPriority(priority)) }
    }

    /// Gives the turns that are free.
    private func giveTurns(ended: TransferPriority? = nil) {
        if let ended { state.withLock { $0.leave(ended) } }
        while let (item, priority) = state.withLock({ $0.next(limit) }) {
            item.lane.execute { [self] in
                defer { giveTurns(ended: priority) }
                item.work()
            }
        }
    }
}

extension DecodeLimiter: WorkTurns {
    package func enqueue(_ work: @escaping @Sendable () -> Void, on lane: CallbackLane, _ priority: WorkPriority) {
        state.withLock { $0.waiting.append(Waiting(work: work, lane: lane, priority: priority)) }
        priority.observe { [self] _ in giveTurns() }
        giveTurns()
    }
}
