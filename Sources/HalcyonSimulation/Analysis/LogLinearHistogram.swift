/// Weights by value, in buckets whose width is at most 1/512 of the values in them.
///
/// Values up to 1,023 have a bucket each; every octave above is cut into 512. At most some 28,000 buckets of 8 bytes,
/// made as they are needed, for values up to 2⁶³.
struct LogLinearHistogram {
    private static let bits = 9
    private(set) var weights: [Double] = []

    /// Adds `weight` at `value`. O(1), amortised.
    mutating func add(_ weight: Double, at value: UInt64) {
        let bucket = LogLinearHistogram.bucket(of: value)
        if bucket >= weights.count {
            weights.append(contentsOf: repeatElement(0, count: bucket + 1 - weights.count))
        }
        weights[bucket] += weight
    }

    /// The largest value of the bucket that holds the value of this rank, counted in weight from the smallest on; 0 where
    /// the histogram is empty. O(buckets).
    func value(atRank rank: Double) -> UInt64 {
        var sum = 0.0
        for (bucket, weight) in weights.enumerated() {
            sum += weight
            if weight > 0, sum >= rank { return Self.upperBound(of: bucket) }
        }
        return weights.isEmpty ? 0 : Self.upperBound(of: weights.count - 1)
    }

    /// The bucket that holds `value`.
    static func bucket(of value: UInt64) -> Int {
        let shift = max(0, 63 - value.leadingZeroBitCount - bits)
        return shift << bits + Int(value >> UInt64(shift))
    }

    /// The largest value that bucket `number` holds.
    static func upperBound(of bucket: Int) -> UInt64 {
        let size = 1 << bits
        let shift = max(0, bucket / size - 1)
        return (UInt64(bucket - shift * size + 1) << UInt64(shift)) - 1
    }
}
