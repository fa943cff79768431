import ArgumentParser
import Foundation
import HalcyonSimulation
import HalcyonTrace

/// Where the result goes: standard output, or a file that appears whole or not at all.
enum Output {
    /// Writes `data` to `path`, or to standard output where there is none.
    ///
    /// - Throws: ``HalcyonTrace/TraceError`` if that fails; what was in the file before is then still there.
    static func write(_ data: Data, to path: String?) throws {
        let file = try AtomicFile(path: path ?? "-")
        try file.write(Array(data))
        try file.finish()
    }

    /// Where the file stands that `path` names, links followed: the same for two names of one file, also where it is yet to
    /// be made.
    static func place(of path: String) -> String {
        if let file = resolved(path) { return file }
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        guard let folder = resolved(start == path.startIndex ? "." : String(path[..<start])) else { return path }
        return "\(folder)/\(path[start...])"
    }

    /// The one name of what is there, or `nil` where nothing is.
    private static func resolved(_ path: String) -> String? {
        guard let name = realpath(path, nil) else { return nil }
        defer { free(name) }
        return String(cString: name)
    }

    /// The format in which a trace is written to `path`: the one asked for, or that of the extension; on standard
    /// output CSV.
    static func traceFormat(_ asked: TraceFormat?, for path: String) throws(ReplayError) -> TraceFormat {
        guard let format = asked ?? TraceFormat(path: path) ?? (path == "-" ? .csv : nil) else {
            throw ReplayError.usage(
                "The name '\(path)' does not say in which format to write: end it in .csv or .oracleGeneral, "
                    + "with .gz or .zst behind if wanted.")
        }
        guard format == .csv || format == .oracleGeneral else {
            throw ReplayError.usage("Traces are written as csv or oracleGeneral, not as \(format.rawValue).")
        }
        return format
    }
}

/// The form of a result, and where it goes.
struct OutputArguments: ParsableArguments {
    /// The forms a result can have.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table, json, csv, jsonl
    }

    @Option(help: "The form of the result.")
    var format: Format = .table

    @Option(name: [.short, .long], help: "The file to write; by default standard output.")
    var output: String?
}
