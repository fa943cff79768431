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
    /// The rows of `list_item`; `nil` until counted.
    private var items: Int?
    /// Whether what was deleted may still be in the file or its write-ahead log. A reader may have needed it, or a process was killed
    /// before it had emptied the write-ahead log.
    private(set) var owesCheckpoint: Bool
    private let patience: Duration

    /// Opens the file at `path`, made if there is none, and brings it up to the latest schema.
    ///
    /// - Throws: `DatabaseError`, or ``HalcyonAccessLogReading/AccessLogError`` if the file is not for this release to write.
    init(path: String, _ configuration: AccessLog.Configuration, schema: LogSchema = .current) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        if !FileManager.default.fileExists(atPath: folder.path) {
            do {
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw AccessLogError(path, .unwritable, "has no folder, and none can be made there")
            }
        }
        for place in [folder.path, path] where LogFile.isOfAnotherUser(place) {
            throw AccessLogError(
                path, .unwritable,
                "may be another user's: \(place) is a link or has another owner, in a folder that all users can write; "
                    + "a folder of one's own is needed")
        }
        LogFile.closeToOthers(path)
        try LogFile.checkHeader(path)
        owesCheckpoint = LogFile.bytes(at: "\(path)-wal") > 0
        patience = configuration.lockTimeout
        queue = try LogFile.retrying(for: configuration.lockTimeout) {
            try LogFile.open(path, configuration, schema: schema)
        }
        self.path = path
        identity = FileIdentity(path)
        names = NameRowCache(configuration.keys)
    }

    /// Returns whether another user may have put something there: all users can write to its folder, and it is a link or has another
    /// owner.
    private static func isOfAnotherUser(_ path: String) -> Bool {
        var (parent, own) = (stat(), stat())
        guard stat(URL(fileURLWithPath: path).deletingLastPathComponent().path, &parent) == 0,
            parent.st_mode & S_IWOTH != 0, lstat(path, &own) == 0
        else { return false }
        return own.st_mode & S_IFMT == S_IFLNK || own.st_uid != geteuid()
    }

    /// Makes the file, which only its owner can read, and takes the others' permissions from files that are there. SQLite gives the
    /// files that it makes beside it the same permissions. If this fails, the opening tells why.
    private static func closeToOthers(_ path: String) {
        // Only a new file is opened here: closing one that SQLite has open would release its locks.
        let new = Foundation.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if new >= 0 { Foundation.close(new) }
        for name in [path, "\(path)-wal", "\(path)-shm", "\(path)-journal"] {
            var status = stat()
            guard stat(name, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 else {
                continue
            }
            chmod(name, status.st_mode & 0o700)
        }
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
        LogFile.bytes(at: path) + LogFile.bytes(at: "\(path)-wal")
    }

    private static func bytes(at path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Writes the write-ahead log back and empties it, unless a reader needs it; ``owesCheckpoint`` then is `true`, and a later call
    /// tries again.
    ///
    /// - Parameter waits: whether to wait for readers, as long as for a locked file.
    mutating func checkpoint(waits: Bool) throws {
        let milliseconds = Int(patience / .milliseconds(1))
        owesCheckpoint = try queue.inDatabase { db in
            if !waits { try db.execute(sql: "PRAGMA busy_timeout = 0") }
            defer { if !waits { try? db.execute(sql: "PRAGMA busy_timeout = \(milliseconds)") } }
            // The first column is 1 if a reader or writer has kept it from completing.
            return try Int.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") != 0
        }
    }

    /// Lets go of what SQLite remembers of names: cached statements hold the values that were bound last.
    func forgetStatements() { queue.releaseMemory() }

    /// Closes the connection; what cannot be closed is left to the system.
    func close() { try? queue.close() }

    /// Forgets all that is remembered of the tables.
    mutating func forget() {
        names.forget()
        (rows, items, dataVersion) = (nil, nil, nil)
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

    /// Adds accesses, events and lists in one transaction.
    mutating func append(_ batch: [LogEntry]) throws {
        try write { names, db in
            let insert = try AccessInsertion(db)
            // The last access before an event or a list.
            var last: Int64?
            func lastAccess() throws -> Int64 {
                let before = try last ?? Int64.fetchOne(db, sql: "SELECT max(id) FROM access") ?? 0
                last = before
                return before
            }
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
                case .event(let event): try LogFile.insert(event, after: lastAccess(), &names, db)
                case .list(let list): try LogFile.insert(list, after: lastAccess(), &names, db)
                }
            }
        }
        if let known = rows { rows = known + batch.count { $0.access != nil } }
        if let known = items {
            items = known + batch.reduce(0) { if case .list(let list) = $1 { $0 + list.items.count } else { $0 } }
        }
    }

    private static func insert(
        _ list: RecordedList, after access: Int64, _ names: inout NameRowCache, _ db: Database
    ) throws {
        let user = try names.user(list.user, db)
        try db.cachedStatement(sql: "INSERT INTO list (time, access, user) VALUES (?, ?, ?)")
            .execute(arguments: [list.time, access, user])
        let number = db.lastInsertedRowID
        let insert = try db.cachedStatement(
            sql: "INSERT INTO list_item (list, position, key, cost, category_set) VALUES (?, ?, ?, ?, ?)")
        for (position, item) in list.items.enumerated() {
            let (key, set) = (try names.key(item.key, db), try names.categorySet(item.categories, db))
            try insert.execute(arguments: [number, position, key, item.cost, set])
        }
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

    /// The number of items of lists, counted if it is not known. O(items) then.
    mutating func countedItems() throws -> Int {
        if let items { return items }
        let count = try write { _, db in try Int.fetchOne(db, sql: "SELECT count(*) FROM list_item") ?? 0 }
        items = count
        return count
    }

    /// Takes rows and items off the counts.
    mutating func removed(_ count: Int, items itemCount: Int = 0) {
        if let known = rows { rows = known - count }
        if let known = items { items = known - itemCount }
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
