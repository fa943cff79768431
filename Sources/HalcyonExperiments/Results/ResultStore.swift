import Foundation
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace
import Synchronization

/// A folder of results: the cells in one file, `cells.jsonl.zst`, and how each was run in `provenance`.
///
/// While a sweep runs, each result is a file of its own in `cells`; when it is done, `pack()` puts them into the one
/// file. Readers use both. Files are complete or absent: each is written beside and renamed. Several processes may write
/// to one folder. A stored cell is never replaced by a different result.
public struct ResultStore: Sendable {
    /// The folder.
    public let folder: String
    private let lastPack = LastPack()

    /// Creates the store of a folder, which need not exist yet.
    public init(folder: String) { self.folder = folder }

    /// The path of the file that has the packed cells.
    package var packPath: String { "\(folder)/cells.jsonl.zst" }
    /// The path of a cell's file, before it is packed.
    package func path(ofCell hash: String) -> String { "\(folder)/cells/\(hash).json" }
    /// The path of the file that says how a cell was run.
    package func path(ofProvenance hash: String) -> String { "\(folder)/provenance/\(hash).json" }

    /// Whether the folder is one of results: it has a pack, or a folder for cells.
    public var exists: Bool {
        FileManager.default.fileExists(atPath: packPath) || FileManager.default.fileExists(atPath: "\(folder)/cells")
    }

    /// Returns the names of the stored cells in alphabetical order. O(cells) when the pack was changed, because a cell's
    /// name is computed from its identity.
    ///
    /// - Throws: `ReplayError.data(_:)` if the pack is damaged, or the folder is no folder of results.
    package func hashes() throws(ReplayError) -> [String] {
        guard exists else {
            throw .data(
                "\(folder): is no folder of results; 'replay sweep' makes one, with a file 'cells.jsonl.zst' or a folder "
                    + "'cells' in it.")
        }
        // In this order: a cell that is packed in between is found in the pack.
        let files = try fileHashes()
        guard let pack = try pack() else { return files.sorted() }
        return Set(files).union(pack.entries.keys).sorted()
    }

