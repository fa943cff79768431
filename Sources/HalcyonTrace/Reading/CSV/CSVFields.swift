/// The fields of one line, which ends with a line feed.
///
/// Every method takes the byte at which a field starts and gives the byte behind the field: a delimiter, or the line's end.
struct CSVFields {
    let bytes: UnsafeMutablePointer<UInt8>
    /// Where the line starts.
    let line: Int
    let delimiter: UInt8

    /// Whether a field ends before `position`.
    @inline(__always)
    private func isEnd(_ position: Int) -> Bool {
        let byte = bytes[position]
        return byte == delimiter || byte == 10 || (byte == 13 && bytes[position + 1] == 10)
    }

    /// A name that must be there.
    @inline(__always)
    func key(at start: Int, _ row: Int, _ tokens: TokenColumn) throws(LineFault) -> Int {
        let next = try token(at: start, row, tokens)
        guard tokens.kinds[row] != TokenColumn.Kind.none else {
            throw LineFault(column: start - line + 1, message: "the key is empty; each request needs one")
        }
        return next
    }

    /// A name, or none if the field is empty.
    @inline(__always)
    func token(at start: Int, _ row: Int, _ tokens: TokenColumn) throws(LineFault) -> Int {
        var position = start
        var value: UInt64 = 0
        var digit = bytes[position] &- 48
        while digit < 10 {
            value = value &* 10 &+ UInt64(digit)
            position += 1
            digit = bytes[position] &- 48
        }
        let length = position - start
        if length > 0, length < 20, isEnd(position), bytes[start] != 48 || length == 1 {
            tokens.setNumber(row, value)
            return position
        }
        return try textToken(at: start, row, tokens)
    }

    @inline(never)
    private func textToken(at start: Int, _ row: Int, _ tokens: TokenColumn) throws(LineFault) -> Int {
        let field = try text(at: start)
        if field.length == 0 {
            tokens.setNone(row)
        } else if let number = CSVNumbers.canonical(bytes + field.start, field.length) {
            tokens.setNumber(row, number)
        } else {
            tokens.setText(row, offset: field.start, length: field.length)
        }
        return field.next
    }

    /// A time, put into `time` as microseconds.
    @inline(__always)
    func time(at start: Int, _ unit: TimeUnit, _ time: inout Int64) throws(LineFault) -> Int {
        var position = start
        var value: Int64 = 0
        var digit = bytes[position] &- 48
        while digit < 10 {
            value = value &* 10 &+ Int64(digit)
            position += 1
            digit = bytes[position] &- 48
        }
        let length = position - start
        if length > 0, length <= 12, isEnd(position) {
            switch unit {
            case .seconds: time = value * 1_000_000
            case .milliseconds: time = value * 1_000
            case .microseconds: time = value
            case .nanoseconds: time = value / 1_000
            }
            return position
        }
        let field = try text(at: start)
        guard let scaled = CSVNumbers.scaled(bytes + field.start, field.length, decimals: unit.decimals) else {
            throw LineFault(
                column: start - line + 1,
                message: "time \(found(start)) is no number; \(unit) such as 12 or 12.5 are accepted")
        }
        time = scaled
        return field.next
    }

    /// A size in bytes, put into `size`; 0 if the field is empty.
    @inline(__always)
    func size(at start: Int, _ size: inout UInt64) throws(LineFault) -> Int {
        var position = start
        var value: UInt64 = 0
        var digit = bytes[position] &- 48
        while digit < 10 {
            value = value &* 10 &+ UInt64(digit)
            position += 1
            digit = bytes[position] &- 48
        }
        if position - start < 15, isEnd(position) {
            size = value
            return position
        }
        let field = try text(at: start)
        if field.length == 0 {
            size = 0
            return field.next
        }
        guard let exact = CSVNumbers.size(bytes + field.start, field.length) else {
            throw LineFault(
                column: start - line + 1,
                message: "size \(found(start)) is no number of bytes; whole numbers from 0 (unknown) to "
                    + "\(SizeRule.largest) are accepted")
        }
        size = exact
        return field.next
    }

    /// Whether the operation is one of Twitter's reads.
    func isRead(at start: Int, _ isRead: inout Bool) throws(LineFault) -> Int {
        let field = try text(at: start)
        let name = UnsafeBufferPointer(start: bytes + field.start, count: field.length)
        isRead = name.elementsEqual("get".utf8) || name.elementsEqual("gets".utf8)
        return field.next
    }

    /// A field's text, quotes taken off in place.
    func text(at start: Int) throws(LineFault) -> (start: Int, length: Int, next: Int) {
        if bytes[start] == UInt8(ascii: "\"") { return try quotedText(at: start) }
        var position = start
        while true {
            let byte = bytes[position]
            if byte == delimiter || byte == 10 { break }
            if byte < 32, try isLineEnd(byte, position) { break }
            position += 1
        }
        return (start, position - start, position)
    }

    private func quotedText(at start: Int) throws(LineFault) -> (start: Int, length: Int, next: Int) {
        var position = start + 1
        var end = position
        while true {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                if bytes[position + 1] != byte { break }
                position += 1
            } else if byte < 32, try isLineEndInQuotes(byte, position) {
                throw LineFault(
                    column: start - line + 1,
                    message: "the quote in \(found(start)) is not closed on its line; a field may not hold a line break"
                )
            }
            bytes[end] = byte
            end += 1
            position += 1
        }
        guard isEnd(position + 1) else {
            throw LineFault(
                column: start - line + 1,
                message: "text follows the closing quote in \(found(start)); a quote inside quotes is written twice")
        }
        return (start + 1, end - start - 1, position + 1)
    }

    private func isLineEndInQuotes(_ byte: UInt8, _ position: Int) throws(LineFault) -> Bool {
        if byte == 10 { return true }
        return try isLineEnd(byte, position)
    }

    /// Whether a control byte belongs to the line's end; a tab belongs to the text, others are a fault.
    private func isLineEnd(_ byte: UInt8, _ position: Int) throws(LineFault) -> Bool {
        if byte == 13, bytes[position + 1] == 10 { return true }
        if byte == 9 { return false }
        let hex = String(byte, radix: 16)
        throw LineFault(
            column: position - line + 1,
            message: "the control byte 0x\(hex.count == 1 ? "0" : "")\(hex) is no text; is this a CSV?")
    }

    /// The rest of the line from `start` up to the next delimiter, for a message.
    func found(_ start: Int) -> String {
        var end = start
        while end < start + 61, bytes[end] != delimiter, bytes[end] != 10, bytes[end] != 13 { end += 1 }
        return quoted(UnsafeBufferPointer(start: bytes + start, count: end - start))
    }
}
