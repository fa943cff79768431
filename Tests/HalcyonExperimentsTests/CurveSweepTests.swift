import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite("Miss-ratio curves of any policy", .timeLimit(.minutes(20)))
struct CurveSweepTests {
    private func zipf(_ requests: Int = 20_000, _ objects: Int = 3_000) throws -> Trace {
        try ZipfModel(requests: requests, objects: objects, alpha: 0.8).generate(seed: 3, names: false)
    }

    private func sized() throws -> Trace {
        var model = BrowsingModel.feed
        model.requests = 6_000
        return try model.generate(seed: 1, names: false)
    }

    private func policies(_ names: String...) throws -> [ConfiguredPolicy] {
        try names.map { try PolicyCatalogue.standard.policy($0) }
    }

    @Test("The replayed curve of any policy has the miss ratios of its replays")
    func replayedCurveEqualsReplays() async throws {
        for trace in [try zipf(6_000, 900), try sized()] {
            let policies = try policies("lru", "s3-fifo(small=0.2)", "belady", "learned(evictions=32)", "gdsf")
            let capacities = [Int(trace.distinctSize) / 50, Int(trace.distinctSize) / 5, Int(trace.distinctSize)]
            let curves = try await CurveSweep(trace: trace, policies: policies, capacities: capacities, seed: 7).run()
            #expect(curves.map(\.policy) == policies.map(\.label))
            let input = ReplayInput(trace)
            for (curve, policy) in zip(curves, policies) {
                #expect(curve.method == .replayed && curve.points.map { Int($0.capacity) } == capacities)
                for point in curve.points {
                    let job = ReplayJob(
                        policy: policy, capacity: .number(Int(point.capacity)), options: ReplayOptions(seed: 7))
                    let run = try job.run(over: input)
                    #expect(
                        point.missRatio == Double(run.requests - run.hits) / Double(run.requests), "\(curve.policy)")
                    #expect(point.standardError == nil)
                }
            }
        }
    }

    @Test("The replayed curve of LRU equals the exact one")
    func replayedCurveOfLRUEqualsTheExactOne() async throws {
        let trace = try zipf(6_000, 900)
        let capacities = [1, 2, 10, 100, 500, 899, trace.objectCount]
        let sweep = try CurveSweep(trace: trace, policies: try policies("lru"), capacities: capacities)
        let replayed = try #require(await sweep.run().first)
        let exact = MissRatioCurve.exact(of: trace).points(at: capacities)
        #expect(replayed.points == exact.points)
    }

    @Test("A sample of all objects gives the curve of the whole trace")
    func sampleOfAllObjectsIsTheWholeTrace() async throws {
        let trace = try zipf(4_000, 500)
        let policies = try policies("arc", "belady")
        let whole = try await CurveSweep(trace: trace, policies: policies, capacities: [5, 50, 400]).run()
        let sampled = try await CurveSweep(trace: trace, policies: policies, capacities: [5, 50, 400], rate: 1).run()
        #expect(whole == sampled && whole.allSatisfy { $0.method == .replayed })
    }

    @Test("A miniature is within its stated error, exact at the size of all objects and repeatable")
    func miniatureIsWithinItsStatedError() async throws {
        let trace = try zipf(30_000, 5_000)
        let policies = try policies("lru", "s3-fifo", "belady")
        let capacities = [500, 1_000, 2_000, trace.objectCount]
        let truth = try await CurveSweep(trace: trace, policies: policies, capacities: capacities).run()
        var distances: [Double] = []
        for seed: UInt64 in 1...5 {
            let sweep = try CurveSweep(trace: trace, policies: policies, capacities: capacities, rate: 0.1, seed: seed)
            let curves = await sweep.run(workers: 2)
            if seed == 1 { #expect(await sweep.run(workers: 1) == curves) }
            for (curve, exact) in zip(curves, truth) {
                #expect(curve.method == .miniature)
                #expect((400...600).contains(curve.measuredObjects))
                for (point, right) in zip(curve.points, exact.points).dropLast() {
                    let error = try #require(point.standardError)
                    #expect(error < 0.07 && error > 0)
                    #expect(abs(point.missRatio - right.missRatio) < 0.08)
                    distances.append(abs(point.missRatio - right.missRatio) / error)
                }
            }
            let last = try #require(curves[0].points.last)
            #expect(abs(last.missRatio - Double(trace.objectCount) / 30_000) < 1e-12)
        }
        // 45 points, of which a normal distribution has two beyond two errors, and none beyond three.
        #expect(distances.count == 45)
        #expect(distances.count { $0 <= 2 } >= 38)
        #expect(distances.count { $0 <= 3 } >= 42)
        #expect(distances.count { $0 <= 0.05 } <= 10)
    }

    @Test("A sample without objects is refused")
    func emptySampleIsRefused() throws {
        let trace = TinyTraces.unit([0, 1, 0])
        let lru = try policies("lru")
        #expect(throws: ReplayError.self) {
            for seed: UInt64 in 1...3 {
                _ = try CurveSweep(trace: trace, policies: lru, capacities: [1], rate: 1e-9, seed: seed)
            }
        }
    }

    @Test("Capacities rise within the bounds and end at the upper one")
    func capacitiesRiseWithinTheirBounds() {
        #expect(MissRatioCurve.capacities(4, from: 1, to: 1_000, byRatio: true) == [1, 10, 100, 1_000])
        #expect(MissRatioCurve.capacities(5, from: 0, to: 9, byRatio: false) == [1, 3, 5, 7, 9])
        #expect(MissRatioCurve.capacities(20, from: 1, to: 3, byRatio: true) == [1, 2, 3])
        #expect(MissRatioCurve.capacities(20, from: 5, to: 3, byRatio: true) == [3])
    }
}
