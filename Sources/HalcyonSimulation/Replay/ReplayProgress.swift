import Synchronization

/// How far a replay has come, for whoever wants to look while it runs.
public final class ReplayProgress: Sendable {
    private let served = Atomic<Int>(0)
    /// The requests to serve in all runs together.
    public let total: Int

    /// Nothing served yet.
    public init(total: Int) { self.total = total }

    /// The requests served so far.
    public var completed: Int { served.load(ordering: .relaxed) }

    func advance(by count: Int) { served.add(count, ordering: .relaxed) }
}
