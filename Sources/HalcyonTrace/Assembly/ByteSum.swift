/// The sizes of all requests together, which whoever replays them adds up again and again in 64 bits.
struct ByteSum: Sendable {
    /// The most that is accepted: 2⁶² bytes, so that no count of requests, hits or what they size overflows.
    static let largest: UInt64 = 1 << 62

    private var sum: UInt64 = 0

    /// Whether it is no more than ``largest``.
    private(set) var isAccepted = true

    /// Adds sizes. O(number).
    mutating func add(_ sizes: some Sequence<UInt64>) {
        for size in sizes {
            guard isAccepted, size <= ByteSum.largest - sum else {
                isAccepted = false
                return
            }
            sum += size
        }
    }

    /// Whether that many sizes of at most `size` are accepted, whatever they are.
    static func accepts(_ count: Int, upTo size: UInt64) -> Bool {
        let (product, isTooLarge) = size.multipliedReportingOverflow(by: UInt64(count))
        return !isTooLarge && product <= largest
    }

    /// What is said of a trace whose sum is too large.
    static func fault(_ path: String) -> TraceError {
        TraceError(
            file: path,
            message: "all requests together ask for more than \(largest) bytes, the most accepted; leave some out, or "
                + "count every object as 1 (--sizes unit)")
    }
}
