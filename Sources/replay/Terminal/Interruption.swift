import Dispatch
import Foundation
import HalcyonTrace

/// Ends the process at ctrl-C or a request to terminate, by that very signal, once unfinished files are gone.
struct Interruption {
    private let sources: [any DispatchSourceSignal]

    /// Waits for the signals from now on, also where the process that started this one had blocked them.
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

    /// Waits no longer.
    func cancel() {
        for source in sources { source.cancel() }
    }
}
