/// A table of names numbered from 0, stored as contiguous UTF-8. It needs 8 bytes a name beside the name itself.
public struct StringTable: Sendable, Equatable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    /// Creates an empty table.
    public init() {}

    /// Creates a table of `names`, numbered in the given order.
    public init(_ names: some Sequence<String>) {
        for name in names { append(name) }
    }

    /// The number of names.
    public var count: Int { ends.count }

    /// Adds a name and returns its number. O(length), amortised.
    @discardableResult
    public mutating func append(_ name: String) -> UInt32 {
        append(utf8: name.utf8)
    }

    /// Adds a name from its UTF-8 and returns its number. O(length), amortised.
    @discardableResult
    public mutating func append(utf8 name: some Collection<UInt8>) -> UInt32 {
        bytes.append(contentsOf: name)
        ends.append(bytes.count)
        return UInt32(ends.count - 1)
    }

    /// Returns the names of this table and, after them, those of another. O(length).
    func joined(with other: StringTable) -> StringTable {
        if other.count == 0 { return self }
        var joined = self
        for number in 0..<UInt32(other.count) { joined.append(utf8: other.utf8(number)) }
        return joined
    }

    /// Returns the UTF-8 of name `number`.
    public func utf8(_ number: UInt32) -> ArraySlice<UInt8> {
        let index = Int(number)
        return bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
    }

    /// Returns whether name `number` consists of these bytes. O(length).
    @inline(__always)
    func equals(_ number: UInt32, _ start: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        let index = Int(number)
        let from = index == 0 ? 0 : ends[index - 1]
        guard ends[index] - from == length else { return false }
        return bytes.withUnsafeBytes { all in
            guard let own = all.baseAddress.map({ $0 + from }) else { return true }
            let other = UnsafeRawPointer(start)
            var offset = 0
            while offset + 8 <= length {
                let word = own.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                if word != other.loadUnaligned(fromByteOffset: offset, as: UInt64.self) { return false }
                offset += 8
            }
            while offset < length {
                let byte = own.load(fromByteOffset: offset, as: UInt8.self)
                if byte != other.load(fromByteOffset: offset, as: UInt8.self) { return false }
                offset += 1
            }
            return true
        }
    }

    /// Name `number`. Bytes that are not UTF-8 appear as `\xE9`, so different names stay different.
    public subscript(number: UInt32) -> String {
        let utf8 = utf8(number)
        if let name = String(validating: utf8, as: UTF8.self) { return name }
        var (name, parser, bytes) = ("", Unicode.UTF8.ForwardParser(), utf8.makeIterator())
        var place = utf8.startIndex
        while true {
            switch parser.parseScalar(from: &bytes) {
            case .emptyInput: return name
            case .valid(let scalar):
                name.unicodeScalars.append(Unicode.UTF8.decode(scalar))
                place += scalar.count
            case .error(let length):
                for byte in utf8[place..<place + length] {
                    name += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
                }
                place += length
            }
        }
    }

    /// The number of heap bytes that the table holds.
    package var byteCount: Int { bytes.count + ends.count * 8 }
}
