import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct SeededGeneratorTests {
    /// The authors' C code of xoshiro256** and SplitMix64, seeded with 0, transcribed into a Python session.
    @Test func generatorGivesThePublishedSequence() {
        var random = SeededGenerator(seed: 0)
        #expect((0..<4).map { _ in random.next() } == SeededGeneratorTests.expectedOfSeedZero)
    }

    private static let expectedOfSeedZero: [UInt64] = [
        0x99EC5F36CB75F2B4, 0xBF6E1F784956452A, 0x1A5F849D4933E6E0, 0x6AA594F1262D2D2C,
    ]

    @Test func streamsOfOneSeedDiffer() {
        var first = SeededGenerator(seed: 7, stream: 1)
        var second = SeededGenerator(seed: 7, stream: 2)
        var again = SeededGenerator(seed: 7, stream: 1)
        let numbers = (0..<8).map { _ in first.next() }
        #expect(numbers == (0..<8).map { _ in again.next() })
        #expect(numbers != (0..<8).map { _ in second.next() })
    }

    @Test func drawsBelowABoundAreUniform() {
        var random = SeededGenerator(seed: 3)
        var counts = [Int](repeating: 0, count: 7)
        for _ in 0..<70_000 { counts[random.below(7)] += 1 }
        // Five standard deviations of a binomial(70000, 1/7) are 463.
        #expect(counts.allSatisfy { abs($0 - 10_000) < 463 })
    }

    @Test func fractionsAreBelowOne() {
        var random = SeededGenerator(seed: 4)
        let draws = (0..<10_000).map { _ in random.unit() }
        #expect(draws.allSatisfy { (0..<1).contains($0) })
        #expect(abs(draws.reduce(0, +) / 10_000 - 0.5) < 0.015)
    }
}
