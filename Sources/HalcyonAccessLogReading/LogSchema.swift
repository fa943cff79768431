import GRDB

/// The tables of a log and their versions.
///
/// `PRAGMA user_version` is the version, `PRAGMA application_id` tells a log from other programs' files. Each version but the
/// first is reached from the one before it by a migration, in a transaction of its own.
package struct LogSchema: Sendable {
    /// `Hlog` in ASCII.
    static let applicationID: Int32 = 0x486c_6f67

    /// What makes version n + 1 of version n, by n.
    package let migrations: [@Sendable (Database) throws -> Void]

    /// A schema with these versions.
    package init(migrations: [@Sendable (Database) throws -> Void]) { self.migrations = migrations }

    /// The versions that this release knows.
    package static let current = LogSchema(migrations: [version1, version2, version3])

    /// The latest version.
    package var latest: Int { migrations.count }

    /// Brings a file up to the latest version.
    ///
    /// - Throws: ``AccessLogError`` if the file is another program's or of a later version, which are left as they are;
    ///   `DatabaseError` if it cannot be written.
    package func migrate(_ queue: DatabaseQueue, path: String) throws {
        while try version(of: queue, path: path) < latest {
            try queue.inTransaction(.immediate) { db in
                let version = try version(of: db, path: path)
                if version < latest {
                    try migrations[version](db)
                    try db.execute(sql: "PRAGMA application_id = \(LogSchema.applicationID)")
                    try db.execute(sql: "PRAGMA user_version = \(version + 1)")
                }
                return .commit
            }
        }
    }

    /// The version of a file at one moment; 0 if it holds nothing yet.
    ///
    /// - Throws: ``AccessLogError`` if it is another program's or of a later version; `DatabaseError` if it cannot be read.
    package func version(of queue: DatabaseQueue, path: String) throws -> Int {
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
    package func version(of db: Database, path: String) throws -> Int {
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == LogSchema.applicationID else {
            let isNew = try version == 0 && Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0
            if isNew { return 0 }
            throw AccessLogError(
                path, .foreign, "is an SQLite file of another program; an access log of Halcyon is needed")
        }
        guard version <= latest else {
            throw AccessLogError(
                path, .newerSchema,
                "has schema version \(version), of a later release; this one knows versions up to \(latest)")
        }
        return version
    }
}
