import Foundation
import HalcyonSupport
import Synchronization

// How the owner of a directory carries out what its schedule allows.

extension DiskOwner {
    /// The thread on which actions are carried out.
    enum Place: Equatable {
        /// A thread of the queue, which may call completions.
        case queue
        /// A caller's thread, which must not call completions of other operations.
        case caller
        /// The thread that waits for this ticket.
        case callerOf(Schedule.Ticket)
    }

    enum Work {
        case over, wait
        case run(Schedule.Ticket, @Sendable () -> Void)
        case prepare(Schedule.Ticket, @Sendable () -> Int?)
    }

    func job<Value: Sendable>(
        _ work: @escaping @Sendable (DiskStorage) throws -> Value, isRead: Bool,
        _ done: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) -> Job {
        let outcome = Outcome<Value>()
        return Job(
            run: { [self] in outcome.set(Result { try work(try get()) }) },
            complete: { ending in
                switch ending {
                case .finished: done(outcome.take())
                case nil: done(.failure(CacheError.closed))
                case .cancelled, .void, .unprepared: done(.failure(CancellationError()))
                }
            }, needsListing: !isRead)
    }

    func request(
        _ operation: Schedule.Operation, _ job: Job, waiting semaphore: DispatchSemaphore? = nil
    ) -> Schedule.Ticket {
        let (ticket, effects) = state.withLock { state -> (Schedule.Ticket, Effects) in
            state.last += 1
            let ticket = state.last
            state.jobs[ticket] = job
            if let semaphore { state.waiting[ticket] = semaphore }
            let event = Schedule.Event.request(ticket, operation, isPrepared: job.prepare == nil)
            return (ticket, self.effects(for: event, &state))
        }
        carryOut(effects, on: job.isSynchronous ? .callerOf(ticket) : .caller)
        return ticket
    }

    /// The effects of an event. The jobs of completed operations have been removed from the state.
    struct Effects {
        var ready: [(ticket: Schedule.Ticket, isWriter: Bool)] = []
        var completions:
            [(ticket: Schedule.Ticket, ending: Schedule.Ending?, complete: @Sendable (Schedule.Ending?) -> Void)] = []
        /// The stores whose bytes are to be made now.
        var preparations: [(ticket: Schedule.Ticket, queue: DispatchQueue)] = []
        var isClosed = false
    }

    func effects(for event: Schedule.Event, _ state: inout State) -> Effects {
        var effects = Effects()
        for action in state.schedule.handle(event) {
            switch action {
            case .ready(let ticket):
                // A synchronous reader finds its work itself.
                guard let job = state.jobs[ticket], !job.isSynchronous else { continue }
                if !job.isWriter {
                    effects.ready.append((ticket, false))
                } else if state.writerCount < Self.writerLimit {
                    state.writerCount += 1
                    effects.ready.append((ticket, true))
                } else {
                    state.queued.push(ticket)
                }
            case .replace(let ticket):
                guard let replacement = state.jobs[ticket]?.replacement else { continue }
                state.jobs[ticket]?.prepare = nil
                state.jobs[ticket]?.run = replacement
                state.jobs[ticket]?.isUnlimited = true
                // The removal that causes this does not wait for the writers. If the store is not ready, this has no
                // effect.
                effects.ready.append((ticket, false))
            case .run: break
            case .complete(let ticket, let ending):
                state.waiting[ticket] = nil
                guard let job = state.jobs.removeValue(forKey: ticket) else { continue }
                state.preparedSize -= job.preparedSize
                effects.completions.append((ticket, ending, job.complete))
            case .refuse(let ticket):
                state.waiting[ticket] = nil
                guard let job = state.jobs.removeValue(forKey: ticket) else { continue }
                effects.completions.append((ticket, nil, job.complete))
            case .closed: effects.isClosed = true
            }
        }
        for semaphore in state.waiting.values { semaphore.signal() }
        effects.preparations = takePreparations(&state)
        return effects
    }

    func take(_ event: Schedule.Event, on place: Place) {
        carryOut(state.withLock { self.effects(for: event, &$0) }, on: place)
    }

    func carryOut(_ effects: Effects, on place: Place) {
        var rest = effects
        while true {
            for (ticket, isWriter) in rest.ready { queue.async { [self] in work(ticket, isWriter) } }
            for (ticket, queue) in rest.preparations { queue.async { [self] in prepare(ticket, on: queue) } }
            if rest.isClosed { scheduleClosed() }
            let completions = rest.completions
            rest = Effects()
            for one in completions {
                guard place == .queue || place == .callerOf(one.ticket) || one.ending == nil else {
                    queue.async { [self] in
                        one.complete(one.ending)
                        take(.delivered(one.ticket), on: .queue)
                    }
                    continue
                }
                one.complete(one.ending)
                let next = state.withLock { self.effects(for: .delivered(one.ticket), &$0) }
                rest.ready += next.ready
                rest.completions += next.completions
                rest.preparations += next.preparations
                rest.isClosed = rest.isClosed || next.isClosed
            }
            if rest.ready.isEmpty && rest.completions.isEmpty && rest.preparations.isEmpty && !rest.isClosed { return }
        }
    }

