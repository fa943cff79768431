import HalcyonAccessLogReading
import Foundation
import GRDB
import HalcyonSupport

/// What a deletion removes from a log.
enum LogDeletion {
    case user(String)
    case category(String)
    case everything

    /// Returns the keys of a category's accesses and list items that are not yet written: the events and list items of these
    /// keys go, too. Empty for other deletions.
    func keys(of batches: [[LogEntry]]) -> Set<ByteName> {
        guard case .category(let name) = self else { return [] }
        var keys: Set<ByteName> = []
        for entry in batches.joined() {
            switch entry {
            case .access(let access):
                if Self.contains(access.categories, name) { keys.insert(ByteName(access.key)) }
            case .list(let list):
                for item in list.items where Self.contains(item.categories, name) { keys.insert(ByteName(item.key)) }
            case .event: break
            }
        }
        return keys
    }

    /// Returns what stays of a batch that is not yet written, and how many accesses go.
    func kept(of batch: [LogEntry], keys: Set<ByteName>) -> (kept: [LogEntry], accesses: Int) {
        var (kept, accesses) = ([LogEntry](), 0)
        for entry in batch {
            if let rest = rest(of: entry, keys: keys) {
                kept.append(rest)
            } else if entry.access != nil {
                accesses += 1
            }
        }
        return (kept, accesses)
    }

    /// Returns what stays of an entry: all, nothing, or the items of a list that are of other categories.
    private func rest(of entry: LogEntry, keys: Set<ByteName>) -> LogEntry? {
        switch (self, entry) {
        case (.user(let name), _):
            return entry.user.map { ByteName.kept($0) == ByteName.kept(name) } == true ? nil : entry
        case (.category(let name), .access(let access)):
            return Self.contains(access.categories, name) ? nil : entry
        case (.category, .event(let event)):
            return event.key.map { keys.contains(ByteName($0)) } == true ? nil : entry
        case (.category, .list(var list)):
            list.items.removeAll { keys.contains(ByteName($0.key)) }
            return list.items.isEmpty ? nil : .list(list)
        case (.everything, _): return nil
        }
    }

    private static func contains(_ categories: [String], _ name: String) -> Bool {
        categories.contains { ByteName.kept($0) == ByteName.kept(name) }
    }

    /// Removes the accesses, their events and the items of lists, and every name that nothing refers to afterwards, in one
    /// transaction. O(rows).
    ///
    /// Where a reader needs what was removed, it stays in the files until a later checkpoint (``LogFile/owesCheckpoint``).
    ///
    /// - Returns: the number of accesses.
    func perform(on file: inout LogFile) throws -> Int {
        let count = try file.write { names, db in
            let count = try deleteAccesses(db)
            try LogDeletion.deleteUnusedNames(db)
            names.forget()
            return count
        }
        file.forget()
        // Nothing deleted may be left in a part of the file that is not in use, nor in the write-ahead log.
        while try FileSize(file).giveBack(Retention.stepPages, of: file) {}
        try file.checkpoint(waits: true)
        file.forgetStatements()
        return count
    }

    private func deleteAccesses(_ db: Database) throws -> Int {
        switch self {
        case .user(let name):
            guard let user = try NameRowCache.find(name, table: "user", db) else { return 0 }
            try db.execute(
                sql: "DELETE FROM list_item WHERE list IN (SELECT id FROM list WHERE user = ?)", arguments: [user])
            try db.execute(sql: "DELETE FROM list WHERE user = ?", arguments: [user])
            try db.execute(sql: "DELETE FROM event WHERE user = ?", arguments: [user])
            try db.execute(sql: "DELETE FROM access WHERE user = ?", arguments: [user])
        case .category(let name):
            guard let category = try NameRowCache.find(name, table: "category", db) else { return 0 }
            try db.execute(
                sql: """
                    CREATE TEMP TABLE deleted_key AS
                    WITH sets AS (SELECT category_set FROM category_set_member WHERE category = ?)
                    SELECT key FROM access WHERE category_set IN sets
                    UNION SELECT key FROM list_item WHERE category_set IN sets
                    """, arguments: [category])
            try db.execute(sql: "DELETE FROM event WHERE key IN (SELECT key FROM deleted_key)")
            try db.execute(sql: "DELETE FROM list_item WHERE key IN (SELECT key FROM deleted_key)")
            try db.execute(sql: "DELETE FROM list WHERE id NOT IN (SELECT list FROM list_item)")
            try db.execute(sql: "DROP TABLE deleted_key")
            try db.execute(
                sql: """
                    DELETE FROM access WHERE category_set IN
                        (SELECT category_set FROM category_set_member WHERE category = ?)
                    """, arguments: [category])
        case .everything:
            for table in ["list_item", "list", "event"] { try db.execute(sql: "DELETE FROM \(table) WHERE true") }
            try db.execute(sql: "DELETE FROM access WHERE true")
        }
        return db.changesCount
    }

    private static func deleteUnusedNames(_ db: Database) throws {
        for (name, uses) in [
            ("session", ["access"]), ("category_set", ["access", "list_item"]),
            ("key", ["access", "event", "list_item"]), ("user", ["access", "event", "list"]),
        ] {
            let used = uses.map { "SELECT \(name) FROM \($0) WHERE \(name) IS NOT NULL" }
            try db.execute(sql: "DELETE FROM \(name) WHERE id NOT IN (\(used.joined(separator: " UNION ALL ")))")
        }
        try NameSweep.removeCategoriesOfNoSet(db)
    }
}
