/// A parser of the lines of a published trace.
///
/// It splits a line into its fields before it uses them, so that fields can be joined and the operation decides first.
/// ``CSVRowParser`` does both in one pass and is faster.
struct PresetRowParser: RowParser {
    /// A field's text in the chunk.
    private struct Field {
        var start = 0
        var length = 0
    }

    /// The largest accepted number of operations in one row. The published traces have up to 377.
    static let mostRepeats: UInt64 = 65_535

    let places: PresetFields
    let delimiter: UInt8
    /// The header, to recognise it in the middle of a file; empty if there is none.
    let header: [UInt8]
    let skipsBadLines: Bool
    let sorts: Bool
    let present: PresentColumns
    private let operations: [PresetOperation]
    private let timeForm: PresetTime
    /// The field of the lifetime; `nil` if lifetimes are not read.
    private let lifetime: Int?

    init(
        _ places: PresetFields, header: [UInt8], delimiter: UInt8, options: TraceLoadOptions, lifetime: Int? = nil
    ) {
        self.lifetime = lifetime
        self.places = places
        self.header = header
        self.delimiter = delimiter
        skipsBadLines = options.skipBadLines
        sorts = options.sort
        present = lifetime == nil ? places.present : places.present.union(.lifetimes)
        operations = places.preset.operations
        timeForm = places.preset.timeForm
    }

    var shortestRow: Int { 2 }

