import Foundation
import HalcyonSimulation
import HalcyonTrace

/// The files that one command reads and writes, each with what a sentence calls it.
///
/// Whatever writes a file asks ``verify()`` before its work: no result takes the place of what it was made from, and no
/// two results take each other's.
struct CommandFiles {
    /// What is read, such as `("trace", "shop.csv")`; a `nil` path is nothing.
    var reads: [(what: String, path: String?)] = []
    /// What is written, such as `("--output", "report.json")`; a `nil` path is standard output.
    let writes: [(what: String, path: String?)]

    /// Throws at once what would go wrong after a long work.
    ///
    /// - Throws: ``HalcyonSimulation/ReplayError`` if a result would replace an input or another result, whatever links
    ///   lead there; ``HalcyonTrace/TraceError`` if one cannot be written.
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
    }
}

/// A file of a command, and where it stands.
private struct NamedPlace {
    let what: String
    let path: String
    private let place: String
    /// The file itself where it has no other name, by which it is known in whatever way its name is spelt.
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
