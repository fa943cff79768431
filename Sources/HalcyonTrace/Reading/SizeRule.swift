import HalcyonSupport

/// How objects get their sizes.
public enum SizeRule: Sendable, Equatable {
    /// An object keeps the size of its first request; later ones that differ are counted.
    case firstRequest
    /// Each request has the size that it states; where it states none, the object's first.
    case perRequest
    /// Every object counts 1.
    case unit
    /// A size drawn from the key's hash, log-normally distributed: the same key has the same size in every run.
    case lognormal(median: Double, sigma: Double)

    /// The rule that an argument names: `first`, `per-request`, `unit` or `lognormal:median=40KB,sigma=1.1`.
    ///
    /// Both parts of `lognormal` may be left out; their defaults are 40KB and 1.
    public init?(argument: String) {
        switch argument {
        case "first": self = .firstRequest
        case "per-request": self = .perRequest
        case "unit": self = .unit
        case "lognormal": self = .lognormal(median: 40_000, sigma: 1)
        default:
            guard argument.hasPrefix("lognormal:") else { return nil }
            var median = 40_000.0
            var sigma = 1.0
            for part in argument.dropFirst("lognormal:".count).split(separator: ",", omittingEmptySubsequences: false) {
                let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard pair.count == 2 else { return nil }
                switch pair[0] {
                case "median":
                    guard let bytes = ByteCount(argument: String(pair[1])), bytes.value > 0 else { return nil }
                    median = Double(bytes.value)
                case "sigma":
                    guard let value = Double(pair[1]), value.isFinite, value >= 0 else { return nil }
                    sigma = value
                default: return nil
                }
            }
            self = .lognormal(median: median, sigma: sigma)
        }
    }

    /// What ``init(argument:)`` accepts.
    public static let accepted = "first, per-request, unit or lognormal:median=40KB,sigma=1.1"

    /// The largest size that an object may have: 2⁴⁸ − 1 bytes.
    public static let largest: UInt64 = 1 << 48 - 1

    /// The log-normal size of the key with this hash: `median · exp(sigma · z)`, z drawn with the hash as the seed.
    static func drawLognormal(hash: UInt64, median: Double, sigma: Double) -> UInt64 {
        var random = SeededGenerator(seed: hash)
        let size = (median * PortableMath.exp(sigma * PortableMath.normal(using: &random))).rounded()
        return UInt64(min(max(size, 1), Double(largest)))
    }
}
