import Foundation
import HalcyonSupport
import Testing

/// Compared with the platform's functions, whose own error is at most one unit in the last place, and with reference
/// results.
@Suite("Elementary functions with equal bits on all platforms", .timeLimit(.minutes(20)))
struct PortableMathTests {
    /// The largest distance of two functions on `arguments`, in units in the last place of the second one's result.
    private func error(
        _ function: (Double) -> Double, _ exact: (Double) -> Double, _ arguments: some Sequence<Double>
    ) -> Double {
        arguments.reduce(0) { worst, x in
            let expected = exact(x)
            return max(worst, abs(function(x) - expected) / expected.ulp)
        }
    }

    /// Numbers from 2^`low` to 2^`high`, evenly spaced by ratio.
    private func octaves(_ low: Double, _ high: Double, count: Int = 20_000) -> [Double] {
        (0...count).map { Foundation.exp2(low + (high - low) * Double($0) / Double(count)) }
    }

    private func grid(_ low: Double, _ high: Double, count: Int = 20_000) -> [Double] {
        (0...count).map { low + (high - low) * Double($0) / Double(count) }
    }

    @Test("Logarithms are within the stated error")
    func logarithmsAreWithinTheStatedError() {
        let arguments = octaves(-1_074, 1_023.9) + grid(0.4, 2.5) + octaves(-52, -2).flatMap { [1 + $0, 1 - $0] }
        #expect(error(PortableMath.ln, Foundation.log, arguments) <= 3)
        #expect(error(PortableMath.log10, Foundation.log10, arguments) <= 4)
        let small = octaves(-1_074, -1.1) + octaves(-60, -0.001)
        #expect(error(PortableMath.log1p, Foundation.log1p, small + small.map { -$0 } + octaves(-2, 1_000)) <= 3)
    }

    @Test("Powers and roots are within the stated error")
    func powersAndRootsAreWithinTheStatedError() {
        #expect(error(PortableMath.exp, Foundation.exp, grid(-700, 700) + grid(-1, 1)) <= 1.7)
        #expect(error(PortableMath.fastExp, Foundation.exp, grid(-700, 700) + grid(-1, 1)) <= 1.7)
        // The platform's cube root may be several units off: the distance is that to the exact one, by y³ - x in twice the digits.
        for x in octaves(-600, 1_000) {
            let y = PortableMath.cbrt(x)
            let square = y * y
            let rest = (-square).addingProduct(y, y)
            let excess = (-x).addingProduct(square, y).addingProduct(rest, y)
            #expect(abs(excess / (3 * square)) <= y.ulp, "cbrt \(x)")
        }
        #expect(error(PortableMath.cbrt, Foundation.cbrt, octaves(-1_074, 1_023.9)) <= 5)
        #expect((0...200_000).allSatisfy { PortableMath.cbrt(Double($0 * $0 * $0)) == Double($0) })
        for exponent in [-2.5, -1, -0.8, 1.0 / 3, 0.5, 1, 3, 17] {
            for base in octaves(-50, 50, count: 2_000) {
                let expected = Foundation.pow(base, exponent)
                let bound = 4e-16 * (1 + abs(Foundation.log(expected)))
                #expect(abs(PortableMath.pow(base, exponent) / expected - 1) <= bound, "\(base)^\(exponent)")
            }
        }
    }

    @Test("The complementary error function is within the stated error")
    func complementaryErrorFunctionIsWithinTheStatedError() {
        for x in grid(-6, 26) + grid(1.2, 1.3) {
            #expect(abs(PortableMath.erfc(x) / Foundation.erfc(x) - 1) <= 1e-14, "erfc \(x)")
        }
    }

    @Test("Results equal those of every other platform, to the last bit")
    func resultsEqualThoseOfEveryPlatform() {
        let tables: [(String, (Double) -> Double, [(Double, Double)])] = [
            ("ln", PortableMath.ln, PortableMathResults.ln), ("log10", PortableMath.log10, PortableMathResults.log10),
            ("log1p", PortableMath.log1p, PortableMathResults.log1p),
            ("exp", PortableMath.exp, PortableMathResults.exp),
            ("fastExp", PortableMath.fastExp, PortableMathResults.fastExp),
            ("cbrt", PortableMath.cbrt, PortableMathResults.cbrt),
            ("erfc", PortableMath.erfc, PortableMathResults.erfc),
        ]
        for (name, function, results) in tables {
            for (x, expected) in results {
                #expect(function(x).bitPattern == expected.bitPattern, "\(name) \(x)")
            }
        }
        for (base, exponent, expected) in PortableMathResults.pow {
            #expect(PortableMath.pow(base, exponent).bitPattern == expected.bitPattern, "\(base)^\(exponent)")
        }
    }

