import HalcyonSupport

/// A random number generator whose sequence depends on its seed alone, on every platform and in every release.
///
/// xoshiro256** (Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 2021), its state
/// filled by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), as its authors advise. The standard library does not
/// promise how it turns random bits into ranges and fractions, so this type has its own ways to do both:
/// ``unit()``, ``below(_:)`` and ``chance(_:)``. 32 bytes; O(1) a number; not for cryptography.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var s0: UInt64
    private var s1: UInt64
    private var s2: UInt64
    private var s3: UInt64

    /// The generator of `seed`; different streams of one seed are independent of each other.
    ///
    /// A model gives each of its concerns a stream, so that turning one knob leaves the draws of the others alone.
    public init(seed: UInt64, stream: UInt64 = 0) {
        var state = SeededGenerator.mix(seed) ^ SeededGenerator.mix(stream &* 0x9E37_79B9_7F4A_7C15)
        if stream == 0 { state = seed }
        func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            return SeededGenerator.mix(state)
        }
        s0 = next()
        s1 = next()
        s2 = next()
        s3 = next()
    }

    /// SplitMix64's finalizer: a bijection of 64 bits in which every bit of the input moves every bit of the output.
    @inlinable
    public static func mix(_ value: UInt64) -> UInt64 {
        var z = value
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// The next 64 random bits.
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

    /// A number in 0 ..< 1, a multiple of 2⁻⁵³.
    public mutating func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// A whole number in 0 ..< `bound`, each equally likely (Lemire's multiplication with rejection).
    ///
    /// `bound` must be positive.
    public mutating func below(_ bound: Int) -> Int {
        let range = UInt64(bound)
        var product = next().multipliedFullWidth(by: range)
        if product.low < range {
            let threshold = (0 &- range) % range
            while product.low < threshold { product = next().multipliedFullWidth(by: range) }
        }
        return Int(product.high)
    }

    /// True with this probability. Draws a number even where the answer is certain.
    public mutating func chance(_ probability: Double) -> Bool {
        unit() < probability
    }
}

extension PortableMath {
    /// Returns a draw from the standard normal distribution (Marsaglia's polar method).
    static func normal(using random: inout SeededGenerator) -> Double {
        while true {
            let u = 2 * random.unit() - 1
            let v = 2 * random.unit() - 1
            let s = u * u + v * v
            if s < 1 && s > 1e-300 { return u * (-2 * ln(s) / s).squareRoot() }
        }
    }
}
