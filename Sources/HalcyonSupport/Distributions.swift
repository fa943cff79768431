/// The quantiles for intervals and detectable effects.
package enum Distributions {
    /// Returns the probability that a standard normal variable is at most `x`. O(1).
    package static func normalProbability(_ x: Double) -> Double { 0.5 * PortableMath.erfc(-x / 2.0.squareRoot()) }

    /// Returns the quantile of the standard normal distribution at `probability`, to 1e-12. O(1).
    ///
    /// - Parameter probability: above 0 and below 1.
    package static func normalQuantile(_ probability: Double) -> Double {
        bisected(probability, normalProbability)
    }

    /// Returns the probability that Student's t with `degrees` degrees of freedom is at most `x`. O(1).
    package static func studentProbability(_ x: Double, degrees: Double) -> Double {
        let tail = 0.5 * betaRatio(degrees / (degrees + x * x), degrees / 2, 0.5)
        return x > 0 ? 1 - tail : tail
    }

    /// Returns the quantile of Student's t with `degrees` degrees of freedom, which may be fractional, to 1e-12.
    /// O(1): Newton's method, kept within a bracket.
    ///
    /// - Parameter probability: above 0 and below 1.
    package static func studentQuantile(_ probability: Double, degrees: Double) -> Double {
        // The distribution is symmetric, and its tail keeps more digits than 1 minus it.
        let tail = min(probability, 1 - probability)
        let sign: Double = probability < 0.5 ? -1 : 1
        if tail == 0.5 { return 0 }
        let scale =
            logGamma((degrees + 1) / 2) - logGamma(degrees / 2) - 0.5 * PortableMath.ln(degrees * Double.pi)
        var (low, high) = (0.0, 1.0)
        while studentProbability(-high, degrees: degrees) > tail, high < 1e12 { (low, high) = (high, 2 * high) }
        var x = low
        for _ in 0..<200 where high - low > 1e-13 * max(1, high) {
            let excess = studentProbability(-x, degrees: degrees) - tail
            if excess > 0 { low = x } else { high = x }
            let density = PortableMath.exp(scale - (degrees + 1) / 2 * PortableMath.log1p(x * x / degrees))
            let next = x + excess / density
            if abs(next - x) <= 1e-14 * max(1, abs(x)) { return sign * next }
            x = next > low && next < high ? next : (low + high) / 2
        }
        return sign * x
    }

    private static func bisected(_ probability: Double, _ cumulative: (Double) -> Double) -> Double {
        var (low, high) = (-1.0, 1.0)
        while cumulative(low) > probability, low > -1e12 { low *= 2 }
        while cumulative(high) < probability, high < 1e12 { high *= 2 }
        for _ in 0..<200 where high - low > 1e-13 * max(1, abs(low)) {
            let middle = (low + high) / 2
            if cumulative(middle) < probability { low = middle } else { high = middle }
        }
        return (low + high) / 2
    }

    /// Returns the regularised incomplete beta function I_x(a, b), by its continued fraction (DLMF 8.17.22, evaluated
    /// by Lentz's method).
    private static func betaRatio(_ x: Double, _ a: Double, _ b: Double) -> Double {
        if x <= 0 { return 0 }
        if x >= 1 { return 1 }
        if x > (a + 1) / (a + b + 2) { return 1 - betaRatio(1 - x, b, a) }
        let scale = logGamma(a + b) - logGamma(a) - logGamma(b)
        let front = PortableMath.exp(scale + a * PortableMath.ln(x) + b * PortableMath.ln(1 - x)) / a
        let smallest = 1e-300
        var (c, d) = (1.0, 1 - (a + b) * x / (a + 1))
        d = 1 / (abs(d) < smallest ? smallest : d)
        var fraction = d
        for step in 1...500 {
            let m = Double(step)
            let even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            let odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            var change = 1.0
            for term in [even, odd] {
                d = 1 + term * d
                d = 1 / (abs(d) < smallest ? smallest : d)
                c = 1 + term / c
                if abs(c) < smallest { c = smallest }
                change = c * d
                fraction *= change
            }
            if abs(change - 1) < 1e-15 { break }
        }
        return front * fraction
    }

    private static func logGamma(_ x: Double) -> Double {
        // Stirling's series, after shifting the argument to a range where its first terms suffice.
        var (x, shift) = (x, 0.0)
        while x < 12 {
            shift += PortableMath.ln(x)
            x += 1
        }
        let square = 1 / (x * x)
        let series = (1 / 12.0 - square * (1 / 360.0 - square * (1 / 1260.0 - square / 1680.0))) / x
        return (x - 0.5) * PortableMath.ln(x) - x + 0.5 * PortableMath.ln(2 * Double.pi) + series - shift
    }
}
