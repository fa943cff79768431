import HalcyonAccessLog

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

extension AccessLog: AccessRecorder {
    /// Records an access to an ``ImageCache``.
    public func record(_ access: RecordedAccess) {
        record(
            access.key, cost: access.cost, categories: access.categories, outcome: access.outcome, user: access.user,
            at: access.time)
    }
}
