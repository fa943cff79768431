import HalcyonAccessLogReading
import Foundation
import GRDB
import HalcyonSupport

/// What a deletion removes from a log.
enum LogDeletion {
    case user(String)
    case category(String)
    case everything

    /// Returns the keys of a category's accesses that are not yet written: the events of these keys go, too. Empty for other deletions.
    func keys(of batches: [[LogEntry]]) -> Set<ByteName> {
        guard case .category = self else { return [] }
        var keys: Set<ByteName> = []
        for entry in batches.joined() {
            if let access = entry.access, includes(entry, keys: []) { keys.insert(ByteName(access.key)) }
        }
        return keys
    }

    /// Returns what stays of a batch that is not yet written, and how many accesses go.
    func kept(of batch: [LogEntry], keys: Set<ByteName>) -> (kept: [LogEntry], accesses: Int) {
        var (kept, accesses) = ([LogEntry](), 0)
        for entry in batch {
            if !includes(entry, keys: keys) { kept.append(entry) } else if entry.access != nil { accesses += 1 }
        }
        return (kept, accesses)
    }

    private func includes(_ entry: LogEntry, keys: Set<ByteName>) -> Bool {
        switch self {
        case .user(let name): entry.user.map { ByteName.kept($0) == ByteName.kept(name) } ?? false
        case .category(let name):
            entry.access.map { $0.categories.contains { ByteName.kept($0) == ByteName.kept(name) } }
                ?? entry.key.map { keys.contains(ByteName($0)) } ?? false
        case .everything: true
        }
    }

    /// Removes the accesses and their events, and every name that nothing refers to afterwards, in one transaction. O(rows).
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
            try db.execute(sql: "DELETE FROM event WHERE user = ?", arguments: [user])
            try db.execute(sql: "DELETE FROM access WHERE user = ?", arguments: [user])
        case .category(let name):
            guard let category = try NameRowCache.find(name, table: "category", db) else { return 0 }
            try db.execute(
                sql: """
                    DELETE FROM event WHERE key IN
                        (SELECT key FROM access WHERE category_set IN
                            (SELECT category_set FROM category_set_member WHERE category = ?))
                    """, arguments: [category])
            try db.execute(
                sql: """
                    DELETE FROM access WHERE category_set IN
                        (SELECT category_set FROM category_set_member WHERE category = ?)
                    """, arguments: [category])
        case .everything:
            try db.execute(sql: "DELETE FROM event WHERE true")
            try db.execute(sql: "DELETE FROM access WHERE true")
        }
        return db.changesCount
    }

    private static func deleteUnusedNames(_ db: Database) throws {
        for (name, uses) in [
            ("session", ["access"]), ("category_set", ["access"]), ("key", ["access", "event"]),
            ("user", ["access", "event"]),
        ] {
            let used = uses.map { "SELECT \(name) FROM \($0) WHERE \(name) IS NOT NULL" }
            try db.execute(sql: "DELETE FROM \(name) WHERE id NOT IN (\(used.joined(separator: " UNION ALL ")))")
        }
        try NameSweep.removeCategoriesOfNoSet(db)
    }
}
