/// Why a log could not be written or read: one sentence that says what was found and what is accepted.
public struct AccessLogError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of reasons.
    public enum Reason: String, Sendable, CaseIterable {
        /// There is no file, or none that can be opened for reading.
        case unreadable
        /// The file holds nothing at all.
        case empty
        /// A file of another program.
        case foreign
        /// A log by a later version of Halcyon.
        case newerSchema
        /// The file ends before what its header says.
        case truncated
        /// The file's content contradicts itself.
        case damaged
        /// Another process keeps the file locked.
        case locked
        /// Accesses were deleted, but are not yet overwritten in the files, because a reader has the log open.
        case notOverwritten
        /// No room is left where the file is.
        case diskFull
        /// The file or its folder may not be written.
        case unwritable
        /// Reading or writing failed for another reason.
        case failed
        /// The log has been closed.
        case closed
    }

    /// The file as it was named by the caller.
    public let path: String
    /// The kind of reason.
    public let reason: Reason
    /// What is wrong and what is accepted, without the file.
    public let message: String

    /// `path: message`.
    public var description: String { "\(path): \(message)" }

    package init(_ path: String, _ reason: Reason, _ message: String) {
        self.path = path
        self.reason = reason
        self.message = message
    }
}

extension AccessLogError {
    /// A deletion that readers keep from being completed.
    package static func notOverwritten(_ path: String) -> AccessLogError {
        AccessLogError(
            path, .notOverwritten,
            "what was deleted is still in its write-ahead log, because another reader or writer has the log open; it is overwritten "
                + "by the first flush or opening after that has ended")
    }

    /// A file with nothing in it, as a process leaves it that was killed before its first commit.
    static func empty(_ path: String) -> AccessLogError {
        AccessLogError(path, .empty, "is empty; a trace has at least one request")
    }
}
