import HalcyonTestSupport
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Sampled miss-ratio curve", .timeLimit(.minutes(20)))
struct SampledMissRatioCurveTests {
    private let capacities: [UInt64] = [200, 500, 1_000, 2_000, 5_000]

    private func trace() throws -> Trace {
        try ZipfModel(requests: 60_000, objects: 10_000, alpha: 0.8).generate(seed: 3, names: false)
    }

    @Test("A sample of all objects is exact")
    func sampleOfEverythingIsExact() throws {
        let trace = try ZipfModel(requests: 8_000, objects: 900, alpha: 0.8).generate(seed: 3)
        let exact = MissRatioCurve.exact(of: trace)
        let sampled = MissRatioCurve.sampled(of: trace, rate: 1)
        #expect(sampled.measuredObjects == trace.objectCount)
        for capacity in UInt64(1)...900 {
            #expect(sampled.misses(atCapacity: capacity) == exact.misses(atCapacity: capacity))
        }
    }

    @Test("The exact curve is within three standard errors of the sampled one", arguments: [1, 2, 3])
    func exactCurveIsWithinThreeStandardErrors(seed: UInt64) throws {
        let trace = try trace()
        let exact = MissRatioCurve.exact(of: trace)
        let sampled = MissRatioCurve.sampled(of: trace, rate: 0.1, seed: seed)
        #expect(abs(Double(sampled.measuredObjects) / Double(trace.objectCount) - 0.1) < 0.02)
        for capacity in capacities {
            let point = try #require(sampled.point(atCapacity: capacity))
            let error = try #require(point.standardError)
            #expect(abs(point.missRatio - exact.missRatio(atCapacity: capacity)) <= 3 * error)
        }
        // At the larger capacities the estimate is also precise.
        let error = try #require(sampled.point(atCapacity: 5_000)?.standardError)
        #expect(error < 0.025)
    }

    @Test("A bounded sample stays bounded and within three standard errors")
    func boundedSampleStaysBoundedAndAccurate() throws {
        let trace = try trace()
        let exact = MissRatioCurve.exact(of: trace)
        var maker = SampledMissRatioCurve(unit: .objects, rate: 1, maximumObjects: 512, seed: 1)
        for entry in trace.entries {
            maker.record(entry: entry, size: 1)
            #expect(maker.sampleSize <= 512)
        }
        let sampled = maker.curve()
        // 512 of some 9,900 objects, minus those that the last cut removed.
        #expect((0.04...0.06).contains(sampled.samplingRate))
        for capacity in capacities {
            let point = try #require(sampled.point(atCapacity: capacity))
            let error = try #require(point.standardError)
            #expect(abs(point.missRatio - exact.missRatio(atCapacity: capacity)) <= 3 * error)
        }
    }

