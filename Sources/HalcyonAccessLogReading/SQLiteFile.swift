import CSQLite

/// A connection to an SQLite file, to read it. It is closed with its last statement.
///
/// Two threads must not use it at once.
final class SQLiteFile {
    /// The ways to open a file.
    enum Access {
        /// Neither the file nor what lies beside it is written.
        case readOnly
        /// No process changes the file meanwhile.
        case immutable
        /// Opened for writing, and never written to.
        case queryOnly
    }

    /// The file as it was named by the caller.
    let path: String
    fileprivate let handle: OpaquePointer

    /// Opens a file, and waits up to five seconds where another process has locked it.
    ///
    /// - Parameters:
    ///   - name: the name for SQLite, an URI for ``Access/immutable``.
    ///   - path: the file as it was named by the caller, for messages.
    init(_ name: String, _ access: Access, path: String) throws(AccessLogError) {
        self.path = path
        var opened: OpaquePointer?
        let flags =
            switch access {
            case .readOnly: SQLITE_OPEN_READONLY
            case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            case .queryOnly: SQLITE_OPEN_READWRITE
            }
        let code = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened else {
            let message = opened.map { String(cString: sqlite3_errmsg($0)) }
            sqlite3_close_v2(opened)
            throw AccessLogError(reading: path, code: code, message: message)
        }
        handle = opened
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, 5_000)
        if access == .queryOnly { try execute("PRAGMA query_only = ON") }
    }

    deinit { sqlite3_close_v2(handle) }

    /// Executes a statement without results.
    func execute(_ sql: String) throws(AccessLogError) {
        let statement = try SQLiteStatement(sql, in: self)
        while try statement.step() {}
    }

    /// Returns the number in the first column of the first row; 0 if there is none.
    func number(_ sql: String) throws(AccessLogError) -> Int64 {
        let statement = try SQLiteStatement(sql, in: self)
        return try statement.step() ? statement.number(0) : 0
    }

    /// Returns the last error.
    fileprivate func fault(_ code: Int32) -> AccessLogError {
        AccessLogError(reading: path, code: code, message: String(cString: sqlite3_errmsg(handle)))
    }
}

/// A statement of an SQLite file, with the columns of the row that it is at.
final class SQLiteStatement {
    private let handle: OpaquePointer
    private let file: SQLiteFile

    /// Prepares a statement with numbers in place of its question marks.
    init(_ sql: String, in file: SQLiteFile, _ numbers: [Int64] = []) throws(AccessLogError) {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v2(file.handle, sql, -1, &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw file.fault(code) }
        handle = prepared
        self.file = file
        bind(numbers)
    }

    deinit { sqlite3_finalize(handle) }

    /// Starts again with other numbers in place of the question marks.
    func restart(_ numbers: [Int64]) {
        sqlite3_reset(handle)
        bind(numbers)
    }

    private func bind(_ numbers: [Int64]) {
        for (place, number) in zip(Int32(1)..., numbers) { sqlite3_bind_int64(handle, place, number) }
    }

    /// Goes to the next row. Returns whether there is one.
    func step() throws(AccessLogError) -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw file.fault(code)
        }
    }

    /// Returns whether a column has no value.
    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// Returns the number of a column; 0 if it has no value.
    func number(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// Returns the number of a column; `nil` if it has no value.
    func numberIfAny(_ column: Int32) -> Int64? { isNull(column) ? nil : number(column) }

    /// Returns the text of a column; `nil` if it has no value.
    func textIfAny(_ column: Int32) -> String? {
        guard let bytes = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// Returns the text of a column; an empty one if it has no value.
    func text(_ column: Int32) -> String { textIfAny(column) ?? "" }
}

extension AccessLogError {
    /// What a result code of SQLite means.
    ///
    /// - Parameters:
    ///   - code: the extended result code.
    ///   - message: the message of SQLite, if there is one.
    package init(_ path: String, code: Int32, message: String?) {
        let detail = message ?? "error \(code)"
        switch code & 0xff {
        case SQLITE_FULL:
            self.init(path, .diskFull, "cannot be written: no room is left on the disk")
        case SQLITE_IOERR where code == SQLITE_IOERR | 19 << 8:
            // SQLITE_IOERR_SHMSIZE
            self.init(path, .diskFull, "cannot be written: no room is left on the disk for its index of recent pages")
        case SQLITE_BUSY, SQLITE_LOCKED:
            self.init(path, .locked, "is locked by another process")
        case SQLITE_NOTADB, SQLITE_CORRUPT:
            self.init(path, .damaged, "is damaged (\(detail)); 'sqlite3 FILE .recover' may save a part")
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
            self.init(path, .unwritable, "cannot be opened for writing (\(detail)); a writable folder is needed")
        default:
            self.init(path, .failed, "cannot be used (\(detail))")
        }
    }

    /// What a result code of SQLite means to one who reads.
    init(reading path: String, code: Int32, message: String?) {
        let meaning = AccessLogError(path, code: code, message: message)
        if meaning.reason == .unwritable {
            self.init(path, .unreadable, "cannot be opened for reading, or its write-ahead log cannot")
        } else {
            self = meaning
        }
    }
}
