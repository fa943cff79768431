/// A parser of delimited text.
///
/// Lines of plain fields are parsed in one pass without allocation. A field in double quotes may contain delimiters
/// and, as `""`, quotes. It must not contain line breaks, because chunks of separate threads are cut at line breaks.
/// Lines may end with LF or CR LF. Empty lines are skipped. Keys are bytes, so text that is not UTF-8 is preserved.
/// Blanks around a field without quotes do not belong to it. A delimiter may follow the last field. If the delimiter
/// is a space, a run of them is one delimiter, and those around a line do not count.
struct CSVRowParser: RowParser {
    /// The role of each field.
    let roles: [CSVRole]
    let delimiter: UInt8
    let timeUnit: TimeUnit
    let skipsBadLines: Bool
    /// Whether a time before the last one is accepted.
    let sorts: Bool
    let present: PresentColumns
    /// The operations of Twitter's text.
    private let operations = TracePreset.twitter.operations
    /// Whether a run of delimiters is one.
    private let joinsSpaces: Bool
    /// The line that says how many fields there are, for messages.
    private let pattern: String

    init(
        roles: [CSVRole], delimiter: UInt8, options: TraceLoadOptions, timeUnit: TimeUnit, hasHeader: Bool = true
    ) {
        self.roles = roles
        self.delimiter = delimiter
        self.timeUnit = timeUnit
        joinsSpaces = delimiter == CSVFields.space
        pattern = hasHeader ? "header" : "first line"
        skipsBadLines = options.skipBadLines
        sorts = options.sort
        var present: PresentColumns = []
        for role in roles {
            switch role {
            case .time: present.insert(.times)
            case .size, .valueSize: present.insert(.sizes)
            case .category: present.insert(.categories)
            case .user: present.insert(.users)
            case .lifetime: present.insert(.lifetimes)
            case .event: present.insert(.lists)
            case .ignored, .key, .operation, .operationName, .rank, .list: break
            }
        }
        self.present = present
    }

    var shortestRow: Int { 2 }

    func parse(_ bytes: UnsafeMutablePointer<UInt8>, count: Int, into rows: RowScratch) {
        var position = 0
        if roles.contains(.operation) { rows.operations.prepare(operations.count) }
        roles.withUnsafeBufferPointer { roles in
            while position < count {
                if bytes[position] == 10 || (bytes[position] == 13 && bytes[position + 1] == 10) {
                    position += bytes[position] == 10 ? 1 : 2
                    rows.lines += 1
                    continue
                }
                do throws(LineFault) {
                    let end = try line(bytes, from: position, roles, into: rows)
                    if end - position > ChunkReader.longestLine + 1 {
                        throw LineFault.tooLong(UnsafeBufferPointer(start: bytes + position, count: 61))
                    }
                    rows.commit()
                    position = end
                } catch {
                    guard skipsBadLines, !error.stopsAlways else {
                        rows.problem = RowProblem(line: rows.lines, column: error.column, message: error.message)
                        return
                    }
                    rows.badLines += 1
                    while bytes[position] != 10 { position += 1 }
                    position += 1
                }
                rows.lines += 1
            }
        }
    }

