import HalcyonSupport

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
