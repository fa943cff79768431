#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension Double {
    /// e to the power of `exponent`, from the C library.
    static func exponential(_ exponent: Double) -> Double { exp(exponent) }

    /// The natural logarithm; -∞ for 0.
    static func naturalLogarithm(_ value: Double) -> Double { log(value) }
}
