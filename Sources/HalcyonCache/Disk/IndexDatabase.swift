import Foundation
import GRDB
import HalcyonAccessLog

/// The SQLite database of a disk storage, for data that files cannot contain.
///
/// This is categories, fingerprints of keys, times of stores, notes (``EntryNotes``), and access times with a higher
/// resolution than that of the file system.
///
/// The files are authoritative. The database may lack the changes that were not flushed before the process ended, and
/// it may be lost; ``DiskRecovery`` merges the two. It is therefore deleted when SQLite finds it damaged
/// (`SQLITE_CORRUPT`, `SQLITE_NOTADB`, a file that is too short). It is not deleted after any other error, such as on
/// a full or read-only disk. Deleted rows are overwritten (`secure_delete`).
///
/// See `DamageTests.damagedIndexLosesNoValue()`, `DiskFaultTests.unwritableIndexLosesNoValue()` and
/// `IndexSchemaTests.olderIndexKeepsItsEntries(version:)`.
final class IndexDatabase: Sendable {
    /// The row of a file.
    struct Row: Equatable {
        var name: String
        var size: Int
        var length: Int
        var accessed: Int64
        var expires: Int64
        /// The microseconds from an access to the new expiration; see ``Renewal``.
        var renewal: Int64
        var fingerprint: UInt64
        var categories: [String]
        var origin = EntryOrigin.unknown
        /// The time of the store in microseconds since 1970; 0 if unknown.
        var stored: Int64 = 0
        /// The note; see ``EntryNotes``.
        var note: Data?
    }

    /// What a hit changes of a row.
    struct Renewed: Equatable {
        var name: String
        var accessed: Int64
        var expires: Int64
    }

    /// The version of the schema. 2 added `source` and `owner`, 3 added `stored` and `note`.
    private static let version = 3
    /// The columns in the order of the schema, with their declarations. Those after the first eight have defaults, by
    /// which an older table gets them.
    private static let columns = [
        ("name", "TEXT PRIMARY KEY NOT NULL"), ("size", "INTEGER NOT NULL"), ("length", "INTEGER NOT NULL"),
        ("accessed", "INTEGER NOT NULL"), ("expires", "INTEGER NOT NULL"), ("renewal", "INTEGER NOT NULL"),
        ("fingerprint", "INTEGER NOT NULL"), ("categories", "TEXT NOT NULL"),
        ("source", "INTEGER NOT NULL DEFAULT 0"), ("owner", "INTEGER NOT NULL DEFAULT 0"),
        ("stored", "INTEGER NOT NULL DEFAULT 0"), ("note", "BLOB"),
    ]
    /// The number of columns of the first version.
    private static let oldest = 8
    private let queue: DatabaseQueue
    private let identity: FileIdentity?

    /// Opens the database in a folder and reads its rows. If there is none or it is damaged, it creates a new one.
    ///
    /// - Throws: the error of SQLite if the database can be neither opened nor created.
    static func open(in folder: URL) throws -> (database: IndexDatabase, rows: [Row]) {
        let path = folder.appendingPathComponent("index.sqlite").path
        do {
            let database = IndexDatabase(queue: try open(path))
            return (database, try database.rows())
        } catch let error as DatabaseError where isDamage(error) {
            for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
            return (IndexDatabase(queue: try open(path)), [])
        }
    }

    /// Reads the rows of a database that cannot be opened for writing, because the disk is full or read-only. They
    /// include all changes up to the last time that it was closed. O(rows).
    static func rowsOfClosed(in folder: URL) throws -> [Row] {
        let path = folder.appendingPathComponent("index.sqlite").path
        var configuration = Configuration()
        configuration.readonly = true
        let name = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
        let queue = try DatabaseQueue(path: "file:\(name)?immutable=1", configuration: configuration)
        return try IndexDatabase(queue: queue).rows()
    }

