/// A parser of the fields of one line, which ends with a line feed.
///
/// Every method takes the position of a field's first byte and returns the position after the field, where a delimiter
/// or the end of the line is.
struct CSVFields {
    let bytes: UnsafeMutablePointer<UInt8>
    /// The position of the line's first byte.
    let line: Int
    let delimiter: UInt8

    /// The byte of a space.
    static let space = UInt8(ascii: " ")

    /// Returns whether a field ends before `position`.
    @inline(__always)
    func isEnd(_ position: Int) -> Bool {
        let byte = bytes[position]
        return byte == delimiter || byte == 10 || (byte == 13 && bytes[position + 1] == 10)
    }

    /// Returns whether a line ends before `position`.
    func isLineEnd(_ position: Int) -> Bool {
        bytes[position] == 10 || (bytes[position] == 13 && bytes[position + 1] == 10)
    }

    /// Returns the position of the first byte from `start` on that is no space.
    @inline(__always)
    func afterSpaces(_ start: Int) -> Int {
        var position = start
        while bytes[position] == CSVFields.space { position += 1 }
        return position
    }

    /// Returns the position of the first byte from `start` on that is no blank: no space and no tab, unless it is the
    /// delimiter.
    private func afterBlanks(_ start: Int) -> Int {
        var position = start
        while isBlank(bytes[position]) { position += 1 }
        return position
    }

