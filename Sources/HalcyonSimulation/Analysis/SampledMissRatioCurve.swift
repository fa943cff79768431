import HalcyonSupport
import HalcyonTrace

/// Estimates the LRU miss-ratio curve of a stream of requests from a sample of its objects: SHARDS (Waldspurger, Park,
/// Garthwaite and Ahmad, "Efficient MRC construction with SHARDS", FAST 2015).
///
/// An object is sampled if a hash of its number is below a threshold, so that all of its accesses are counted or
/// none. Distances in the sample are divided by the sampling rate. First requests miss at every capacity, and their
/// number is known if ``Limits`` are given; only the misses of other requests are estimated. The difference between
/// the expected
/// and the actual number of sampled requests is added at the smallest distance (SHARDS-adj), as the paper does. With
/// `maximumObjects`, the threshold falls whenever the sample would exceed that number, and objects above it are
/// dropped. This is SHARDS-max, which needs constant memory for any length of the stream. The paper drops one object
/// at a time;
/// this implementation drops the topmost sixteenth of the sample at once.
///
/// **Stated error.** The hash divides the sample of objects into eight parts, and each part gives a curve. The standard
/// error of these eight curves at a capacity estimates that of the whole curve there. Each point states it, widened by
/// Student's t with 7 degrees of freedom: two stated errors are a 95 % interval. A test asserts this over 60 seeds at
/// rate 0.1, for five traces and five capacities of each: 94 % of the true ratios are within two stated errors. No
/// bias is above
/// the noise of these seeds. See `SampledMissRatioCurveTests.intervalsCoverTheExactRatio()`. Where LRU's curve falls
/// as a cliff, the error is too small: at that of a block trace, 72 % were within two.
///
/// **Bounds.** A ratio is at most 1. An estimate near or beyond it becomes the mean of the normal distribution
/// truncated there, and its error the standard deviation. Without ``Limits``, so does one near 0. A cache with fewer
/// than
/// ``MissRatioCurve/smallestSample`` sampled objects is below the resolution of the sample. The curve starts above it.
/// It ends at the size of all objects, where only first requests miss, if that is known.
///
/// O(1) for a request whose object is not sampled, O(log sample) for others; about 250 bytes per sampled object.
package struct SampledMissRatioCurve {
    private static let modulus: UInt64 = 1 << 24
    private static let parts = 8

    private struct Member {
        var id: UInt32
        var hash: UInt64
    }

    /// The unit of capacities.
    package let unit: SizeUnit
    private let maximumObjects: Int
    private let salt: UInt64
    private var threshold: UInt64
    private var members: [UInt32: Member] = [:]
    private var freeIDs: [UInt32] = []
    private var seenObjects = 0
    private var seenSize = 0.0
    private var whole: SampledStack
    private var split: [SampledStack]
    private var requests = 0

    /// Creates a curve of no requests.
    ///
    /// - Parameters:
    ///   - unit: the unit of capacities.
    ///   - rate: the initial ratio of sampled to all objects, above 0 and at most 1.
    ///   - maximumObjects: the maximum number of objects in the sample; values below 16 count as 16. Nil for no limit.
    ///   - seed: the seed of the sample.
    package init(unit: SizeUnit, rate: Double = 0.01, maximumObjects: Int? = nil, seed: UInt64 = 1) {
        self.unit = unit
        self.maximumObjects = max(16, maximumObjects ?? .max)
        let scaled = Double(SampledMissRatioCurve.modulus) * min(1, max(0, rate))
        threshold = max(1, UInt64(scaled.rounded()))
        salt = SplitMix64.mix(seed &+ 0x9E37_79B9_7F4A_7C15)
        whole = SampledStack(unit: unit)
        split = Array(repeating: SampledStack(unit: unit), count: SampledMissRatioCurve.parts)
    }

    /// The current ratio of sampled to all objects.
    package var rate: Double { Double(threshold) / Double(SampledMissRatioCurve.modulus) }

    /// The current number of objects in the sample.
    package var sampleSize: Int { members.count }

    /// Counts a request for `entry`. Its size, `size`, matters in bytes only. O(1) unless sampled.
    package mutating func record(entry: UInt32, size: UInt64) {
        requests += 1
        let hash = SplitMix64.mix(UInt64(entry) ^ salt)
        if hash & (SampledMissRatioCurve.modulus - 1) < threshold { sample(entry, hash: hash, size: size) }
    }

    private mutating func sample(_ entry: UInt32, hash: UInt64, size: UInt64) {
        let id: UInt32
        if let member = members[entry] {
            id = member.id
        } else {
            if members.count >= maximumObjects {
                lowerThreshold()
                if hash & (SampledMissRatioCurve.modulus - 1) >= threshold { return }
            }
            id = freeIDs.popLast() ?? UInt32(members.count)
            members[entry] = Member(id: id, hash: hash)
            seenObjects += 1
            seenSize += Double(size)
        }
        whole.record(id, size: size, rate: rate)
        let part = SampledMissRatioCurve.part(of: hash)
        split[part].record(id, size: size, rate: rate / Double(SampledMissRatioCurve.parts))
    }

    private static func part(of hash: UInt64) -> Int {
        Int((hash >> 24) % UInt64(parts))
    }

    /// Drops the sixteenth of the sample with the highest hashes, and lowers the threshold to exclude them.
    private mutating func lowerThreshold() {
        let mask = SampledMissRatioCurve.modulus - 1
        let hashes = members.values.map { $0.hash & mask }.sorted()
        threshold = max(1, hashes[hashes.count - hashes.count / 16 - 1])
        for (entry, member) in members where member.hash & mask >= threshold {
            whole.remove(member.id)
            split[SampledMissRatioCurve.part(of: member.hash)].remove(member.id)
            freeIDs.append(member.id)
            members[entry] = nil
        }
    }

    /// Returns the estimated curve of the requests so far. O(distinct distances).
    ///
    /// - Parameter limits: what is known about the whole stream. Nil if nothing is.
    package func curve(limits: Limits? = nil) -> MissRatioCurve {
        var points: [MissRatioCurve.Point] = []
        let total = Double(requests)
        let parts = split.map(\.histogram.weights)
        let least = limits.map { min(1, Double($0.firstRequests) / total) } ?? 0
        // No estimate is below the share of first requests if their number is known: a truncation there would be a
        // bias.
        let bounds = (limits == nil ? 0 : -1)...1.0
        let isWhole = threshold == SampledMissRatioCurve.modulus
        let smallest = isWhole ? 0 : Double(MissRatioCurve.smallestSample) * meanSize / rate
        let knowsFirst = limits != nil
        var misses = split.map { knowsFirst ? $0.repeatedWeight : $0.weight }
        var allMisses = limits.map { Double($0.firstRequests) + whole.repeatedWeight } ?? whole.weight
        func addPoint(_ capacity: UInt64) {
            let error = isWhole ? 0 : BoundedEstimate.standardError(ofParts: misses) / total
            let estimate = BoundedEstimate(max(least, allMisses / total), error, in: bounds)
            points.append(
                MissRatioCurve.Point(
                    capacity: capacity, missRatio: min(max(least, estimate.value), points.last?.missRatio ?? 1),
                    standardError: min(estimate.standardError, (1 - least) / 2)))
        }
        var hasHits = false
        for (bucket, hits) in whole.histogram.weights.enumerated() {
            allMisses -= hits
            hasHits = hasHits || hits > 0
            for index in parts.indices where bucket < parts[index].count { misses[index] -= parts[index][bucket] }
            let capacity = LogLinearHistogram.upperBound(of: bucket)
            if let limits, capacity >= limits.distinctSize { break }
            // The first point states the hits below it, too.
            if Double(capacity) >= smallest, hits > 0 || hasHits && points.isEmpty { addPoint(capacity) }
        }
        let first = UInt64(smallest.rounded(.up))
        if points.isEmpty, hasHits, first < limits?.distinctSize ?? .max { addPoint(first) }
        if let limits, seenObjects > 0, requests > limits.firstRequests {
            points.append(
                MissRatioCurve.Point(
                    capacity: limits.distinctSize, missRatio: least, standardError: 0))
        }
        return MissRatioCurve(
            unit: unit, method: .sampled, requests: requests, measuredObjects: seenObjects, samplingRate: rate,
            points: points)
    }

    /// The mean size of the sampled objects, in ``unit``, at their first request.
    private var meanSize: Double {
        unit == .objects || seenObjects == 0 ? 1 : max(1, seenSize / Double(seenObjects))
    }

    /// What is known about the whole stream beside its sample.
    package struct Limits: Sendable {
        /// The number of first requests of an object, which miss at every capacity.
        package var firstRequests: Int
        /// The capacity, in ``SampledMissRatioCurve/unit``, from which on only first requests miss.
        package var distinctSize: UInt64
    }
}

