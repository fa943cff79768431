/// The random number generator for decisions: victims of `random`, samples of `learned`, initial weights.
///
/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). The same seed
/// gives the same numbers on every machine. It has 8 bytes of state, and a number takes O(1) time: it is called inside
/// the loops of policies. Use ``SeededGenerator`` to generate data and to resample it. The two produce different
/// numbers, and exact results depend on both, so neither can replace the other.
@frozen
public struct SplitMix64: RandomNumberGenerator, Sendable {
    @usableFromInline var state: UInt64

    /// Creates a generator that starts from `seed`.
    @inlinable
    public init(seed: UInt64) { state = seed }

    /// Returns the next 64 random bits.
    @inlinable
    @inline(__always)
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return SplitMix64.mix(state)
    }

    /// Returns a number from 0 up to, not including, `bound`, which is positive. The bias is below `bound` / 2³².
    @inlinable
    @inline(__always)
    public mutating func next(below bound: Int) -> Int {
        Int(truncatingIfNeeded: ((next() >> 32) &* UInt64(truncatingIfNeeded: bound)) >> 32)
    }

    /// Returns a number from 0 up to, not including, 1.
    @inlinable
    @inline(__always)
    public mutating func nextUnit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Returns a hash of `value`: a bijection of 64 bits in which every input bit affects every output bit.
    @inlinable
    @inline(__always)
    public static func mix(_ value: UInt64) -> UInt64 {
        var z = value
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
