import HalcyonAccessLogReading
import Foundation
import GRDB

/// The open file of a log: one connection, what it remembers of the tables, and the number of rows.
///
/// After an error every remembered number is in doubt; callers then ``forget()`` or close.
struct LogFile {
    let queue: DatabaseQueue
    private let path: String
    private let identity: FileIdentity?
    private var names: NameRowCache
    private var dataVersion: Int?
    /// The rows of `access`; `nil` until counted.
    private(set) var rows: Int?

    /// Opens the file at `path`, made if there is none, and brings it up to the latest schema.
    ///
    /// - Throws: `DatabaseError`, or ``HalcyonAccessLogReading/AccessLogError`` if the file is not for this release to write.
    init(path: String, _ configuration: AccessLog.Configuration, schema: LogSchema = .current) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        if !FileManager.default.fileExists(atPath: folder.path) {
            do {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            } catch {
                throw AccessLogError(path, .unwritable, "has no folder, and none can be made there")
            }
        }
        try LogFile.checkHeader(path)
        queue = try LogFile.retrying(for: configuration.lockTimeout) {
            try LogFile.open(path, configuration, schema: schema)
        }
        self.path = path
        identity = FileIdentity(path)
        names = NameRowCache(configuration.keys)
    }

    /// Throws if there is a file that is none of SQLite's: SQLite itself would write over a very short one.
    private static func checkHeader(_ path: String) throws(AccessLogError) {
        do throws(AccessLogError) {
            _ = try LogHeader(path: path)
        } catch {
            switch error.reason {
            case .foreign, .truncated: throw AccessLogError(path, .damaged, error.message)
            default: break
            }
        }
    }

    /// Repeats what fails because the file is locked.
    private static func retrying<Result>(for timeout: Duration, _ body: () throws -> Result) throws -> Result {
        let end = ContinuousClock.now + timeout
        while true {
            do {
                return try body()
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && .now < end {
                Thread.sleep(forTimeInterval: 0.005)
            }
        }
    }

    /// Opens the file, and makes it one with a write-ahead log and the newest schema.
    ///
    /// It does not wait for a lock, because it may hold one that the other process waits for: it lets go of all and fails.
    private static func open(
        _ path: String, _ configuration: AccessLog.Configuration, schema: LogSchema
    ) throws -> DatabaseQueue {
        var options = Configuration()
        // The tables declare what refers to what for readers; checking it would take an index on every such column.
        options.foreignKeysEnabled = false
        options.busyMode = .immediateError
        let pageLimit = configuration.pageLimit
        options.prepareDatabase { db in
            if let pageLimit { try db.execute(sql: "PRAGMA max_page_count = \(pageLimit)") }
            // A crash of the process loses no commit; a loss of power may lose the last ones, and damages nothing.
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
            // What is deleted is overwritten, so that it cannot be read from the file's unused parts.
            try db.execute(sql: "PRAGMA secure_delete = ON")
        }
        let queue = try DatabaseQueue(path: path, configuration: options)
        do {
            // Empty pages can be given back only by a file that was made so.
            if try schema.version(of: queue, path: path) == 0 {
                try queue.inDatabase { try $0.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
            }
            try LogFile.useWriteAheadLog(queue, bytes: Retention(configuration.bounds).walBytes)
            try schema.migrate(queue, path: path)
            let milliseconds = Int(configuration.lockTimeout / .milliseconds(1))
            try queue.inDatabase { try $0.execute(sql: "PRAGMA busy_timeout = \(milliseconds)") }
            return queue
        } catch {
            try? queue.close()
            throw error
        }
    }

    /// Has SQLite keep a write-ahead log.
    private static func useWriteAheadLog(_ queue: DatabaseQueue, bytes: Int) throws {
        try queue.inDatabase { db in
            let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
            guard mode == "wal" else {
                throw DatabaseError(resultCode: .SQLITE_CANTOPEN, message: "no write-ahead log can be kept there")
            }
            try db.execute(sql: "PRAGMA wal_autocheckpoint = \(bytes / 4_096)")
            try db.execute(sql: "PRAGMA journal_size_limit = \(bytes)")
        }
    }

    /// Whether the file that is open is the one at the path.
    var isInPlace: Bool { identity != nil && FileIdentity(path) == identity }

    /// The bytes that the file and its write-ahead log take.
    var bytesOnDisk: Int {
        [path, "\(path)-wal"].reduce(0) { sum, path in
            var status = stat()
            return stat(path, &status) == 0 ? sum + Int(status.st_size) : sum
        }
    }

    /// Writes the write-ahead log back and empties it, unless a reader needs it; it then is with a later one.
    func checkpoint() throws {
        try queue.inDatabase { db in
            _ = try Row.fetchAll(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
    }

    /// Closes the connection; what cannot be closed is left to the system.
    func close() { try? queue.close() }

    /// Forgets all that is remembered of the tables.
    mutating func forget() {
        names.forget()
        rows = nil
        dataVersion = nil
    }

    /// Runs a transaction in which what is remembered holds: forgets it first if another process has written.
    ///
    /// - Throws: what `body` throws, and `DatabaseError`; the transaction is then rolled back and all is forgotten.
    mutating func write<Result>(_ body: (inout NameRowCache, Database) throws -> Result) throws -> Result {
        do {
            return try queue.write { db in
                let version = try Int.fetchOne(db.cachedStatement(sql: "PRAGMA data_version"))
                if version != dataVersion {
                    forget()
                    dataVersion = version
                }
                return try body(&names, db)
            }
        } catch {
            forget()
            throw error
        }
    }

    /// Adds accesses in one transaction.
    mutating func append(_ batch: [LogEntry]) throws {
        try write { names, db in
            let insert = try AccessInsertion(db)
            // The last access before an event.
            var last: Int64?
            for entry in batch {
                switch entry {
                case .access(let access):
                    let key = try names.key(access.key, db)
                    let set = try names.categorySet(access.categories, db)
                    let user = try names.user(access.user, db)
                    let session = try names.session(access.session, started: access.time, db)
                    try insert.run(
                        access.time, key, access.cost, set, user, session, access.outcome.rawValue, access.duration)
                    last = db.lastInsertedRowID
                case .event(let event):
                    let before = try last ?? Int64.fetchOne(db, sql: "SELECT max(id) FROM access") ?? 0
                    last = before
                    try LogFile.insert(event, after: before, &names, db)
                }
            }
        }
        if let known = rows { rows = known + batch.count { $0.access != nil } }
    }

    private static func insert(
        _ event: RecordedEvent, after access: Int64, _ names: inout NameRowCache, _ db: Database
    ) throws {
        let key = try event.key.map { try names.key($0, db) }
        let user = try names.user(event.user, db)
        try db.cachedStatement(
            sql: """
                INSERT INTO event (time, kind, access, key, user, duration, cost, conditions)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: [
                event.time, Int64(event.kind.rawValue), access, key, user, event.duration, event.cost,
                event.conditions,
            ])
    }

    /// The number of rows, counted if it is not known. O(rows) then.
    mutating func countedRows() throws -> Int {
        if let rows { return rows }
        let count = try write { _, db in try Int.fetchOne(db, sql: "SELECT count(*) FROM access") ?? 0 }
        rows = count
        return count
    }

    /// Takes rows off the count.
    mutating func removed(_ count: Int) {
        if let known = rows { rows = known - count }
    }

    /// Forgets the numbers of names, because some may soon be deleted.
    ///
    /// - Returns: the generation of names that follows.
    mutating func forgetNames() -> Int {
        names.forgetNames()
        return names.generation
    }
}

/// Which file lies at a path.
package struct FileIdentity: Equatable, Sendable {
    private let device: UInt64
    private let file: UInt64

    /// `nil` if there is none.
    package init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        file = UInt64(truncatingIfNeeded: status.st_ino)
    }
}
