/// Logarithm, exponential and power from additions, multiplications and divisions only.
///
/// The last bit of a C library's `log`, `exp` and `pow` differs between platforms, and one bit is enough for another
/// trace. IEEE 754 fixes the result of the basic operations, and Swift does not fuse them, so these give the
/// same bits everywhere. Their error is a few units in the last place.
enum PortableMath {
    private static let ln2High = 0x1.62e42feep-1
    private static let ln2Low = 0x1.a39ef35793c76p-33

    /// The natural logarithm of a positive normal number.
    static func ln(_ x: Double) -> Double {
        var mantissa = x.significand
        var exponent = Double(x.exponent)
        if mantissa > 1.4142135623730951 {
            mantissa *= 0.5
            exponent += 1
        }
        // ln m = 2 artanh((m - 1) / (m + 1)), of which |argument| < 0.172.
        let s = (mantissa - 1) / (mantissa + 1)
        let square = s * s
        var sum = 0.0
        var odd = 25.0
        while odd >= 1 {
            sum = sum * square + 1 / odd
            odd -= 2
        }
        return exponent * ln2High + (exponent * ln2Low + 2 * s * sum)
    }

    /// eˣ; 0 below -700 and infinite above 700.
    static func exp(_ x: Double) -> Double {
        if x < -700 { return 0 }
        if x > 700 { return .infinity }
        let power = (x * 1.4426950408889634).rounded(.toNearestOrEven)
        let rest = (x - power * ln2High) - power * ln2Low
        var sum = 1.0
        var term = 14.0
        while term >= 1 {
            sum = 1 + sum * rest / term
            term -= 1
        }
        return Double(sign: .plus, exponent: Int(power), significand: 1) * sum
    }

    /// `base` raised to `exponent`, for a positive base.
    static func pow(_ base: Double, _ exponent: Double) -> Double {
        exponent == 0 || base == 1 ? 1 : exp(exponent * ln(base))
    }

    /// A draw from the standard normal distribution (Marsaglia's polar method).
    static func normal(using random: inout SeededGenerator) -> Double {
        while true {
            let u = 2 * random.unit() - 1
            let v = 2 * random.unit() - 1
            let s = u * u + v * v
            if s < 1 && s > 1e-300 { return u * (-2 * ln(s) / s).squareRoot() }
        }
    }
}
