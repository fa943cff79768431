import Foundation
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

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

    /// Writes a line to standard error. Messages quote files and arguments, so control characters are escaped, and the
    /// line is cut after ``longestLine`` characters.
    static func say(_ line: String) {
        show(line.shortened(to: longestLine) + "\n")
    }

    /// Writes a sentence to standard error after the name of the program.
    static func complain(_ sentence: String) { say("\(Program.current.name): \(sentence)") }

    /// States on standard error which trace was written, and what it has that the file does not keep.
    static func sayWritten(_ trace: Trace, to path: String, format: TraceFormat) {
        let losses = TraceWriter.losses(of: trace, in: format)
        if !losses.isEmpty {
            say("note: \(format.rawValue) does not keep: \(losses.joined(separator: ", ")).")
        }
        var facts = [trace.count.counted("request"), trace.objectCount.counted("object")]
        if trace.sizeUnit == .bytes { facts.append(Int(clamping: trace.distinctSize).bytesForPeople) }
        if format != .oracleGeneral {
            if trace.hasUsers { facts.append(trace.userCount.counted("user")) }
            if trace.hasCategories {
                facts.append("\(trace.categoryCount.grouped) \(trace.categoryCount == 1 ? "category" : "categories")")
            }
            if let lists = trace.lists, lists.count > 0 { facts.append(lists.count.counted("list")) }
        }
        say("\(path == "-" ? "standard output" : path): \(facts.joined(separator: ", "))")
    }

    /// States on standard error which CSV file was generated.
    static func sayWritten(_ written: GeneratedFacts, to path: String) {
        var facts = [written.requests.counted("request"), written.objects.counted("object")]
        if written.hasSizes { facts.append(Int(clamping: written.distinctSize).bytesForPeople) }
        facts += [
            written.users.counted("user"),
            "\(written.categories.grouped) \(written.categories == 1 ? "category" : "categories")",
        ]
        say("\(path == "-" ? "standard output" : path): \(facts.joined(separator: ", "))")
    }

    /// The length limit of a message, in characters.
    private static let longestLine = 2_000
}
