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

    /// The place in the order of turns.
    private struct Turn: Comparable {
        var priority: TransferPriority
        let number: UInt64

        static func < (one: Self, other: Self) -> Bool {
            one.priority != other.priority ? one.priority > other.priority : one.number < other.number
        }
    }

    private struct State {
        var running = 0
        /// Those of the priority `.veryLow` among them.
        var predicted = 0
        var lastNumber: UInt64 = 0
        /// The work that waits, by the number of its call.
        var waiting: [UInt64: Waiting] = [:]
        var order = KeyedHeap<UInt64, Turn>()

        /// Gives a turn of this priority, if one is free.
        mutating func begin(_ priority: TransferPriority, _ limit: Int) -> Bool {
            // Predicted loads, whose queue may be starved, leave a turn to all others.
            guard running < limit, priority != .veryLow || predicted < max(1, limit - 1) else { return false }
            running += 1
            if priority == .veryLow { predicted += 1 }
            return true
        }

        /// Gives a turn to work that waits: the first of the highest priority. O(log n).
        mutating func next(_ limit: Int) -> (item: Waiting, priority: TransferPriority)? {
            guard let (number, turn) = order.first, begin(turn.priority, limit) else { return nil }
            order.remove(number)
            return waiting.removeValue(forKey: number).map { ($0, turn.priority) }
        }

        mutating func wait(_ item: Waiting) {
            lastNumber += 1
            waiting[lastNumber] = item
            order.set(lastNumber, Turn(priority: item.priority.value, number: lastNumber))
        }

        /// Moves the work that has this priority. O(waiting).
        mutating func move(_ priority: ObjectIdentifier, to value: TransferPriority) {
            for (number, item) in waiting where ObjectIdentifier(item.priority) == priority {
                order.set(number, Turn(priority: value, number: number))
            }
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
    var waitingPriorities: [TransferPriority] {
        state.withLock { $0.waiting.sorted { $0.key < $1.key }.map(\.value.priority.value) }
    }

    /// A queue that executes blocks on another one when they have a turn.
    func queue(over base: CallbackQueue, _ priority: TransferPriority) -> CallbackQueue {
        .custom { [self] in enqueue($0, on: CallbackLane(base, isOrdered: false), WorkPriority(priority)) }
    }

    /// Gives the turns that are free.
    private func giveTurns() {
        while let (item, priority) = state.withLock({ $0.next(limit) }) { run(item.work, on: item.lane, priority) }
    }

    /// Runs work that has a turn.
    private func run(_ work: @escaping @Sendable () -> Void, on lane: CallbackLane, _ priority: TransferPriority) {
        lane.execute { [self] in
            work()
            end(priority)
        }
    }

    /// Ends work that had a turn.
    private func end(_ priority: TransferPriority) {
        state.withLock { $0.leave(priority) }
        giveTurns()
    }
}

extension DecodeLimiter: WorkTurns {
    package func enqueue(_ work: @escaping @Sendable () -> Void, on lane: CallbackLane, _ priority: WorkPriority) {
        let value = priority.value
        if begin(value) { return run(work, on: lane, value) }
        wait(work, on: lane, priority)
    }

    /// Executes work in the call if there is a turn at once, else later on a lane. A thread that has read a file decodes it without
    /// a switch to another one, which takes as long as decoding a small picture.
    func execute(_ work: @escaping @Sendable () -> Void, orOn lane: CallbackLane, _ priority: WorkPriority) {
        let value = priority.value
        guard begin(value) else { return wait(work, on: lane, priority) }
        work()
        end(value)
    }

    private func begin(_ priority: TransferPriority) -> Bool {
        state.withLock { $0.waiting.isEmpty && $0.begin(priority, limit) }
    }

    private func wait(_ work: @escaping @Sendable () -> Void, on lane: CallbackLane, _ priority: WorkPriority) {
        state.withLock { $0.wait(Waiting(work: work, lane: lane, priority: priority)) }
        let identity = ObjectIdentifier(priority)
        let move = { @Sendable [self] (value: TransferPriority) in
            state.withLock { $0.move(identity, to: value) }
            giveTurns()
        }
        // It may have changed since, or have a turn by now.
        move(priority.observe(move))
    }
}
