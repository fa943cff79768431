import Foundation

/// What is known of the terminal the command runs in.
enum Terminal {
    /// Whether bold and the like may be used: standard output is a terminal and `NO_COLOR` is not set.
    static var allowsEmphasis: Bool {
        isatty(STDOUT_FILENO) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
    }

    /// Whether progress may be shown: standard error is a terminal.
    static var allowsProgress: Bool { isatty(STDERR_FILENO) == 1 }

    /// Writes to standard error; where there is none, nobody is to be told.
    static func show(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    /// Writes a line to standard error.
    static func say(_ line: String) {
        show(line + "\n")
    }
}
