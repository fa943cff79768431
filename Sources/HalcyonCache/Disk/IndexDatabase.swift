import Foundation
import GRDB
import HalcyonAccessLog

/// The SQLite database of a disk storage, for data that files cannot contain: categories, fingerprints of keys, and
/// access times with a higher resolution than that of the file system.
///
/// The files are authoritative. The database may lack the changes that were not flushed before the process ended, and
/// it may be lost; ``DiskRecovery`` merges the two. It is therefore deleted when SQLite finds it damaged. It is not
/// deleted if the disk is full or read-only.
///
/// See `DamageTests.damagedIndexLosesNoValue()` and `DiskFaultTests.unwritableIndexLosesNoValue()`.
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
    }

    private static let version = 2
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
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR: true
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
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.write { database in
            let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
            if found == 1 {
                try database.execute(
                    sql: """
                        ALTER TABLE entry ADD COLUMN source INTEGER NOT NULL DEFAULT 0;
                        ALTER TABLE entry ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;
                        PRAGMA user_version = \(version);
                        """)
            } else if found != version {
                // A database of another version is deleted: the files contain what is essential.
                try database.execute(
                    sql: """
                        DROP TABLE IF EXISTS entry;
                        CREATE TABLE entry (
                            name TEXT PRIMARY KEY NOT NULL, size INTEGER NOT NULL, length INTEGER NOT NULL,
                            accessed INTEGER NOT NULL, expires INTEGER NOT NULL, renewal INTEGER NOT NULL,
                            fingerprint INTEGER NOT NULL, categories TEXT NOT NULL,
                            source INTEGER NOT NULL, owner INTEGER NOT NULL
                        ) WITHOUT ROWID;
                        PRAGMA user_version = \(version);
                        """)
            }
        }
        return queue
    }

    /// Reads all rows. O(rows).
    func rows() throws -> [Row] {
        try queue.read { database in try [Row](fetching: database) }
    }

    /// Writes rows and removes others in one transaction.
    func update(_ rows: [Row], removing names: [String]) throws {
        try queue.write { database in
            let insert = try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
            for row in rows {
                try insert.execute(arguments: [
                    row.name, row.size, row.length, row.accessed, row.expires, row.renewal,
                    Int64(bitPattern: row.fingerprint), Self.text(row.categories),
                    Int64(bitPattern: row.origin.source), Int64(bitPattern: row.origin.owner),
                ])
            }
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
        let cursor = try GRDB.Row.fetchCursor(
            database,
            sql:
                "SELECT name, size, length, accessed, expires, renewal, fingerprint, categories, source, owner FROM entry"
        )
        self = []
        while let row = try cursor.next() {
            guard let name = String.fromDatabaseValue(row[0]), let size = Int.fromDatabaseValue(row[1]),
                let length = Int.fromDatabaseValue(row[2]), let accessed = Int64.fromDatabaseValue(row[3]),
                let expires = Int64.fromDatabaseValue(row[4]), let renewal = Int64.fromDatabaseValue(row[5]),
                let fingerprint = Int64.fromDatabaseValue(row[6]), let categories = String.fromDatabaseValue(row[7]),
                let source = Int64.fromDatabaseValue(row[8]), let owner = Int64.fromDatabaseValue(row[9])
            else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
            append(
                IndexDatabase.Row(
                    name: name, size: size, length: length, accessed: accessed, expires: expires, renewal: renewal,
                    fingerprint: UInt64(bitPattern: fingerprint), categories: IndexDatabase.categories(categories),
                    origin: EntryOrigin(
                        source: UInt64(bitPattern: source), owner: UInt64(bitPattern: owner))))
        }
    }
}
