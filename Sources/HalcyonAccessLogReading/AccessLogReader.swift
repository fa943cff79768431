import Foundation

/// Reads the accesses of a log and the lists among them, in the order in which they were recorded.
///
/// What is read is the log as it was when it was opened, also while it is being written. The file is not changed.
/// Beside a batch of accesses, the names of users and categories are held.
public final class AccessLogReader {
    /// The file as it was named by the caller.
    public let path: String
    /// The accesses in it.
    public let count: Int
    /// The lists in it; 0 in a log before schema version 4.
    public let listCount: Int
    /// The lists that were shown before or among the accesses which ``next()`` returned last. At the end, those behind the
    /// last access, too. ``RecordedList/position`` tells the place of each.
    public private(set) var lists: [RecordedList] = []
    /// The accesses that a batch has at most.
    static let batch = 8_192

    private let file: SQLiteFile
    /// The statement of ``batch(_:)``.
    private let accesses: SQLiteStatement
    /// The items of all lists, and whether the statement is at one.
    private let items: SQLiteStatement?
    private var hasItem = false
    private let users: [Int64: String]
    private let sets: [Int64: [String]]
    /// The costs that are known elsewhere; read when they are first asked for.
    private var knownCosts: KnownCosts?
    private var given = 0
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
        file = try AccessLogReader.open(path, header)
        // A transaction that stays open until the reader is gone: all batches show the same state.
        try file.execute("BEGIN DEFERRED")
        let version = try AccessLogReader.version(of: file)
        if version == 0 { throw AccessLogError.empty(path) }
        hasEvents = version >= 3
        count = Int(try file.number("SELECT count(*) FROM access"))
        listCount = version >= 4 ? Int(try file.number("SELECT count(*) FROM list")) : 0
        users = try AccessLogReader.users(file)
        sets = try AccessLogReader.categorySets(file)
        // CROSS JOIN keeps SQLite from putting the keys in the outer loop.
        accesses = try SQLiteStatement(
            """
            SELECT access.id, time, coalesce(key.name, lower(hex(key.hash))), cost, category_set, user,
                   session, outcome, access.key, \(hasEvents ? "access.duration" : "NULL")
            FROM access CROSS JOIN key ON key.id = access.key
            WHERE access.id > ? ORDER BY access.id LIMIT ?
            """, in: file)
        items =
            listCount == 0
            ? nil
            : try SQLiteStatement(
                """
                SELECT list.id, list.time, list.access, list.user, coalesce(key.name, lower(hex(key.hash))),
                       list_item.cost, list_item.category_set, list_item.key
                FROM list CROSS JOIN list_item ON list_item.list = list.id CROSS JOIN key ON key.id = list_item.key
                ORDER BY list.id, list_item.position
                """, in: file)
        hasItem = try items?.step() ?? false
    }

    /// The next accesses; none at the end.
    ///
    /// - Throws: ``AccessLogError`` if the file is damaged.
    public func next() throws(AccessLogError) -> [RecordedAccess] {
        try batch(KnownCosts())
    }

    /// All events among the accesses that this reader reads, in the order in which they were recorded. O(rows of the log).
    ///
    /// A log of schema version 1 or 2 has none.
    ///
    /// - Throws: ``AccessLogError`` if the file is damaged.
    public func events() throws(AccessLogError) -> [RecordedEvent] {
        guard hasEvents else { return [] }
        let accesses = try SQLiteStatement(
            "SELECT id FROM access ORDER BY id LIMIT ?", in: file, [Int64(clamping: limit)])
        let rows = try SQLiteStatement(
            """
            SELECT event.id, time, kind, access,
                   CASE WHEN event.key IS NOT NULL THEN coalesce(key.name, lower(hex(key.hash))) END,
                   user, duration, cost, conditions
            FROM event LEFT JOIN key ON key.id = event.key ORDER BY event.id
            """, in: file)
        var position = 0
        var hasNext = try accesses.step()
        var events: [RecordedEvent] = []
        while try rows.step() {
            guard let kind = UInt8(exactly: rows.number(2)).flatMap(RecordedEvent.Kind.init) else {
                throw AccessLogError(
                    path, .damaged,
                    "is damaged (event \(rows.number(0)) is of kind \(rows.number(2)), which there is none of)")
            }
            let access = rows.number(3)
            while hasNext, accesses.number(0) <= access {
                position += 1
                hasNext = try accesses.step()
            }
            if position == limit, position < count { break }
            var event = RecordedEvent(
                time: rows.number(1), kind: kind, key: rows.textIfAny(4),
                user: rows.numberIfAny(5).flatMap { users[$0] }, duration: rows.numberIfAny(6),
                cost: Int(rows.number(7)), conditions: Int(rows.number(8)))
            event.position = position
            events.append(event)
        }
        return events
    }

    /// The next accesses and lists as in a trace: an access without a size, such as a miss, gets the first size that is known
    /// of its key. So does an image of a list, or the mean of all accesses if none is known. O(rows of the log) at the first call.
    func nextWithCosts() throws(AccessLogError) -> [RecordedAccess] {
        if knownCosts == nil { knownCosts = try KnownCosts(file, hasLists: listCount > 0) }
        return try batch(knownCosts ?? KnownCosts())
    }

    private func batch(_ known: KnownCosts) throws(AccessLogError) -> [RecordedAccess] {
        let wanted = min(AccessLogReader.batch, toGive)
        accesses.restart([last, Int64(wanted)])
        var batch: [RecordedAccess] = []
        lists = []
        while try accesses.step() {
            last = accesses.number(0)
            try takeLists(before: last, position: given + batch.count, known)
            guard let outcome = UInt8(exactly: accesses.number(7)).flatMap(RecordedAccess.Outcome.init) else {
                throw AccessLogError(
                    path, .damaged,
                    "is damaged (access \(last) has the outcome \(accesses.number(7)), which there is none of)")
            }
            let cost = Int(accesses.number(3))
            batch.append(
                RecordedAccess(
                    time: accesses.number(1), key: accesses.text(2),
                    cost: cost > 0 ? cost : known.costs[accesses.number(8)] ?? cost,
                    categories: accesses.numberIfAny(4).flatMap { sets[$0] } ?? [],
                    user: accesses.numberIfAny(5).flatMap { users[$0] }, outcome: outcome,
                    session: accesses.number(6), duration: accesses.numberIfAny(9)))
        }
        toGive -= batch.count
        given += batch.count
        if batch.count < wanted || wanted == 0, given == count {
            try takeLists(before: .max, position: given, known)
        }
        return batch
    }

    /// Appends the next lists that were shown before an access to ``lists``.
    private func takeLists(before access: Int64, position: Int, _ known: KnownCosts) throws(AccessLogError) {
        guard let items else { return }
        while hasItem, items.number(2) < access {
            let id = items.number(0)
            var list = RecordedList(
                time: items.number(1), items: [], user: items.numberIfAny(3).flatMap { users[$0] })
            list.position = position
            while hasItem, items.number(0) == id {
                let cost = Int(items.number(5))
                list.items.append(
                    RecordedList.Item(
                        key: items.text(4), cost: cost > 0 ? cost : known.costs[items.number(7)] ?? known.mean,
                        categories: items.numberIfAny(6).flatMap { sets[$0] } ?? []))
                hasItem = try items.step()
            }
            lists.append(list)
        }
    }
}

