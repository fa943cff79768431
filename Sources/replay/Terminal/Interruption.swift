import Dispatch
import Foundation
import HalcyonTrace

/// Deletes unfinished files on SIGINT and SIGTERM, then ends the process by the same signal.
struct Interruption {
    private let sources: [any DispatchSourceSignal]

    /// Starts to handle the signals, and unblocks them if the parent process had blocked them.
    init() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGPIPE] { sigaddset(&signals, number) }
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            source.setEventHandler {
                AtomicFile.discardUnfinished()
                if Terminal.allowsProgress { Terminal.show("\r\u{1B}[K") }
                signal(number, SIG_DFL)
                kill(getpid(), number)
            }
            source.resume()
            return source
        }
    }

    /// Stops handling the signals.
    func cancel() {
        for source in sources { source.cancel() }
    }
}