    private func isBlank(_ byte: UInt8) -> Bool { (byte == CSVFields.space || byte == 9) && byte != delimiter }

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
        let field = try trimmedText(at: start)
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
        let field = try trimmedText(at: start)
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
        let field = try trimmedText(at: start)
        if field.length == 0 {
            size = 0
            return field.next
        }
        guard let exact = CSVNumbers.size(bytes + field.start, field.length) else {
            throw LineFault(
                column: start - line + 1,
                message: CSVNumbers.sizeFault(bytes + field.start, field.length, found: found(start)))
        }
        size = exact
        return field.next
    }

    /// Parses a lifetime in seconds and stores it in `lifetime`; 0 if the field is empty.
    func lifetime(at start: Int, _ lifetime: inout UInt32) throws(LineFault) -> Int {
        let field = try trimmedText(at: start)
        guard let seconds = CSVNumbers.lifetime(bytes + field.start, field.length) else {
            throw CSVNumbers.lifetimeFault(found(start), column: start - line + 1)
        }
        lifetime = seconds
        return field.next
    }

    /// Parses an event and stores whether the row was shown.
    func event(at start: Int, _ isShown: inout Bool) throws(LineFault) -> Int {
        let field = try trimmedText(at: start)
        let name = UnsafeBufferPointer(start: bytes + field.start, count: field.length)
        guard let shown = ListEvent.isShown(name) else {
            throw LineFault(
                column: start - line + 1,
                message:
                    "\(quoted(name)) is not an event; \(ListEvent.accepted) are accepted, in any case. Rename a column that has no events"
            )
        }
        isShown = shown
        return field.next
    }

    /// Parses a place in a list and stores it in `rank`; `UInt32.max` if the field is empty.
    func rank(at start: Int, _ rank: inout UInt32) throws(LineFault) -> Int {
        let field = try trimmedText(at: start)
        if field.length == 0 {
            rank = .max
            return field.next
        }
        guard let value = CSVNumbers.canonical(bytes + field.start, field.length), value < UInt64(UInt32.max) else {
            throw LineFault(
                column: start - line + 1,
                message:
                    "position \(found(start)) is not a place in a list; whole numbers below \(UInt32.max) are accepted")
        }
        rank = UInt32(value)
        return field.next
    }

    /// Parses an operation and stores its number in `number`.
    func operation(at start: Int, _ known: [PresetOperation], _ number: inout Int) throws(LineFault) -> Int {
        let field = try trimmedText(at: start)
        let name = UnsafeBufferPointer(start: bytes + field.start, count: field.length)
        guard let found = known.firstIndex(where: { name.elementsEqual($0.bytes) }) else {
            throw PresetOperation.fault(name, known, column: start - line + 1)
        }
        number = found
        return field.next
    }

    /// Parses a field's text and removes its quotes in place, or, if it has none, the blanks around it.
    func trimmedText(at start: Int) throws(LineFault) -> (start: Int, length: Int, next: Int) {
        var field = try text(at: start)
        if field.start > start { return field }
        let first = afterBlanks(start)
        if first >= field.next { return (field.next, 0, field.next) }
        field.length -= first - start
        field.start = first
        while isBlank(bytes[first + field.length - 1]) { field.length -= 1 }
        return field
    }

    /// Parses a field's text and removes its quotes in place. Blanks before the first quote and after the last are
    /// accepted.
    func text(at start: Int) throws(LineFault) -> (start: Int, length: Int, next: Int) {
        if bytes[start] == UInt8(ascii: "\"") { return try quotedText(at: start) }
        if isBlank(bytes[start]) {
            let first = afterBlanks(start)
            if bytes[first] == UInt8(ascii: "\"") { return try quotedText(at: first) }
        }
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
        let next = afterBlanks(position + 1)
        guard isEnd(next) else {
            throw LineFault(
                column: start - line + 1,
                message: "text follows the closing quote in \(found(start)); a quote inside quotes is written twice")
        }
        return (start + 1, end - start - 1, next)
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
    /// Parses a whole number of at most ``SizeRule/largest``, such as `10`, `10.0`, `1e3` or `1.5E+9`; `nil` for a
    /// fraction.
    static func size(_ text: UnsafePointer<UInt8>, _ length: Int) -> UInt64? {
        var start = 0
        while start < length - 1, text[start] == 48 { start += 1 }
        if let value = canonical(text + start, length - start) { return value <= SizeRule.largest ? value : nil }
        guard length > 0, text[0] != UInt8(ascii: "-"), text[0] != UInt8(ascii: "+"),
            let number = decimal(text, length, decimals: 0), number.isExact
        else { return nil }
        let value = UInt64(number.value)
        return value <= SizeRule.largest ? value : nil
    }

    /// Returns the sentence for text that is not a size.
    ///
    /// - Parameter found: the text in quotes.
    static func sizeFault(_ text: UnsafePointer<UInt8>, _ length: Int, found: String) -> String {
        let accepted = "whole numbers from 0 (unknown) to \(SizeRule.largest) are accepted"
        if let number = decimal(text, length, decimals: 0), !number.isExact, number.value >= 0 {
            return "size \(found) has a fraction of a byte; \(accepted), also as 10.0 or 1e3"
        }
        return "size \(found) is not a number of bytes; \(accepted)"
    }

    /// Parses a whole number of seconds; 0 for no text.
    static func lifetime(_ text: UnsafePointer<UInt8>, _ length: Int) -> UInt32? {
        length == 0 ? 0 : size(text, length).flatMap { UInt32(exactly: $0) }
    }

    /// Returns the error for text that is not a lifetime.
    ///
    /// - Parameter found: the text in quotes.
    static func lifetimeFault(_ found: String, column: Int) -> LineFault {
        LineFault(
            column: column,
            message:
                "lifetime \(found) is not a number of seconds; whole numbers from 0 (none) to \(UInt32.max) are accepted"
        )
    }

    /// Parses a decimal number, multiplies it by 10 to the power of `decimals` and truncates further digits.
    static func scaled(_ text: UnsafePointer<UInt8>, _ length: Int, decimals: Int) -> Int64? {
        decimal(text, length, decimals: decimals)?.value
    }

    /// Parses a decimal number such as `-12`, `12.50`, `1e3` or `1.5E+9`, multiplies it by 10 to the power of
    /// `decimals`, and truncates further digits. `isExact` says whether all of them are 0.
    static func decimal(
        _ text: UnsafePointer<UInt8>, _ length: Int, decimals: Int
    ) -> (value: Int64, isExact: Bool)? {
        var index = 0
        let isNegative = length > 0 && text[0] == UInt8(ascii: "-")
        if isNegative || (length > 0 && text[0] == UInt8(ascii: "+")) { index = 1 }
        let first = index
        var point: Int?
        while index < length {
            if text[index] == UInt8(ascii: "."), point == nil {
                point = index
            } else if text[index] &- 48 >= 10 {
                break
            }
            index += 1
        }
        let end = index
        guard end - first > (point == nil ? 0 : 1) else { return nil }
        guard let exponent = exponent(text + end, length - end) else { return nil }
        let kept = (point ?? end) - first + exponent + decimals
        var value: Int64 = 0
        var isExact = true
        var digits = 0
        for index in first..<end where text[index] != UInt8(ascii: ".") {
            let digit = Int64(text[index] &- 48)
            if digits < kept {
                guard let longer = appending(digit, to: value) else { return nil }
                value = longer
            } else if digit != 0 {
                isExact = false
            }
            digits += 1
        }
        while value != 0, digits < kept {
            guard let longer = appending(0, to: value) else { return nil }
            value = longer
            digits += 1
        }
        return (isNegative ? -value : value, isExact)
    }

    /// Parses an exponent such as `e3` or `E-07`; 0 for no text, and at most 1,000,000 in magnitude.
    private static func exponent(_ text: UnsafePointer<UInt8>, _ length: Int) -> Int? {
        guard length > 0 else { return 0 }
        guard text[0] | 32 == UInt8(ascii: "e") else { return nil }
        var index = 1
        let isNegative = length > 1 && text[1] == UInt8(ascii: "-")
        if isNegative || (length > 1 && text[1] == UInt8(ascii: "+")) { index = 2 }
        guard index < length else { return nil }
        var value = 0
        while index < length {
            guard text[index] &- 48 < 10 else { return nil }
            value = min(value * 10 + Int(text[index] &- 48), 1_000_000)
            index += 1
        }
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
