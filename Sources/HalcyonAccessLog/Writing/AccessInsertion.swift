import GRDB
import GRDBSQLite

/// Inserts rows of integers into `access`.
///
/// Values are bound and the statement stepped through SQLite's own functions: arguments by way of an array would cost more than
/// all the rest.
struct AccessInsertion {
    private let statement: Statement
    private let db: Database

    init(_ db: Database) throws {
        self.db = db
        statement = try db.cachedStatement(
            sql: """
                INSERT INTO access (time, key, cost, category_set, user, session, outcome, duration)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """)
    }

    /// Inserts a row.
    ///
    /// - Throws: `DatabaseError` if SQLite does.
    func run(
        _ time: Int64, _ key: Int64, _ cost: Int, _ set: Int64?, _ user: Int64?, _ session: Int64, _ outcome: UInt8,
        _ duration: Int64?
    ) throws {
        let row = statement.sqliteStatement
        sqlite3_bind_int64(row, 1, time)
        sqlite3_bind_int64(row, 2, key)
        sqlite3_bind_int64(row, 3, Int64(cost))
        AccessInsertion.bind(row, 4, set)
        AccessInsertion.bind(row, 5, user)
        sqlite3_bind_int64(row, 6, session)
        sqlite3_bind_int64(row, 7, Int64(outcome))
        AccessInsertion.bind(row, 8, duration)
        let code = sqlite3_step(row)
        let message = code == SQLITE_DONE ? nil : db.lastErrorMessage
        // Also after a failure, so that the statement can be used again.
        sqlite3_reset(row)
        if code != SQLITE_DONE {
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
        }
    }

    private static func bind(_ row: SQLiteStatement, _ index: CInt, _ value: Int64?) {
        if let value { sqlite3_bind_int64(row, index, value) } else { sqlite3_bind_null(row, index) }
    }
}
