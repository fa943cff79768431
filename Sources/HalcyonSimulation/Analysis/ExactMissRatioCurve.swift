import HalcyonTrace

/// Computes the exact LRU miss-ratio curve of a stream of requests in one pass.
///
/// In objects, the curve gives the exact misses of an LRU cache of every capacity. LRU has the inclusion property: a
/// larger cache holds everything that a smaller one holds. O(log n) per request.
///
/// In bytes, the curve is based on the LRU *byte stack distance*. A request is a hit at capacity C if its object and
/// all objects accessed since its last access total at most C bytes. This is exact for uniform sizes. For variable
/// sizes it approximates a real cache, which evicts whole objects and refuses objects larger than itself. Such a
/// cache may hold less than fits. It may also hold an object that a slightly larger cache has evicted, so inclusion
/// does not hold. Byte distances are kept in buckets of at most 1/512 of their value; the curve has its points at the
/// upper ends of the buckets.
package struct ExactMissRatioCurve {
    /// The unit of capacities.
    package let unit: SizeUnit
    private var stack: StackDistances
    /// The number of requests with each distance in objects.
    private var objectHistogram: [Int] = []
    private var byteHistogram = LogLinearHistogram()
    private var requests = 0

    /// Creates a curve of no requests, in objects or in bytes.
    package init(unit: SizeUnit) {
        self.unit = unit
        stack = StackDistances(unit: unit)
    }

    /// Counts a request for `entry`. Its size, `size`, matters in bytes only. O(log n), amortised.
    package mutating func record(entry: UInt32, size: UInt64) {
        requests += 1
        guard let distance = stack.record(entry, size: size) else { return }
        guard unit == .objects else { return byteHistogram.add(1, at: distance) }
        let place = Int(distance)
        if place >= objectHistogram.count {
            let missing = max(place + 1, objectHistogram.count * 2) - objectHistogram.count
            objectHistogram.append(contentsOf: repeatElement(0, count: missing))
        }
        objectHistogram[place] += 1
    }

    /// Returns the curve of the requests so far. O(distinct distances).
    package func curve() -> MissRatioCurve {
        var points: [MissRatioCurve.Point] = []
        var misses = requests
        func add(_ hits: Int, at capacity: UInt64) {
            misses -= hits
            points.append(
                MissRatioCurve.Point(
                    capacity: capacity, missRatio: Double(misses) / Double(requests), standardError: nil))
        }
        switch unit {
        case .objects:
            for (distance, hits) in objectHistogram.enumerated() where hits > 0 { add(hits, at: UInt64(distance)) }
        case .bytes:
            for (bucket, hits) in byteHistogram.weights.enumerated() where hits > 0 {
                add(Int(hits), at: LogLinearHistogram.upperBound(of: bucket))
            }
        }
        return MissRatioCurve(
            unit: unit, method: .exact, requests: requests, measuredObjects: stack.count, samplingRate: 1,
            points: points)
    }
}

extension MissRatioCurve {
    /// Returns the exact curve of `trace` in its unit of sizes, or in `unit` if given. O(requests · log objects).
    public static func exact(of trace: Trace, unit: SizeUnit? = nil) -> MissRatioCurve {
        var maker = ExactMissRatioCurve(unit: unit ?? trace.sizeUnit)
        for index in 0..<trace.count {
            maker.record(entry: trace.entries[index], size: trace.size(ofRequest: index))
        }
        return maker.curve()
    }
}
