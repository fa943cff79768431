import HalcyonLearning

/// How often users went on after a pause of some length: whether somebody who has come back after so long asks for anything more.
///
/// Pauses are told apart by a quarter of an octave. O(1). Bytes: 512.
struct OnwardRates: ~Copyable {
    /// The pause of a first request, which had nothing before it.
    static let first = UInt32.max
    private static let kinds = 64
    /// The share of what is known of a kind that stays with each request of it.
    private static let keep: Float = 1 - 1 / 5_000

    private let requests = HeapArray<Float>(repeating: 0, count: kinds)
    private let followed = HeapArray<Float>(repeating: 0, count: kinds)

    var byteCount: Int { requests.byteCount + followed.byteCount }

    /// Takes note of a request after `pause` seconds.
    mutating func note(_ pause: UInt32) {
        let kind = Self.kind(pause)
        requests[kind] = requests[kind] * Self.keep + 1
        followed[kind] *= Self.keep
    }

    /// The user whose last request came after `pause` seconds has made another.
    mutating func noteNext(after pause: UInt32) { followed[Self.kind(pause)] += 1 }

    /// The share of requests after such a pause that were followed by another of the same user.
    func share(after pause: UInt32) -> Float {
        let kind = Self.kind(pause)
        return min((followed[kind] + 1) / (requests[kind] + 2), 1)
    }

    private static func kind(_ pause: UInt32) -> Int {
        pause == first ? kinds - 1 : min(Int(FastMath.log2(FastMath.float(pause) + 1) * 4), kinds - 2)
    }
}
