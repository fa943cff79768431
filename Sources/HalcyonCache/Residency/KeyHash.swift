/// A hash of a key's bytes, sixteen at a step by folded multiplication, as in wyhash (Wang Yi, 2019): the two halves of a
/// 128-bit product, one upon the other.
///
/// Each has random seeds of its own, so that nobody who chooses keys can foresee which collide; not cryptographic. O(bytes), a
/// fifth of the instructions of the standard library's `Hasher` for addresses as long as those of images.
package struct KeyHash {
    private let first = UInt64.random(in: .min ... .max)
    private let second = UInt64.random(in: .min ... .max) | 1

    /// Calls `body` with a key's bytes in UTF-8, and their hash. They are there until it returns.
    @inline(__always)
    package func withHashed<Result>(_ key: String, _ body: (HashedKey) -> Result) -> Result {
        withHashedAtOnce(key, body) ?? withCopied(key, body)
    }

    /// The same, but `nil` for a string that lies in memory in another way. Where `body` is small and this is called with it once,
    /// it is compiled into the caller, and nothing that it captures is retained.
    @inline(__always)
    package func withHashedAtOnce<Result>(_ key: String, _ body: (HashedKey) -> Result) -> Result? {
        key.utf8.withContiguousStorageIfAvailable { body(HashedKey(bytes: $0, hash: hash($0))) }
    }

    /// The same for a string that another language made and keeps in an encoding of its own.
    @inline(never)
    private func withCopied<Result>(_ key: String, _ body: (HashedKey) -> Result) -> Result {
        Array(key.utf8).withUnsafeBufferPointer { body(HashedKey(bytes: $0, hash: hash($0))) }
    }

    /// The hash of a key as it is encoded in UTF-8.
    package func hash(_ key: String) -> UInt32 { withHashed(key) { $0.hash } }

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
        // The last sixteen, some of them a second time where the length is no multiple of sixteen.
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

    /// Eight bytes from a place on, all of which are among `bytes`.
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

/// The bytes of a key and their hash, made before a lock is taken; there while ``KeyHash/withHashed(_:_:)`` lasts.
///
/// Sendable without the compiler's proof, because what runs under a `Mutex` may take in nothing else: nobody writes to the bytes,
/// which are a view of an immutable string, and that work ends, on the thread that began it, before the string is let go. Nothing
/// stores one of these or hands it to a task.
package struct HashedKey: @unchecked Sendable {
    package let bytes: UnsafeBufferPointer<UInt8>
    package let hash: UInt32
}