    func parse(_ bytes: UnsafeMutablePointer<UInt8>, count: Int, into rows: RowScratch) {
        rows.operations.prepare(operations.count)
        withUnsafeTemporaryAllocation(of: Field.self, capacity: places.fieldCount) { fields in
            fields.initialize(repeating: Field())
            var position = 0
            while position < count {
                if bytes[position] == 10 || (bytes[position] == 13 && bytes[position + 1] == 10) {
                    position += bytes[position] == 10 ? 1 : 2
                    rows.lines += 1
                    continue
                }
                if let next = afterHeader(bytes, position, count) {
                    position = next
                    rows.lines += 1
                    rows.repeatedHeaders += 1
                    continue
                }
                do throws(LineFault) {
                    let end = try split(bytes, from: position, into: fields)
                    if end - position > ChunkReader.longestLine + 1 {
                        throw LineFault.tooLong(UnsafeBufferPointer(start: bytes + position, count: 61))
                    }
                    try use(fields, bytes, line: position, rows)
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

    /// Returns the position after a line that repeats the header, or `nil` if the line does not.
    @inline(__always)
    private func afterHeader(_ bytes: UnsafeMutablePointer<UInt8>, _ start: Int, _ count: Int) -> Int? {
        guard let first = header.first, bytes[start] == first, start + header.count < count else { return nil }
        for index in header.indices where bytes[start + index] != header[index] { return nil }
        var end = start + header.count
        if bytes[end] == 13 { end += 1 }
        return end < count && bytes[end] == 10 ? end + 1 : nil
    }

    /// Splits a line into its fields and returns the position of the next line.
    private func split(
        _ bytes: UnsafeMutablePointer<UInt8>, from start: Int, into fields: UnsafeMutableBufferPointer<Field>
    ) throws(LineFault) -> Int {
        if places.preset == .twitter { return try splitAroundKey(bytes, from: start, into: fields) }
        let reader = CSVFields(bytes: bytes, line: start, delimiter: delimiter)
        var position = start
        for index in fields.indices {
            let field = try reader.text(at: position)
            fields[index] = Field(start: field.start, length: field.length)
            position = field.next
            if index < fields.count - 1 {
                guard bytes[position] == delimiter else {
                    throw LineFault.tooFew(index + 1, of: fields.count, bytes + start)
                }
                position += 1
            }
        }
        if bytes[position] == 13 { position += 1 }
        guard bytes[position] == 10 else { throw LineFault.tooMany(fields.count, bytes + start) }
        return position + 1
    }

    /// Splits a line without quotes whose key may contain delimiters: fields after it are counted from the end.
    private func splitAroundKey(
        _ bytes: UnsafeMutablePointer<UInt8>, from start: Int, into fields: UnsafeMutableBufferPointer<Field>
    ) throws(LineFault) -> Int {
        var end = start
        var delimiters = 0
        while bytes[end] != 10 {
            let byte = bytes[end]
            if byte == delimiter { delimiters += 1 }
            if byte < 32, byte != 9, byte != 13 || bytes[end + 1] != 10 {
                let hex = String(byte, radix: 16)
                throw LineFault(
                    column: end - start + 1,
                    message: "the control byte 0x\(hex.count == 1 ? "0" : "")\(hex) is not text; is this a CSV?")
            }
            end += 1
        }
        let next = end + 1
        if end > start, bytes[end - 1] == 13 { end -= 1 }
        guard delimiters >= fields.count - 1 else {
            throw LineFault.tooFew(delimiters + 1, of: fields.count, bytes + start)
        }
        var last = end
        for index in fields.indices.reversed() where index > places.key {
            var begin = last
            while bytes[begin - 1] != delimiter { begin -= 1 }
            fields[index] = Field(start: begin, length: last - begin)
            last = begin - 1
        }
        var position = start
        for index in 0..<places.key {
            var stop = position
            while bytes[stop] != delimiter { stop += 1 }
            fields[index] = Field(start: position, length: stop - position)
            position = stop + 1
        }
        fields[places.key] = Field(start: position, length: last - position)
        return next
    }

    /// Appends the request of a split line, if it is one.
    private func use(
        _ fields: UnsafeMutableBufferPointer<Field>, _ bytes: UnsafeMutablePointer<UInt8>, line: Int,
        _ rows: RowScratch
    ) throws(LineFault) {
        if places.preset.hasLists { return try useList(fields, bytes, line, rows) }
        let row = rows.count
        var size: UInt64 = 0
        if let place = places.size { size = try self.size(fields[place], bytes, line) }
        var operation = 0
        if let place = places.operation { operation = try self.operation(fields[place], bytes, line) }
        var repeats: UInt64 = 1
        if let place = places.repeats { repeats = try self.repeats(fields[place], bytes, line) }
        let key = fields[places.key]
        guard key.length > 0 else {
            throw LineFault(column: key.start - line + 1, message: "the key is empty; each request needs one")
        }
        let isRequest =
            switch operations[operation].meaning {
            case .read: size > 0
            case .write: places.preset != .metaCDN || !(key.length == 1 && bytes[key.start] == UInt8(ascii: "-"))
            case .none: false
            }
        guard isRequest else {
            rows.operations.count(operation, requests: 0)
            return
        }
        if let place = places.keySize { size += try self.size(fields[place], bytes, line) }
        if let place = places.time { try setTime(fields[place], bytes, line, rows) }
        if present.contains(.sizes) { rows.sizes[row] = size }
        if let lifetime {
            let field = fields[lifetime]
            guard let seconds = CSVNumbers.lifetime(bytes + field.start, field.length) else {
                throw CSVNumbers.lifetimeFault(text(field, bytes), column: field.start - line + 1)
            }
            rows.lifetimes[row] = seconds
        }
        if let place = places.user { set(rows.users, row, fields[place], bytes) }
        if places.lastOfKey > places.key { try joinKey(fields, bytes, line) }
        let wholeKey = Field(
            start: key.start, length: fields[places.lastOfKey].start + fields[places.lastOfKey].length - key.start)
        setName(rows.keys, row, wholeKey, bytes)
        if let place = places.category {
            set(rows.categories, row, fields[place], bytes)
        } else if places.preset == .twitter {
            let length = Namespace.length(UnsafeBufferPointer(start: bytes + key.start, count: key.length))
            set(rows.categories, row, Field(start: key.start, length: length), bytes)
        } else if places.preset == .tencentPhoto {
            let start = fields[places.key + 1].start
            set(rows.categories, row, Field(start: start, length: wholeKey.start + wholeKey.length - start), bytes)
        }
        rows.operations.count(operation, requests: Int(repeats))
        rows.commit()
        if places.repeats != nil { rows.repeats.append(UInt32(repeats)) }
    }

    /// Appends the items of a split line that were shown, and then those that were opened.
    private func useList(
        _ fields: UnsafeMutableBufferPointer<Field>, _ bytes: UnsafeMutablePointer<UInt8>, _ line: Int,
        _ rows: RowScratch
    ) throws(LineFault) {
        var operation = 0
        if let place = places.operation { operation = try self.operation(fields[place], bytes, line) }
        if operations[operation].meaning == .none { return rows.operations.count(operation, requests: 0) }
        let size = try places.size.map { place throws(LineFault) in try self.size(fields[place], bytes, line) } ?? 0
        let key = fields[places.key]
        var shown = places.items.map { tokens(fields[$0], bytes) } ?? []
        var opened = [key]
        switch places.preset {
        case .ebnerd: opened = tokens(key, bytes)
        case .mind:
            let items = tokens(key, bytes)
            shown = items.map { isMarked($0, bytes) == nil ? $0 : Field(start: $0.start, length: $0.length - 2) }
            opened = items.indices.filter { isMarked(items[$0], bytes) == true }.map { shown[$0] }
        case .kuairand:
            shown = [key]
            if let place = places.event, !isOne(fields[place], bytes) { opened = [] }
        default: break
        }
        guard ![.trivago, .kuairand, .contentwise].contains(places.preset) || key.length > 0 else {
            throw LineFault(column: key.start - line + 1, message: "the key is empty; each request needs one")
        }
        if let place = places.time { try setTime(fields[place], bytes, line, rows) }
        let time = rows.times[rows.count]
        let prices = places.prices.map { tokens(fields[$0], bytes) } ?? []
        func append(_ item: Field, isShown: Bool) {
            let row = rows.count
            rows.times[row] = time
            rows.isShown[row] = isShown
            rows.ranks[row] = .max
            rows.lists.setNone(row)
            if let place = places.list { set(rows.lists, row, fields[place], bytes) }
            if let place = places.user { set(rows.users, row, fields[place], bytes) }
            if present.contains(.sizes) { rows.sizes[row] = size }
            setName(rows.keys, row, item, bytes)
            if let place = places.category { set(rows.categories, row, fields[place], bytes) }
            if places.prices != nil {
                rows.categories.setNone(row)
                let index = shown.firstIndex { isEqual($0, item, bytes) }
                if let index, index < prices.count, let band = halfOctave(prices[index], bytes) {
                    rows.categories.setNumber(row, band)
                }
            }
            rows.commit()
        }
        for item in shown { append(item, isShown: true) }
        for item in opened { append(item, isShown: false) }
        rows.operations.count(operation, requests: opened.count)
    }

    /// Returns the items of a field such as `[1, 2]`, `1|2` or `N1 N2`.
    private func tokens(_ field: Field, _ bytes: UnsafeMutablePointer<UInt8>) -> [Field] {
        var tokens: [Field] = []
        var start = field.start
        for end in field.start...(field.start + field.length) {
            let isEnd =
                end == field.start + field.length || PresetRowParser.separators.contains(bytes[end])
            guard isEnd else { continue }
            if end > start { tokens.append(Field(start: start, length: end - start)) }
            start = end + 1
        }
        return tokens
    }

    private static let separators: [UInt8] = Array("[](),|' \"".utf8)

    /// Whether an impression of MIND ends in `-1`, or `-0`; `nil` if in neither.
    private func isMarked(_ item: Field, _ bytes: UnsafeMutablePointer<UInt8>) -> Bool? {
        guard item.length > 2, bytes[item.start + item.length - 2] == UInt8(ascii: "-") else { return nil }
        let mark = bytes[item.start + item.length - 1] &- 48
        return mark > 1 ? nil : mark == 1
    }

    private func isOne(_ field: Field, _ bytes: UnsafeMutablePointer<UInt8>) -> Bool {
        field.length == 1 && bytes[field.start] == UInt8(ascii: "1")
    }

    private func isEqual(_ first: Field, _ second: Field, _ bytes: UnsafeMutablePointer<UInt8>) -> Bool {
        first.length == second.length
            && (0..<first.length).allSatisfy { bytes[first.start + $0] == bytes[second.start + $0] }
    }

    /// Returns ⌊2 · log₂ price⌋ of a whole price above 0; otherwise `nil`.
    private func halfOctave(_ field: Field, _ bytes: UnsafeMutablePointer<UInt8>) -> UInt64? {
        guard let price = CSVNumbers.canonical(bytes + field.start, field.length), 1..<(1 << 31) ~= price else {
            return nil
        }
        return UInt64(63 - (price * price).leadingZeroBitCount)
    }

    /// Sets a category or user; an empty field and `-` are none.
    @inline(__always)
    private func set(_ tokens: TokenColumn, _ row: Int, _ field: Field, _ bytes: UnsafeMutablePointer<UInt8>) {
        if field.length == 0 || (field.length == 1 && bytes[field.start] == UInt8(ascii: "-")) {
            tokens.setNone(row)
        } else {
            setName(tokens, row, field, bytes)
        }
    }

    /// Sets a name that is not empty.
    @inline(__always)
    private func setName(_ tokens: TokenColumn, _ row: Int, _ field: Field, _ bytes: UnsafeMutablePointer<UInt8>) {
        if let number = CSVNumbers.canonical(bytes + field.start, field.length) {
            tokens.setNumber(row, number)
        } else {
            tokens.setText(row, offset: field.start, length: field.length)
        }
    }

    /// Replaces the delimiters between the fields of a key by `|`.
    private func joinKey(
        _ fields: UnsafeMutableBufferPointer<Field>, _ bytes: UnsafeMutablePointer<UInt8>, _ line: Int
    ) throws(LineFault) {
        for index in places.key..<places.lastOfKey {
            let end = fields[index].start + fields[index].length
            guard fields[index + 1].start == end + 1, fields[index + 1].length > 0 else {
                throw LineFault(
                    column: fields[index + 1].start - line + 1,
                    message:
                        "the fields \(places.use.used.first { $0.role == .key }?.name ?? "of the key") must not be "
                        + "empty or in quotes")
            }
        }
        for index in places.key..<places.lastOfKey {
            bytes[fields[index].start + fields[index].length] = UInt8(ascii: "|")
        }
    }

    private func setTime(
        _ field: Field, _ bytes: UnsafeMutablePointer<UInt8>, _ line: Int, _ rows: RowScratch
    ) throws(LineFault) {
        let column = field.start - line + 1
        guard let time = timeForm.parse(bytes + field.start, field.length) else {
            throw LineFault(column: column, message: "time \(text(field, bytes)) is not a time; \(timeForm.accepted)")
        }
        if rows.count == 0 { rows.firstTimeColumn = column }
        if time < rows.lastTime, !sorts {
            let problem = RowProblem.backwards(rows.lines, column: column, time, rows.lastTime, .seconds)
            throw LineFault(column: problem.column, message: problem.message, stopsAlways: true)
        }
        rows.times[rows.count] = time
    }

    private func size(
        _ field: Field, _ bytes: UnsafeMutablePointer<UInt8>, _ line: Int
    ) throws(LineFault) -> UInt64 {
        if field.length == 0 { return 0 }
        guard let size = CSVNumbers.size(bytes + field.start, field.length) else {
            throw LineFault(
                column: field.start - line + 1,
                message: CSVNumbers.sizeFault(bytes + field.start, field.length, found: text(field, bytes)))
        }
        return size
    }

    private func operation(
        _ field: Field, _ bytes: UnsafeMutablePointer<UInt8>, _ line: Int
    ) throws(LineFault) -> Int {
        let name = UnsafeBufferPointer(start: bytes + field.start, count: field.length)
        for index in operations.indices where name.elementsEqual(operations[index].bytes) { return index }
        throw PresetOperation.fault(name, operations, column: field.start - line + 1)
    }

    private func repeats(
        _ field: Field, _ bytes: UnsafeMutablePointer<UInt8>, _ line: Int
    ) throws(LineFault) -> UInt64 {
        guard let count = CSVNumbers.canonical(bytes + field.start, field.length),
            1...PresetRowParser.mostRepeats ~= count
        else {
            throw LineFault(
                column: field.start - line + 1,
                message: "\(text(field, bytes)) is not a number of operations; whole numbers from 1 to "
                    + "\(PresetRowParser.mostRepeats) are accepted")
        }
        return count
    }

    private func text(_ field: Field, _ bytes: UnsafeMutablePointer<UInt8>) -> String {
        quoted(UnsafeBufferPointer(start: bytes + field.start, count: field.length))
    }
}

/// The namespace of a key in Twitter's traces, by the rule of ``TracePreset/twitter``.
enum Namespace {
    private static let separators: [UInt8] = Array(":/|~._-".utf8)
    private static let longest = 16

    /// Returns the length of the namespace that a key starts with; 0 if it has none.
    static func length(_ key: UnsafeBufferPointer<UInt8>) -> Int {
        for separator in separators {
            guard let first = key.firstIndex(of: separator) else { continue }
            if let second = key[(first + 1)...].firstIndex(of: separator), second <= longest { return second }
            return first <= longest ? first : 0
        }
        return 0
    }
}
