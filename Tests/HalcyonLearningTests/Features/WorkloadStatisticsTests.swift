import Foundation
import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Statistics of the workload", .timeLimit(.minutes(20)))
struct WorkloadStatisticsTests {
    private static func features(_ statistics: WorkloadStatistics) -> [Float] {
        var row = [Float](repeating: -1, count: Feature.workload.count)
        statistics.write(into: &row)
        return row
    }

    @Test("The features equal moving means that are computed from their definitions")
    func featuresEqualMovingMeans() {
        var statistics = WorkloadStatistics()
        var generator = SplitMix64(seed: 3)
        // The means, where each number weighs 1 / (numbers so far + 20), later 1 / 200; of returns half as many.
        var (returnShare, hitShare, gaps, counts, near) = (0.3, 0.2, 0.0, 1.0, 0.2)
        var returns = 0.0
        for request in 1...500 {
            let (isReturn, isHit) = (generator.next(below: 3) > 0, generator.next(below: 2) == 0)
            let (gap, accesses) = (1 + generator.next(below: 90), 1 + generator.next(below: 12))
            let residents = 1 + generator.next(below: 60)
            statistics.note(
                isMiss: !isHit, gap: isReturn ? Int(gap) : nil, accesses: UInt16(accesses), residents: Int(residents))
            let weight = 1 / min(Double(request) + 20, 200)
            returnShare = returnShare * (1 - weight) + (isReturn ? weight : 0)
            hitShare = hitShare * (1 - weight) + (isHit ? weight : 0)
            if isReturn {
                returns += 1
                let part = 1 / min(returns + 10, 100)
                gaps = gaps * (1 - part) + log2(Double(gap) / Double(residents + 1)) * part
                counts = counts * (1 - part) + log2(Double(accesses)) * part
                near = near * (1 - part) + (gap <= 4 ? part : 0)
            }
            let expected = [
                returnShare * 255, (gaps + 8) * 16, hitShare * 255, counts * 32, near * 255,
                log2(Double(residents) + 1) * 16, log2(Double(request)) * 16,
            ]
            for (told, value) in zip(Self.features(statistics), expected) {
                // The logarithms are right to 0.01.
                #expect(abs(Double(told) - value) < 0.4, "request \(request): \(told) for \(value)")
            }
        }
    }

    @Test("A cache of any size and age stays within a byte")
    func featuresFitInAByte() {
        var statistics = WorkloadStatistics()
        for (gap, residents) in [(1, Int(UInt32.max)), (Int(UInt32.max), 0), (0, 0), (1, 1 << 40)] {
            for _ in 0..<300 { statistics.note(isMiss: false, gap: gap, accesses: .max, residents: residents) }
            #expect(Self.features(statistics).allSatisfy { (0...255).contains($0) })
        }
    }
}
