import ArgumentParser
import Foundation
import HalcyonSimulation
import HalcyonTrace

/// The destination of a result: standard output, or a file that is written completely or not at all.
enum Output {
    /// Writes `data` to `path`, or to standard output if `path` is nil.
    ///
    /// - Throws: ``HalcyonTrace/TraceError`` if writing fails; the previous content of the file is then unchanged.
    static func write(_ data: Data, to path: String?) throws {
        let file = try AtomicFile(path: path ?? "-")
        try file.write(Array(data))
        try file.finish()
    }

    /// Returns the location of the file at `path`, links followed: equal for two names of one file, even if it does
    /// not exist yet.
    static func place(of path: String) -> String {
        if let file = resolved(path) { return file }
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        guard let folder = resolved(start == path.startIndex ? "." : String(path[..<start])) else { return path }
        return "\(folder)/\(path[start...])"
    }

    /// Returns the resolved path, or `nil` if there is no file.
    private static func resolved(_ path: String) -> String? {
        guard let name = realpath(path, nil) else { return nil }
        defer { free(name) }
        return String(cString: name)
    }

    /// Returns the format of a trace written to `path`: the requested one, or that of the extension, or CSV on
    /// standard output.
    static func traceFormat(_ requested: TraceFormat?, for path: String) throws(ReplayError) -> TraceFormat {
        guard let format = requested ?? TraceFormat(path: path) ?? (path == "-" ? .csv : nil) else {
            throw ReplayError.usage(
                "The name '\(path)' does not imply a format: end it in .csv or .oracleGeneral, "
                    + "optionally followed by .gz or .zst.")
        }
        guard format == .csv || format == .oracleGeneral else {
            throw ReplayError.usage("Traces are written as csv or oracleGeneral, not as \(format.rawValue).")
        }
        guard Compression(path: path) != .xz else {
            throw ReplayError.usage("Traces are not compressed with xz: end '\(path)' in .gz or .zst.")
        }
        return format
    }
}

/// The format of a result and its destination.
struct OutputArguments: ParsableArguments {
    /// The formats of a result.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table, json, csv, jsonl
    }

    @Option(help: "The format of the result.")
    var format: Format = .table

    @Option(name: [.short, .long], help: "The file to write; by default standard output.")
    var output: String?
}