    /// The names of the cells that have a file of their own, in any order.
    private func fileHashes() throws(ReplayError) -> [String] {
        let path = "\(folder)/cells"
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
            // Another process may have removed it since.
            guard FileManager.default.fileExists(atPath: path) else { return [] }
            throw .data("\(path): cannot be read: \(SystemReason.text(of: error)).")
        }
        return names.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(".json".count)) }
    }

    /// Returns the pack; `nil` if there is none.
    private func pack() throws(ReplayError) -> CellPack? { try lastPack.pack(path: packPath) }

    /// Returns all stored cells in alphabetical order of their names. O(cells).
    ///
    /// - Throws: `ReplayError.data(_:)` as ``cell(_:)``, or if the folder is no folder of results.
    package func cells() throws(ReplayError) -> [StoredCell] {
        var cells: [StoredCell] = []
        for hash in try hashes() { cells.append(try cell(hash)) }
        return cells
    }

    /// Returns a stored cell.
    ///
    /// - Throws: `ReplayError.data(_:)` if the file cannot be read, has another schema, or its name is not that of its
    ///   identity; or if the pack is damaged.
    package func cell(_ hash: String) throws(ReplayError) -> StoredCell {
        let file = path(ofCell: hash)
        guard let data = FileManager.default.contents(atPath: file) else {
            guard let cell = try pack()?.entries[hash]?.cell else { throw .data("\(file): cannot be read.") }
            return cell
        }
        let cell = try Self.decode(StoredCell.self, data, at: file, schema: StoredCell.schema)
        guard cell.identity.hash == hash else {
            throw .data("\(file): is not the cell of its name, but \(cell.identity.hash): it was renamed or edited.")
        }
        return cell
    }

    /// Returns the bytes of a cell's file, packed or not; `nil` if the cell is not stored.
    ///
    /// - Throws: `ReplayError.data(_:)` if the pack is damaged.
    func data(ofCell hash: String) throws(ReplayError) -> Data? {
        if let data = FileManager.default.contents(atPath: path(ofCell: hash)) { return data }
        return try pack()?.entries[hash]?.data
    }

    /// Returns where a cell is, for a sentence: the path of its file, or that of the pack with the cell's name.
    func place(ofCell hash: String) -> String {
        let file = path(ofCell: hash)
        return FileManager.default.fileExists(atPath: file) ? file : "\(packPath), cell \(hash)"
    }

    /// Returns how a cell was run; `nil` if that is not stored.
    ///
    /// - Throws: `ReplayError.data(_:)` if the file cannot be read or has another schema.
    package func provenance(_ hash: String) throws(ReplayError) -> CellProvenance? {
        let file = path(ofProvenance: hash)
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        return try Self.decode(CellProvenance.self, file, schema: CellProvenance.schema)
    }

    /// Stores a cell, unless it is stored already. The name of the trace and the label of the policy stay those of the
    /// suite that stored it first.
    ///
    /// - Throws: `TraceError` if it cannot be written; `ReplayError.data(_:)` if a different result is stored, or the pack
    ///   is damaged.
    package func add(_ cell: StoredCell, _ provenance: CellProvenance?) throws {
        let hash = cell.identity.hash
        let isStored = try data(ofCell: hash) != nil && self.cell(hash).hasResult(of: cell)
        if !isStored { try addFile(ofCell: hash, cell.json()) }
        if let provenance { try Self.write(JSONReport.data(provenance), to: path(ofProvenance: hash)) }
    }

    /// Stores the bytes of a cell's file, unless it is stored already.
    ///
    /// - Throws: as ``add(_:_:)``.
    func addFile(ofCell hash: String, _ data: Data) throws {
        if let stored = try self.data(ofCell: hash) {
            guard stored == data else { throw Self.conflict(place(ofCell: hash)) }
            return
        }
        try Self.write(data, to: path(ofCell: hash))
    }

    private static func conflict(_ place: String) -> ReplayError {
        .data(
            "\(place): a different result of the same cell is stored; one of the builds has changed its counts "
                + "without a new result version, or a file was edited.")
    }

    /// Puts the cells that have files of their own into the pack, and removes these files. O(cells).
    ///
    /// Processes pack one after the other. A process that is killed meanwhile loses no cell.
    ///
    /// - Throws: `TraceError` if the pack cannot be written. `ReplayError.data(_:)` if a cell is broken, or its file and
    ///   the pack have different results; all files are kept then.
    package func pack() throws { try pack(without: []) }

    /// Packs the cells, and removes some.
    ///
    /// - Parameter removed: the names of the cells to remove, packed or not; never all cells.
    /// - Throws: as `pack()`.
    func pack(without removed: Set<String>) throws {
        if removed.isEmpty, try fileHashes().isEmpty { return }
        let lock = try PackLock(path: "\(folder)/cells.lock")
        defer { withExtendedLifetime(lock) {} }
        removePartialPacks()
        for step in try packingSteps(without: removed) { try perform(step) }
    }

    /// Returns what packing would do now.
    func packingSteps(without removed: Set<String> = []) throws(ReplayError) -> [PackingStep] {
        // In this order: what leaves the files meanwhile is in the pack.
        var files: [String: Data] = [:]
        var cells: [String: StoredCell] = [:]
        for hash in try fileHashes() {
            guard let data = FileManager.default.contents(atPath: path(ofCell: hash)) else { continue }
            files[hash] = data
            cells[hash] = try cell(hash)
        }
        let entries = try pack()?.entries ?? [:]
        for (hash, cell) in cells {
            if let entry = entries[hash], !entry.cell.hasResult(of: cell) { throw Self.conflict(path(ofCell: hash)) }
        }
        return PackingStep.steps(packed: entries.mapValues(\.data), files: files, removed: removed)
    }

    /// Performs one step of packing.
    ///
    /// - Throws: `TraceError` if a file cannot be written or removed.
    func perform(_ step: PackingStep) throws(TraceError) {
        switch step {
        case .replacePack(let lines): try CellPack.write(lines, to: packPath)
        case .removeFile(let hash):
            let file = path(ofCell: hash)
            guard unlink(file) != 0, errno != ENOENT else { return }
            throw TraceError(
                file: file, message: "cannot be removed: \(SystemReason.ofLastCall)", isOfOutput: true)
        }
    }

    /// Removes what a killed packing left between naming its file and renaming it.
    private func removePartialPacks() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where name.hasPrefix("cells.jsonl.zst.") && name.hasSuffix("-partial") {
            unlink("\(folder)/\(name)")
        }
    }

    /// Stores cells and packs them, and removes all others with what says how they were run.
    ///
    /// - Parameter cells: at least one.
    /// - Throws: as ``add(_:_:)`` and `pack()`.
    func replaceCells(with cells: [(cell: StoredCell, provenance: CellProvenance?)]) throws {
        try prepare()
        for (cell, provenance) in cells { try add(cell, provenance) }
        let removed = Set(try hashes()).subtracting(cells.map { $0.cell.identity.hash })
        try pack(without: removed)
        for hash in removed { unlink(path(ofProvenance: hash)) }
    }

    /// Creates the folders.
    ///
    /// - Throws: `TraceError` if they cannot be created or written to; `ReplayError.usage(_:)` if the path is that
    ///   of a file.
    func prepare() throws {
        for part in ["cells", "provenance"] {
            do {
                try FileManager.default.createDirectory(atPath: "\(folder)/\(part)", withIntermediateDirectories: true)
            } catch {
                var isFolder: ObjCBool = false
                if FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), !isFolder.boolValue {
                    throw ReplayError.usage("\(folder): cannot be a folder of results: it is a file.")
                }
                throw TraceError(
                    file: folder, message: "cannot be a folder of results: \(SystemReason.text(of: error))",
                    isOfOutput: true)
            }
        }
        try AtomicFile.verify("\(folder)/cells/verify.json")
        try AtomicFile.verify(packPath)
    }

    private struct Head: Decodable { var schema: String? }

    static func write(_ data: Data, to path: String) throws {
        let file = try AtomicFile(path: path)
        try file.write(Array(data))
        try file.finish()
    }

    static func decode<Value: Decodable>(
        _ type: Value.Type, _ file: String, schema: String
    ) throws(ReplayError) -> Value {
        guard let data = FileManager.default.contents(atPath: file) else { throw .data("\(file): cannot be read.") }
        return try decode(type, data, at: file, schema: schema)
    }

    static func decode<Value: Decodable>(
        _ type: Value.Type, _ data: Data, at place: String, schema: String
    ) throws(ReplayError) -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let head = try? decoder.decode(Head.self, from: data) else {
            throw .data("\(place): is not JSON; JSON with the schema \(schema) is needed.")
        }
        guard head.schema == schema else {
            throw .data("\(place): has the schema '\((head.schema ?? "none").shortened)'; \(schema) is needed.")
        }
        do { return try decoder.decode(type, from: data) } catch {
            throw .data("\(place): does not have the fields of \(schema): \(Self.reason(error)).")
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            "'\((context.codingPath + [key]).map(\.stringValue).joined(separator: "."))' is missing"
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            "'\(context.codingPath.map(\.stringValue).joined(separator: "."))' has another type"
        default: String(SystemReason.text(of: error).shortened(to: 200))
        }
    }
}

