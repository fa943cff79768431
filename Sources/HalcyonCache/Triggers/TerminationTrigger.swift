import Foundation
import Synchronization

/// Cleans and flushes the disks when the process receives SIGTERM, then ends the process by that signal.
///
/// It is for servers and command-line programs without a signal handler. It is the process's handler while a cache
/// subscribes. The process ends after ``limit`` in any case, also while a serializer or a disk hangs.
///
/// See `CleaningTests.terminationCleansDiskFirst()` and `CleaningTests.terminationHasALimitOfTime()`.
public final class TerminationTrigger: CacheTrigger {
    /// The maximum time from the signal to the end. The default is 5 seconds.
    public let limit: Duration
    private let handlers = TriggerHandlers()
    private let source = Mutex<(any DispatchSourceSignal)?>(nil)
    private let finish: @Sendable () -> Void
    /// Has a thread of its own, so that work that blocks the global queues does not block the end.
    private let queue = DispatchQueue(label: "halcyon.termination")

    /// Creates a trigger that ends the process by the signal when the disks are clean.
    ///
    /// - Parameter limit: the maximum time that cleaning may take. The default is 5 seconds; service managers usually
    ///   kill a process 10 to 90 seconds after the signal.
    public convenience init(limit: Duration = .seconds(5)) {
        self.init(limit: limit) {
            signal(SIGTERM, SIG_DFL)
            raise(SIGTERM)
        }
    }

    /// Creates a trigger that calls `finish` once for each signal: when the disks are clean, or after `limit`.
    public init(limit: Duration = .seconds(5), finish: @escaping @Sendable () -> Void) {
        (self.limit, self.finish) = (limit, finish)
    }

    public func subscribe(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) -> TriggerSubscription {
        handlers.add(handler) { [weak self] in self?.update() }
    }

    /// The number of triggers that handle the signal. The last one gives it back to the system.
    private static let handlingCount = Mutex(0)

    /// Installs the signal handler while there are subscribers, and removes it otherwise.
    private func update() {
        source.withLock { source in
            if handlers.isEmpty {
                guard let old = source else { return }
                old.cancel()
                source = nil
                Self.handlingCount.withLock { count in
                    count -= 1
                    if count == 0 { signal(SIGTERM, SIG_DFL) }
                }
                return
            }
            if source != nil { return }
            Self.handlingCount.withLock { count in
                count += 1
                if count == 1 { signal(SIGTERM, SIG_IGN) }
            }
            let next = DispatchSource.makeSignalSource(signal: SIGTERM, queue: queue)
            next.setEventHandler { [weak self] in self?.clean() }
            next.activate()
            source = next
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
