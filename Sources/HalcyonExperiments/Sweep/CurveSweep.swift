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
/// With a sampling rate below 1, each policy is simulated in miniature. Only the objects whose hash is below the rate
/// are replayed, in caches scaled like the sample. Source: Waldspurger, Saemundsson, Ahmad and Park, "Cache Modeling
/// and Optimization using Miniature Simulations", USENIX ATC 2017. A capacity is multiplied by the sample's share of
/// the size of all objects. The misses are divided by the sample's share of all objects, so requests that the sample
/// has too many or too few count as hits, as in SHARDS-adj. The paper uses the nominal rate for both. With Zipf's law
/// (10,000 objects, rate 0.1, LRU) the shares have a quarter to two thirds of its error at 2,000 objects and more.
///
/// The standard error is estimated from eight parts of the sample, each replayed in caches scaled like it: the standard
/// error of the mean of their estimates, widened by Student's t so that two of it are a 95 % interval. A miss ratio is
/// at most 1; estimates near this bound are adapted to it. Without the widening, the true ratio was within two
/// standard
/// errors in 92 to 95 % of cases, and within three in 98 to 99 %. This was measured with 30 seeds, rates 0.1 and 0.03,
/// s3-fifo, sieve, belady and LRU, on Zipf's law (10,000 objects) and on `Traces/shop.csv`. The error does not cover a
/// bias that all parts share. A miniature cache of 6 to 20 objects had up to 5 points more misses than the full one
/// (belady),
/// one of 50 objects up to 1.4.
///
/// A miniature simulation needs the time of a replay, multiplied by twice the rate.
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
    /// The whole trace or sample, then the parts of the sample that have a request.
    private let pieces: [Piece]

    /// A part of the trace with its replays.
    private struct Piece {
        /// The number of its objects.
        let objects: Int
        let sweep: Sweep

        /// - Parameter distinct: the size of all objects of the whole trace.
        init(
            _ trace: Trace, _ policies: [ConfiguredPolicy], _ capacities: [Int], distinct: UInt64, seed: UInt64
        ) throws(ReplayError) {
            objects = trace.objectCount
            let share = distinct == 0 ? 1 : Double(trace.distinctSize) / Double(distinct)
            sweep = try Sweep(
                trace: trace, policies: policies,
                capacities: capacities.map { .number(share < 1 ? max(1, Int((Double($0) * share).rounded())) : $0) },
                options: ReplayOptions(seed: seed, windows: 1))
        }
    }

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
        let distinct = trace.distinctSize
        var pieces = [try Piece(sample, policies, capacities, distinct: distinct, seed: seed)]
        if threshold < Self.modulus {
            for part in 0..<Self.parts {
                let piece = sample.keeping { SplitMix64.mix(UInt64($0) ^ ~salt) % UInt64(Self.parts) == part }
                if piece.count == 0 { continue }
                pieces.append(try Piece(piece, policies, capacities, distinct: distinct, seed: seed))
            }
        }
        self.pieces = pieces
    }

    /// Returns a progress for ``run(workers:progress:)``.
    public func makeProgress() -> ReplayProgress {
        ReplayProgress(total: pieces.reduce(0) { $0 + $1.sweep.makeProgress().total })
    }

    /// Runs all replays and returns the curves in the order of the policies.
    ///
    /// - Parameters:
    ///   - workers: the number of parallel runs; by default one per core. The result does not depend on it.
    ///   - progress: receives the number of requests served.
    public func run(workers: Int? = nil, progress: ReplayProgress? = nil) async -> [MissRatioCurve] {
        var results: [[RunResult]] = []
        for piece in pieces { results.append(await piece.sweep.runOnce(workers: workers, progress: progress)) }
        return policies.indices.map { policy in
            let points = capacities.indices.map { place in
                point(capacities[place], of: results.map { $0[policy * capacities.count + place] })
            }
            var curve = MissRatioCurve(
                policy: policies[policy].label, unit: unit, method: rate < 1 ? .miniature : .replayed,
                requests: requests, measuredObjects: pieces[0].objects, samplingRate: rate, points: points)
            let run = results[0][policy * capacities.count]
            (curve.parameters, curve.seed, curve.kernels) = (run.parameters, run.seed, run.kernels)
            return curve
        }
    }

    /// Returns the point at a capacity from the runs over all pieces.
    private func point(_ capacity: Int, of runs: [RunResult]) -> MissRatioCurve.Point {
        let ratios = zip(runs, pieces).map { run, piece in
            let share = Double(piece.objects) / Double(max(1, objects))
            return Double(run.requests - run.hits) / share / Double(max(1, requests))
        }
        let whole = runs[0]
        guard rate < 1 else {
            return MissRatioCurve.Point(
                capacity: UInt64(capacity), missRatio: Double(whole.requests - whole.hits) / Double(max(1, requests)),
                standardError: nil)
        }
        let error = BoundedEstimate.standardError(ofParts: Array(ratios.dropFirst()))
        // The first requests of a sample miss, too: no estimate is below their share, and a truncation there would be
        // a bias.
        let least = min(1, Double(objects) / Double(max(1, requests)))
        guard error.isFinite else {
            return MissRatioCurve.Point(
                capacity: UInt64(capacity), missRatio: min(max(ratios[0], least), 1), standardError: nil)
        }
        let estimate = BoundedEstimate(max(least, ratios[0]), error, in: -1...1)
        return MissRatioCurve.Point(
            capacity: UInt64(capacity), missRatio: max(least, estimate.value),
            standardError: min(estimate.standardError, (1 - least) / 2))
    }
}
