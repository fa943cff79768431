/// Writes the state of a cache as bits, so that a cache that is not in use takes a fraction of its memory.
///
/// A column of numbers takes as many bits a number as the difference between its largest and its smallest needs. The
/// largest number of a type counts as one less than 0, because it stands for no value in most columns
/// (`EntryID.none`).
///
/// A ``StateUnpacker`` reads the same values in the same order. The bits are for the process that wrote them: they have
/// no version and are no file format. O(bits).
public struct StatePacker {
    private var words: [UInt64] = []
    /// The bits that do not fill a word yet, and their number.
    private var rest: UInt64 = 0
    private var restCount: UInt64 = 0

    /// Creates an empty packer.
    public init() {}

    /// Writes the lowest `count` bits of a number whose other bits are 0, at most 64.
    @usableFromInline
    mutating func write(_ value: UInt64, bits count: UInt64) {
        if count == 0 { return }
        rest |= value &<< restCount
        let total = restCount &+ count
        if total >= 64 {
            words.append(rest.littleEndian)
            rest = restCount == 0 ? 0 : value &>> (64 &- restCount)
        }
        restCount = total & 63
    }

    /// Writes a whole number: 7 bits, and those up to its highest set bit.
    public mutating func write(_ value: some FixedWidthInteger) {
        let value = UInt64(truncatingIfNeeded: value)
        let length = UInt64(64 - value.leadingZeroBitCount)
        write(length, bits: 7)
        write(value, bits: length)
    }

    /// Writes a number exactly. Small whole numbers take few bits.
    public mutating func write(_ value: Double) { write(value.bitPattern.byteSwapped) }

    /// Writes a number exactly.
    public mutating func write(_ value: Float) { write(UInt64(value.bitPattern), bits: 32) }

    /// Writes a truth value.
    public mutating func write(_ value: Bool) { write(UInt64(value ? 1 : 0), bits: 1) }

    /// Writes `count` values that consist of whole numbers, each field as a column.
    ///
    /// - Parameter fields: the bytes of each field (1, 2, 4 or 8) in the order of memory, without gaps.
    public mutating func write<Element: BitwiseCopyable>(
        _ elements: UnsafePointer<Element>, count: Int, fields: [Int]
    ) {
        precondition(fields.reduce(0, +) == MemoryLayout<Element>.stride, "fields of another type")
        var field = UnsafeRawPointer(elements)
        for size in fields {
            switch size {
            case 1: write(column: field, of: UInt8.self, count: count, stride: MemoryLayout<Element>.stride)
            case 2: write(column: field, of: UInt16.self, count: count, stride: MemoryLayout<Element>.stride)
            case 4: write(column: field, of: UInt32.self, count: count, stride: MemoryLayout<Element>.stride)
            default: write(column: field, of: UInt64.self, count: count, stride: MemoryLayout<Element>.stride)
            }
            field += size
        }
    }

    /// Writes `count` rows of `width` bytes, each byte of a row as a column.
    public mutating func write(rows: UnsafePointer<UInt8>, count: Int, width: Int) {
        for index in 0..<width {
            write(column: UnsafeRawPointer(rows + index), of: UInt8.self, count: count, stride: width)
        }
    }

    private mutating func write<Value: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        column first: UnsafeRawPointer, of type: Value.Type, count: Int, stride: Int
    ) {
        if count == 0 { return }
        var (least, most) = (Value.max, Value.min)
        var place = first
        for _ in 0..<count {
            let value = place.load(as: Value.self) &+ 1
            least = min(least, value)
            most = max(most, value)
            place += stride
        }
        let width = UInt64(Value.bitWidth - (most - least).leadingZeroBitCount)
        if Value.bitWidth == 8 {
            write(width, bits: 4)
            write(UInt64(truncatingIfNeeded: least), bits: 8)
        } else {
            write(width, bits: 7)
            write(least)
        }
        if width == 0 { return }
        place = first
        var (rest, restCount) = (rest, restCount)
        for _ in 0..<count {
            let value = UInt64(truncatingIfNeeded: place.load(as: Value.self) &+ 1 &- least)
            place += stride
            rest |= value &<< restCount
            restCount &+= width
            if restCount < 64 { continue }
            words.append(rest.littleEndian)
            restCount &-= 64
            rest = restCount == 0 ? 0 : value &>> (width &- restCount)
        }
        (self.rest, self.restCount) = (rest, restCount)
    }

    /// Returns the bits as bytes, and empties the packer.
    public mutating func finish() -> [UInt8] {
        let tail = Int(restCount + 7) / 8
        let count = words.count * 8 + tail
        words.append(rest.littleEndian)
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            words.withUnsafeBytes { bits in
                if let from = bits.baseAddress, let to = buffer.baseAddress {
                    UnsafeMutableRawPointer(to).copyMemory(from: from, byteCount: count)
                }
            }
            initialized = count
        }
        words.removeAll(keepingCapacity: true)
        (rest, restCount) = (0, 0)
        return bytes
    }
}

