import Testing

@testable import HalcyonLearning

@Suite("Adam beside steps worked by hand", .timeLimit(.minutes(20)))
struct AdamTests {
    /// First step: both moments are corrected to the gradient itself, so each parameter moves by the rate.
    /// Second step, gradient 1 then −1: m = (0.9·0.1 − 0.1) / (1 − 0.81) = −0.01/0.19. With v = (0.000999 + 0.001)/0.001999
    /// = 1 the parameter moves by +0.1 · 0.0526316.
    @Test("Two steps of Adam match those worked by hand")
    func adamMatchesTwoStepsByHand() {
        var adam = Adam(parameters: 2)
        var parameters: [Float] = [1, 1]
        adam.step(&parameters, against: [1, -4], rate: 0.1)
        #expect(abs(parameters[0] - 0.9) < 1e-5)
        #expect(abs(parameters[1] - 1.1) < 1e-5, "the size of a gradient does not matter, its sign does")
        adam.step(&parameters, against: [-1, -4], rate: 0.1)
        #expect(abs(parameters[0] - (0.9 + 0.1 * 0.01 / 0.19)) < 1e-5)
        #expect(abs(parameters[1] - 1.2) < 1e-5)
    }

    @Test("A gradient of zero leaves the parameters unchanged")
    func zeroGradientMovesNothing() {
        var adam = Adam(parameters: 1)
        var parameters: [Float] = [3]
        for _ in 0..<10 { adam.step(&parameters, against: [0], rate: 0.1) }
        #expect(parameters == [3])
    }
}
