/// How urgent a transfer is. Whoever waits for its turn goes before all less urgent ones; under way, an HTTP/2 server is
/// told the weight.
public enum TransferPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// Nobody waits for it.
    case veryLow
    /// It may be wanted soon, as what is prefetched.
    case low
    /// Something waits for it.
    case normal
    /// Somebody looks at its place.
    case high
    /// Nothing else matters.
    case veryHigh

    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// The weight among the streams of one HTTP/2 connection: 1 to 256.
    package var streamWeight: Int {
        switch self {
        case .veryLow: 1
        case .low: 8
        case .normal: 32
        case .high: 128
        case .veryHigh: 256
        }
    }
}
