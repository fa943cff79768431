import Dispatch
import Foundation
import HalcyonSimulation

/// Shows the progress of a replay, its rate and the remaining time while `body` runs.
///
/// On a terminal this is a bar in one line. Elsewhere it is a line every 30 seconds, without control sequences.
func showingProgress<Result: Sendable>(
    _ progress: ReplayProgress, _ body: () async throws -> Result
) async rethrows -> Result {
    try await showingProgress(
        of: { progress.total == 0 ? 1 : Double(min(progress.completed, progress.total)) / Double(progress.total) },
        requests: { min(progress.completed, progress.total) }, body)
}

/// Shows the share that is done and the remaining time while `body` runs.
///
/// - Parameters:
///   - share: the share that is done, 0…1, read from another thread. Nil shows only the time since the start.
///   - requests: the number of requests served so far, for the rate; by default no rate is shown.
func showingProgress<Result: Sendable>(
    of share: (@Sendable () -> Double)?, requests: (@Sendable () -> Int)? = nil, _ body: () async throws -> Result
) async rethrows -> Result {
    let isTerminal = Terminal.allowsProgress
    let began = ContinuousClock().now
    // A timer, because `body` may occupy all threads of the concurrency runtime.
    let queue = DispatchQueue(label: "progress", qos: .userInitiated)
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let interval = ShownProgress.interval
    if isTerminal {
        timer.schedule(deadline: .now() + .milliseconds(700), repeating: .milliseconds(200))
    } else {
        timer.schedule(deadline: .now() + interval, repeating: interval)
    }
    timer.setEventHandler {
        let seconds = Double((ContinuousClock().now - began).components.seconds) + 1e-3
        let shown = ShownProgress(share: share?(), requests: requests?(), seconds: seconds)
        if isTerminal {
            Terminal.show("\r\(shown.bar)\u{1B}[K")
        } else {
            Terminal.complain(shown.line)
        }
    }
    timer.resume()
    defer {
        timer.cancel()
        // After a line that is being written.
        queue.sync { if isTerminal { Terminal.show("\r\u{1B}[K") } }
    }
    return try await body()
}

/// The progress of a command at one moment, as text.
struct ShownProgress {
    /// The share that is done, 0…1. Nil if it is not known.
    let share: Double?
    /// The number of requests served so far. Nil if it is not known.
    let requests: Int?
    /// The seconds since the start.
    let seconds: Double

    /// The time between two lines where standard error is not a terminal: 30 seconds. The environment variable
    /// `HALCYON_PROGRESS_SECONDS` sets another number, at least 0.001.
    static var interval: Double {
        let text = ProcessInfo.processInfo.environment["HALCYON_PROGRESS_SECONDS"] ?? ""
        guard let seconds = Double(text), (0.001...86_400).contains(seconds) else { return 30 }
        return seconds
    }

    /// The progress as a bar, for a terminal.
    var bar: String {
        guard let share else { return line }
        let filled = Int(share * 30)
        return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: 30 - filled) + "] " + figures
    }

    /// The progress as a line, for a file.
    var line: String { share == nil ? "\(Int(seconds)) s so far" : "\(Int(seconds)) s so far, \(figures)" }

    private var figures: String {
        guard let share else { return "" }
        var text = "\(Int(share * 100)) %"
        if let requests { text += "  \((Double(requests) / seconds / 1e6).decimals(1)) M requests/s" }
        if share > 0, share < 1 { text += "  \(Int(seconds / share - seconds) + 1) s left" }
        return text
    }
}
