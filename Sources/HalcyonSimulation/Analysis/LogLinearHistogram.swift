/// Weights by value, in buckets whose width is at most 1/512 of the values in them.
///
/// Values up to 1,023 have a bucket each; every octave above is divided into 512. There are at most about 28,000
/// buckets of 8 bytes for values up to 2⁶³, created when first used.
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

    /// Returns the largest value of the bucket that contains the value of this rank, counted in weight from the
    /// smallest value; 0 for an empty histogram. O(buckets).
    func value(atRank rank: Double) -> UInt64 {
        var sum = 0.0
        for (bucket, weight) in weights.enumerated() {
            sum += weight
            if weight > 0, sum >= rank { return Self.upperBound(of: bucket) }
        }
        return weights.isEmpty ? 0 : Self.upperBound(of: weights.count - 1)
    }

    /// Returns the bucket that contains `value`.
    static func bucket(of value: UInt64) -> Int {
        let shift = max(0, 63 - value.leadingZeroBitCount - bits)
        return shift << bits + Int(value >> UInt64(shift))
    }

    /// Returns the largest value of bucket `number`.
    static func upperBound(of bucket: Int) -> UInt64 {
        let size = 1 << bits
        let shift = max(0, bucket / size - 1)
        return (UInt64(bucket - shift * size + 1) << UInt64(shift)) - 1
    }
}
