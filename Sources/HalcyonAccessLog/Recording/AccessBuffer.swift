import HalcyonAccessLogReading
import Synchronization

/// What waits to be written: filled by any thread, emptied by the writer.
///
/// Accesses and events lie in batches of fixed size, so that adding one never moves those before it. Emptied batches are used again.
final class AccessBuffer: Sendable {
    /// What the recording thread has to start.
    enum Signal {
        case nothing
        /// The flush timer: this is the first access that it would run for.
        case timer
        /// The writer: a batch is full.
        case writer
    }

    private struct State {
        var current: [LogEntry] = []
        var full: [[LogEntry]] = []
        var spares: [[LogEntry]] = []
        var isRecording: Bool
        /// Counted from 0 since the log was made; the writer gives it a number in the file.
        var session: Int64 = 0
        var timerIsSet = false
        var writerIsCalled = false
        var statistics = AccessLogStatistics()
    }

    private let state: Mutex<State>
    private let batch: Int
    private let limit: Int
    private let now: @Sendable () -> Int64

    init(_ configuration: AccessLog.Configuration) {
        batch = max(configuration.batch, 1)
        limit = max(configuration.waitingLimit, 1)
        now = configuration.now
        state = Mutex(State(isRecording: configuration.isRecording))
    }

    /// Adds an access. O(1); takes the lock once and neither touches the disk nor waits for who does.
    ///
    /// Without a time it is stamped under the lock, so that order and time agree.
    func add(
        time: Int64?, cost: Int, key: String, categories: [String], user: String?, outcome: RecordedAccess.Outcome,
        duration: Int64?
    ) -> Signal {
        add { session in
            .access(
                RecordedAccess(
                    time: time ?? now(), key: key, cost: cost, categories: categories, user: user, outcome: outcome,
                    session: session, duration: duration))
        }
    }

    /// Adds an event. O(1), as for an access.
    func add(_ event: RecordedEvent) -> Signal { add { _ in .event(event) } }

    /// Adds a list, which counts as many rows as it has items. O(1), as for an access.
    func add(_ list: RecordedList) -> Signal {
        list.items.isEmpty ? .nothing : add(rows: list.items.count) { _ in .list(list) }
    }

    /// Adds what a closure makes under the lock.
    private func add(rows: Int = 1, _ entry: (_ session: Int64) -> LogEntry) -> Signal {
        state.withLock { state in
            guard state.isRecording else { return .nothing }
            guard state.statistics.waiting < limit else {
                let loss = state.statistics.problem.map { AccessLogStatistics.Loss.failure($0.reason) } ?? .overload
                state.statistics.lost[loss, default: 0] += rows
                return .nothing
            }
            if state.current.capacity == 0 { state.current.reserveCapacity(batch) }
            state.current.append(entry(state.session))
            state.statistics.waiting += rows
            state.statistics.recorded += rows
            if state.current.count == batch {
                state.full.append(state.current)
                state.current = state.spares.popLast() ?? []
                if state.writerIsCalled || state.statistics.problem != nil { return .nothing }
                state.writerIsCalled = true
                return .writer
            }
            if state.timerIsSet { return .nothing }
            state.timerIsSet = true
            return .timer
        }
    }

    /// Whether accesses are taken.
    var isRecording: Bool {
        get { state.withLock { $0.isRecording } }
        set { state.withLock { $0.isRecording = newValue } }
    }

    /// Lets the accesses that follow belong to another session.
    func beginSession() { state.withLock { $0.session += 1 } }

    /// The counts so far.
    var statistics: AccessLogStatistics { state.withLock { $0.statistics } }

    /// Takes everything that waits, in the order of recording.
    func take() -> [[LogEntry]] {
        state.withLock { state in
            var batches = state.full
            state.full = []
            if !state.current.isEmpty {
                batches.append(state.current)
                state.current = state.spares.popLast() ?? []
            }
            state.writerIsCalled = false
            return batches
        }
    }

    /// Marks the flush timer as run out.
    func timerHasRun() { state.withLock { $0.timerIsSet = false } }

    /// Marks the flush timer as set; tells whether it was not.
    func setTimer() -> Bool {
        state.withLock { state in
            defer { state.timerIsSet = true }
            return !state.timerIsSet
        }
    }

    /// Counts a batch as written and takes its storage back.
    func wrote(_ batch: consuming [LogEntry]) {
        let count = batch.rows
        batch.removeAll(keepingCapacity: true)
        let spare = batch
        state.withLock { state in
            state.statistics.waiting -= count
            state.statistics.written += count
            if state.spares.count < 2 { state.spares.append(spare) }
        }
    }

    /// Counts accesses as lost for a reason of the file.
    func lose(_ count: Int, _ reason: AccessLogError.Reason, waiting: Bool = true) {
        state.withLock { state in
            if waiting { state.statistics.waiting -= count }
            state.statistics.lost[.failure(reason), default: 0] += count
        }
    }

    /// Counts accesses that a deletion took before they were written.
    func delete(_ count: Int) {
        state.withLock { state in
            state.statistics.waiting -= count
            state.statistics.deletedUnwritten += count
        }
    }

    /// Says why the file cannot be written, or that it can; returns what was said before.
    func setProblem(_ problem: AccessLogError?) -> AccessLogError? {
        state.withLock { state in
            defer { state.statistics.problem = problem }
            return state.statistics.problem
        }
    }
}

/// What is written to a log: an access, an event or a list, in the order of recording.
enum LogEntry: Sendable {
    case access(RecordedAccess)
    case event(RecordedEvent)
    case list(RecordedList)

    /// The access; `nil` for an event.
    var access: RecordedAccess? {
        if case .access(let access) = self { access } else { nil }
    }

    /// The user; `nil` where unknown.
    var user: String? {
        switch self {
        case .access(let access): access.user
        case .event(let event): event.user
        case .list(let list): list.user
        }
    }

    /// The number of rows: the items of a list, otherwise 1.
    var rows: Int { if case .list(let list) = self { list.items.count } else { 1 } }
}

extension [LogEntry] {
    /// The number of rows.
    var rows: Int { reduce(0) { $0 + $1.rows } }
}
