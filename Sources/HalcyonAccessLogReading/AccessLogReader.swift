import Foundation
import GRDB

/// Reads the accesses of a log, in the order in which they were recorded.
///
/// What is read is the log as it was when it was opened, also while it is being written. The file is not changed.
/// Beside a batch of accesses, the names of users and categories are held.
public final class AccessLogReader {
    /// The file as it was named by the caller.
    public let path: String
    /// The accesses in it.
    public let count: Int
    /// The accesses that a batch has at most.
    static let batch = 8_192

    private let queue: DatabaseQueue
    private let users: [Int64: String]
    private let sets: [Int64: [String]]
    /// What keys cost whose first access has no cost; read when it is first asked for.
    private var laterCosts: [Int64: Int]?
    private var last = Int64.min
    private var toGive: Int
    private let limit: Int
    /// Whether the log is of a version with events.
    private let hasEvents: Bool

    /// Opens the log at `path`.
    ///
    /// - Parameter limit: reads only so many accesses, the first; `nil` is all.
    /// - Throws: ``AccessLogError``: where there is no file, or one of another program, of a later schema, truncated or
    ///   damaged.
    public init(path: String, limit: Int? = nil) throws(AccessLogError) {
        self.path = path
        self.limit = max(limit ?? .max, 0)
        toGive = self.limit
        let header = try LogHeader(path: path)
        do {
            let queue = try AccessLogReader.open(path, header)
            (hasEvents, count, users, sets) = try queue.inDatabase { db in
                // A transaction that stays open until the reader is gone: all batches show the same state.
                try db.beginTransaction(.deferred)
                let version = try LogSchema.current.version(of: db, path: path)
                if version == 0 { throw AccessLogError.empty(path) }
                let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM access") ?? 0
                return (version >= 3, count, try AccessLogReader.users(db), try AccessLogReader.categorySets(db))
            }
            self.queue = queue
        } catch {
            throw AccessLogError(reading: path, error)
        }
    }

    deinit { try? queue.close() }

    /// The next accesses; none at the end.
    ///
    /// - Throws: ``AccessLogError`` if the file is damaged.
    public func next() throws(AccessLogError) -> [RecordedAccess] {
        do {
            return try queue.inDatabase { try batch($0, costs: [:]) }
        } catch {
            throw AccessLogError(reading: path, error)
        }
    }

    /// All events among the accesses that this reader reads, in the order in which they were recorded. O(rows of the log).
    ///
    /// A log of schema version 1 or 2 has none.
    ///
    /// - Throws: ``AccessLogError`` if the file is damaged.
    public func events() throws(AccessLogError) -> [RecordedEvent] {
        guard hasEvents else { return [] }
        do {
            return try queue.inDatabase { db in
                let accesses = try Int64.fetchCursor(
                    db, sql: "SELECT id FROM access ORDER BY id LIMIT ?", arguments: [limit])
                let rows = try Row.fetchCursor(
                    db,
                    sql: """
                        SELECT event.id, time, kind, access,
                               CASE WHEN event.key IS NOT NULL THEN coalesce(key.name, lower(hex(key.hash))) END,
                               user, duration, cost, conditions
                        FROM event LEFT JOIN key ON key.id = event.key ORDER BY event.id
                        """)
                var (position, next) = (0, try accesses.next())
                var events: [RecordedEvent] = []
                while let row = try rows.next() {
                    guard let kind = RecordedEvent.Kind(rawValue: row[2]) else {
                        throw AccessLogError(
                            path, .damaged,
                            "is damaged (event \(row[0] as Int64) is of kind \(row[2] as Int64), which there is none of)"
                        )
                    }
                    let access: Int64 = row[3]
                    while let id = next, id <= access {
                        position += 1
                        next = try accesses.next()
                    }
                    if position == limit, position < count { break }
                    var event = RecordedEvent(
                        time: row[1], kind: kind, key: row[4], user: (row[5] as Int64?).flatMap { users[$0] },
                        duration: row[6], cost: row[7], conditions: row[8])
                    event.position = position
                    events.append(event)
                }
                return events
            }
        } catch {
            throw AccessLogError(reading: path, error)
        }
    }

