/// An access to a cache: what a cache reports and a log contains.
public struct RecordedAccess: Sendable, Equatable {
    /// Where an access was served from.
    public enum Outcome: UInt8, Sendable, CaseIterable {
        /// Found in memory.
        case memory = 1
        /// Found on disk.
        case disk = 2
        /// Fetched for this access.
        case network = 3
        /// Found in memory or on disk, where a prefetch had put it and no access had asked for it since.
        case prefetched = 4
        /// Not found, and not fetched.
        case miss = 5
    }

    /// When it happened, in microseconds since 1970.
    public var time: Int64
    /// The computed key. Read from a log that keeps hashes, the 32 hexadecimal digits of its hash.
    public var key: String
    /// The size in bytes; 0 is unknown.
    public var cost: Int
    /// The categories, in the order in which they were given.
    public var categories: [String]
    /// Where it was served from.
    public var outcome: Outcome
    /// The user or profile; `nil` where unknown.
    public var user: String?
    /// The number of the session in a log: one from each opening of the log to its closing, or to
    /// `AccessLog.beginSession()`. 0 for an access that is in no log.
    public var session: Int64
    /// How long the fetch of an access with the outcome ``Outcome/network`` took, in microseconds: from its start to the image. `nil`
    /// where that is not known.
    public var duration: Int64?

    /// An access.
    public init(
        time: Int64, key: String, cost: Int, categories: [String] = [], user: String? = nil, outcome: Outcome,
        session: Int64 = 0, duration: Int64? = nil
    ) {
        self.time = time
        self.key = key
        self.cost = cost
        self.categories = categories
        self.outcome = outcome
        self.user = user
        self.session = session
        self.duration = duration
    }
}
