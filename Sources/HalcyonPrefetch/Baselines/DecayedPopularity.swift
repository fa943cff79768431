import HalcyonEviction

/// How often each item was counted, each count halving every ``halfLife`` requests, up to a common factor.
///
/// What comes later weighs more instead of what came earlier weighing less (Cormode, Shkapenyuk, Srivastava, Xu: Forward
/// decay, 2009): a score changes only when its item is counted, so that rankings stay. Counting is O(1); once in 64
/// half-lives all scores are made smaller. Bytes: 4 an item up to the largest number.
struct DecayedPopularity: ~Copyable {
    /// After how many requests a count is worth half.
    let halfLife: Int
    /// What counts now.
    private(set) var weight: Float = 1
    /// What was counted together.
    private(set) var total: Float = 0
    private(set) var scores = SlotArray<Float>(repeating: 0)

    private let growth: Double
    private var preciseWeight = 1.0

    /// Nothing was counted.
    init(halfLife: Int) {
        self.halfLife = halfLife
        // Two to the power of a small number: three terms are exact to the last digit but two.
        let exponent = 0.693_147_180_559_945_3 / Double(halfLife)
        growth = 1 + exponent * (1 + exponent * (0.5 + exponent / 6))
    }

    var byteCount: Int { scores.byteCount }

    /// Counts an item, once or by a part of that.
    @inline(__always)
    mutating func count(_ item: UInt32, share: Float = 1) {
        scores[item] += weight * share
        total += weight * share
    }

    /// Lets one request pass.
    @inline(__always)
    mutating func advance() {
        preciseWeight *= growth
        if _slowPath(preciseWeight > 0x1p64) { rescale() }
        weight = Float(preciseWeight)
    }

    @inline(never)
    private mutating func rescale() {
        preciseWeight *= 0x1p-64
        total *= 0x1p-64
        for item in 0..<UInt32(scores.capacity) { scores[item] *= 0x1p-64 }
    }
}
