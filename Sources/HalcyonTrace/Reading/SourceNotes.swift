import Synchronization

/// What a source of bytes notices while threads read it in turn.
final class SourceNotes: Sendable {
    /// See ``LoadReport/heldTimes``.
    let heldTimes = Atomic<Int>(0)
}
