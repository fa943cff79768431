/// Elementary functions with the same bits on every processor and with every C library.
///
/// The last bits of a C library's `exp` or `log` differ between libraries, and glibc's even between processors,
/// because it chooses code with fused multiplications where the processor has them. One bit is enough for another
/// trace or another victim. IEEE 754 fixes the results of additions, multiplications, divisions and square roots, and
/// Swift does not fuse them. These functions consist of nothing else, so they return the same bits everywhere.
///
/// Errors are stated in units in the last place (ulps) of the exact result, or relative to it.
package enum PortableMath {
    private static let ln2High = 0x1.62e42feep-1
    private static let ln2Low = 0x1.a39ef35793c76p-33

    /// Returns the natural logarithm, within 3 ulps: -∞ for 0, not a number below 0. Subnormal arguments are accepted.
    package static func ln(_ x: Double) -> Double {
        guard x > 0, x < .infinity else { return x == 0 ? -.infinity : x < 0 ? .nan : x }
        var mantissa = x.significand
        var exponent = Double(x.exponent)
        if mantissa > 1.4142135623730951 {
            mantissa *= 0.5
            exponent += 1
        }
        // ln m = 2 artanh((m - 1) / (m + 1)), of which |argument| < 0.172.
        return exponent * ln2High + (exponent * ln2Low + twiceArtanh((mantissa - 1) / (mantissa + 1)))
    }

    /// Returns ln(1 + x), within 3 ulps also where x is small: -∞ for -1, not a number below -1.
    package static func log1p(_ x: Double) -> Double {
        guard x > -0.29, x < 0.41 else { return ln(1 + x) }
        // The next term, x² / 2, is below half a unit in the last place.
        return abs(x) < 0x1p-54 ? x : twiceArtanh(x / (2 + x))
    }

    /// Returns the logarithm to base 10, within 4 ulps: -∞ for 0, not a number below 0.
    ///
    /// That of a power of ten need not be a whole number.
    package static func log10(_ x: Double) -> Double { ln(x) * 0.4342944819032518 }

    /// Returns eˣ, within 1.2 ulps for -700...700. The result is 0 below -700 and infinite above 700.
    ///
    /// The bits of generated traces depend on this order of operations, so it cannot change. ``fastExp(_:)`` needs a
    /// quarter of the time, because here each of ten divisions waits for the one before.
    package static func exp(_ x: Double) -> Double {
        guard x <= 700 else { return x.isNaN ? x : .infinity }
        if x < -700 { return 0 }
        let (power, rest) = reduced(x)
        // The Taylor series in Horner's form. Constant divisors let the compiler multiply where they are powers of
        // two.
        var sum = 1 + rest / 14
        sum = 1 + sum * rest / 13
        sum = 1 + sum * rest / 12
        sum = 1 + sum * rest / 11
        sum = 1 + sum * rest / 10
        sum = 1 + sum * rest / 9
        sum = 1 + sum * rest / 8
        sum = 1 + sum * rest / 7
        sum = 1 + sum * rest / 6
        sum = 1 + sum * rest / 5
        sum = 1 + sum * rest / 4
        sum = 1 + sum * rest / 3
        sum = 1 + sum * rest / 2
        sum = 1 + sum * rest
        return power * sum
    }

    /// Returns eˣ as ``exp(_:)`` does, within 1.2 ulps and in less time, but with other last bits.
    package static func fastExp(_ x: Double) -> Double {
        guard x <= 700 else { return x.isNaN ? x : .infinity }
        if x < -700 { return 0 }
        let (power, rest) = reduced(x)
        // The Taylor series in Estrin's form, whose parts do not wait for each other.
        let square = rest * rest
        let fourth = square * square
        let low = (1 / 2.0 + rest * (1 / 6.0)) + (1 / 24.0 + rest * (1 / 120.0)) * square
        let middle = (1 / 720.0 + rest * (1 / 5_040.0)) + (1 / 40_320.0 + rest * (1 / 362_880.0)) * square
        let high =
            (1 / 3_628_800.0 + rest * (1 / 39_916_800.0))
            + (1 / 479_001_600.0 + rest * (1 / 6_227_020_800.0)) * square
        return power * (1 + (rest + square * (low + fourth * (middle + fourth * high))))
    }

    /// Returns `base` raised to `exponent`; not a number for a negative base. The limits of ``exp(_:)`` apply: 0 below
    /// e⁻⁷⁰⁰, infinite above e⁷⁰⁰.
    ///
    /// The relative error is at most 4 · 10⁻¹⁶ · (1 + |ln result|).
    package static func pow(_ base: Double, _ exponent: Double) -> Double {
        exponent == 0 || base == 1 ? 1 : exp(exponent * ln(base))
    }

    /// Returns the cube root, within 1 ulp. The root of a cube of a whole number up to 200,000 is that number.
    package static func cbrt(_ x: Double) -> Double {
        guard x != 0, x.isFinite else { return x }
        let size = x.magnitude
        let estimate = exp(ln(size) / 3)
        // One of Newton's steps, in the form that cannot overflow.
        let root = estimate - (estimate - size / (estimate * estimate)) / 3
        return x < 0 ? -root : root
    }

    /// Returns the complementary error function, (2/√π) ∫ₓ^∞ e^(-t²) dt, with a relative error of at most 10⁻¹⁴ up to
    /// 26.
    ///
    /// Above 26 the result may be 0, as ``exp(_:)`` is below -700. Below 1.25 the result is 1 - erf x by the series of
    /// positive terms (DLMF 7.6.2). From there on it is the continued fraction (DLMF 7.9.1 after an equivalence
    /// transformation), evaluated backwards from the 150th quotient.
    package static func erfc(_ x: Double) -> Double {
        guard x >= 0 else { return x.isNaN ? x : 2 - erfc(-x) }
        let rootOfPi = 1.7724538509055159
        if x < 1.25 {
            let twiceSquare = 2 * x * x
            var sum = 1.0
            var odd = 51.0
            while odd >= 3 {
                sum = 1 + sum * twiceSquare / odd
                odd -= 2
            }
            return 1 - exp(-x * x) * 2 * x * sum / rootOfPi
        }
        if x > 27 { return 0 }
        var fraction = x
        var numerator = 75.0
        while numerator > 0 {
            fraction = x + numerator / fraction
            numerator -= 0.5
        }
        // x² has twice the digits, and exp needs them all: Cody's splitting (Rational Chebyshev approximations for the
        // error function, 1969) into a square that is exact and a small rest.
        let sixteenths = (x * 16).rounded(.towardZero) / 16
        let power = exp(-sixteenths * sixteenths) * exp(-(x - sixteenths) * (x + sixteenths))
        return power / (fraction * rootOfPi)
    }

    /// Returns the power of two next to eˣ and the logarithm of their quotient, for x in -700...700.
    @inline(__always)
    private static func reduced(_ x: Double) -> (power: Double, rest: Double) {
        // Adding 1.5 · 2⁵² rounds to the nearest whole number, halves to the even one.
        let octaves = (x * 1.4426950408889634 + 0x1.8p52) - 0x1.8p52
        let rest = (x - octaves * ln2High) - octaves * ln2Low
        return (Double(bitPattern: UInt64(1023 + Int(octaves)) << 52), rest)
    }

    /// Returns 2 artanh s for |s| < 0.18, by its Taylor series.
    private static func twiceArtanh(_ s: Double) -> Double {
        let square = s * s
        var sum = 1 / 25.0
        sum = sum * square + 1 / 23.0
        sum = sum * square + 1 / 21.0
        sum = sum * square + 1 / 19.0
        sum = sum * square + 1 / 17.0
        sum = sum * square + 1 / 15.0
        sum = sum * square + 1 / 13.0
        sum = sum * square + 1 / 11.0
        sum = sum * square + 1 / 9.0
        sum = sum * square + 1 / 7.0
        sum = sum * square + 1 / 5.0
        sum = sum * square + 1 / 3.0
        sum = sum * square + 1
        return 2 * s * sum
    }
}
