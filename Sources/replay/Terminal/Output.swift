import Foundation

/// Where the result goes: standard output, or a file that appears whole or not at all.
enum Output {
    /// Writes `data` to `path`, or to standard output where there is none.
    ///
    /// - Throws: ``OutputError`` if the file cannot be written; what was there before is then still there.
    static func write(_ data: Data, to path: String?) throws {
        guard let path else {
            FileHandle.standardOutput.write(data)
            return
        }
        do {
            try data.write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw OutputError(path: path, reason: (error as NSError).localizedDescription)
        }
    }
}

/// A result that could not be written.
struct OutputError: Error, CustomStringConvertible {
    let path: String
    let reason: String

    var description: String { "\(path) cannot be written: \(reason)" }
}