/// The costs of keys for which an access or a list has none.
private struct KnownCosts {
    /// The first known cost: of an access, otherwise of a prefetch.
    var costs: [Int64: Int] = [:]
    /// The mean of all accesses; 0 if no cost is known.
    var mean = 0

    init() {}

    init(_ file: SQLiteFile, hasLists: Bool) throws(AccessLogError) {
        let listed = hasLists ? " UNION SELECT key FROM list_item WHERE cost <= 0" : ""
        // Of the other columns SQLite gives those of the row that has the least id.
        let rows = try SQLiteStatement(
            """
            SELECT key, cost, min(id) FROM access
            WHERE cost > 0 AND key IN (SELECT key FROM access WHERE cost <= 0\(listed)) GROUP BY key
            """, in: file)
        while try rows.step() { costs[rows.number(0)] = Int(rows.number(1)) }
        guard hasLists else { return }
        let arrivals = try SQLiteStatement(
            """
            SELECT key, cost, min(id) FROM event
            WHERE cost > 0 AND key IN (SELECT key FROM list_item WHERE cost <= 0) GROUP BY key
            """, in: file)
        while try arrivals.step() {
            let key = arrivals.number(0)
            if costs[key] == nil { costs[key] = Int(arrivals.number(1)) }
        }
        mean = Int(try file.number("SELECT round(avg(cost)) FROM access WHERE cost > 0"))
    }
}

extension AccessLogReader {
    /// Opens the file so that reading leaves nothing behind.
    private static func open(_ path: String, _ header: LogHeader) throws(AccessLogError) -> SQLiteFile {
        // Where no write-ahead log is, SQLite makes one even to read. A connection that may write removes it when it
        // closes; one that may not leaves it behind.
        if header.hasWriteAheadLog { return try SQLiteFile(path, .readOnly, path: path) }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        if access(path, W_OK) != 0 || access(folder, W_OK) != 0 {
            // No process can write there, so that nothing changes while the log is read.
            let name = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
            return try SQLiteFile("file:\(name)?immutable=1", .immutable, path: path)
        }
        return try SQLiteFile(path, .queryOnly, path: path)
    }

    private static func version(of file: SQLiteFile) throws(AccessLogError) -> Int {
        let version = Int(try file.number("PRAGMA user_version"))
        let applicationID = Int32(truncatingIfNeeded: try file.number("PRAGMA application_id"))
        let tables = try file.number("SELECT count(*) FROM sqlite_master")
        return try LogFormat.version(version, applicationID: applicationID, isEmpty: tables == 0, path: file.path)
    }

    private static func users(_ file: SQLiteFile) throws(AccessLogError) -> [Int64: String] {
        let rows = try SQLiteStatement("SELECT id, name FROM user", in: file)
        var users: [Int64: String] = [:]
        while try rows.step() { users[rows.number(0)] = rows.text(1) }
        return users
    }

    private static func categorySets(_ file: SQLiteFile) throws(AccessLogError) -> [Int64: [String]] {
        let rows = try SQLiteStatement(
            """
            SELECT category_set, name
            FROM category_set_member JOIN category ON category.id = category ORDER BY category_set, position
            """, in: file)
        var sets: [Int64: [String]] = [:]
        while try rows.step() { sets[rows.number(0), default: []].append(rows.text(1)) }
        return sets
    }
}