    /// Runs an operation that is ready, unless a reader's thread runs it or it was cancelled.
    func work(_ ticket: Schedule.Ticket, _ isWriter: Bool) {
        // The directory is opened here, not in the operation, which would then wait for the listing.
        if state.withLock({ $0.jobs[ticket]?.needsListing == true }), let storage = try? get() {
            let isListed = storage.whenListed { [self] in queue.async { [self] in work(ticket, isWriter) } }
            if !isListed { return }
        }
        let run = state.withLock { state in
            state.schedule.handle(.begin(ticket)).isEmpty ? nil : state.jobs[ticket]?.run
        }
        run?()
        if isWriter { endWriter() }
        if run != nil { take(.finished(ticket), on: .queue) }
    }

    /// Starts the next writer.
    func endWriter() {
        var effects = Effects()
        let next = state.withLock { state -> Schedule.Ticket? in
            if let next = state.queued.pop() { return next }
            state.writerCount -= 1
            effects.preparations = takePreparations(&state)
            return nil
        }
        if let next { queue.async { [self] in work(next, true) } }
        carryOut(effects, on: .queue)
    }

    /// Makes the bytes of a store, unless a reader's thread does or too many bytes wait.
    func prepare(_ ticket: Schedule.Ticket, on queue: DispatchQueue) {
        let prepare = state.withLock { state -> (@Sendable () -> Int?)? in
            guard state.jobs[ticket]?.prepare != nil else { return nil }
            guard state.mayPrepare else {
                state.unprepared.push((ticket, queue))
                return nil
            }
            state.preparing += 1
            return state.jobs[ticket]?.prepare.take()
        }
        guard let prepare else { return }
        finishPreparing(ticket, prepare(), on: .queue)
    }

    /// - Parameter size: the number of bytes; `nil` if they could not be made.
    func finishPreparing(_ ticket: Schedule.Ticket, _ size: Int?, on place: Place) {
        let effects = state.withLock { state -> Effects in
            state.preparing -= 1
            // The store may have been voided meanwhile.
            if let size, state.jobs[ticket] != nil {
                state.jobs[ticket]?.preparedSize = size
                state.preparedSize += size
            }
            return self.effects(for: .prepared(ticket, succeeded: size != nil), &state)
        }
        carryOut(effects, on: place)
    }

    /// Takes the first store that waits to be serialized, if it may be now.
    func takePreparations(_ state: inout State) -> [(ticket: Schedule.Ticket, queue: DispatchQueue)] {
        var taken: [(ticket: Schedule.Ticket, queue: DispatchQueue)] = []
        // Those that are taken check again when they start.
        while state.mayPrepare, taken.count < Self.writerLimit, let next = state.unprepared.pop() {
            if state.jobs[next.ticket]?.prepare != nil { taken.append(next) }
        }
        return taken
    }

    /// Returns the next step of a thread that waits for a read.
    func nextWork(before ticket: Schedule.Ticket) -> Work {
        state.withLock { state in
            guard let job = state.jobs[ticket] else { return .over }
            if !state.schedule.handle(.begin(ticket)).isEmpty { return .run(ticket, job.run) }
            let (unprepared, ready) = state.schedule.work(before: ticket)
            for other in ready {
                guard let run = state.jobs[other]?.run, !state.schedule.handle(.begin(other)).isEmpty else { continue }
                return .run(other, run)
            }
            for other in unprepared {
                if let prepare = state.jobs[other]?.prepare.take() {
                    state.preparing += 1
                    return .prepare(other, prepare)
                }
            }
            return .wait
        }
    }

    /// Returns whether a read of a key need not wait. If so, it counts as running until ``freeRead(_:_:)`` returns.
    func beginFreeRead(_ key: ByteName) -> Bool {
        state.withLock { state in
            guard state.schedule.isFree(key) else { return false }
            state.freeReads += 1
            return true
        }
    }

    func freeRead<Value: Sendable>(
        _ work: (DiskStorage) throws -> Value, _ done: (Result<Value, any Error>) -> Void
    ) {
        done(Result { try work(try get()) })
        let isLast = state.withLock { state in
            state.freeReads -= 1
            return state.isScheduleClosed && state.freeReads == 0
        }
        if isLast { queue.async { [self] in finishClosing() } }
    }

    /// Closes the directory when the last free read has ended.
    func scheduleClosed() {
        let isLast = state.withLock { state in
            state.isScheduleClosed = true
            return state.freeReads == 0
        }
        if isLast { queue.async { [self] in finishClosing() } }
    }

    func finishClosing() {
        openStorage?.closeNow()
        access.withLock { $0 = .closed }
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.closing = [] }
            return state.closing
        }
        for continuation in waiting { continuation.resume() }
    }
}

extension DiskSchedule.Operation {
    var isRead: Bool {
        if case .read = self { true } else { false }
    }
}

/// A result that one thread sets and another takes.
final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)

    func set(_ new: Result<Value, any Error>) { result.withLock { $0 = new } }

    /// Returns the size of a result that was set and not taken; `nil` if there is none.
    func size(_ size: (Value) -> Int) -> Int? {
        result.withLock { result in
            if case .success(let value) = result { size(value) } else { nil }
        }
    }

    /// Takes the result.
    func take() -> Result<Value, any Error> {
        result.withLock { $0.take() } ?? .failure(CancellationError())
    }
}
