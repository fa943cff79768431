/// A hash of a key's bytes, eight at a step by folded multiplication, as in wyhash (Wang Yi, 2019): the two halves of a
/// 128-bit product, one upon the other.
///
/// Each has random seeds of its own, so that nobody who chooses keys can foresee which collide; not cryptographic. O(bytes), a
/// third of the instructions of the standard library's `Hasher` for addresses as long as those of images.
struct KeyHash {
    private let first = UInt64.random(in: .min ... .max)
    private let second = UInt64.random(in: .min ... .max) | 1

    /// The hash of a key as it is encoded in UTF-8.
    func hash(_ key: String) -> UInt32 {
        if let hash = key.utf8.withContiguousStorageIfAvailable({ hash(UnsafeRawBufferPointer($0)) }) { return hash }
        return Array(key.utf8).withUnsafeBytes { hash($0) }
    }

    private func hash(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        let count = bytes.count
        var state = first ^ UInt64(count) &* 0x9e37_79b9_7f4a_7c15
        var place = 0
        while place &+ 8 < count {
            state = fold(state ^ bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self), second)
            place &+= 8
        }
        // The last eight, some of them a second time where the length is no multiple of eight.
        var rest: UInt64 = 0
        if count >= 8 {
            rest = bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
        } else {
            for byte in bytes { rest = rest &<< 8 | UInt64(byte) }
        }
        state = fold(state ^ rest, second)
        return UInt32(truncatingIfNeeded: fold(state ^ second, 0xa076_1d64_78bd_642f))
    }

    private func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
