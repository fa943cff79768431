import Dispatch
import Foundation
import HalcyonTrace
import Synchronization

/// Deletes unfinished files on SIGINT and SIGTERM, says what was kept, then ends the process by the same signal.
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
                Terminal.complain(Self.sentence)
                signal(number, SIG_DFL)
                kill(getpid(), number)
            }
            source.resume()
            return source
        }
    }

    private static let outputs = Mutex<[String]>([])

    /// States the files that the command is going to write, for the sentence about an interruption.
    static func expect(_ paths: [String]) { outputs.withLock { $0 += paths } }

    /// States that complete files are kept and that repeating the command continues the run.
    static func expectToContinue() { continues.withLock { $0 = true } }

    private static let continues = Mutex(false)

    /// What an interruption leaves, as one sentence.
    private static var sentence: String {
        if continues.withLock({ $0 }) { return "interrupted: stored cells are kept; repeat the command to continue." }
        let completed = AtomicFile.completedFiles
        let incomplete = AtomicFile.incompleteOutputs
        var facts = completed.isEmpty ? [] : ["\(list(completed)) complete"]
        if !incomplete.isEmpty { facts.append("what went to \(incomplete.joined(separator: " and ")) is incomplete") }
        if facts.isEmpty { facts.append("no result was written") }
        let unchanged = outputs.withLock { outputs in
            outputs.filter { !completed.contains($0) && FileManager.default.fileExists(atPath: $0) }
        }
        if !unchanged.isEmpty { facts.append("\(list(unchanged)) unchanged") }
        return "interrupted: \(facts.joined(separator: "; "))."
    }

    private static func list(_ paths: [String]) -> String {
        "\(paths.joined(separator: " and ")) \(paths.count == 1 ? "is" : "are")"
    }

    /// Stops handling the signals.
    func cancel() {
        for source in sources { source.cancel() }
    }
}
