import Foundation
import Testing

@testable import HalcyonTrace

@Suite struct PortableMathTests {
    @Test func agreesWithTheCLibrary() {
        for step in 1..<4_000 {
            let x = Double(step) * 0.37
            #expect(abs(PortableMath.ln(x) - log(x)) <= 4e-16 * max(1, abs(log(x))))
            let y = (Double(step) - 2_000) / 10
            #expect(abs(PortableMath.exp(y) / Foundation.exp(y) - 1) < 4e-15)
        }
        #expect(PortableMath.ln(1) == 0)
        #expect(PortableMath.exp(0) == 1)
        #expect(PortableMath.pow(5, 0) == 1)
        #expect(abs(PortableMath.pow(2, 10) - 1024) < 1e-11)
    }

    @Test func normalDrawsHaveMeanZeroAndVarianceOne() {
        var random = SeededGenerator(seed: 1)
        let draws = (0..<20_000).map { _ in PortableMath.normal(using: &random) }
        let mean = draws.reduce(0, +) / 20_000
        let variance = draws.reduce(0) { $0 + $1 * $1 } / 20_000
        #expect(abs(mean) < 0.035)
        #expect(abs(variance - 1) < 0.05)
    }
}
