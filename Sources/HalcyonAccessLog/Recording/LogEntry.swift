import HalcyonAccessLogReading

/// What is written to a log: an access or an event, in the order of recording.
enum LogEntry: Sendable {
    case access(RecordedAccess)
    case event(RecordedEvent)

    /// The access; `nil` for an event.
    var access: RecordedAccess? {
        if case .access(let access) = self { access } else { nil }
    }

    /// The user; `nil` where unknown.
    var user: String? {
        switch self {
        case .access(let access): access.user
        case .event(let event): event.user
        }
    }

    /// The key; `nil` for an event without an object.
    var key: String? {
        switch self {
        case .access(let access): access.key
        case .event(let event): event.key
        }
    }
}
