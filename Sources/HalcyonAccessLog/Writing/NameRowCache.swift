import Foundation
import GRDB
import HalcyonSupport

/// The numbers that names have in the tables of the file, remembered so that most accesses look nothing up.
///
/// What is remembered holds only as long as nobody else writes and no transaction is rolled back; then it has to be
/// forgotten. At most about ``most`` keys and as many sets are remembered.
struct NameRowCache {
    /// The keys that are remembered before all are forgotten.
    static let most = 131_072

    private var keys: [ByteName: Int64] = [:]
    private var sets: [ByteName.List: Int64] = [:]
    private var categories: [ByteName: Int64] = [:]
    private var users: [ByteName: Int64] = [:]
    /// By number in the buffer.
    private var sessions: [Int64: Int64] = [:]

    /// Counts how often something was forgotten: who remembers numbers on its own compares it.
    private(set) var generation = 0
    private let keyStorage: AccessLog.KeyStorage

    init(_ keyStorage: AccessLog.KeyStorage) { self.keyStorage = keyStorage }

    /// Forgets everything.
    mutating func forget() {
        sessions = [:]
        forgetNames()
    }

    /// Forgets all but the sessions.
    mutating func forgetNames() {
        keys = [:]
        sets = [:]
        categories = [:]
        users = [:]
        generation += 1
    }

    /// The first of the sessions that are remembered.
    var earliestSession: Int64 { sessions.values.min() ?? .max }

    /// The number of a key, which gets a row if it has none.
    mutating func key(_ text: String, _ db: Database) throws -> Int64 {
        let key = ByteName(text)
        if let known = keys[key] { return known }
        if keys.count >= NameRowCache.most { keys.removeAll(keepingCapacity: true) }
        let hash = KeyDigest(text).bytes
        let name = keyStorage == .raw && NameRowCache.canKeep(text) ? text : nil
        let number: Int64
        if let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT id, name IS NULL FROM key WHERE hash = ?"), arguments: [hash])
        {
            number = row[0]
            if let name, row[1] {
                try db.cachedStatement(sql: "UPDATE key SET name = ? WHERE id = ?").execute(arguments: [name, number])
            }
        } else {
            try db.cachedStatement(sql: "INSERT INTO key (hash, name) VALUES (?, ?)").execute(arguments: [hash, name])
            number = db.lastInsertedRowID
        }
        keys[key] = number
        return number
    }

    /// Whether a key can be kept as it is: text that any program can read, of bounded length.
    static func canKeep(_ key: String) -> Bool {
        let bytes = key.utf8
        return !bytes.isEmpty && bytes.count <= 4_096 && bytes.allSatisfy { $0 >= 32 && $0 != 127 }
    }

    /// The number of a user.
    mutating func user(_ text: String?, _ db: Database) throws -> Int64? {
        guard let text, !text.isEmpty else { return nil }
        return try NameRowCache.number(of: text, in: &users, table: "user", db)
    }

    /// The number of a set of categories; empty names and repetitions count for nothing.
    mutating func categorySet(_ names: [String], _ db: Database) throws -> Int64? {
        if names.isEmpty { return nil }
        let list = ByteName.List(names)
        if let known = sets[list] { return known }
        if sets.count >= NameRowCache.most { sets.removeAll(keepingCapacity: true) }
        var members: [Int64] = []
        for name in names where !name.isEmpty {
            let number = try NameRowCache.number(of: name, in: &categories, table: "category", db)
            if !members.contains(number) { members.append(number) }
        }
        if members.isEmpty { return nil }
        let text = members.map(String.init).joined(separator: ",")
        let number: Int64
        if let found = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT id FROM category_set WHERE members = ?"), arguments: [text])
        {
            number = found
        } else {
            try db.cachedStatement(sql: "INSERT INTO category_set (members) VALUES (?)").execute(arguments: [text])
            number = db.lastInsertedRowID
            let insert = try db.cachedStatement(sql: "INSERT INTO category_set_member VALUES (?, ?, ?)")
            for (position, member) in members.enumerated() {
                try insert.execute(arguments: [number, position, member])
            }
        }
        sets[list] = number
        return number
    }

    /// The number of a session, which starts with the first access that is written of it.
    mutating func session(_ number: Int64, started: Int64, _ db: Database) throws -> Int64 {
        if let known = sessions[number] { return known }
        try db.execute(sql: "INSERT INTO session (started) VALUES (?)", arguments: [started])
        sessions[number] = db.lastInsertedRowID
        return db.lastInsertedRowID
    }

    /// The number of a name in a table of names, which gets a row if it has none.
    private static func number(
        of text: String, in known: inout [ByteName: Int64], table: String, _ db: Database
    ) throws -> Int64 {
        let name = ByteName(text)
        if let number = known[name] { return number }
        if known.count >= most { known.removeAll(keepingCapacity: true) }
        let number: Int64
        if let found = try NameRowCache.find(text, table: table, db) {
            number = found
        } else {
            let insert = try db.cachedStatement(sql: "INSERT INTO \(table) (name) VALUES (CAST(? AS TEXT))")
            try insert.execute(arguments: [bytes(of: text)])
            number = db.lastInsertedRowID
        }
        known[name] = number
        return number
    }

    /// The number of a name in a table of names, or `nil`.
    static func find(_ text: String, table: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT id FROM \(table) WHERE name = CAST(? AS TEXT)"),
            arguments: [bytes(of: text)])
    }

    /// What a name is kept as. Text would end at a NUL on its way through the C interface.
    private static func bytes(of name: String) -> Data { Data(ByteName.kept(name).text.utf8) }
}
