import HalcyonTrace

extension MissRatioCurve {
    /// Returns the exact LRU curve of `trace` in its unit of sizes, or in `unit` if given. O(requests · log objects).
    ///
    /// In objects, the curve gives the exact misses of an LRU cache of every capacity. LRU has the inclusion property:
    /// a larger cache holds everything that a smaller one holds. O(log n) per request.
    ///
    /// In bytes, the curve is based on the LRU *byte stack distance*. A request is a hit at capacity C if its object
    /// and all objects accessed since its last access total at most C bytes. This is exact for uniform sizes. For
    /// variable sizes it approximates a real cache, which evicts whole objects and refuses objects larger than itself.
    /// Such a cache may hold less than fits. It may also hold an object that a slightly larger cache has evicted, so
    /// inclusion does not hold. Byte distances are kept in buckets of at most 1/512 of their value; the curve has its
    /// points at the upper ends of the buckets.
    public static func exact(of trace: Trace, unit: SizeUnit? = nil) -> MissRatioCurve {
        let unit = unit ?? trace.sizeUnit
        var stack = StackDistances(unit: unit)
        // The number of requests with each distance in objects, and in bytes by bucket.
        var hitsByDistance: [Int] = []
        var buckets = LogLinearHistogram()
        for index in 0..<trace.count {
            let distance = stack.record(trace.entries[index], size: trace.size(ofRequest: index))
            switch (unit, distance) {
            case (_, nil): break
            case (.bytes, let distance?): buckets.add(1, at: distance)
            case (.objects, let distance?):
                while hitsByDistance.count <= distance { hitsByDistance.append(0) }
                hitsByDistance[Int(distance)] += 1
            }
        }
        if unit == .bytes { hitsByDistance = buckets.weights.map { Int($0) } }
        var misses = trace.count
        var points: [Point] = []
        for (place, hits) in hitsByDistance.enumerated() where hits > 0 {
            misses -= hits
            points.append(
                Point(
                    capacity: unit == .bytes ? LogLinearHistogram.upperBound(of: place) : UInt64(place),
                    missRatio: Double(misses) / Double(trace.count), standardError: nil))
        }
        return MissRatioCurve(
            unit: unit, method: .exact, requests: trace.count, measuredObjects: stack.count, samplingRate: 1,
            points: points)
    }
}
