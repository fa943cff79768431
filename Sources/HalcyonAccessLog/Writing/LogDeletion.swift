import HalcyonAccessLogReading
import Foundation
import GRDB

/// What a deletion removes from a log.
enum LogDeletion {
    case user(String)
    case category(String)
    case everything

    /// Whether an access that is not yet written is meant.
    func includes(_ access: RecordedAccess) -> Bool {
        switch self {
        case .user(let name): access.user.map { ByteName.kept($0) == ByteName.kept(name) } ?? false
        case .category(let name): access.categories.contains { ByteName.kept($0) == ByteName.kept(name) }
        case .everything: true
        }
    }

    /// Removes the accesses, and every name that nothing refers to afterwards, in one transaction. O(rows).
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
        try file.checkpoint()
        return count
    }

    private func deleteAccesses(_ db: Database) throws -> Int {
        switch self {
        case .user(let name):
            guard let user = try NameTables.find(name, table: "user", db) else { return 0 }
            try db.execute(sql: "DELETE FROM access WHERE user = ?", arguments: [user])
        case .category(let name):
            guard let category = try NameTables.find(name, table: "category", db) else { return 0 }
            try db.execute(
                sql: """
                    DELETE FROM access WHERE category_set IN
                        (SELECT category_set FROM category_set_member WHERE category = ?)
                    """, arguments: [category])
        case .everything:
            try db.execute(sql: "DELETE FROM access WHERE true")
        }
        return db.changesCount
    }

    private static func deleteUnusedNames(_ db: Database) throws {
        for (table, column) in [("key", "key"), ("session", "session")] {
            try db.execute(sql: "DELETE FROM \(table) WHERE id NOT IN (SELECT \(column) FROM access)")
        }
        for (table, column) in [("user", "user"), ("category_set", "category_set")] {
            try db.execute(
                sql: "DELETE FROM \(table) WHERE id NOT IN (SELECT \(column) FROM access WHERE \(column) IS NOT NULL)")
        }
        try NameSweep.removeCategoriesOfNoSet(db)
    }
}
