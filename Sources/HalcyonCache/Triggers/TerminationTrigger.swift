import Foundation
import Synchronization

/// Cleans and flushes the disks when the process receives SIGTERM, then ends the process by that signal.
///
/// It is for servers and command-line programs without a signal handler. It is the process's handler while a cache
/// subscribes.
///
/// See `CleaningTests.terminationCleansDiskFirst()`.
public final class TerminationTrigger: CacheTrigger {
    private let handlers = TriggerHandlers()
    private let source = Mutex<(any DispatchSourceSignal)?>(nil)
    private let finish: @Sendable () -> Void

    /// Creates a trigger that ends the process by the signal when the disks are clean.
    public convenience init() {
        self.init {
            signal(SIGTERM, SIG_DFL)
            raise(SIGTERM)
        }
    }

    /// Creates a trigger that calls `finish` when the disks are clean.
    public init(finish: @escaping @Sendable () -> Void) { self.finish = finish }

    public func subscribe(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) -> TriggerSubscription {
        handlers.add(handler) { [weak self] in self?.update() }
    }

    /// Installs the signal handler while there are subscribers, and removes it otherwise.
    private func update() {
        source.withLock { source in
            if handlers.isEmpty {
                guard let old = source else { return }
                old.cancel()
                source = nil
                signal(SIGTERM, SIG_DFL)
                return
            }
            if source != nil { return }
            signal(SIGTERM, SIG_IGN)
            let next = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
            next.setEventHandler { [handlers, finish] in
                let waiting = DispatchGroup()
                for handler in handlers.all {
                    waiting.enter()
                    handler(.enterBackground { waiting.leave() })
                }
                waiting.notify(queue: .global(), execute: finish)
            }
            next.activate()
            source = next
        }
    }
}
