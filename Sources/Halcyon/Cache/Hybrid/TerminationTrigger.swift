import Foundation
import Synchronization

/// Tells that the process is asked to end (SIGTERM): the disk is cleaned and flushed, then the process ends by that signal.
///
/// For servers and command-line programs that have no handler of their own; while it is started, it is the handler.
public final class TerminationTrigger: CacheTrigger {
    private let source = Mutex<(any DispatchSourceSignal)?>(nil)
    private let finish: @Sendable () -> Void

    /// A trigger that ends the process by the signal when the disk is clean.
    public convenience init() {
        self.init {
            signal(SIGTERM, SIG_DFL)
            raise(SIGTERM)
        }
    }

    /// A trigger that does something else at the end.
    public init(finish: @escaping @Sendable () -> Void) { self.finish = finish }

    public func start(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) {
        signal(SIGTERM, SIG_IGN)
        source.withLock { source in
            let next = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
            next.setEventHandler { [finish] in handler(.enterBackground(done: finish)) }
            next.activate()
            source = next
        }
    }

    public func stop() {
        source.withLock { source in
            source?.cancel()
            source = nil
        }
        signal(SIGTERM, SIG_DFL)
    }
}