    @Test("Logarithms, exponentials and roots are strictly monotonic")
    func functionsAreMonotonic() {
        func rises(_ values: [Double]) -> Bool { zip(values, values.dropFirst()).allSatisfy { $0 < $1 } }
        #expect(rises(octaves(-1_070, 1_023).map(PortableMath.ln)))
        #expect(rises(grid(0.7, 0.72).map(PortableMath.ln)))
        #expect(rises(grid(1.41, 1.42).map(PortableMath.ln)))
        #expect(rises(octaves(-1_070, 1_023).map(PortableMath.log10)))
        #expect(rises(grid(-0.99, 3).map(PortableMath.log1p)))
        #expect(rises(grid(-700, 700).map(PortableMath.exp)))
        #expect(rises(grid(0.34, 0.35).map(PortableMath.exp)))
        #expect(rises(grid(-700, 700).map(PortableMath.fastExp)))
        #expect(rises(grid(0.34, 0.35).map(PortableMath.fastExp)))
        #expect(rises(octaves(-1_070, 1_023).map(PortableMath.cbrt)))
        #expect(rises(grid(-26, 5).map { PortableMath.erfc(-$0) }))
        #expect(rises(grid(-1.26, -1.24).map { PortableMath.erfc(-$0) }))
    }

    @Test("Logarithms of zero, negative numbers, infinity and NaN follow IEEE 754")
    func logarithmsOfSpecialNumbersFollowIEEE754() {
        for logarithm in [PortableMath.ln, PortableMath.log10] {
            #expect(logarithm(0) == -.infinity)
            #expect(logarithm(-0.0) == -.infinity)
            #expect(logarithm(-1).isNaN)
            #expect(logarithm(-.infinity).isNaN)
            #expect(logarithm(.nan).isNaN)
            #expect(logarithm(.infinity) == .infinity)
            #expect(logarithm(1) == 0)
        }
        #expect(PortableMath.log1p(-1) == -.infinity)
        #expect(PortableMath.log1p(-1.5).isNaN)
        #expect(PortableMath.log1p(.nan).isNaN)
        #expect(PortableMath.log1p(.infinity) == .infinity)
        #expect(PortableMath.log1p(0) == 0)
        #expect(PortableMath.log1p(-.leastNonzeroMagnitude) == -.leastNonzeroMagnitude)
    }

    @Test("Powers and roots at their limits are 0, infinite or NaN as defined")
    func powersAndRootsAreDefinedAtTheirLimits() {
        for exponential in [PortableMath.exp, PortableMath.fastExp] {
            #expect(exponential(0) == 1)
            #expect(exponential(-0.0) == 1)
            #expect(exponential(.leastNonzeroMagnitude) == 1)
            #expect(exponential((-700.0).nextDown) == 0)
            #expect(exponential((700.0).nextUp) == .infinity)
            #expect(exponential(-.infinity) == 0)
            #expect(exponential(.infinity) == .infinity)
            #expect(exponential(.nan).isNaN)
        }
        #expect(PortableMath.pow(5, 0) == 1)
        #expect(PortableMath.pow(1, .infinity) == 1)
        #expect(PortableMath.pow(0, 2) == 0)
        #expect(PortableMath.pow(0, -2) == .infinity)
        #expect(PortableMath.pow(-2, 2).isNaN)
        #expect(PortableMath.pow(2, 2_000) == .infinity)
        #expect(PortableMath.pow(2, -2_000) == 0)
        #expect(PortableMath.cbrt(0) == 0)
        #expect(PortableMath.cbrt(-0.0).sign == .minus)
        #expect(PortableMath.cbrt(-8) == -2)
        #expect(PortableMath.cbrt(-.infinity) == -.infinity)
        #expect(PortableMath.cbrt(.nan).isNaN)
        #expect(PortableMath.cbrt(.greatestFiniteMagnitude).isFinite)
    }

    @Test("The complementary error function at its limits is 0, 2 or NaN")
    func complementaryErrorFunctionIsDefinedAtItsLimits() {
        #expect(PortableMath.erfc(0) == 1)
        #expect(PortableMath.erfc(-.infinity) == 2)
        #expect(PortableMath.erfc(.infinity) == 0)
        #expect(PortableMath.erfc(.nan).isNaN)
        #expect(PortableMath.erfc(-7) == 2)
        #expect(PortableMath.erfc(27) == 0)
    }
}
