import HalcyonSupport
import HalcyonTrace

/// What an access costs in time, by where it was served.
public struct LatencyModel: Sendable, Equatable, Codable {
    /// A hit in memory, in milliseconds.
    public var memory = 0.001
    /// A hit on disk, in milliseconds.
    public var disk = 10.0
    /// A fetch over the network before the first byte, in milliseconds.
    public var network = 150.0
    /// What the network carries, in bytes a second; sizes add nothing where every object counts 1.
    public var bandwidth = 5_000_000.0

    /// Memory 0.001 ms, disk 10 ms, network 150 ms plus size over 5 MB/s.
    public init() {}

    /// Reads `memory=0.001,disk=10,network=150,bandwidth=5MB`, any of them, milliseconds but for the bandwidth in bytes
    /// a second; what is not named keeps its default.
    ///
    /// - Throws: ``ReplayError`` for an unknown name, a time that is not from 0 to 10⁹ ms, or a bandwidth of 0.
    public init(parsing text: String) throws(ReplayError) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1).map(\.trimmingSpaces)
            guard sides.count == 2, assign(sides[0], sides[1]) else {
                throw ReplayError.usage(
                    "'\(part.trimmingSpaces)' is not a latency: "
                        + "write memory=0.001,disk=10,network=150 (milliseconds) or bandwidth=5MB (a second).")
            }
        }
    }

    private mutating func assign(_ name: String, _ value: String) -> Bool {
        if name == "bandwidth" {
            guard let rate = ByteCount(argument: value)?.value, rate > 0 else { return false }
            bandwidth = Double(rate)
            return true
        }
        guard let milliseconds = Double(value), (0...1e9).contains(milliseconds) else { return false }
        switch name {
        case "memory": memory = milliseconds
        case "disk": disk = milliseconds
        case "network": network = milliseconds
        default: return false
        }
        return true
    }
}
