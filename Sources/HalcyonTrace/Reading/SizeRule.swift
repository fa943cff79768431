import HalcyonSupport

/// The rule that gives objects their sizes.
public enum SizeRule: Sendable, Equatable {
    /// Every object has the size of its first request. Later requests with another size are counted.
    case firstRequest
    /// Every request has its recorded size, or the size of the object's first request if it has none.
    case perRequest
    /// Every object has size 1.
    case unit
    /// Sizes are drawn from a log-normal distribution, seeded by the key's hash: a key has the same size in every run.
    case lognormal(median: Double, sigma: Double)

    /// Reads an argument: `first`, `per-request`, `unit` or `lognormal:median=40KB,sigma=1.1`.
    ///
    /// Both parts of `lognormal` may be omitted; their defaults are 40KB and 1.
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

    /// The arguments that ``init(argument:)`` accepts, for error messages.
    package static let accepted = "first, per-request, unit or lognormal:median=40KB,sigma=1.1"

    /// The largest accepted size of an object: 2⁴⁸ − 1 bytes.
    public static let largest: UInt64 = 1 << 48 - 1

    /// Returns the log-normal size of the key with this hash: `median · exp(sigma · z)`, where the hash seeds the draw
    /// of z.
    static func drawLognormal(hash: UInt64, median: Double, sigma: Double) -> UInt64 {
        var random = SeededGenerator(seed: hash)
        let size = (median * PortableMath.exp(sigma * PortableMath.normal(using: &random))).rounded()
        return UInt64(min(max(size, 1), Double(largest)))
    }
}
