import Foundation

/// Bytes of a file that nobody trusts: every read says whether it was inside.
///
/// Valid as long as the bytes under it are; never leaves the call that made it.
struct ByteView {
    private let base: UnsafeRawBufferPointer

    init(_ base: UnsafeRawBufferPointer) { self.base = base }

    var count: Int { base.count }

    /// The address for a C function; never of no bytes.
    var pointer: UnsafePointer<UInt8>? { base.baseAddress?.assumingMemoryBound(to: UInt8.self) }

    /// A copy of the bytes.
    var bytes: [UInt8] { [UInt8](base) }

    /// A byte; `nil` outside.
    subscript(at: Int) -> UInt8? {
        // One comparison: a negative index is a large unsigned one.
        UInt(bitPattern: at) < UInt(bitPattern: base.count) ? base[at] : nil
    }

    /// `length` bytes from `start`; `nil` if not all of them are there.
    func slice(_ start: Int, _ length: Int) -> ByteView? {
        guard start >= 0, length >= 0, start <= count, length <= count - start else { return nil }
        return ByteView(UnsafeRawBufferPointer(rebasing: base[start..<start + length]))
    }

    /// The place of a byte at or after `start`; `nil` if there is none.
    func first(_ byte: UInt8, from start: Int) -> Int? {
        guard start >= 0, start < count, let address = base.baseAddress,
            let found = memchr(address + start, Int32(byte), count - start)
        else { return nil }
        return UnsafeRawPointer(found) - address
    }

    func holds(_ expected: some Collection<UInt8>, at start: Int) -> Bool {
        slice(start, expected.count)?.base.elementsEqual(expected) ?? false
    }

    func starts(with expected: some Collection<UInt8>) -> Bool { holds(expected, at: 0) }

    /// `bytes` bytes (1 to 4) as a number, the most significant first.
    func big(_ at: Int, _ bytes: Int) -> Int? {
        guard let slice = slice(at, bytes) else { return nil }
        return slice.base.reduce(0) { $0 << 8 | Int($1) }
    }

    /// `bytes` bytes (1 to 4) as a number, the least significant first.
    func little(_ at: Int, _ bytes: Int) -> Int? {
        guard let slice = slice(at, bytes) else { return nil }
        return slice.base.reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
