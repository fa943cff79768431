import HalcyonEviction
import Testing

@testable import HalcyonSimulation

@Suite("Percentiles of times", .timeLimit(.minutes(20)))
struct TimeHistogramTests {
    private func distribution(_ nanoseconds: [Int]) -> TimeDistribution {
        var histogram = TimeHistogram()
        for chunk in stride(from: 0, to: nanoseconds.count, by: 700) {
            histogram.add(nanoseconds[chunk..<min(chunk + 700, nanoseconds.count)].map { .nanoseconds($0) })
        }
        return histogram.distribution
    }

    /// The nearest rank by its definition: sort and count.
    private func percentile(_ perMille: Int, of values: [Int]) -> Int {
        values.sorted()[max(1, (perMille * values.count + 999) / 1_000) - 1]
    }

    @Test(
        "Percentiles are exact up to 1,023 ns, for any number of times",
        arguments: [1, 2, 3, 9, 10, 11, 99, 100, 101, 999, 1_000, 5_000])
    func percentilesUpTo1023NanosecondsAreExact(count: Int) {
        var random = SplitMix64(seed: UInt64(count))
        let values = (0..<count).map { _ in Int(random.next() % 1_024) }
        let found = distribution(values)
        #expect(found.count == count)
        #expect(found.mean == Double(values.reduce(0, +)) / Double(count))
        #expect(found.p50 == percentile(500, of: values))
        #expect(found.p90 == percentile(900, of: values))
        #expect(found.p99 == percentile(990, of: values))
        #expect(found.p999 == percentile(999, of: values))
        #expect(found.max == values.max())
    }

    @Test("Larger percentiles are at most 1/512 too high and never above the maximum")
    func largerPercentilesAreAtMostOne512thTooHigh() {
        var random = SplitMix64(seed: 3)
        // From some nanoseconds to some ten seconds.
        let values = (0..<4_000).map { _ in Int(random.next() % 10_000_000_000 >> (random.next() % 30)) }
        let found = distribution(values)
        for (share, value) in [(500, found.p50), (900, found.p90), (990, found.p99), (999, found.p999)] {
            let right = percentile(share, of: values)
            #expect(value >= right && value - right <= right / 512)
        }
        #expect(found.mean == Double(values.reduce(0, +)) / 4_000)
        #expect(found.max == values.max())
        #expect(distribution([70_001]).p50 == 70_001)
    }
}
