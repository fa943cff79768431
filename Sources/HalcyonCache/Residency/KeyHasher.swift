/// A hash function for keys, which processes 16 bytes a step by folded multiplication, as wyhash does (Wang Yi,
/// 2019): it combines the halves of a 128-bit product by XOR.
///
/// Each instance has its own random seeds, so that an attacker who chooses keys cannot predict collisions. It is not
/// cryptographic. O(bytes). For keys of the length of image URLs it takes a fifth of the instructions of the standard
/// library's `Hasher`.
package struct KeyHasher {
    private let first = UInt64.random(in: .min ... .max)
    private let second = UInt64.random(in: .min ... .max) | 1

    /// Calls `body` with a key's UTF-8 bytes and their hash, which are valid until `body` returns.
    @inline(__always)
    package func withHashed<Result>(_ key: String, _ body: (HashedKey) -> Result) -> Result {
        withHashedAtOnce(key, body) ?? withCopied(key, body)
    }

    /// Like ``withHashed(_:_:)``, but returns `nil` for a string without contiguous UTF-8. If `body` is small and the
    /// caller contains one such call, the call is inlined and its captures are not retained.
    @inline(__always)
    package func withHashedAtOnce<Result>(_ key: String, _ body: (HashedKey) -> Result) -> Result? {
        key.utf8.withContiguousStorageIfAvailable { body(HashedKey(bytes: $0, hash: hash($0))) }
    }

    /// The slow path for bridged strings in another encoding.
    @inline(never)
    private func withCopied<Result>(_ key: String, _ body: (HashedKey) -> Result) -> Result {
        Array(key.utf8).withUnsafeBufferPointer { body(HashedKey(bytes: $0, hash: hash($0))) }
    }

    @inline(__always)
    private func hash(_ key: UnsafeBufferPointer<UInt8>) -> UInt32 {
        let bytes = UnsafeRawBufferPointer(key)
        let count = bytes.count
        var state = first ^ UInt64(count) &* 0x9e37_79b9_7f4a_7c15
        var place = 0
        while place &+ 16 < count {
            state = fold(word(bytes, place) ^ second, word(bytes, place &+ 8) ^ state)
            place &+= 16
        }
        // The last 16 bytes. They overlap the bytes before if the length is not a multiple of 16.
        var (left, right): (UInt64, UInt64) = (0, 0)
        if count >= 16 {
            (left, right) = (word(bytes, count &- 16), word(bytes, count &- 8))
        } else if count >= 8 {
            (left, right) = (word(bytes, 0), word(bytes, count &- 8))
        } else {
            for byte in bytes { left = left &<< 8 | UInt64(byte) }
        }
        state = fold(left ^ second, right ^ state)
        return UInt32(truncatingIfNeeded: fold(state ^ second, 0xa076_1d64_78bd_642f))
    }

    /// Loads eight bytes at an offset, all of which must be in `bytes`.
    @inline(__always)
    private func word(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
    }

    @inline(__always)
    private func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

/// The bytes of a key and their hash, computed before a lock is taken. It is valid during
/// ``KeyHasher/withHashed(_:_:)`` only.
///
/// Why this is Sendable without the compiler's proof: the body of a `Mutex` may capture only Sendable values. The
/// bytes are a view of an immutable string, so no thread writes to them. The body runs on the calling thread and ends
/// before the string is released. No code stores a value of this type or passes it to a task.
package struct HashedKey: @unchecked Sendable {
    package let bytes: UnsafeBufferPointer<UInt8>
    package let hash: UInt32
}
