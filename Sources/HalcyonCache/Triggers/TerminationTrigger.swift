import Foundation
import Synchronization

/// Cleans and flushes the disks when the process receives SIGTERM, then ends the process by that signal.
///
/// It is for servers and command-line programs without a signal handler. From the first subscription on, the process
/// handles the signal itself; while no cache subscribes, the signal ends the process at once. The process ends after
/// ``limit`` in any case, also while a serializer or a disk hangs.
///
/// See `CleaningTests.terminationCleansDiskFirst()`, `CleaningTests.terminationHasALimitOfTime()` and
/// `KillTests.terminatedProcessCleansItsDisk()`.
public final class TerminationTrigger: CacheTrigger {
    /// The maximum time from the signal to the end. The default is 5 seconds.
    public let limit: Duration
    private let handlers = TriggerHandlers()
    /// The subscription to the signal, while there are handlers.
    private let signal = Mutex<TriggerSubscription?>(nil)
    private let finish: @Sendable () -> Void
    /// Has a thread of its own, so that work that blocks the global queues does not block the end.
    private let queue = DispatchQueue(label: "halcyon.termination")

    /// Creates a trigger that ends the process by the signal when the disks are clean.
    ///
    /// - Parameter limit: the maximum time that cleaning may take. The default is 5 seconds; service managers usually
    ///   kill a process 10 to 90 seconds after the signal.
    public convenience init(limit: Duration = .seconds(5)) {
        self.init(limit: limit, finish: TerminationSignal.endProcess)
    }

    /// Creates a trigger that calls `finish` once for each signal: when the disks are clean, or after `limit`.
    public init(limit: Duration = .seconds(5), finish: @escaping @Sendable () -> Void) {
        (self.limit, self.finish) = (limit, finish)
    }

    public func subscribe(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) -> TriggerSubscription {
        // The subscription keeps the trigger: a cache keeps subscriptions only.
        handlers.add(handler) { [self] in update() }
    }

    /// Subscribes to the signal while there are handlers.
    private func update() {
        signal.withLock { signal in
            if handlers.isEmpty {
                signal = nil
            } else if signal == nil {
                signal = TerminationSignal.shared.subscribe { [weak self] in self?.clean() }
            }
        }
    }

    /// Cleans the disks, then calls `finish`, or after the limit.
    func clean() {
        let handlers = handlers.all
        let ending = Ending(after: handlers.count) { [queue, finish] in queue.async(execute: finish) }
        queue.asyncAfter(deadline: .now() + .microseconds(Int(clamping: limit.microseconds))) { ending.end() }
        // Handlers may block, and the end must not wait for them.
        for handler in handlers {
            DispatchQueue.global(qos: .userInitiated).async { handler(.enterBackground { ending.countDown() }) }
        }
    }
}

/// Calls a closure once: after a number of handlers, or before.
private final class Ending: Sendable {
    /// The number of handlers that have not ended; `nil` once the closure is called.
    private let remaining: Mutex<Int?>
    private let finish: @Sendable () -> Void

    init(after count: Int, _ finish: @escaping @Sendable () -> Void) {
        remaining = Mutex(count)
        self.finish = finish
    }

    func countDown() {
        let isLast = remaining.withLock { remaining in
            guard let count = remaining else { return false }
            remaining = count - 1
            return count == 1
        }
        if isLast { end() }
    }

    func end() {
        if remaining.withLock({ $0.take() }) != nil { finish() }
    }
}

/// SIGTERM, for all triggers of the process.
///
/// Its source of events is created once and never cancelled. All sources of a signal share one handler, which the
/// system installs and removes later than they are created and cancelled. With a source for each trigger, a signal
/// could be lost while one trigger came and another went.
package final class TerminationSignal: Sendable {
    package static let shared = TerminationSignal()
    private let triggers = TriggerHandlers()
    /// Keeps the source.
    private let source = Mutex<(any DispatchSourceSignal)?>(nil)
    private let registered = Atomic<Bool>(false)

    private init() {
        #if canImport(Darwin)
            // Otherwise the signal ends the process beside the source's event.
            signal(SIGTERM, SIG_IGN)
        #endif
        source.withLock { kept in
            let source = DispatchSource.makeSignalSource(
                signal: SIGTERM, queue: DispatchQueue(label: "halcyon.termination.signal"))
            source.setRegistrationHandler { [weak self] in self?.registered.store(true, ordering: .releasing) }
            source.setEventHandler { [weak self] in self?.receive() }
            source.activate()
            kept = source
        }
    }

    /// Whether the system delivers the signal here. Before, it ends the process.
    package var isHandled: Bool { registered.load(ordering: .acquiring) }

    /// Calls `handler` at each signal until the subscription ends.
    func subscribe(_ handler: @escaping @Sendable () -> Void) -> TriggerSubscription {
        triggers.add { _ in handler() }
    }

    private func receive() {
        let handlers = triggers.all
        if handlers.isEmpty { return Self.endProcess() }
        for handler in handlers { handler(.enterBackground {}) }
    }

    /// Ends the process by the signal.
    @Sendable static func endProcess() {
        signal(SIGTERM, SIG_DFL)
        // Threads of queues block signals.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(SIGTERM)
    }
}