    /// Returns whether an error shows that the file is damaged.
    private static func isDamage(_ error: DatabaseError) -> Bool {
        switch error.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: true
        default: error.extendedResultCode == .SQLITE_IOERR_SHORT_READ
        }
    }

    private init(queue: DatabaseQueue) {
        self.queue = queue
        identity = FileIdentity(queue.path)
    }

    /// Whether the open file is still the one at its path.
    var isInPlace: Bool { identity != nil && FileIdentity(queue.path) == identity }

    private static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.journalMode = .wal
        configuration.label = "halcyon.index"
        configuration.busyMode = .timeout(1)
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA secure_delete = ON") }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.write { database in
            let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
            let present = try String.fetchAll(database, sql: "SELECT name FROM pragma_table_info('entry')")
            let wanted = columns.map(\.0)
            if found == version && present == wanted { return }
            // A table of another shape is replaced: the files contain what is essential.
            if !(1..<version).contains(found) || present.count < oldest
                || present != Array(wanted.prefix(present.count))
            {
                let declarations = columns.map { "\($0) \($1)" }.joined(separator: ", ")
                try database.execute(
                    sql: "DROP TABLE IF EXISTS entry; CREATE TABLE entry (\(declarations)) WITHOUT ROWID;")
            } else {
                for (name, declaration) in columns.dropFirst(present.count) {
                    try database.execute(sql: "ALTER TABLE entry ADD COLUMN \(name) \(declaration)")
                }
            }
            try database.execute(sql: "PRAGMA user_version = \(version)")
        }
        // Up to version 2, notes were files of a storage of their own.
        let notes = URL(fileURLWithPath: path).deletingLastPathComponent().path + "/freshness"
        if access(notes, F_OK) == 0 { try? FileManager.default.removeItem(atPath: notes) }
        return queue
    }

    /// Reads all rows. O(rows).
    func rows() throws -> [Row] {
        try queue.read { database in try [Row](fetching: database) }
    }

    /// Writes rows, changes those of hits, and removes others in one transaction.
    func update(_ rows: [Row], renewed: [Renewed], removing names: [String]) throws {
        try queue.write { database in
            let marks = Self.columns.map { _ in "?" }.joined(separator: ", ")
            let insert = try database.cachedStatement(sql: "INSERT OR REPLACE INTO entry VALUES (\(marks))")
            for row in rows {
                try insert.execute(arguments: [
                    row.name, row.size, row.length, row.accessed, row.expires, row.renewal,
                    Int64(bitPattern: row.fingerprint), Self.text(row.categories),
                    Int64(bitPattern: row.origin.source), Int64(bitPattern: row.origin.owner), row.stored, row.note,
                ])
            }
            let update = try database.cachedStatement(sql: "UPDATE entry SET accessed = ?, expires = ? WHERE name = ?")
            for one in renewed { try update.execute(arguments: [one.accessed, one.expires, one.name]) }
            let delete = try database.cachedStatement(sql: "DELETE FROM entry WHERE name = ?")
            for name in names { try delete.execute(arguments: [name]) }
        }
    }

    /// Encodes names as JSON. An empty list, the common case, is an empty text.
    private static func text(_ categories: [String]) -> String {
        if categories.isEmpty { return "" }
        return (try? String(decoding: JSONEncoder().encode(categories), as: UTF8.self)) ?? ""
    }

    fileprivate static func categories(_ text: String) -> [String] {
        if text.isEmpty { return [] }
        return (try? JSONDecoder().decode([String].self, from: Data(text.utf8))) ?? []
    }
}

extension [IndexDatabase.Row] {
    fileprivate init(fetching database: Database) throws {
        let columns = Set(try String.fetchAll(database, sql: "SELECT name FROM pragma_table_info('entry')"))
        // An older table of a disk that cannot be written.
        func column(_ name: String, else value: String) -> String { columns.contains(name) ? name : value }
        let cursor = try GRDB.Row.fetchCursor(
            database,
            sql: """
                SELECT name, size, length, accessed, expires, renewal, fingerprint, categories,
                    \(column("source", else: "0")), \(column("owner", else: "0")), \(column("stored", else: "0")),
                    \(column("note", else: "NULL"))
                FROM entry
                """)
        self = []
        while let row = try cursor.next() {
            guard let name = String.fromDatabaseValue(row[0]), let size = Int.fromDatabaseValue(row[1]),
                let length = Int.fromDatabaseValue(row[2]), let accessed = Int64.fromDatabaseValue(row[3]),
                let expires = Int64.fromDatabaseValue(row[4]), let renewal = Int64.fromDatabaseValue(row[5]),
                let fingerprint = Int64.fromDatabaseValue(row[6]), let categories = String.fromDatabaseValue(row[7]),
                let source = Int64.fromDatabaseValue(row[8]), let owner = Int64.fromDatabaseValue(row[9]),
                let stored = Int64.fromDatabaseValue(row[10])
            else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
            append(
                IndexDatabase.Row(
                    name: name, size: size, length: length, accessed: accessed, expires: expires, renewal: renewal,
                    fingerprint: UInt64(bitPattern: fingerprint), categories: IndexDatabase.categories(categories),
                    origin: EntryOrigin(source: UInt64(bitPattern: source), owner: UInt64(bitPattern: owner)),
                    stored: stored, note: Data.fromDatabaseValue(row[11])))
        }
    }
}
