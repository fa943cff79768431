import GRDB

/// Keeps a log within its bounds, in steps of a few milliseconds each.
///
/// The oldest accesses go first, and the events and lists before the first access that is left. The items of lists have the same
/// bounds as accesses. Then the names go that nothing refers to any more, and then the empty pages.
struct Retention {
    /// The rows that a step deletes at most.
    static let stepRows = 4_096
    /// The lists that a step deletes at most.
    static let stepLists = 16
    /// The pages that a step gives back to the file system at most.
    static let stepPages = 256
    /// The least that can be asked for in bytes.
    static let leastBytes = 256 * 1_024

    private let bounds: AccessLog.Bounds
    /// How large the write-ahead log gets before it is written back.
    let walBytes: Int
    /// The rows and the items of lists still to delete for the bound in bytes.
    private var (rowsToFree, itemsToFree) = (0, 0)
    private var removedSinceSweep = 0
    /// Whether the oldest accesses were deleted, so that events may be older than every access that is left. False at first:
    /// events before the first access of a log stay.
    private var mayHaveOldEvents = false
    /// The same for lists.
    private var mayHaveOldLists = false
    private var sweep: NameSweep?
    /// The last row that is too old while the oldest is of the future; `nil` if none was found.
    private var outdatedThrough: Int64?
    /// When to look for such a row again, in microseconds since 1970.
    private var nextLook: Int64?
    /// The time between two of these looks, which read every row.
    static let lookInterval: Int64 = 3_600_000_000

    init(_ bounds: AccessLog.Bounds) {
        self.bounds = bounds
        walBytes = bounds.bytes.map { min(4 << 20, max($0, Retention.leastBytes) / 4) } ?? 4 << 20
    }

    /// Does one step and tells whether there is more to do.
    ///
    /// - Parameter now: microseconds since 1970.
    mutating func step(_ file: inout LogFile, now: Int64) throws -> Bool {
        if try trim(&file, now: now) { return true }
        if try trimEvents(&file) { return true }
        if try trimLists(&file, now: now) { return true }
        if try sweepNames(&file) { return true }
        return try fitBytes(&file)
    }

    /// Deletes some of the oldest rows if they are too many or too old.
    private mutating func trim(_ file: inout LogFile, now: Int64) throws -> Bool {
        let rows = try file.countedRows()
        var excess = rowsToFree
        if let most = bounds.rows { excess = max(excess, rows - max(most, 0)) }
        var removed = 0
        let count = min(excess, Retention.stepRows)
        if count > 0 {
            removed += try file.write { _, db in
                try db.cachedStatement(
                    sql: "DELETE FROM access WHERE id IN (SELECT id FROM access ORDER BY id LIMIT ?)"
                ).execute(arguments: [count])
                return db.changesCount
            }
        } else if let earliest = earliest(now) {
            guard let last = try lastOutdated(file, before: earliest, now: now) else { return false }
            removed += try file.write { _, db in
                try db.cachedStatement(
                    sql: """
                        DELETE FROM access WHERE id IN
                            (SELECT id FROM (SELECT id, time FROM access ORDER BY id LIMIT ?)
                                WHERE time < ? OR (time > ? AND id < ?))
                        """
                ).execute(arguments: [Retention.stepRows, earliest, now, last == .max ? 0 : last])
                return db.changesCount
            }
        }
        if removed == 0 {
            (rowsToFree, outdatedThrough) = (0, nil)
            return false
        }
        file.removed(removed)
        (mayHaveOldEvents, mayHaveOldLists) = (true, true)
        rowsToFree = max(0, rowsToFree - removed)
        removedSinceSweep += removed
        return true
    }