extension MissRatioCurve {
    /// Returns an estimated curve of `trace` in its unit of sizes, or in `unit` if given: LRU by SHARDS over a sample of
    /// the objects. Each point states its standard error. O(requests), plus O(log sample) for each sampled request.
    ///
    /// - Parameters:
    ///   - rate: the initial ratio of sampled to all objects, above 0 and at most 1.
    ///   - maximumObjects: the maximum number of objects in the sample; values below 16 count as 16. Nil for no limit.
    ///   - seed: the seed of the sample.
    public static func sampled(
        of trace: Trace, unit: SizeUnit? = nil, rate: Double = 0.01, maximumObjects: Int? = nil, seed: UInt64 = 1
    ) -> MissRatioCurve {
        var maker = SampledMissRatioCurve(
            unit: unit ?? trace.sizeUnit, rate: rate, maximumObjects: maximumObjects, seed: seed)
        for index in 0..<trace.count {
            maker.record(entry: trace.entries[index], size: trace.size(ofRequest: index))
        }
        return maker.curve(limits: trace.curveLimits(unit: maker.unit))
    }
}

extension Trace {
    /// Returns what is known about the whole trace for a sampled curve.
    fileprivate func curveLimits(unit: SizeUnit) -> SampledMissRatioCurve.Limits {
        guard unit == .bytes else {
            return SampledMissRatioCurve.Limits(firstRequests: objectCount, distinctSize: UInt64(objectCount))
        }
        var largest = objectSizes
        if !requestSizes.isEmpty {
            for index in 0..<count {
                let entry = Int(entries[index])
                largest[entry] = max(largest[entry], UInt64(requestSizes[index]))
            }
        }
        return SampledMissRatioCurve.Limits(
            firstRequests: objectCount, distinctSize: largest.reduce(0) { $0 &+ $1 })
    }
}

/// A stack of sampled objects and the scaled distances of their accesses.
struct SampledStack {
    private let unit: SizeUnit
    private var stack: StackDistances
    private(set) var histogram = LogLinearHistogram()
    /// The number of requests that the recorded ones represent, including misses at every capacity.
    private(set) var weight = 0.0
    /// The part of ``weight`` that is not of first requests.
    private(set) var repeatedWeight = 0.0

    init(unit: SizeUnit) {
        self.unit = unit
        stack = StackDistances(unit: unit, slotCount: 64)
    }

    /// Counts an access to an object that was sampled at `rate`. The access represents 1 / `rate` accesses. Its
    /// distance in the sample represents 1 / `rate` times that distance.
    mutating func record(_ id: UInt32, size: UInt64, rate: Double) {
        weight += 1 / rate
        let size = unit == .objects ? 1 : size
        guard let measured = stack.record(id, size: size) else { return }
        let distance = Double(measured - size) / rate + Double(size)
        repeatedWeight += 1 / rate
        histogram.add(1 / rate, at: UInt64(min(distance.rounded(), 0x1p62)))
    }

    /// Removes an object that is no longer sampled; its recorded distances are kept.
    mutating func remove(_ id: UInt32) { stack.remove(id) }
}
