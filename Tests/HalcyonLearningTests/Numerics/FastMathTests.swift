import Foundation
import Testing

@testable import HalcyonLearning

@Suite("Fast mathematics beside the library's", .timeLimit(.minutes(20)))
struct FastMathTests {
    @Test("The logarithm is within 0.011 of the library's") func logarithmIsWithin0011OfTheLibrary() {
        for step in -200...400 {
            let value = Float(exp2(Double(step) / 10))
            #expect(abs(FastMath.log2(value) - Foundation.log2(value)) < 0.011)
        }
        #expect(abs(FastMath.log2(1)) < 1e-6)
    }

    @Test("The exponential is within 0.4 % of the library's and finite for large numbers")
    func exponentialIsWithin04PercentOfTheLibrary() {
        for step in -900...900 {
            let exact = Foundation.exp2(Float(step) / 10)
            #expect(abs(FastMath.exp2(Float(step) / 10) / exact - 1) < 0.004)
        }
        #expect(FastMath.exp2(0) == 1)
        #expect(FastMath.exp2(-1_000) == 0)
        #expect(FastMath.exp2(.nan) == 0)
        #expect(FastMath.exp2(1_000).isFinite)
    }

    @Test("The logarithm of softplus is within 0.02 of double precision and never decreases")
    func softplusIsAccurateAndMonotonic() {
        var last = -Float.infinity
        for step in -6_000...6_000 {
            let logit = Double(step) / 100
            let exact = Foundation.log2(Foundation.log1p(Foundation.exp(logit)))
            let value = FastMath.log2Softplus(Float(logit))
            #expect(abs(Double(value) - exact) < 0.02, "\(logit): \(value), exactly \(exact)")
            #expect(value > last - 0.000_01)
            last = value
        }
        #expect(FastMath.log2Softplus(-10_000).isFinite && FastMath.log2Softplus(10_000).isFinite)
    }

    @Test("Octaves and bytes of 0, 1 and numbers beyond a byte are as defined") func bytesOfSpecialNumbersAreAsDefined()
    {
        #expect(FastMath.octaves(0) == 0)
        #expect(FastMath.octaves(1) == 8)
        #expect(FastMath.octaves(.max) == 255)
        #expect(FastMath.fineOctaves(1) == 16)
        #expect(FastMath.byte(510) == 255 && FastMath.byte(-255) == 0)
    }

    @Test("Counts packed into four bytes are restored within 5 %")
    func packedCountsAreWithinFivePercent() {
        var counts = DecayedCounts()
        for _ in 0..<300 {
            counts.decay(by: 7)
            counts.increment()
        }
        let unpacked = DecayedCounts(packed: counts.packed)
        for scale in 0..<4 { #expect(abs(unpacked.values[scale] / counts.values[scale] - 1) < 0.05) }
        #expect(DecayedCounts(packed: DecayedCounts().packed).values == .zero)
    }
}
