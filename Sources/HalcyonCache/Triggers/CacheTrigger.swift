import Synchronization

/// The severity of a shortage of memory.
public enum MemoryPressure: Sendable, Equatable {
    /// Some tasks wait for memory. A cache removes half of its contents in memory.
    case some
    /// Nearly all tasks wait for memory. A cache removes all its contents in memory.
    case full
}

/// An event of the system that a cache responds to.
public enum CacheTriggerEvent: Sendable {
    /// Memory is short.
    case memoryPressure(MemoryPressure)
    /// The app enters the background or is about to end. The cache cleans and flushes its disk, then calls `done` once.
    case enterBackground(done: @Sendable () -> Void)

    /// Ends an event whose cache no longer exists.
    package func abandon() {
        if case .enterBackground(let done) = self { done() }
    }
}

/// A source of ``CacheTriggerEvent``s. It may serve any number of caches.
///
/// On Linux there is ``MemoryPressureTrigger``, on Apple's platforms `SystemMemoryTrigger` (type-checked, never run),
/// everywhere ``TerminationTrigger``, ``NotificationTrigger`` and ``ManualTrigger``.
/// ``CacheTriggers/standard`` has those that a cache uses by default.
///
/// A shortage of memory trims or clears the memory tier, and the background cleans the disk. See
/// `CleaningTests.triggersTrimMemoryAndCleanDisk()`.
public protocol CacheTrigger: Sendable {
    /// Calls a handler at every event from now on, on any thread, until the subscription ends.
    ///
    /// - Returns: the subscription, which ends when it is cancelled or released.
    func subscribe(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) -> TriggerSubscription
}

/// The default triggers of a cache.
public enum CacheTriggers {
    /// Memory pressure, where the system reports it. On Apple's platforms also the background and the end of the app, by its
    /// notifications: type-checked, never run. ``TerminationTrigger`` is not among them, because it handles a signal of the whole
    /// process.
    public static var standard: [any CacheTrigger] {
        #if HALCYON_APPLE
            [SystemMemoryTrigger.shared, NotificationTrigger.ofSystem]
        #elseif os(Linux)
            [MemoryPressureTrigger.shared]
        #else
            []
        #endif
    }
}

/// A handler's subscription to a trigger. It ends when it is cancelled or released.
///
/// Those of a cache end with the cache. See `CleaningTests.triggerStopsWithItsCache()`.
public final class TriggerSubscription: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    /// Creates a subscription.
    ///
    /// - Parameter end: called once, when the subscription ends.
    public init(end: @escaping @Sendable () -> Void) { self.end = Mutex(end) }

    /// Ends the subscription. Cancelling twice has no effect.
    public func cancel() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }

    deinit { cancel() }
}

/// The handlers that subscribe to a trigger.
package final class TriggerHandlers: Sendable {
    package typealias Handler = @Sendable (CacheTriggerEvent) -> Void

    private struct State {
        var handlers: [UInt64: Handler] = [:]
        var next: UInt64 = 0
    }

    private let state = Mutex(State())

    /// The handlers in the order of their subscription.
    package var all: [Handler] {
        state.withLock { $0.handlers.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// Whether there is no handler.
    package var isEmpty: Bool { state.withLock { $0.handlers.isEmpty } }

    /// Adds a handler.
    ///
    /// - Parameter changed: called after the handler was added, and after it was removed.
    package func add(_ handler: @escaping Handler, changed: @escaping @Sendable () -> Void = {}) -> TriggerSubscription
    {
        let number = state.withLock { state in
            let number = state.next
            state.handlers[number] = handler
            state.next += 1
            return number
        }
        changed()
        return TriggerSubscription { [self] in
            state.withLock { _ = $0.handlers.removeValue(forKey: number) }
            changed()
        }
    }
}

/// A trigger that the app fires.
public final class ManualTrigger: CacheTrigger {
    private let handlers = TriggerHandlers()

    /// Creates a trigger.
    public init() {}

    public func subscribe(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) -> TriggerSubscription {
        handlers.add(handler)
    }

    /// Whether a cache subscribes.
    public var isStarted: Bool { !handlers.isEmpty }

    /// Reports a shortage of memory to all caches.
    public func pressMemory(_ pressure: MemoryPressure) {
        for handler in handlers.all { handler(.memoryPressure(pressure)) }
    }

    /// Reports to all caches that the app enters the background, and returns when their disks are clean.
    ///
    /// See `CleaningTests.enterBackgroundCleansTiers()`.
    public func enterBackground() async {
        await withTaskGroup(of: Void.self) { group in
            for handler in handlers.all {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        handler(.enterBackground { continuation.resume() })
                    }
                }
            }
        }
    }
}
