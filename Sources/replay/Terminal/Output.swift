import Foundation
import HalcyonTrace

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
            let file = try AtomicFile(path: path)
            try file.write(Array(data))
            try file.finish()
        } catch {
            throw OutputError(description: error.description)
        }
    }
}

/// A result that could not be written, in one sentence.
struct OutputError: Error, CustomStringConvertible {
    let description: String
}
