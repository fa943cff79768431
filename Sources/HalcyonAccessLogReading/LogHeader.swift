import Foundation

/// What can be told of a log before SQLite opens it.
package struct LogHeader {
    /// Whether a write-ahead log with content lies beside the file.
    let hasWriteAheadLog: Bool

    /// Looks at the file's first 100 bytes, as SQLite's file format (version 3) lays them out.
    ///
    /// - Throws: ``AccessLogError`` if there is no such file, it is none of SQLite's, or shorter than it says itself.
    package init(path: String) throws(AccessLogError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw AccessLogError(
                path, .unreadable,
                errno == ENOENT ? "there is no such file" : "cannot be opened: \(String(cString: strerror(errno)))")
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw AccessLogError(path, .unreadable, "is a directory; a trace file is needed")
        default: throw AccessLogError(path, .unreadable, "is no regular file, which an access log must be")
        }
        var wal = stat()
        hasWriteAheadLog = stat("\(path)-wal", &wal) == 0 && wal.st_size > 0
        let head: Data
        do {
            head = try FileHandle(forReadingFrom: URL(fileURLWithPath: path)).read(upToCount: 100) ?? Data()
        } catch {
            throw AccessLogError(path, .unreadable, "cannot be opened for reading")
        }
        if head.isEmpty {
            throw AccessLogError.empty(path)
        }
        let magic = Array("SQLite format 3\0".utf8)
        guard head.prefix(magic.count).elementsEqual(magic.prefix(head.count)) else {
            throw AccessLogError(path, .foreign, "is no SQLite file; an access log of Halcyon is needed")
        }
        let pages = LogHeader.number(head, at: 28, bytes: 4)
        let pageBytes = LogHeader.number(head, at: 16, bytes: 2)
        let bytes = pages * (pageBytes == 1 ? 65_536 : pageBytes)
        // While a log is being written its end may still be in the write-ahead log; where its making was interrupted, SQLite
        // puts it in order by the journal. Another process may be making the file now. So the size is read last: where there
        // is no journal any more, all pages that the header speaks of have been written.
        var journal = stat()
        let hasJournal = stat("\(path)-journal", &journal) == 0 && journal.st_size > 0
        _ = stat(path, &status)
        if !hasWriteAheadLog, !hasJournal, head.count < 100 || Int(status.st_size) < bytes {
            throw AccessLogError(
                path, .truncated,
                "is truncated: it has \(status.st_size) bytes, where its header speaks of \(max(bytes, 100))")
        }
    }

    /// A big-endian number; 0 where the header ends before it.
    private static func number(_ head: Data, at offset: Int, bytes: Int) -> Int {
        guard head.count >= offset + bytes else { return 0 }
        return head.dropFirst(offset).prefix(bytes).reduce(0) { $0 << 8 | Int($1) }
    }
}
