import Testing

@testable import HalcyonTrace

@Suite("Resolution of times", .timeLimit(.minutes(20)))
struct TimeResolutionTests {
    @Test(
        "The resolution is the longest usual unit of which all differences are multiples",
        arguments: [
            ([5, 6, 9], 1), ([7, 17, 37], 10), ([0, 100, 300], 100), ([3_000, 5_000], 1_000),
            ([0, 20_000, 50_000], 10_000),
            ([500_000, 700_000], 100_000), ([1_500_000, 2_500_000, 4_500_000], 1_000_000),
            // Minutes that begin in the middle of one.
            ([30_000_000, 90_000_000, 210_000_000], 60_000_000),
            ([0, 7_200_000_000], 3_600_000_000), ([0, 86_400_000_000, 3 * 86_400_000_000], 86_400_000_000),
            // Thirty seconds are no usual unit.
            ([0, 30_000_000, 90_000_000], 1_000_000),
        ] as [([Int64], Int64)])
    func resolution(times: [Int64], expected: Int64) {
        #expect(TimeColumn(times).resolution == expected)
        #expect(TimeColumn(wide: times).resolution == expected)
        #expect(TimeColumn(wide: times.reversed()).resolution == expected)
    }

    @Test("Equal times, one time and none have no resolution")
    func noDifference() {
        for times in [[], [4], [4, 4, 4]] as [[Int64]] { #expect(TimeColumn(times).resolution == nil) }
        #expect(TimeColumn(base: 3, step: 2_000_000, count: 5).resolution == 1_000_000)
        #expect(TimeColumn(base: 3, step: 2_000_000, count: 1).resolution == nil)
    }

    @Test("Times further apart than 64 bits have the finest resolution")
    func farApart() {
        #expect(TimeColumn(wide: [.min, .max]).resolution == 1)
    }
}
