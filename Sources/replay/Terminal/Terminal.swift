import Foundation
import HalcyonSimulation

/// The properties of the terminal that the command runs in.
enum Terminal {
    /// Whether emphasis is allowed: standard output is a terminal and `NO_COLOR` is not set.
    static var allowsEmphasis: Bool {
        isatty(STDOUT_FILENO) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
    }

    /// Whether progress is shown: standard error is a terminal.
    static var allowsProgress: Bool { isatty(STDERR_FILENO) == 1 }

    /// Writes to standard error. Ignores failures, such as a closed standard error.
    static func show(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    /// Writes a line to standard error.
    static func say(_ line: String) {
        show(line + "\n")
    }
}

/// Shows the progress of a replay, its rate and the remaining time while `body` runs, only on a terminal.
func showingProgress<Result: Sendable>(
    _ progress: ReplayProgress, _ body: () async throws -> Result
) async rethrows -> Result {
    guard Terminal.allowsProgress else { return try await body() }
    let clock = ContinuousClock()
    let began = clock.now
    let painter = Task {
        try await Task.sleep(for: .milliseconds(700))
        while !Task.isCancelled {
            let seconds = Double((clock.now - began).components.seconds) + 1e-3
            Terminal.show("\r" + bar(progress, seconds: seconds) + "\u{1B}[K")
            try await Task.sleep(for: .milliseconds(200))
        }
    }
    defer {
        painter.cancel()
        Terminal.show("\r\u{1B}[K")
    }
    return try await body()
}

private func bar(_ progress: ReplayProgress, seconds: Double) -> String {
    let done = min(progress.completed, progress.total)
    let share = progress.total == 0 ? 1 : Double(done) / Double(progress.total)
    let filled = Int(share * 30)
    let rate = Double(done) / seconds
    var line = "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: 30 - filled) + "] "
    line += "\(Int(share * 100)) %  \((rate / 1e6).decimals(1)) M requests/s"
    if share > 0, share < 1 { line += "  \(Int(seconds / share - seconds) + 1) s left" }
    return line
}
