/// Returns a mix of two words: the halves of their 128-bit product, combined by XOR.
@inline(__always)
func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.high ^ product.low
}

/// Returns a 64-bit hash of a number, equal in every run and on every machine.
@inline(__always)
func hashNumber(_ value: UInt64) -> UInt64 { mix(value ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db) }

/// Returns a 64-bit hash of bytes, equal in every run and on every machine; not cryptographic.
///
/// Multiplies and folds eight bytes at a time, as wyhash does. O(length).
@inline(__always)
func hashBytes(_ start: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
    var state = mix(UInt64(truncatingIfNeeded: count) ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db)
    let raw = UnsafeRawPointer(start)
    var offset = 0
    while offset + 8 <= count {
        let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        state = mix(state ^ word, 0x8ebc_6af0_9c88_c6e3)
        offset += 8
    }
    var tail: UInt64 = 0
    var shift: UInt64 = 0
    while offset < count {
        tail |= UInt64(start[offset]) &<< shift
        shift += 8
        offset += 1
    }
    return mix(state ^ tail, 0x5895_65f3_3ad9_2d1b)
}
