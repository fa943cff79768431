import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Sampled miss-ratio curve")
struct SampledMissRatioCurveTests {
    private let capacities: [UInt64] = [200, 500, 1_000, 2_000, 5_000]

    private func trace() throws -> Trace {
        try ZipfModel(requests: 60_000, objects: 10_000, alpha: 0.8).generate(seed: 3, names: false)
    }

    @Test("a sample of everything is exact")
    func everything() throws {
        let trace = try ZipfModel(requests: 8_000, objects: 900, alpha: 0.8).generate(seed: 3)
        let exact = MissRatioCurve.exact(of: trace)
        let sampled = MissRatioCurve.sampled(of: trace, rate: 1)
        #expect(sampled.measuredObjects == trace.objectCount)
        for capacity in UInt64(1)...900 {
            #expect(sampled.misses(atCapacity: capacity) == exact.misses(atCapacity: capacity))
        }
    }

    @Test("the truth lies within three stated errors", arguments: [1, 2, 3])
    func withinTheStatedError(seed: UInt64) throws {
        let trace = try trace()
        let exact = MissRatioCurve.exact(of: trace)
        let sampled = MissRatioCurve.sampled(of: trace, rate: 0.1, seed: seed)
        #expect(abs(Double(sampled.measuredObjects) / Double(trace.objectCount) - 0.1) < 0.02)
        for capacity in capacities {
            let point = try #require(sampled.point(atCapacity: capacity))
            let error = try #require(point.standardError)
            #expect(abs(point.missRatio - exact.missRatio(atCapacity: capacity)) <= 3 * error)
        }
        // At the larger capacities the estimate is useful, not only honest.
        let error = try #require(sampled.point(atCapacity: 5_000)?.standardError)
        #expect(error < 0.025)
    }

    @Test("a bounded sample stays bounded and near the truth")
    func bounded() throws {
        let trace = try trace()
        let exact = MissRatioCurve.exact(of: trace)
        var maker = SampledMissRatioCurve(unit: .objects, rate: 1, maximumObjects: 512, seed: 1)
        for entry in trace.entries {
            maker.record(entry: entry, size: 1)
            #expect(maker.sampleSize <= 512)
        }
        let sampled = maker.curve()
        // 512 of some 9,900 objects, less what the last cut took.
        #expect((0.04...0.06).contains(sampled.samplingRate))
        for capacity in capacities {
            let point = try #require(sampled.point(atCapacity: capacity))
            let error = try #require(point.standardError)
            #expect(abs(point.missRatio - exact.missRatio(atCapacity: capacity)) <= 3 * error)
        }
    }

    @Test("in bytes, near the exact byte curve")
    func bytes() throws {
        var model = BrowsingModel.feed
        model.requests = 40_000
        let trace = try model.generate(seed: 1, names: false)
        let exact = MissRatioCurve.exact(of: trace)
        let sampled = MissRatioCurve.sampled(of: trace, rate: 0.2)
        #expect(sampled.unit == .bytes)
        for capacity: UInt64 in [100_000_000, 300_000_000] {
            let point = try #require(sampled.point(atCapacity: capacity))
            let error = try #require(point.standardError)
            #expect(abs(point.missRatio - exact.missRatio(atCapacity: capacity)) <= 3 * error)
        }
    }

    @Test("the same seed gives the same curve, and ratios never rise")
    func repeatable() throws {
        let trace = try trace()
        let first = MissRatioCurve.sampled(of: trace, rate: 0.05, maximumObjects: 300, seed: 4)
        #expect(first == MissRatioCurve.sampled(of: trace, rate: 0.05, maximumObjects: 300, seed: 4))
        for (left, right) in zip(first.points, first.points.dropFirst()) {
            #expect(left.capacity < right.capacity && left.missRatio >= right.missRatio)
        }
    }
}
