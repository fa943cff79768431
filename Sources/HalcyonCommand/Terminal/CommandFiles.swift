import Foundation
import HalcyonSimulation
import HalcyonTrace

/// The files that a command reads and writes, each with its name in messages.
///
/// Every command that writes a file calls ``verify()`` first. No result may replace its own input or another result.
struct CommandFiles {
    /// The inputs, such as `("trace", "shop.csv")`. A `nil` path is no file.
    var reads: [(what: String, path: String?)] = []
    /// The outputs, such as `("--output", "report.json")`. A `nil` path is standard output.
    let writes: [(what: String, path: String?)]

    /// Verifies that all outputs can be written, before a long run.
    ///
    /// - Throws: ``HalcyonSimulation/ReplayError`` if a result would replace an input or another result, links
    ///   followed; ``HalcyonTrace/TraceError`` if an output cannot be written.
    func verify() throws {
        let inputs = reads.compactMap { what, path in path.map { NamedPlace(what: what, path: $0) } }
        var outputs: [NamedPlace] = []
        for (what, path) in writes {
            guard let path, try AtomicFile.replaces(path) else { continue }
            let output = NamedPlace(what: what, path: path)
            if let input = inputs.first(where: output.isSameFile) {
                throw ReplayError.usage(
                    "\(what) \(path) would replace the \(input.what) \(input.path): name another file.")
            }
            if let other = outputs.first(where: output.isSameFile) {
                throw ReplayError.usage("\(other.what) and \(what) are both written to \(path): name two files.")
            }
            outputs.append(output)
        }
        for case (_, let path?) in writes { try AtomicFile.verify(path) }
        Interruption.expect(outputs.map(\.path))
    }
}

/// A file of a command, with its resolved path.
private struct NamedPlace {
    let what: String
    let path: String
    private let place: String
    /// The device number and inode of a file with a single hard link, which identify it under any spelling of its path.
    private let identity: [UInt64]?

    init(what: String, path: String) {
        (self.what, self.path) = (what, path)
        place = Output.place(of: path)
        var status = stat()
        let isAlone = stat(path, &status) == 0 && status.st_nlink == 1
        identity = isAlone ? [UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino)] : nil
    }

    func isSameFile(_ other: NamedPlace) -> Bool {
        place == other.place || identity != nil && identity == other.identity
    }
}
