import Foundation

/// A view of the bytes of an untrusted file. Every read checks its bounds.
///
/// It is valid as long as the underlying bytes are, and must not leave the call that made it.
package struct ByteView {
    @usableFromInline let base: UnsafeRawBufferPointer

    @inlinable package init(_ base: UnsafeRawBufferPointer) { self.base = base }

    @inlinable package var count: Int { base.count }

    /// The address for a C function.
    package var pointer: UnsafePointer<UInt8>? { base.baseAddress?.assumingMemoryBound(to: UInt8.self) }

    /// A copy of the bytes.
    package var bytes: [UInt8] { [UInt8](base) }

    /// The byte at an offset; `nil` if it is out of bounds.
    @inlinable package subscript(at: Int) -> UInt8? {
        // One comparison: a negative index is a large unsigned one.
        UInt(bitPattern: at) < UInt(bitPattern: base.count) ? base[at] : nil
    }

    /// Returns `length` bytes from `start`; `nil` if they are out of bounds.
    package func slice(_ start: Int, _ length: Int) -> ByteView? {
        guard start >= 0, length >= 0, start <= count, length <= count - start else { return nil }
        return ByteView(UnsafeRawBufferPointer(rebasing: base[start..<start + length]))
    }

    /// Returns the offset of the first byte of a value at or after `start`; `nil` if there is none.
    package func first(_ byte: UInt8, from start: Int) -> Int? {
        guard start >= 0, start < count, let address = base.baseAddress,
            let found = memchr(address + start, Int32(byte), count - start)
        else { return nil }
        return UnsafeRawPointer(found) - address
    }

    package func holds(_ expected: some Collection<UInt8>, at start: Int) -> Bool {
        slice(start, expected.count)?.base.elementsEqual(expected) ?? false
    }

    package func starts(with expected: some Collection<UInt8>) -> Bool { holds(expected, at: 0) }

    /// Reads `bytes` bytes (1 to 4) as a big-endian number.
    package func big(_ at: Int, _ bytes: Int) -> Int? {
        guard let slice = slice(at, bytes) else { return nil }
        return slice.base.reduce(0) { $0 << 8 | Int($1) }
    }

    /// Reads `bytes` bytes (1 to 4) as a little-endian number.
    package func little(_ at: Int, _ bytes: Int) -> Int? {
        guard let slice = slice(at, bytes) else { return nil }
        return slice.base.reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
