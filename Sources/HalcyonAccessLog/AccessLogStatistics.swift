/// What a log has done since it was made.
public struct AccessLogStatistics: Sendable, Equatable {
    /// Why accesses were lost.
    public enum Loss: Sendable, Hashable {
        /// They came faster than they could be written.
        case overload
        /// The file could not be written, and what waits for it has a bound.
        case failure(AccessLogError.Reason)
    }

    /// The accesses, events and items of lists taken; what was lost on arrival, or while the log was switched off, is not among them.
    public internal(set) var recorded = 0
    /// The accesses, events and items of lists that are in the file, or were until a bound or a deletion removed them.
    public internal(set) var written = 0
    /// The accesses, events and items of lists that wait to be written.
    public internal(set) var waiting = 0
    /// The accesses, events and items of lists lost, by reason.
    public internal(set) var lost: [Loss: Int] = [:]
    /// The accesses, events and items of lists that a deletion took before they were written.
    public internal(set) var deletedUnwritten = 0
    /// Why the file cannot be written at present; `nil` while it can.
    public internal(set) var problem: AccessLogError?

    /// All accesses, events and items of lists lost.
    public var lostCount: Int { lost.values.reduce(0, +) }
}

/// What happens to a log's file.
public enum AccessLogEvent: Sendable, Equatable {
    /// Writing fails from now on; reported once, not at each attempt.
    case failed(AccessLogError)
    /// Writing succeeds again; so many accesses were lost since it failed.
    case recovered(lost: Int)
    /// The file was damaged; it lies at `path` now and a new one has begun. `rows` accesses were in it, as far as known.
    case setAside(path: String, rows: Int?)
    /// The file was removed or replaced from outside; a new one has begun, or the one found there is continued.
    case replaced
}
