/// The fields of one line of text without quotes.
///
/// Fields are separated by one byte, or by runs of blanks and tabs. The first ``kept`` can be read.
struct LineFields {
    /// The bytes of a chunk that a field has.
    struct Field {
        var start = 0
        var length = 0
    }

    /// The byte or bytes between fields.
    enum Separator: Sendable {
        /// Any number of blanks and tabs; those around a line separate nothing.
        case blanks
        /// One comma. Blanks and tabs around a field are not part of it.
        case commas
    }

    /// The number of fields that can be read.
    static let kept = 8

    let bytes: UnsafeMutablePointer<UInt8>
    let fields: UnsafeMutableBufferPointer<Field>
    /// The position of the line's first byte.
    private(set) var start = 0
    /// The number of fields of the line, also above ``kept``; 0 for a line of blanks.
    private(set) var count = 0

    init(bytes: UnsafeMutablePointer<UInt8>, fields: UnsafeMutableBufferPointer<Field>) {
        self.bytes = bytes
        self.fields = fields
        fields.initialize(repeating: Field())
    }

    /// Splits the line at `start`, which ends with a line feed, and returns the position of the next.
    mutating func split(at start: Int, _ separator: Separator) throws(LineFault) -> Int {
        self.start = start
        count = 0
        var position = start
        while true {
            while bytes[position] == 32 || bytes[position] == 9 { position += 1 }
            if count == 0 || separator == .blanks, isEnd(position) { break }
            let first = position
            while !isSeparator(bytes[position], separator), !isEnd(position) {
                if bytes[position] < 32, bytes[position] != 9 { throw control(position) }
                position += 1
            }
            var last = position
            while last > first, bytes[last - 1] == 32 || bytes[last - 1] == 9 { last -= 1 }
            if count < LineFields.kept { fields[count] = Field(start: first, length: last - first) }
            count += 1
            if isEnd(position) { break }
            position += 1
        }
        let next = position + (bytes[position] == 10 ? 1 : 2)
        if next - start > ChunkReader.longestLine + 1 {
            throw LineFault.tooLong(UnsafeBufferPointer(start: bytes + start, count: 61))
        }
        return next
    }

    @inline(__always)
    private func isEnd(_ position: Int) -> Bool {
        bytes[position] == 10 || (bytes[position] == 13 && bytes[position + 1] == 10)
    }

    @inline(__always)
    private func isSeparator(_ byte: UInt8, _ separator: Separator) -> Bool {
        separator == .blanks ? byte == 32 || byte == 9 : byte == UInt8(ascii: ",")
    }

    private func control(_ position: Int) -> LineFault {
        let hex = String(bytes[position], radix: 16)
        return LineFault(
            column: position - start + 1,
            message: "the control byte 0x\(hex.count == 1 ? "0" : "")\(hex) is not text, which is expected here")
    }

    /// Returns the bytes of a field.
    @inline(__always)
    func text(_ field: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + fields[field].start, count: fields[field].length)
    }

    /// Returns the position of a field in the line, counted from 1.
    func column(_ field: Int) -> Int { fields[field].start - start + 1 }

    /// Returns whether a field has this text, in any case.
    @inline(__always)
    func field(_ field: Int, is word: StaticString) -> Bool {
        let text = text(field)
        guard text.count == word.utf8CodeUnitCount else { return false }
        for index in text.indices {
            let byte = text[index]
            let low = byte &- UInt8(ascii: "A") < 26 ? byte | 32 : byte
            if low != word.utf8Start[index] { return false }
        }
        return true
    }

    /// Returns a field as a whole number of at most `largest`.
    @inline(__always)
    func whole(_ field: Int, _ title: StaticString, upTo largest: UInt64 = .max) throws(LineFault) -> UInt64 {
        let text = text(field)
        var value: UInt64 = 0
        for byte in text {
            let digit = byte &- 48
            let (product, isTooLong) = value.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = product.addingReportingOverflow(UInt64(digit))
            guard digit < 10, !isTooLong, !isTooLarge else { throw notWhole(field, title, 0, largest) }
            value = sum
        }
        guard !text.isEmpty, value <= largest else { throw notWhole(field, title, 0, largest) }
        return value
    }

    /// Returns the fault of a field that is no whole number of a range.
    func notWhole(_ field: Int, _ title: StaticString, _ least: UInt64, _ largest: UInt64) -> LineFault {
        fault(field, "\(title) \(quoted(text(field))) is not a whole number from \(least) to \(largest)")
    }

    /// Returns a field as a time in microseconds.
    func time(_ field: Int, _ unit: TimeUnit) throws(LineFault) -> Int64 {
        let text = text(field)
        guard let base = text.baseAddress, let time = CSVNumbers.scaled(base, text.count, decimals: unit.decimals)
        else {
            throw fault(
                field, "time \(quoted(text)) is not a number; \(unit) such as 12 or 12.5 are accepted")
        }
        return time
    }

    /// Returns a field as a hexadecimal number of up to 16 digits, with or without 0x before it.
    func hexadecimal(_ field: Int, _ title: StaticString) throws(LineFault) -> UInt64 {
        guard let value = LineFields.hexadecimal(text(field)) else {
            throw self.fault(
                field, "\(title) \(quoted(text(field))) is not a hexadecimal number of 1 to 16 digits, such as 0x1fff58"
            )
        }
        return value
    }

    /// Returns text as a hexadecimal number of up to 16 digits, with or without 0x before it; `nil` if it is none.
    static func hexadecimal(_ text: UnsafeBufferPointer<UInt8>) -> UInt64? {
        let hasPrefix = text.count > 2 && text[0] == 48 && text[1] | 32 == UInt8(ascii: "x")
        let digits = text.dropFirst(hasPrefix ? 2 : 0)
        guard 1...16 ~= digits.count else { return nil }
        var value: UInt64 = 0
        for byte in digits {
            let digit: UInt8
            switch byte {
            case 48...57: digit = byte - 48
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            value = value << 4 | UInt64(digit)
        }
        return value
    }

    /// Stores a field as the key of a row.
    func setKey(_ field: Int, _ row: Int, _ keys: TokenColumn) {
        let place = fields[field]
        if let number = CSVNumbers.canonical(bytes + place.start, place.length) {
            keys.setNumber(row, number)
        } else {
            keys.setText(row, offset: place.start, length: place.length)
        }
    }

    /// Returns a fault at a field.
    func fault(_ field: Int, _ message: String) -> LineFault { LineFault(column: column(field), message: message) }

    /// Returns the fault of a line whose number of fields is not accepted.
    func wrongCount(_ format: TraceFormat, _ accepted: String) -> LineFault {
        var length = 0
        while length < 61, bytes[start + length] != 10, bytes[start + length] != 13 { length += 1 }
        let line = quoted(UnsafeBufferPointer(start: bytes + start, count: length))
        return LineFault(
            message: "\(line) has \(LineFault.fields(count)) where a line of \(format.rawValue) has \(accepted)")
    }
}