    /// A trace whose exact curve is compared with sampled ones.
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let trace: @Sendable () throws -> Trace
    }

    static let cases = [
        Case(testDescription: "shop") { try Trace.load(BundledTrace.path("shop.csv")) },
        Case(testDescription: "feed, objects") {
            var options = TraceLoadOptions()
            options.sizes = .unit
            return try Trace.load(BundledTrace.path("feed.csv"), options)
        },
        Case(testDescription: "feed, bytes") { try Trace.load(BundledTrace.path("feed.csv")) },
        Case(testDescription: "Zipf") {
            try ZipfModel(requests: 60_000, objects: 10_000, alpha: 0.8).generate(seed: 3, names: false)
        },
        Case(testDescription: "three times in a row") {
            TinyTraces.unit((0..<90_000).map { UInt32($0 / 3) })
        },
    ]

    @Test("Intervals of two standard errors cover the exact ratio, and the estimates have no bias")
    func intervalsCoverTheExactRatio() throws {
        var (covered, total) = (0, 0)
        for given in Self.cases {
            let (within, count) = try coverage(of: given)
            #expect(Double(within) >= 0.91 * Double(count), "\(given): \(within) of \(count)")
            covered += within
            total += count
        }
        #expect(total == 5 * 60 * 5 && Double(covered) >= 0.94 * Double(total), "\(covered) of \(total)")
    }

    /// Returns how many of 60 seeds × 5 capacities cover the exact ratio. The mean error at each capacity must be
    /// within three of its own standard errors.
    private func coverage(of given: Case) throws -> (within: Int, count: Int) {
        let trace = try given.trace()
        let exact = MissRatioCurve.exact(of: trace)
        let capacities = [0.02, 0.05, 0.1, 0.2, 0.4].map { UInt64($0 * Double(trace.distinctSize)) }
        var errors = capacities.map { _ in [Double]() }
        var (within, count) = (0, 0)
        for seed: UInt64 in 1...60 {
            let sampled = MissRatioCurve.sampled(of: trace, rate: 0.1, seed: seed)
            for (place, capacity) in capacities.enumerated() {
                let point = try #require(sampled.point(atCapacity: capacity))
                let error = point.missRatio - exact.missRatio(atCapacity: capacity)
                errors[place].append(error)
                count += 1
                within += try abs(error) <= 2 * #require(point.standardError) + 1e-12 ? 1 : 0
            }
        }
        for (capacity, errors) in zip(capacities, errors) {
            let mean = errors.reduce(0, +) / Double(errors.count)
            let squares = errors.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
            let noise = (squares / Double(errors.count - 1) / Double(errors.count)).squareRoot()
            #expect(abs(mean) <= 3 * noise + 1e-12, "\(given) at \(capacity): bias \(mean) beside \(noise)")
        }
        return (within, count)
    }

    @Test("The sampled byte curve is within three standard errors of the exact one")
    func sampledByteCurveIsNearTheExactOne() throws {
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

    @Test("Ratios, errors and capacities of a sampled curve stay within their bounds")
    func ratiosErrorsAndCapacitiesStayWithinTheirBounds() throws {
        for (model, rate) in [
            (ZipfModel(requests: 5_000, objects: 1_000, alpha: 1.1), 0.02),
            (ZipfModel(requests: 5_000, objects: 4_000, alpha: 0.3), 0.05),
            (ZipfModel(requests: 60_000, objects: 3_000, alpha: 1.1), 0.01),
        ] {
            let trace = try model.generate(seed: 2, names: false)
            let least = Double(trace.objectCount) / Double(trace.count)
            for seed: UInt64 in 1...40 {
                let curve = MissRatioCurve.sampled(of: trace, rate: rate, seed: seed)
                guard curve.measuredObjects > 0 else { continue }
                for point in curve.points {
                    let error = try #require(point.standardError)
                    #expect((least...1).contains(point.missRatio))
                    #expect(point.missRatio < 1 || error == 0)
                    #expect(error <= (1 - least) / 2)
                    #expect(point.capacity <= UInt64(trace.objectCount))
                    let smallest = Double(MissRatioCurve.smallestSample) / curve.samplingRate
                    #expect(Double(point.capacity) >= min(smallest, Double(trace.objectCount)))
                }
                let last = try #require(curve.points.last)
                #expect(last.capacity == UInt64(trace.objectCount))
                #expect(last.missRatio == least && last.standardError == 0)
            }
        }
    }

    @Test("The byte curve ends at the size of all objects, where only first requests miss")
    func byteCurveEndsAtTheSizeOfAllObjects() throws {
        let entries = TinyTraces.scrambled(count: 4_000, objects: 900).entries
        let objects = UInt64(Set(entries).count)
        let trace = TinyTraces.sized(entries, sizes: (0..<objects).map { $0 * 37 % 500 + 1 })
        let curve = MissRatioCurve.sampled(of: trace, rate: 0.3)
        let last = try #require(curve.points.last)
        #expect(last.capacity == trace.distinctSize)
        #expect(last.missRatio == Double(trace.objectCount) / 4_000)
    }

    @Test("A bounded estimate is the mean and deviation of a truncated normal distribution")
    func boundedEstimateIsATruncatedNormalMean() {
        let inside = BoundedEstimate(0.5, 0.01, in: 0...1)
        #expect(abs(inside.value - 0.5) < 1e-12 && abs(inside.standardError - 0.01) < 1e-9)
        // Half a normal distribution: its mean is 1 - s·√(2/π), its deviation s·√(1 - 2/π).
        let half = BoundedEstimate(1, 0.1, in: -1e3...1)
        #expect(abs(half.value - (1 - 0.1 * 0.797_884_560_8)) < 1e-6)
        #expect(abs(half.standardError - 0.1 * 0.602_810_275_0) < 1e-6)
        let beyond = BoundedEstimate(1.4, 0.02, in: 0.2...1)
        #expect(beyond.value < 1 && beyond.value > 0.998 && beyond.standardError < 0.002)
        let below = BoundedEstimate(-3, 0.02, in: 0.2...1)
        #expect(below.value > 0.2 && below.value < 0.201)
        #expect(BoundedEstimate(1.2, 0, in: 0...1).value == 1)
        #expect(BoundedEstimate(1.2, 0, in: 0...1).standardError == 0)
    }

    @Test("The same seed gives the same curve, and ratios never rise")
    func sameSeedGivesTheSameFallingCurve() throws {
        let trace = try trace()
        let first = MissRatioCurve.sampled(of: trace, rate: 0.05, maximumObjects: 300, seed: 4)
        #expect(first == MissRatioCurve.sampled(of: trace, rate: 0.05, maximumObjects: 300, seed: 4))
        for (left, right) in zip(first.points, first.points.dropFirst()) {
            #expect(left.capacity < right.capacity && left.missRatio >= right.missRatio)
        }
    }
}
