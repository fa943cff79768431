import Synchronization

/// How short memory is.
public enum MemoryPressure: Sendable, Equatable {
    /// Some tasks wait for memory: half of what is held goes.
    case some
    /// Nearly all do: everything goes.
    case full
}

/// What the world tells a cache.
public enum CacheTriggerEvent: Sendable {
    /// Memory is short.
    case memoryPressure(MemoryPressure)
    /// The app goes to the background, or is about to end: the disk is cleaned, then `done` is called.
    case enterBackground(done: @Sendable () -> Void)
}

/// Who tells a cache that memory is short, or that the app goes to the background.
///
/// On Linux: ``MemoryPressureTrigger``; everywhere: ``TerminationTrigger`` and ``ManualTrigger``.
public protocol CacheTrigger: Sendable {
    /// Begins to tell. Called once.
    func start(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void)
    /// Ends to tell.
    func stop()
}

/// A trigger that is pulled by hand.
public final class ManualTrigger: CacheTrigger {
    private let handler = Mutex<(@Sendable (CacheTriggerEvent) -> Void)?>(nil)

    /// A trigger.
    public init() {}

    public func start(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) {
        self.handler.withLock { $0 = handler }
    }

    public func stop() { handler.withLock { $0 = nil } }

    /// Whether a cache listens.
    public var isStarted: Bool { handler.withLock { $0 != nil } }

    /// Tells the cache that memory is short.
    public func pressMemory(_ pressure: MemoryPressure) {
        handler.withLock { $0 }?(.memoryPressure(pressure))
    }

    /// Tells the cache that the app goes to the background, and returns when the disk is clean.
    public func enterBackground() async {
        guard let handler = handler.withLock({ $0 }) else { return }
        await withCheckedContinuation { continuation in
            handler(.enterBackground { continuation.resume() })
        }
    }
}