    /// Returns the last row to remove because it is too old, or before one that is; `.max` if the oldest row is too old.
    ///
    /// The times of rows grow but for changes of the clock, so the oldest row tells, in O(1). If it is of the future, the clock was ahead
    /// when it was written. A later row that is too old shows that it is, too; finding one reads every row, and is done once an hour.
    private mutating func lastOutdated(_ file: LogFile, before earliest: Int64, now: Int64) throws -> Int64? {
        try file.queue.inDatabase { db in
            let oldest = try Int64.fetchOne(db.cachedStatement(sql: "SELECT time FROM access ORDER BY id LIMIT 1"))
            guard let oldest else { return nil }
            if oldest < earliest { return .max }
            if oldest <= now {
                outdatedThrough = nil
                return nil
            }
            if let outdatedThrough { return outdatedThrough }
            // A clock that was set back must not put the next look off.
            if let nextLook, now < nextLook, nextLook &- now <= Retention.lookInterval { return nil }
            nextLook = now &+ Retention.lookInterval
            outdatedThrough = try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT id FROM access WHERE time < ? ORDER BY id DESC LIMIT 1"),
                arguments: [earliest])
            return outdatedThrough
        }
    }

    /// Deletes some of the events that are older than every access.
    private mutating func trimEvents(_ file: inout LogFile) throws -> Bool {
        guard mayHaveOldEvents else { return false }
        let removed = try file.write { _, db in
            let first = try Int64.fetchOne(db, sql: "SELECT min(id) FROM access")
            try db.cachedStatement(
                sql: """
                    DELETE FROM event WHERE id IN
                        (SELECT id FROM (SELECT id, access FROM event ORDER BY id LIMIT ?) WHERE access < ?)
                    """
            ).execute(arguments: [Retention.stepRows, first ?? 0])
            return db.changesCount
        }
        mayHaveOldEvents = removed > 0
        return removed > 0
    }

    /// The time before which what was recorded is too old; `nil` for none.
    private func earliest(_ now: Int64) -> Int64? {
        guard let days = bounds.days else { return nil }
        let (span, isBeyond) = Int64(days).multipliedReportingOverflow(by: 86_400_000_000)
        let (earliest, isBefore) = now.subtractingReportingOverflow(span)
        return isBeyond || isBefore ? nil : earliest
    }

    /// Deletes some of the oldest lists if their items are too many, or they are too old or older than every access.
    private mutating func trimLists(_ file: inout LogFile, now: Int64) throws -> Bool {
        let items = try file.countedItems()
        guard items > 0 else { return false }
        let excess = max(itemsToFree, bounds.rows.map { items - max($0, 0) } ?? 0)
        let earliest = earliest(now) ?? .min
        let mayBeOld = mayHaveOldLists
        let removed = try file.write { _, db in
            let first = mayBeOld ? try Int64.fetchOne(db, sql: "SELECT min(id) FROM access") ?? 0 : 0
            let oldest = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT id, time, access, (SELECT count(*) FROM list_item WHERE list = list.id)
                        FROM list ORDER BY id LIMIT ?
                        """), arguments: [Retention.stepLists])
            var (last, count) = (Int64?.none, 0)
            for row in oldest {
                let (time, access) = (row[1] as Int64, row[2] as Int64)
                guard count < excess || time < earliest || access < first else { break }
                last = row[0]
                count += row[3] as Int
            }
            guard let last else { return 0 }
            try db.cachedStatement(sql: "DELETE FROM list_item WHERE list <= ?").execute(arguments: [last])
            try db.cachedStatement(sql: "DELETE FROM list WHERE id <= ?").execute(arguments: [last])
            return count
        }
        if removed == 0 {
            (itemsToFree, mayHaveOldLists) = (0, false)
            return false
        }
        file.removed(0, items: removed)
        itemsToFree = max(0, itemsToFree - removed)
        removedSinceSweep += removed
        return true
    }

    /// Removes names that nothing refers to, once a fourth as many rows have gone as there are.
    private mutating func sweepNames(_ file: inout LogFile) throws -> Bool {
        var current: NameSweep
        if let sweep {
            current = sweep
        } else {
            let rows = try file.countedRows() + file.countedItems()
            guard removedSinceSweep >= max(1_024, rows / 4) else { return false }
            current = NameSweep(&file)
        }
        sweep = nil
        switch try current.step(&file) {
        case .goesOn:
            sweep = current
            return true
        case .isDone:
            removedSinceSweep = 0
            return true
        case .isVoid:
            return false
        }
    }

    /// Keeps the file small enough: gives empty pages back, and where that does not suffice finds how many rows must go.
    private mutating func fitBytes(_ file: inout LogFile) throws -> Bool {
        guard let most = bounds.bytes else { return false }
        let target = max(most, Retention.leastBytes) - walBytes
        let size = try FileSize(file)
        if size.bytes <= target {
            // Until the write-ahead log is written back it may be longer than it is to be, and the file not yet shorter.
            if file.bytesOnDisk > most { try file.checkpoint(waits: true) }
            return false
        }
        if size.usedBytes > target - target / 16 {
            // Rows and names are taken to shrink alike; what is left over shows in the next round.
            let (rows, items) = (try file.countedRows(), try file.countedItems())
            if rows + items == 0 { return false }
            let share = 1 - 0.9 * Double(target) / Double(size.usedBytes)
            rowsToFree = min(rows, Int(Double(rows) * share) + 1)
            itemsToFree = min(items, Int(Double(items) * share) + 1)
            removedSinceSweep = max(removedSinceSweep, 1_024 + rows + items)
            return true
        }
        return try size.giveBack(Retention.stepPages, of: file)
    }
}

/// The pages of a log's file.
struct FileSize {
    let pages: Int
    let emptyPages: Int
    let pageBytes: Int

    init(_ file: LogFile) throws {
        (pages, emptyPages, pageBytes) = try file.queue.inDatabase { db in
            func number(_ pragma: String) throws -> Int {
                try Int.fetchOne(db.cachedStatement(sql: "PRAGMA \(pragma)")) ?? 0
            }
            return (try number("page_count"), try number("freelist_count"), try number("page_size"))
        }
    }

    /// What the file takes.
    var bytes: Int { pages * pageBytes }
    /// What of it holds something.
    var usedBytes: Int { (pages - emptyPages) * pageBytes }

    /// Gives up to so many empty pages back to the file system and tells whether any was.
    func giveBack(_ count: Int, of file: LogFile) throws -> Bool {
        try file.queue.inDatabase { db in
            _ = try Row.fetchAll(db, sql: "PRAGMA incremental_vacuum(\(count))")
        }
        return try FileSize(file).pages < pages
    }
}
