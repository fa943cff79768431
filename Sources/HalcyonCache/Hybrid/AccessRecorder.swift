/// Who writes down what an ``ImageCache`` was asked for, such as an access log.
///
/// Each access is told once: a hit when it is looked up, anything else when its value is stored, so that what is recorded
/// replays as the policies saw it. A store ahead of need is no access and is not told. A look-up that misses and is never
/// followed by a store is told by whoever gives up (``ImageCache/recordMiss(forKey:options:)``); a replay takes it for
/// loaded, as everything that is asked for.
public protocol AccessRecorder: Sendable {
    /// Writes an access down. It is called on the caller's path and must return at once.
    func record(_ access: RecordedAccess)
}

/// One access, as it is told to an ``AccessRecorder``.
public struct RecordedAccess: Sendable, Equatable {
    /// What became of it.
    public enum Outcome: String, Sendable, CaseIterable {
        /// Found in memory.
        case memory
        /// Found on disk.
        case disk
        /// Not found; loaded and stored.
        case network
        /// Found in memory or on disk, where a store ahead of need had put it and nobody had asked for it since.
        case prefetched
        /// Not found and not loaded.
        case miss
    }

    /// The wall time in microseconds since 1970.
    public var time: Int64
    /// The computed key.
    public var key: String
    /// What the value costs in memory; 0 if there is none.
    public var cost: Int
    /// The categories that the caller named.
    public var categories: [String]
    /// Who asked.
    public var user: String?
    /// What became of it.
    public var outcome: Outcome

    /// An access.
    public init(time: Int64, key: String, cost: Int, categories: [String], user: String?, outcome: Outcome) {
        self.time = time
        self.key = key
        self.cost = cost
        self.categories = categories
        self.user = user
        self.outcome = outcome
    }
}
