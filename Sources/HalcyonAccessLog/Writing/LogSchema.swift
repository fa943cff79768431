import GRDB
import HalcyonAccessLogReading

/// The tables of a log and their versions.
///
/// Each version but the first is reached from the one before it by a migration, in a transaction of its own.
/// `LogFormat` says how a file states its version.
struct LogSchema: Sendable {
    /// What makes version n + 1 of version n, by n.
    let migrations: [@Sendable (Database) throws -> Void]

    /// A schema with these versions.
    init(migrations: [@Sendable (Database) throws -> Void]) { self.migrations = migrations }

    /// The versions that this release knows.
    static let current = LogSchema(migrations: [version1, version2, version3, version4])

    /// The latest version.
    var latest: Int { migrations.count }

    /// Brings a file up to the latest version.
    ///
    /// - Throws: ``AccessLogError`` if the file is another program's or of a later version, which are left as they are;
    ///   `DatabaseError` if it cannot be written.
    func migrate(_ queue: DatabaseQueue, path: String) throws {
        while try version(of: queue, path: path) < latest {
            try queue.inTransaction(.immediate) { db in
                let version = try version(of: db, path: path)
                if version < latest {
                    try migrations[version](db)
                    try db.execute(sql: "PRAGMA application_id = \(LogFormat.applicationID)")
                    try db.execute(sql: "PRAGMA user_version = \(version + 1)")
                }
                return .commit
            }
        }
    }

    /// The version of a file at one moment; 0 if it holds nothing yet.
    ///
    /// - Throws: ``AccessLogError`` if it is another program's or of a later version; `DatabaseError` if it cannot be read.
    func version(of queue: DatabaseQueue, path: String) throws -> Int {
        var version = 0
        try queue.inTransaction(.deferred) { db in
            version = try self.version(of: db, path: path)
            return .commit
        }
        return version
    }

    /// The version of a file; 0 if it holds nothing yet. To be asked in a transaction, without which another process may make the
    /// tables between two of the looks that it takes.
    ///
    /// - Throws: ``AccessLogError`` if it is another program's or of a later version.
    func version(of db: Database, path: String) throws -> Int {
        try LogFormat.version(
            Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0,
            applicationID: Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0,
            isEmpty: Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0, latest: latest, path: path)
    }
}
