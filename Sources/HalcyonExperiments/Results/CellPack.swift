import Foundation
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// The stored cells of a suite in one file, `cells.jsonl.zst`.
///
/// The file is one zstd frame with the size of its content and a checksum. Its content is the bytes of the cells'
/// files (``StoredCell/json()``): one line a cell, in ascending order of the cells' names, which the file does not state.
///
///     {"capacity":119,"counts":{…},"identity":{…},"label":"lru",…}⏎       cell 00a1…
///     {"capacity":5994,"counts":{…},"identity":{…},"label":"sieve",…}⏎    cell 00c7…
///
/// Two packs are equal if their lines are: the same cells have the same lines, whatever the order in which they were
/// stored. The compressed bytes are then equal, too, if one version of libzstd wrote both. Another version may compress
/// the same lines differently.
struct CellPack: Sendable {
    /// A cell and its line.
    struct Entry: Sendable {
        /// The bytes of the cell's file, the line break included.
        let data: Data
        /// The cell.
        let cell: StoredCell
    }

    /// The compression level. At 12, the 3,520 cells of the suite `policies` (10.4 MB) take 0.3 s and 1.2 MB. At 19, they
    /// take 4 s and 1.0 MB; at 3, 0.03 s and 1.5 MB.
    static let level: Int32 = 12

    /// The cells by name.
    let entries: [String: Entry]

    /// Reads and checks a pack. O(cells).
    ///
    /// - Throws: `ReplayError.data(_:)` if the file is not complete zstd data, or if its lines are not cells in order.
    init(path: String) throws(ReplayError) {
        func fault(_ line: Int, _ sentence: String) -> ReplayError {
            .data("\(path):\(line): \(sentence): the file was edited; \(Self.remedy).")
        }
        let content: [UInt8]
        do { content = try ZstdFile.read(path) } catch { throw .data("\(error); \(Self.remedy).") }
        guard !content.isEmpty else { throw .data("\(path): has no cells; \(Self.remedy).") }
        var entries: [String: Entry] = [:]
        var (start, line, last) = (content.startIndex, 0, "")
        while start < content.endIndex {
            line += 1
            guard let end = content[start...].firstIndex(of: UInt8(ascii: "\n")) else {
                throw fault(line, "has no line break")
            }
            let data = Data(content[start...end])
            guard String(data: data, encoding: .utf8) != nil else { throw fault(line, "is not UTF-8") }
            let cell = try ResultStore.decode(StoredCell.self, data, at: "\(path):\(line)", schema: StoredCell.schema)
            let hash = cell.identity.hash
            guard last < hash else {
                throw fault(line, "the cell \(hash) \(last == hash ? "is there twice" : "is not in order")")
            }
            entries[hash] = Entry(data: data, cell: cell)
            (start, last) = (end + 1, hash)
        }
        self.entries = entries
    }

    /// Replaces the pack at a path by one of these cells, whose names and lines are given. The replacement is on the disk
    /// on return.
    ///
    /// - Parameter lines: at least one.
    /// - Throws: `TraceError` if the file cannot be written; an existing file is then unchanged.
    static func write(_ lines: [String: Data], to path: String) throws(TraceError) {
        var content: [UInt8] = []
        content.reserveCapacity(lines.values.reduce(0) { $0 + $1.count })
        for (_, line) in lines.sorted(by: { $0.key < $1.key }) { content.append(contentsOf: line) }
        try ZstdFile.write(content, to: path, level: level)
    }

    private static let remedy =
        "a pack of cells as 'replay sweep' writes it is needed: restore the file, or delete it and run the sweep again"
}

/// A change to the files of a folder of results while its cells are packed.
///
/// Before and after each step, every cell is in the pack or in a file of its own. A process that is killed between two
/// steps loses nothing, and the next packing does the rest. See `CellPackTests.killed`.
enum PackingStep: Equatable {
    /// Replaces the pack by one of these lines, in a single rename.
    case replacePack([String: Data])
    /// Removes the file of a cell.
    case removeFile(String)

    /// Returns the steps of packing, in order.
    ///
    /// - Parameters:
    ///   - packed: the lines of the pack.
    ///   - files: the contents of the files of cells. Of a cell that is in the pack, too, the line of the pack is kept.
    ///   - removed: the names of cells to remove from both.
    static func steps(packed: [String: Data], files: [String: Data], removed: Set<String> = []) -> [PackingStep] {
        var lines = packed.merging(files) { line, _ in line }
        for hash in removed { lines[hash] = nil }
        return (lines == packed || lines.isEmpty ? [] : [.replacePack(lines)])
            + files.keys.sorted().map { .removeFile($0) }
    }
}

/// The right to replace a pack. One process, and one thread in it, holds it at a time.
///
/// It is a `flock` on a file that the holder removes when it is done. A killed process loses the lock and leaves the
/// file; the next holder takes it over.
final class PackLock {
    private let path: String
    private let descriptor: Int32

    /// Waits for the lock.
    ///
    /// - Throws: `TraceError` if the file system has no locks, or the file cannot be created.
    init(path: String) throws(TraceError) {
        func fault() -> TraceError {
            TraceError(file: path, message: "cannot be locked: \(SystemReason.ofLastCall)", isOfOutput: true)
        }
        self.path = path
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
            guard descriptor >= 0 else { throw fault() }
            while flock(descriptor, LOCK_EX) != 0 {
                guard errno == EINTR else {
                    let error = fault()
                    close(descriptor)
                    throw error
                }
            }
            // The holder before may have removed the file that was waited for.
            var (own, named) = (stat(), stat())
            if fstat(descriptor, &own) == 0, stat(path, &named) == 0, own.st_dev == named.st_dev,
                own.st_ino == named.st_ino
            {
                self.descriptor = descriptor
                return
            }
            close(descriptor)
        }
    }

    deinit {
        unlink(path)
        close(descriptor)
    }
}