/// The pack of a folder as it was read last. It is read again once the file has changed.
private final class LastPack: Sendable {
    /// What changes when a file is replaced.
    private struct Version: Equatable {
        let device: UInt64
        let node: UInt64
        let size: Int64
        let seconds: Int64
        let nanoseconds: Int64

        /// Returns nil if there is no file.
        init?(path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            #if canImport(Darwin)
                let modified = status.st_mtimespec
            #else
                let modified = status.st_mtim
            #endif
            device = UInt64(truncatingIfNeeded: status.st_dev)
            node = UInt64(truncatingIfNeeded: status.st_ino)
            size = Int64(status.st_size)
            seconds = Int64(modified.tv_sec)
            nanoseconds = Int64(modified.tv_nsec)
        }
    }

    private let last = Mutex<(version: Version, pack: CellPack)?>(nil)

    /// Returns the pack at a path; `nil` if there is none.
    func pack(path: String) throws(ReplayError) -> CellPack? {
        try last.withLock { last throws(ReplayError) in
            while let version = Version(path: path) {
                if let last, last.version == version { return last.pack }
                let pack: CellPack
                do throws(ReplayError) { pack = try CellPack(path: path) } catch {
                    if Version(path: path) == version { throw error }
                    continue
                }
                // A file that was replaced meanwhile is read again.
                if Version(path: path) == version { last = (version, pack) }
            }
            last = nil
            return nil
        }
    }
}
