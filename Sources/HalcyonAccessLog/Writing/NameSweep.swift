import GRDB

/// Removes the names that no access, event or list refers to, step by step.
///
/// First all rows are gone through, and what they refer to is marked. Then the names go that are not marked.
///
/// An index from names to accesses would tell at once, and cost every access a write at a random place. Rows added in the
/// meantime are marked at the start of each step, in its own transaction; numbers of names are forgotten when a sweep
/// starts, so that a name which is used again afterwards is marked by the row that uses it.
struct NameSweep {
    /// The rows that a step marks, and the keys that it looks at.
    static let stepRows = 20_000
    static let stepKeys = 2_000

    private var keys = NumberSet()
    private var users: Set<Int64> = []
    private var sets: Set<Int64> = []
    private var sessions: Set<Int64> = []
    private var markedThrough: Int64 = 0
    private var eventsMarkedThrough: Int64 = 0
    private var listsMarkedThrough: Int64 = 0
    private var itemsMarkedThrough: (list: Int64, position: Int64) = (0, -1)
    private var sweptThrough: Int64 = 0
    private let generation: Int

    /// How far a sweep is after a step.
    enum Progress {
        case goesOn, isDone
        /// Numbers are in doubt, because another process has written or a transaction failed: begin anew.
        case isVoid
    }

    init(_ file: inout LogFile) { generation = file.forgetNames() }

    /// Does one step.
    mutating func step(_ file: inout LogFile) throws -> Progress {
        try file.write { names, db in
            guard names.generation == generation else { return .isVoid }
            guard try mark(db) else { return .goesOn }
            if try removeKeys(db) { return .goesOn }
            try removeOthers(db, firstSession: names.earliestSession)
            return .isDone
        }
    }

    /// Marks what the next rows refer to; tells whether all rows have been gone through.
    private mutating func mark(_ db: Database) throws -> Bool {
        var count = 0
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: "SELECT id, key, category_set, user, session FROM access WHERE id > ? ORDER BY id LIMIT ?"),
            arguments: [markedThrough, NameSweep.stepRows])
        while let row = try rows.next() {
            markedThrough = row[0]
            keys.insert(row[1])
            if let set = row[2] as Int64? { sets.insert(set) }
            if let user = row[3] as Int64? { users.insert(user) }
            sessions.insert(row[4])
            count += 1
        }
        let events = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT id, key, user FROM event WHERE id > ? ORDER BY id LIMIT ?"),
            arguments: [eventsMarkedThrough, NameSweep.stepRows])
        var eventCount = 0
        while let row = try events.next() {
            eventsMarkedThrough = row[0]
            if let key = row[1] as Int64? { keys.insert(key) }
            if let user = row[2] as Int64? { users.insert(user) }
            eventCount += 1
        }
        let lists = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT id, user FROM list WHERE id > ? ORDER BY id LIMIT ?"),
            arguments: [listsMarkedThrough, NameSweep.stepRows])
        var listCount = 0
        while let row = try lists.next() {
            listsMarkedThrough = row[0]
            if let user = row[1] as Int64? { users.insert(user) }
            listCount += 1
        }
        let items = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT list, position, key, category_set FROM list_item
                    WHERE (list, position) > (?, ?) ORDER BY list, position LIMIT ?
                    """),
            arguments: [itemsMarkedThrough.list, itemsMarkedThrough.position, NameSweep.stepRows])
        var itemCount = 0
        while let row = try items.next() {
            itemsMarkedThrough = (row[0], row[1])
            keys.insert(row[2])
            if let set = row[3] as Int64? { sets.insert(set) }
            itemCount += 1
        }
        return max(count, eventCount, listCount, itemCount) < NameSweep.stepRows
    }

    /// Removes the next keys that are not marked; tells whether there may be more.
    private mutating func removeKeys(_ db: Database) throws -> Bool {
        let next = try Int64.fetchAll(
            db.cachedStatement(sql: "SELECT id FROM key WHERE id > ? ORDER BY id LIMIT ?"),
            arguments: [sweptThrough, NameSweep.stepKeys])
        guard let last = next.last else { return false }
        let delete = try db.cachedStatement(sql: "DELETE FROM key WHERE id = ?")
        for key in next where !keys.contains(key) { try delete.execute(arguments: [key]) }
        sweptThrough = last
        return true
    }

    /// Removes users, sets, categories and sessions that are not marked.
    private func removeOthers(_ db: Database, firstSession: Int64) throws {
        for (table, marked) in [("user", users), ("category_set", sets), ("session", sessions)] {
            for number in try Int64.fetchAll(db, sql: "SELECT id FROM \(table)") where !marked.contains(number) {
                if table == "session", number >= firstSession { continue }
                try db.execute(sql: "DELETE FROM \(table) WHERE id = ?", arguments: [number])
            }
        }
        try NameSweep.removeCategoriesOfNoSet(db)
    }

    /// Removes members of sets that are gone, and categories of no set.
    static func removeCategoriesOfNoSet(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM category_set_member WHERE category_set NOT IN (SELECT id FROM category_set)")
        try db.execute(sql: "DELETE FROM category WHERE id NOT IN (SELECT category FROM category_set_member)")
    }
}

/// A set of numbers from 0 on, one bit each.
struct NumberSet {
    private var words: [UInt64] = []

    mutating func insert(_ number: Int64) {
        let word = Int(number >> 6)
        if word >= words.count { words.append(contentsOf: repeatElement(0, count: word + 1 + word / 2 - words.count)) }
        words[word] |= 1 << UInt64(number & 63)
    }

    func contains(_ number: Int64) -> Bool {
        let word = Int(number >> 6)
        return word < words.count && words[word] & (1 << UInt64(number & 63)) != 0
    }
}