/// Reads what a ``StatePacker`` wrote, in the same order.
public struct StateUnpacker {
    private let bytes: [UInt8]
    private var position = 0

    /// Creates a reader of packed bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads at most 64 bits.
    @usableFromInline
    mutating func read(bits count: UInt64) -> UInt64 {
        if count == 0 { return 0 }
        let (first, shift) = (position >> 3, UInt64(position & 7))
        position += Int(count)
        precondition(position <= bytes.count * 8, "packed by another type")
        var value: UInt64 = 0
        bytes.withUnsafeBufferPointer { bytes in
            if first + 8 <= bytes.count, let base = bytes.baseAddress {
                value =
                    UInt64(
                        littleEndian: UnsafeRawPointer(base + first).loadUnaligned(as: UInt64.self)) &>> shift
            } else {
                for index in first..<min(first + 8, bytes.count) {
                    value |= UInt64(bytes[index]) &<< UInt64((index - first) * 8)
                }
                value = value &>> shift
            }
            if shift + count > 64 { value |= UInt64(bytes[first + 8]) &<< (64 - shift) }
        }
        return count == 64 ? value : value & (1 &<< count &- 1)
    }

    /// Reads a whole number.
    public mutating func read<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) -> Value {
        Value(truncatingIfNeeded: read(bits: read(bits: 7)))
    }

    /// Reads a number.
    public mutating func read(_ type: Double.Type = Double.self) -> Double {
        Double(bitPattern: read(UInt64.self).byteSwapped)
    }

    /// Reads a number.
    public mutating func read(_ type: Float.Type = Float.self) -> Float {
        Float(bitPattern: UInt32(truncatingIfNeeded: read(bits: 32)))
    }

    /// Reads a truth value.
    public mutating func read(_ type: Bool.Type = Bool.self) -> Bool { read(bits: 1) == 1 }

    /// Reads `count` values into memory that is initialised.
    ///
    /// - Parameter fields: as they were written.
    public mutating func read<Element: BitwiseCopyable>(
        into elements: UnsafeMutablePointer<Element>, count: Int, fields: [Int]
    ) {
        precondition(fields.reduce(0, +) == MemoryLayout<Element>.stride, "fields of another type")
        var field = UnsafeMutableRawPointer(elements)
        for size in fields {
            switch size {
            case 1: read(column: field, of: UInt8.self, count: count, stride: MemoryLayout<Element>.stride)
            case 2: read(column: field, of: UInt16.self, count: count, stride: MemoryLayout<Element>.stride)
            case 4: read(column: field, of: UInt32.self, count: count, stride: MemoryLayout<Element>.stride)
            default: read(column: field, of: UInt64.self, count: count, stride: MemoryLayout<Element>.stride)
            }
            field += size
        }
    }

    /// Reads `count` rows of `width` bytes.
    public mutating func read(rows: UnsafeMutablePointer<UInt8>, count: Int, width: Int) {
        for index in 0..<width {
            read(column: UnsafeMutableRawPointer(rows + index), of: UInt8.self, count: count, stride: width)
        }
    }

    private mutating func read<Value: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        column first: UnsafeMutableRawPointer, of type: Value.Type, count: Int, stride: Int
    ) {
        if count == 0 { return }
        let width = read(bits: Value.bitWidth == 8 ? 4 : 7)
        let least = Value.bitWidth == 8 ? Value(truncatingIfNeeded: read(bits: 8)) : read(Value.self)
        var place = first
        // Eight bytes hold any number of at most 57 bits, wherever it begins in the first.
        let quick = width <= 57 ? min(count, max(0, (bytes.count * 8 - 64 - position) / max(Int(width), 1))) : 0
        let (mask, start) = (UInt64(1) &<< width &- 1, position)
        bytes.withUnsafeBytes { bytes in
            var position = start
            for _ in 0..<quick {
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position &>> 3, as: UInt64.self))
                let value = Value(truncatingIfNeeded: word &>> UInt64(position & 7) & mask)
                place.storeBytes(of: least &+ value &- 1, as: Value.self)
                place += stride
                position &+= Int(width)
            }
        }
        position += quick * Int(width)
        for _ in quick..<count {
            place.storeBytes(
                of: least &+ Value(truncatingIfNeeded: read(bits: width)) &- 1, as: Value.self)
            place += stride
        }
    }
}

extension SlotArray {
    /// Writes all slots, each a whole number, or a structure of some.
    package func pack(into packer: inout StatePacker, fields: [Int]) {
        packer.write(limit)
        packer.write(memory + 1, count: limit, fields: fields)
    }

    /// Replaces all slots by those that were written.
    package mutating func unpack(from unpacker: inout StateUnpacker, fields: [Int]) {
        self = SlotArray(repeating: fill, capacity: unpacker.read())
        unpacker.read(into: memory + 1, count: limit, fields: fields)
    }
}
