import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// The miss-ratio curves of several policies, by replays at each capacity, on all cores.
///
/// ```swift
/// let trace = try Trace.load("shop.csv")
/// let policies = try ["s3-fifo", "learned"].map { try PolicyCatalogue.standard.policy($0) }
/// for curve in await try CurveSweep(trace: trace, policies: policies, capacities: [100, 1_000, 10_000]).run() {
///     print(curve.table())
/// }
/// ```
///
/// With a sampling rate R below 1, each policy is simulated in miniature: only the objects whose hash is below R are
/// replayed, in caches of R times the capacity (Waldspurger, Saemundsson, Ahmad and Park, "Cache Modeling and
/// Optimization using Miniature Simulations", USENIX ATC 2017). The estimated misses are those of the sample divided by
/// R. That counts a surplus or lack of requests in the sample as hits, as SHARDS-adj does.
///
/// The standard error is estimated from eight parts of the sample, each replayed in caches of R/8 times the capacity:
/// the standard error of the mean of their estimates. A miss ratio is at most 1 and at least the share of first
/// requests; estimates near these bounds are adapted to them. A miniature simulation needs 2 R times the time of a
/// replay.
///
/// At rate 1 the curve equals replays at its capacities to the digit.
public struct CurveSweep: Sendable {
    private static let parts = 8
    private static let modulus: UInt64 = 1 << 24

    /// The capacities, in the unit of the trace.
    public let capacities: [Int]
    private let policies: [ConfiguredPolicy]
    private let requests: Int
    private let objects: Int
    private let unit: SizeUnit
    /// The sampling rate, above 0 and at most 1.
    private let rate: Double
    private let sampledObjects: Int
    /// The sweep over the whole trace or sample, then those over its parts that have a request.
    private let sweeps: [Sweep]

    /// Creates a sweep.
    ///
    /// - Parameters:
    ///   - capacities: the capacities in the unit of the trace, ascending.
    ///   - rate: the ratio of sampled to all objects, above 0 and at most 1, rounded to a multiple of 2⁻²⁴. The default
    ///     is 1, without sampling.
    ///   - seed: the seed of the sample and of all random choices.
    /// - Throws: `ReplayError` if the trace is empty or the sample holds no object.
    public init(
        trace: Trace, policies: [ConfiguredPolicy], capacities: [Int], rate: Double = 1, seed: UInt64 = 1
    ) throws(ReplayError) {
        let threshold = max(1, UInt64((Double(Self.modulus) * min(1, max(0, rate))).rounded()))
        let salt = SplitMix64.mix(seed &+ 0x9E37_79B9_7F4A_7C15)
        let sample =
            threshold == Self.modulus
            ? trace
            : trace.keeping { SplitMix64.mix(UInt64($0) ^ salt) & (Self.modulus - 1) < threshold }
        guard sample.count > 0 || trace.count == 0 else {
            throw ReplayError.usage("The sample holds none of the \(trace.objectCount) objects: give a larger share.")
        }
        self.capacities = capacities
        self.policies = policies
        self.rate = Double(threshold) / Double(Self.modulus)
        requests = trace.count
        objects = trace.objectCount
        unit = trace.sizeUnit
        sampledObjects = sample.objectCount
        var sweeps = [try Self.sweep(sample, policies, capacities, rate: self.rate, seed)]
        if threshold < Self.modulus {
            // The numbers of objects in the sample are new, so their parts do not depend on which were sampled.
            for part in 0..<Self.parts {
                let piece = sample.keeping { SplitMix64.mix(UInt64($0) ^ ~salt) % UInt64(Self.parts) == part }
                if piece.count == 0 { continue }
                sweeps.append(
                    try Self.sweep(piece, policies, capacities, rate: self.rate / Double(Self.parts), seed))
            }
        }
        self.sweeps = sweeps
    }

    private static func sweep(
        _ trace: Trace, _ policies: [ConfiguredPolicy], _ capacities: [Int], rate: Double, _ seed: UInt64
    ) throws(ReplayError) -> Sweep {
        try Sweep(
            trace: trace, policies: policies,
            capacities: capacities.map { .number(max(1, Int((Double($0) * rate).rounded()))) },
            options: ReplayOptions(seed: seed, windows: 1))
    }

    /// Returns a progress for ``run(workers:progress:)``.
    public func makeProgress() -> ReplayProgress {
        ReplayProgress(total: sweeps.reduce(0) { $0 + $1.makeProgress().total })
    }

    /// Runs all replays and returns the curves in the order of the policies.
    ///
    /// - Parameters:
    ///   - workers: the number of parallel runs; by default one per core. The result does not depend on it.
    ///   - progress: receives the number of requests served.
    public func run(workers: Int? = nil, progress: ReplayProgress? = nil) async -> [MissRatioCurve] {
        var results: [[RunResult]] = []
        for sweep in sweeps { results.append(await sweep.run(workers: workers, progress: progress)) }
        return policies.indices.map { policy in
            let points = capacities.indices.map { place in
                point(capacities[place], misses: results.map { Self.misses($0[policy * capacities.count + place]) })
            }
            return MissRatioCurve(
                policy: policies[policy].label, unit: unit, method: rate < 1 ? .miniature : .replayed,
                requests: requests, measuredObjects: sampledObjects, samplingRate: rate, points: points)
        }
    }

    private static func misses(_ run: RunResult) -> Double { Double(run.requests - run.hits) }

    /// Returns the point at a capacity from the misses of the whole sample and of its parts.
    private func point(_ capacity: Int, misses: [Double]) -> MissRatioCurve.Point {
        let total = Double(max(1, requests))
        guard rate < 1 else {
            return MissRatioCurve.Point(
                capacity: UInt64(capacity), missRatio: misses[0] / total, standardError: nil)
        }
        // A part without an object has no misses.
        let parts = Array(misses.dropFirst()) + Array(repeating: 0, count: Self.parts - misses.count + 1)
        let mean = parts.reduce(0, +) / Double(Self.parts)
        let squares = parts.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        let partRate = rate / Double(Self.parts)
        let error = (squares / Double(Self.parts - 1) / Double(Self.parts)).squareRoot() / partRate / total
        let estimate = BoundedEstimate(
            misses[0] / rate / total, error, in: min(1, Double(objects) / total)...1)
        return MissRatioCurve.Point(
            capacity: UInt64(capacity), missRatio: estimate.value, standardError: estimate.standardError)
    }
}
