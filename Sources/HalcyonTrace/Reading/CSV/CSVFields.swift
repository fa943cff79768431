/// A parser of the fields of one line, which ends with a line feed.
///
/// Every method takes the position of a field's first byte and returns the position after the field, where a delimiter
/// or the end of the line is.
struct CSVFields {
    let bytes: UnsafeMutablePointer<UInt8>
    /// The position of the line's first byte.
    let line: Int
    let delimiter: UInt8

    /// Returns whether a field ends before `position`.
    @inline(__always)
    private func isEnd(_ position: Int) -> Bool {
        let byte = bytes[position]
        return byte == delimiter || byte == 10 || (byte == 13 && bytes[position + 1] == 10)
    }

    /// Parses a name that must not be empty.
    @inline(__always)
    func key(at start: Int, _ row: Int, _ tokens: TokenColumn) throws(LineFault) -> Int {
        let next = try token(at: start, row, tokens)
        guard tokens.kinds[row] != TokenColumn.Kind.none else {
            throw LineFault(column: start - line + 1, message: "the key is empty; each request needs one")
        }
        return next
    }

    /// Parses a name, or none if the field is empty.
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

    /// Parses a time and stores it in `time` as microseconds.
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
                message: "time \(found(start)) is not a number; \(unit) such as 12 or 12.5 are accepted")
        }
        time = scaled
        return field.next
    }

    /// Parses a size in bytes and stores it in `size`; 0 if the field is empty.
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
                message: "size \(found(start)) is not a number of bytes; whole numbers from 0 (unknown) to "
                    + "\(SizeRule.largest) are accepted")
        }
        size = exact
        return field.next
    }

    /// Parses a Twitter operation and stores in `isRead` whether it is a read.
    func isRead(at start: Int, _ isRead: inout Bool) throws(LineFault) -> Int {
        let field = try text(at: start)
        let name = UnsafeBufferPointer(start: bytes + field.start, count: field.length)
        isRead = name.elementsEqual("get".utf8) || name.elementsEqual("gets".utf8)
        return field.next
    }

    /// Parses a field's text and removes its quotes in place.
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

    /// Returns whether a control byte belongs to the line's end. A tab belongs to the text; others throw an error.
    private func isLineEnd(_ byte: UInt8, _ position: Int) throws(LineFault) -> Bool {
        if byte == 13, bytes[position + 1] == 10 { return true }
        if byte == 9 { return false }
        let hex = String(byte, radix: 16)
        throw LineFault(
            column: position - line + 1,
            message: "the control byte 0x\(hex.count == 1 ? "0" : "")\(hex) is not text; is this a CSV?")
    }

    /// Returns the text from `start` up to the next delimiter, in quotes for a message.
    func found(_ start: Int) -> String {
        var end = start
        while end < start + 61, bytes[end] != delimiter, bytes[end] != 10, bytes[end] != 13 { end += 1 }
        return quoted(UnsafeBufferPointer(start: bytes + start, count: end - start))
    }
}

/// Parsers of decimal numbers.
enum CSVNumbers {
    /// Parses a whole number of at most ``SizeRule/largest``.
    static func size(_ text: UnsafePointer<UInt8>, _ length: Int) -> UInt64? {
        var start = 0
        while start < length - 1, text[start] == 48 { start += 1 }
        guard let value = canonical(text + start, length - start), value <= SizeRule.largest else { return nil }
        return value
    }

    /// Parses a decimal number, multiplies it by 10 to the power of `decimals` and truncates further digits.
    ///
    /// A sign and a fraction are accepted; an exponent is not. `decimals` is from -18 to 18.
    static func scaled(_ text: UnsafePointer<UInt8>, _ length: Int, decimals: Int) -> Int64? {
        var index = 0
        let isNegative = length > 0 && text[0] == UInt8(ascii: "-")
        if isNegative || (length > 0 && text[0] == UInt8(ascii: "+")) { index = 1 }
        var value: Int64 = 0
        var digits = 0
        var fraction: Int?
        while index < length {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "."), fraction == nil {
                fraction = 0
                continue
            }
            guard byte &- 48 < 10 else { return nil }
            digits += 1
            if let places = fraction {
                if places >= decimals { continue }
                fraction = places + 1
            }
            guard let longer = appending(Int64(byte &- 48), to: value) else { return nil }
            value = longer
        }
        guard digits > 0 else { return nil }
        for _ in 0..<max(decimals - (fraction ?? 0), 0) {
            guard let longer = appending(0, to: value) else { return nil }
            value = longer
        }
        for _ in 0..<max(-decimals, 0) { value /= 10 }
        return isNegative ? -value : value
    }

    private static func appending(_ digit: Int64, to value: Int64) -> Int64? {
        let (product, isTooLong) = value.multipliedReportingOverflow(by: 10)
        let (sum, isTooLarge) = product.addingReportingOverflow(digit)
        return isTooLong || isTooLarge ? nil : sum
    }

    /// Parses a 64-bit number in its shortest decimal form: `7` is accepted, `007` is not.
    static func canonical(_ text: UnsafePointer<UInt8>, _ length: Int) -> UInt64? {
        guard length > 0, length <= 20, length == 1 || text[0] != 48 else { return nil }
        var value: UInt64 = 0
        for index in 0..<length {
            let digit = text[index] &- 48
            guard digit < 10 else { return nil }
            let (product, isTooLong) = value.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = product.addingReportingOverflow(UInt64(digit))
            if isTooLong || isTooLarge { return nil }
            value = sum
        }
        return value
    }
}
