import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Feature scales", .timeLimit(.minutes(20)))
struct FeatureScalesTests {
    /// Returns rows of whole numbers of all magnitudes.
    private static func rows(_ number: Int) -> [[Float]] {
        var generator = SplitMix64(seed: 7)
        return (0..<number).map { _ in
            (0..<Feature.width).map { _ in
                let size = Float(generator.next(below: 1 << generator.next(below: 24)))
                return generator.next(below: 4) == 0 ? 0 : size
            }
        }
    }

    @Test("Times, counts, ratios and bytes are represented by their definitions")
    func scalesRepresentEachKindOfNumber() {
        let scales = FeatureScales()
        var packed = [UInt8](repeating: 0, count: Feature.width)
        for numbers in Self.rows(2_000) {
            scales.pack(numbers, into: &packed)
            for place in [Feature.age, Feature.sinceFirst, Feature.categoryAge, Feature.seconds, Feature.userAccesses] {
                #expect(packed[place] == FastMath.octaves(UInt32(numbers[place])))
            }
            for place in [Feature.count0, Feature.accesses, Feature.categorySlow, Feature.userRate] {
                #expect(packed[place] == FastMath.fineOctaves(numbers[place]))
            }
            for place in [Feature.categoryReuse, Feature.userShare, Feature.userReuse, Feature.weekPhase] {
                #expect(packed[place] == FastMath.byte(numbers[place] * 255))
            }
            for place in [Feature.gap1, Feature.gap3, Feature.userGap, Feature.worth] {
                #expect(packed[place] == UInt8(min(numbers[place], 255)))
            }
            #expect(packed[Feature.size] == UInt8(min(numbers[Feature.size] * 8, 255)))
        }
    }

    @Test("Halves are rounded up, and numbers outside a byte are clamped")
    func halvesRoundUpAndNumbersAreClamped() {
        let scales = FeatureScales()
        var numbers = [Float](repeating: 0, count: Feature.width)
        for (number, byte) in [(-3, 0), (0.499, 0), (0.5, 1), (1.5, 2), (254.4, 254), (254.5, 255), (9e30, 255)]
            as [(Float, UInt8)]
        {
            numbers[Feature.categoryGap] = number
            var packed = [UInt8](repeating: 0, count: Feature.width)
            scales.pack(numbers, into: &packed)
            #expect(packed[Feature.categoryGap] == byte, "\(number)")
        }
    }

    @Test("Every feature with a name has a scale")
    func everyNamedFeatureHasAScale() {
        let scales = FeatureScales()
        var packed = [UInt8](repeating: 0, count: Feature.width)
        scales.pack([Float](repeating: 100, count: Feature.width), into: &packed)
        let named = FeatureGroups.named.flatMap(\.features)
        for (place, name) in named { #expect(packed[place] > 0, "\(name)") }
        #expect(Set(named.map(\.place)) == Set(0..<Feature.one))
    }

    @Test("Encoded inputs equal the inputs decoded from bytes")
    func encodedInputsEqualDecodedBytes() {
        let scales = FeatureScales()
        var packed = [UInt8](repeating: 0, count: Feature.width)
        var decoded = [Float](repeating: 0, count: Feature.width)
        var encoded = decoded
        for numbers in Self.rows(500) {
            scales.pack(numbers, into: &packed)
            VectorKernels().decode(packed, into: &decoded)
            scales.encode(numbers, into: &encoded)
            #expect(encoded == decoded)
            #expect(encoded[Feature.one] == 1)
        }
    }
}