    /// Parses one line into the next row without counting it, and returns the position of the next line.
    @inline(__always)
    private func line(
        _ bytes: UnsafeMutablePointer<UInt8>, from start: Int, _ roles: UnsafeBufferPointer<CSVRole>,
        into rows: RowScratch
    ) throws(LineFault) -> Int {
        let fields = CSVFields(bytes: bytes, line: start, delimiter: delimiter)
        let row = rows.count
        let last = roles.count - 1
        var position = joinsSpaces ? fields.afterSpaces(start) : start
        var time: Int64 = 0
        var timeAt = start
        var size: UInt64 = 0
        var operation = -1
        var operationName = 0..<0
        var hasValue = false
        if present.contains(.lists) {
            rows.ranks[row] = .max
            rows.lists.setNone(row)
        }
        for field in 0...last {
            switch roles[field] {
            case .ignored: position = try fields.text(at: position).next
            case .key: position = try fields.key(at: position, row, rows.keys)
            case .category: position = try fields.token(at: position, row, rows.categories)
            case .user: position = try fields.token(at: position, row, rows.users)
            case .time:
                timeAt = position
                position = try fields.time(at: position, timeUnit, &time)
            case .size:
                position = try fields.size(at: position, &size)
            case .valueSize:
                let keySize = size
                position = try fields.size(at: position, &size)
                hasValue = size > 0
                size += keySize
            case .lifetime: position = try fields.lifetime(at: position, &rows.lifetimes[row])
            case .event: position = try fields.event(at: position, &rows.isShown[row])
            case .rank: position = try fields.rank(at: position, &rows.ranks[row])
            case .list: position = try fields.token(at: position, row, rows.lists)
            case .operation: position = try fields.operation(at: position, operations, &operation)
            case .operationName:
                let name = try fields.trimmedText(at: position)
                operationName = name.start..<(name.start + name.length)
                position = name.next
            }
            if field < last {
                guard bytes[position] == delimiter else {
                    throw LineFault.tooFew(field + 1, of: roles.count, bytes + start, pattern)
                }
                position += 1
                if joinsSpaces {
                    position = fields.afterSpaces(position)
                    if fields.isEnd(position) {
                        throw LineFault.tooFew(field + 1, of: roles.count, bytes + start, pattern)
                    }
                }
            }
        }
        if bytes[position] != 10 {
            if joinsSpaces {
                position = fields.afterSpaces(position)
            } else if bytes[position] == delimiter, fields.isLineEnd(position + 1) {
                position += 1
            }
            if bytes[position] == 13 { position += 1 }
            guard bytes[position] == 10 else { throw LineFault.tooMany(roles.count, bytes + start, pattern) }
        }
        if present.contains(.sizes) { rows.sizes[row] = size }
        if present.contains(.times) {
            rows.times[row] = time
            if row == 0 { rows.firstTimeColumn = timeAt - start + 1 }
            if time < rows.lastTime, !sorts {
                let problem = RowProblem.backwards(
                    rows.lines, column: timeAt - start + 1, time, rows.lastTime, timeUnit)
                throw LineFault(column: problem.column, message: problem.message, stopsAlways: true)
            }
        }
        if operation >= 0 { count(operation, hasValue: hasValue, rows) }
        if operationName != 0..<0 {
            rows.operationNames.count(
                UnsafeBufferPointer(start: bytes + operationName.lowerBound, count: operationName.count))
        }
        return position + 1
    }

    /// Counts a row of Twitter's text by its operation, and decides whether it is a request: a read without a value
    /// missed, and a deletion is none.
    private func count(_ operation: Int, hasValue: Bool, _ rows: RowScratch) {
        let isRequest: Bool
        switch operations[operation].meaning {
        case .read: isRequest = hasValue
        case .write: isRequest = true
        case .none: isRequest = false
        }
        rows.operations.count(operation, requests: isRequest ? 1 : 0)
        guard !isRequest else { return }
        rows.dropsRow = true
        if operations[operation].meaning == .read { rows.unansweredReads += 1 }
    }
}

/// The reason why a line is not a valid request.
struct LineFault: Error {
    /// The byte in the line, counted from 1; `nil` for the whole line.
    var column: Int?
    /// The sentence that states what was found and what is accepted.
    var message: String
    /// Whether ``TraceLoadOptions/skipBadLines`` does not apply.
    var stopsAlways = false

    /// - Parameter pattern: the line that has `wanted` fields.
    static func tooFew(
        _ count: Int, of wanted: Int, _ line: UnsafeMutablePointer<UInt8>, _ pattern: String = "header"
    ) -> LineFault {
        LineFault(message: "\(quotedLine(line)) has \(LineFault.fields(count)) where the \(pattern) has \(wanted)")
    }

    static func tooMany(
        _ wanted: Int, _ line: UnsafeMutablePointer<UInt8>, _ pattern: String = "header"
    ) -> LineFault {
        LineFault(message: "\(quotedLine(line)) has more than the \(fields(wanted)) of the \(pattern)")
    }

    /// Returns a number of fields as text.
    static func fields(_ count: Int) -> String { "\(count) field\(count == 1 ? "" : "s")" }

    static func tooLong(_ start: some Sequence<UInt8>) -> LineFault {
        // A truncated line has at least this many bytes, wherever its chunk ends.
        LineFault(
            message:
                "the line that starts with \(quoted(start.prefix(61))) is longer than the limit of "
                + "\(ChunkReader.longestLine) bytes")
    }

    private static func quotedLine(_ line: UnsafeMutablePointer<UInt8>) -> String {
        var length = 0
        while length < 61, line[length] != 10, line[length] != 13 { length += 1 }
        return quoted(UnsafeBufferPointer(start: line, count: length))
    }
}
