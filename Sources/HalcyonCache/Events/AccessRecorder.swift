import HalcyonAccessLog

/// A recorder of the accesses to an ``ImageCache``, such as an access log.
///
/// Each access is recorded once: a hit when it is looked up, a miss when its value is stored. A replay of the record
/// therefore has the accesses that the policies received, and the same hits. A prefetch is not an access; its start
/// and its arrival are events. See `SimulatedEqualsLiveCacheTests.liveTiersDecideAsReplay()`.
///
/// Some cases replay approximately. A store of a value that is present already is not looked up first. A value of
/// size 0 counts 1. The second tier is exact only if the sizes of its files (blocks × 512) are those of the values in
/// memory.
///
/// If a value is never stored after a miss, the caller that gives up must record the miss
/// (``ImageCache/recordMiss(forKey:options:)``). A replay treats this miss as loaded, like all requests.
public protocol AccessRecorder: Sendable {
    /// Records an access. Called on the caller's path; it must return at once.
    func record(_ access: RecordedAccess)
    /// Records an event of prefetching, of the app or of the network. Called as for an access. By default it does nothing.
    func record(_ event: RecordedEvent)
    /// Records a list that was shown. Called as for an access. By default it does nothing.
    func record(_ list: RecordedList)
}

extension AccessRecorder {
    public func record(_ event: RecordedEvent) {}
    public func record(_ list: RecordedList) {}
}

/// A recorder of accesses that can remove those of a user.
package protocol UserForgetting: AccessRecorder {
    /// Removes all accesses of a user until now.
    func forget(user: String) async throws
}

extension AccessLog: UserForgetting {
    package func forget(user: String) async throws { try await deleteAccesses(ofUser: user) }
}

extension AccessLog: AccessRecorder {
    /// Records an access to an ``ImageCache``.
    public func record(_ access: RecordedAccess) {
        record(
            access.key, cost: access.cost, categories: access.categories, outcome: access.outcome, user: access.user,
            at: access.time, duration: access.duration)
    }

    /// Records an event of an ``ImageCache``.
    public func record(_ event: RecordedEvent) { record(event: event) }

    /// Records a list of the images of an ``ImageCache``.
    public func record(_ list: RecordedList) { record(list: list) }
}
