/// A small deterministic generator: the same seed gives the same numbers on every machine.
///
/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). O(1), 8 bytes of state.
@frozen
public struct SplitMix64: RandomNumberGenerator, Sendable {
    @usableFromInline var state: UInt64

    /// A generator that starts from `seed`.
    @inlinable
    public init(seed: UInt64) { state = seed }

    /// The next 64 random bits.
    @inlinable
    @inline(__always)
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return SplitMix64.mix(state)
    }

    /// A number from 0 up to, not including, `bound`; `bound` is positive. The bias is below `bound` / 2³².
    @inlinable
    @inline(__always)
    public mutating func next(below bound: Int) -> Int {
        Int(truncatingIfNeeded: ((next() >> 32) &* UInt64(truncatingIfNeeded: bound)) >> 32)
    }

    /// A number from 0 up to, not including, 1.
    @inlinable
    @inline(__always)
    public mutating func nextUnit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Scatters the bits of a number, for hashing it.
    @inlinable
    @inline(__always)
    public static func mix(_ value: UInt64) -> UInt64 {
        var z = value
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
