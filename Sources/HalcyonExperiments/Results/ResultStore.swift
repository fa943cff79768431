import Foundation
import HalcyonSimulation
import HalcyonTrace

/// A folder of results: one file per cell in `cells`, and how it was run in `provenance`.
///
/// Files are complete or absent: each is written beside and renamed. Several processes may write to one folder. A
/// stored cell is never replaced by a different result.
public struct ResultStore: Sendable {
    /// The folder.
    public let folder: String

    /// Creates the store of a folder, which need not exist yet.
    public init(folder: String) { self.folder = folder }

    /// The path of a cell's file.
    public func path(ofCell hash: String) -> String { "\(folder)/cells/\(hash).json" }
    /// The path of the file that says how a cell was run.
    public func path(ofProvenance hash: String) -> String { "\(folder)/provenance/\(hash).json" }

    /// Whether a cell is stored.
    public func contains(_ hash: String) -> Bool { FileManager.default.fileExists(atPath: path(ofCell: hash)) }

    /// Returns the names of the stored cells in alphabetical order.
    ///
    /// - Throws: `ReplayError.data(_:)` if the folder is no folder of results.
    public func hashes() throws(ReplayError) -> [String] {
        let files: [String]
        do { files = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/cells") } catch {
            throw .data("\(folder): is no folder of results; 'replay sweep' makes one, with a folder 'cells' in it.")
        }
        return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(".json".count)) }.sorted()
    }

    /// Returns all stored cells in alphabetical order of their names. O(cells).
    ///
    /// - Throws: `ReplayError.data(_:)` as ``cell(_:)``, or if the folder is no folder of results.
    public func cells() throws(ReplayError) -> [StoredCell] {
        var cells: [StoredCell] = []
        for hash in try hashes() { cells.append(try cell(hash)) }
        return cells
    }

    /// Returns a stored cell.
    ///
    /// - Throws: `ReplayError.data(_:)` if the file cannot be read, has another schema, or its name is not that of its
    ///   identity.
    public func cell(_ hash: String) throws(ReplayError) -> StoredCell {
        let file = path(ofCell: hash)
        let cell = try Self.decode(StoredCell.self, file, schema: StoredCell.schema)
        guard cell.identity.hash == hash else {
            throw .data("\(file): is not the cell of its name, but \(cell.identity.hash): it was renamed or edited.")
        }
        return cell
    }

    /// Returns how a cell was run; `nil` if that is not stored.
    ///
    /// - Throws: `ReplayError.data(_:)` if the file cannot be read or has another schema.
    public func provenance(_ hash: String) throws(ReplayError) -> CellProvenance? {
        let file = path(ofProvenance: hash)
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        return try Self.decode(CellProvenance.self, file, schema: CellProvenance.schema)
    }

    /// Stores a cell, unless it is stored already. The name of the trace and the label of the policy stay those of the
    /// suite that stored it first.
    ///
    /// - Throws: `TraceError` if it cannot be written; `ReplayError.data(_:)` if a different result is stored.
    public func add(_ cell: StoredCell, _ provenance: CellProvenance?) throws {
        let hash = cell.identity.hash
        let isStored = contains(hash) ? try self.cell(hash).hasResult(of: cell) : false
        if !isStored { try addFile(ofCell: hash, cell.json()) }
        if let provenance { try Self.write(JSONReport.data(provenance), to: path(ofProvenance: hash)) }
    }

    /// Stores the bytes of a cell's file, unless it is stored already.
    ///
    /// - Throws: as ``add(_:_:)``.
    func addFile(ofCell hash: String, _ data: Data) throws {
        let file = path(ofCell: hash)
        if let stored = FileManager.default.contents(atPath: file) {
            guard stored == data else {
                throw ReplayError.data(
                    "\(file): a different result of the same cell is stored; one of the builds has changed its counts "
                        + "without a new result version, or a file was edited.")
            }
            return
        }
        try Self.write(data, to: file)
    }

    /// Creates the folders.
    ///
    /// - Throws: `TraceError` if they cannot be created.
    func prepare() throws {
        for part in ["cells", "provenance"] {
            do {
                try FileManager.default.createDirectory(atPath: "\(folder)/\(part)", withIntermediateDirectories: true)
            } catch {
                throw ReplayError.usage("\(folder): cannot be a folder of results: \(Self.reason(error)).")
            }
        }
        try AtomicFile.verify("\(folder)/cells/verify.json")
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
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let head = try? decoder.decode(Head.self, from: data) else {
            throw .data("\(file): is not JSON; a file with the schema \(schema) is needed.")
        }
        guard head.schema == schema else {
            throw .data("\(file): has the schema '\((head.schema ?? "none").shortened)'; \(schema) is needed.")
        }
        do { return try decoder.decode(type, from: data) } catch {
            throw .data("\(file): does not have the fields of \(schema): \(Self.reason(error)).")
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            "'\((context.codingPath + [key]).map(\.stringValue).joined(separator: "."))' is missing"
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            "'\(context.codingPath.map(\.stringValue).joined(separator: "."))' has another type"
        default: String(String(describing: error).shortened(to: 200))
        }
    }
}
