/// The random number generator for data: synthetic traces, drawn sizes, bootstrap resamples, permuted labels.
///
/// xoshiro256** (Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 2021), with its state
/// filled by ``SplitMix64``, as its authors advise. The sequence depends on the seed alone, on every platform and in
/// every release. The standard library does not promise how it turns random bits into ranges and fractions, so this
/// type does both itself: ``unit()``, ``below(_:)`` and ``chance(_:)``. Its streams make the draws of one seed
/// independent, and ``below(_:)`` has no bias; ``SplitMix64`` has neither property and is faster. 32 bytes; O(1) a
/// number; not cryptographic.
@frozen
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    @usableFromInline var s0: UInt64
    @usableFromInline var s1: UInt64
    @usableFromInline var s2: UInt64
    @usableFromInline var s3: UInt64

    /// Creates the generator of `seed`; different streams of one seed are independent of each other.
    ///
    /// A model gives each of its concerns a stream, so that changing one parameter does not change the draws of
    /// others.
    public init(seed: UInt64, stream: UInt64 = 0) {
        let start = stream == 0 ? seed : SplitMix64.mix(seed) ^ SplitMix64.mix(stream &* 0x9E37_79B9_7F4A_7C15)
        var filler = SplitMix64(seed: start)
        s0 = filler.next()
        s1 = filler.next()
        s2 = filler.next()
        s3 = filler.next()
    }

    /// Returns the next 64 random bits.
    @inlinable
    public mutating func next() -> UInt64 {
        let five = s1 &* 5
        let result = ((five << 7) | (five >> 57)) &* 9
        let shifted = s1 << 17
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= shifted
        s3 = (s3 << 45) | (s3 >> 19)
        return result
    }

    /// Returns a number in 0 ..< 1, a multiple of 2⁻⁵³.
    @inlinable
    public mutating func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// Returns a whole number in 0 ..< `bound`, each equally likely (Lemire's multiplication with rejection).
    ///
    /// `bound` must be positive.
    @inlinable
    public mutating func below(_ bound: Int) -> Int {
        let range = UInt64(bound)
        var product = next().multipliedFullWidth(by: range)
        if product.low < range {
            let threshold = (0 &- range) % range
            while product.low < threshold { product = next().multipliedFullWidth(by: range) }
        }
        return Int(product.high)
    }

    /// Returns `true` with this probability. Draws a number even if the probability is 0 or 1.
    @inlinable
    public mutating func chance(_ probability: Double) -> Bool {
        unit() < probability
    }
}

extension PortableMath {
    /// Returns a draw from the standard normal distribution (Marsaglia's polar method).
    package static func normal(using random: inout SeededGenerator) -> Double {
        while true {
            let u = 2 * random.unit() - 1
            let v = 2 * random.unit() - 1
            let s = u * u + v * v
            if s < 1 && s > 1e-300 { return u * (-2 * ln(s) / s).squareRoot() }
        }
    }
}
