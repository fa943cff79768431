import HalcyonSupport
import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct NormalDrawTests {
    @Test func normalDrawsHaveMeanZeroAndVarianceOne() {
        var random = SeededGenerator(seed: 1)
        let draws = (0..<20_000).map { _ in PortableMath.normal(using: &random) }
        let mean = draws.reduce(0, +) / 20_000
        let variance = draws.reduce(0) { $0 + $1 * $1 } / 20_000
        #expect(abs(mean) < 0.035)
        #expect(abs(variance - 1) < 0.05)
    }
}