    /// The next accesses as in a trace: an access without a size, such as a miss, gets the first size that is known of its
    /// key. O(accesses of the log) at the first call.
    func nextWithCosts() throws(AccessLogError) -> [RecordedAccess] {
        do {
            return try queue.inDatabase { db in
                let costs = try laterCosts ?? AccessLogReader.laterCosts(db)
                laterCosts = costs
                return try batch(db, costs: costs)
            }
        } catch {
            throw AccessLogError(reading: path, error)
        }
    }

    private func batch(_ db: Database, costs: [Int64: Int]) throws -> [RecordedAccess] {
        // CROSS JOIN keeps SQLite from putting the keys in the outer loop.
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT access.id, time, coalesce(key.name, lower(hex(key.hash))), cost, category_set, user,
                           session, outcome, access.key, \(hasEvents ? "access.duration" : "NULL")
                    FROM access CROSS JOIN key ON key.id = access.key
                    WHERE access.id > ? ORDER BY access.id LIMIT ?
                    """), arguments: [last, min(AccessLogReader.batch, toGive)])
        var accesses: [RecordedAccess] = []
        while let row = try rows.next() {
            last = row[0]
            guard let outcome = RecordedAccess.Outcome(rawValue: row[7]) else {
                throw AccessLogError(
                    path, .damaged,
                    "is damaged (access \(last) has the outcome \(row[7] as Int64), which there is none of)")
            }
            let cost: Int = row[3]
            accesses.append(
                RecordedAccess(
                    time: row[1], key: row[2], cost: cost > 0 ? cost : costs[row[8]] ?? cost,
                    categories: (row[4] as Int64?).flatMap { sets[$0] } ?? [],
                    user: (row[5] as Int64?).flatMap { users[$0] }, outcome: outcome, session: row[6],
                    duration: hasEvents ? row[9] : nil))
        }
        toGive -= accesses.count
        return accesses
    }
}

extension AccessLogReader {
    /// Opens the file so that reading leaves nothing behind.
    private static func open(_ path: String, _ header: LogHeader) throws -> DatabaseQueue {
        var options = Configuration()
        options.allowsUnsafeTransactions = true
        options.busyMode = .timeout(5)
        options.foreignKeysEnabled = false
        // Where no write-ahead log is, SQLite makes one even to read. A connection that may write removes it when it
        // closes; one that may not leaves it behind.
        options.readonly = header.hasWriteAheadLog
        if !header.hasWriteAheadLog {
            options.prepareDatabase { db in try db.execute(sql: "PRAGMA query_only = ON") }
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            if access(path, W_OK) != 0 || access(folder, W_OK) != 0 {
                // No process can write there, so that nothing changes while the log is read.
                let name = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
                options.readonly = true
                return try DatabaseQueue(path: "file:\(name)?immutable=1", configuration: options)
            }
        }
        return try DatabaseQueue(path: path, configuration: options)
    }

    private static func laterCosts(_ db: Database) throws -> [Int64: Int] {
        // Of the other columns SQLite gives those of the row that has the least id.
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT key, cost, min(id) FROM access
                WHERE cost > 0 AND key IN (SELECT key FROM access WHERE cost <= 0) GROUP BY key
                """)
        var costs: [Int64: Int] = [:]
        while let row = try rows.next() { costs[row[0]] = row[1] }
        return costs
    }

    private static func users(_ db: Database) throws -> [Int64: String] {
        let rows = try Row.fetchAll(db, sql: "SELECT id, CAST(name AS BLOB) FROM user")
        return Dictionary(rows.map { ($0[0], String(decoding: $0[1] as Data, as: UTF8.self)) }) { first, _ in first }
    }

    private static func categorySets(_ db: Database) throws -> [Int64: [String]] {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT category_set, CAST(name AS BLOB)
                FROM category_set_member JOIN category ON category.id = category ORDER BY category_set, position
                """)
        var sets: [Int64: [String]] = [:]
        while let row = try rows.next() {
            sets[row[0], default: []].append(String(decoding: row[1] as Data, as: UTF8.self))
        }
        return sets
    }
}

extension AccessLogError {
    /// What an error thrown while the file at `path` was read means.
    init(reading path: String, _ error: any Error) {
        let meaning = AccessLogError(path, error)
        if meaning.reason == .unwritable {
            self.init(path, .unreadable, "cannot be opened for reading, or its write-ahead log cannot")
        } else {
            self = meaning
        }
    }
}
