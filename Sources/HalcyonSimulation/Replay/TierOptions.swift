import HalcyonSupport
import HalcyonTrace

/// Two tiers in a row: a memory in front of a disk, as in an app's image cache.
public struct TierOptions: Sendable, Equatable {
    /// The capacity of the memory tier.
    public var memory: CapacityRequest
    /// The capacity of the disk tier.
    public var disk: CapacityRequest
    /// How long an entry lives in memory, in microseconds, a hit starting that anew; `nil` leaves it to the policy.
    public var memoryLifetime: Int64?
    /// How long an entry lives on disk, in microseconds, a hit starting that anew; `nil` leaves it to the policy.
    public var diskLifetime: Int64?
    /// What an access to each tier costs in time.
    public var latency: LatencyModel

    /// Two tiers; by default no expiration beside the policy's and the default latencies.
    public init(
        memory: CapacityRequest, disk: CapacityRequest, memoryLifetime: Int64? = nil, diskLifetime: Int64? = nil,
        latency: LatencyModel = LatencyModel()
    ) {
        self.memory = memory
        self.disk = disk
        self.memoryLifetime = memoryLifetime
        self.diskLifetime = diskLifetime
        self.latency = latency
    }

    /// Reads `memory=64MB,disk=1GB`, in either order.
    ///
    /// - Throws: ``ReplayError`` if a tier is missing, named twice or unknown, or its capacity cannot be read.
    public init(parsing text: String) throws(ReplayError) {
        var found: [String: CapacityRequest] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1).map(\.trimmingSpaces)
            guard sides.count == 2, ["memory", "disk"].contains(sides[0]), found[sides[0]] == nil else {
                throw ReplayError.usage("'\(text)' does not name two tiers: write memory=64MB,disk=1GB.")
            }
            found[sides[0]] = try CapacityRequest(parsing: sides[1])
        }
        guard let memory = found["memory"], let disk = found["disk"] else {
            throw ReplayError.usage("'\(text)' does not name two tiers: write memory=64MB,disk=1GB.")
        }
        self.init(memory: memory, disk: disk)
    }
}

extension TimeSpan {
    /// Reads a length of time such as `300s` or `7d`.
    ///
    /// - Throws: ``ReplayError`` if `text` is not a length of time from 0 to 1,000 years.
    package init(parsing text: String) throws(ReplayError) {
        guard let span = TimeSpan(argument: text) else {
            throw ReplayError.usage(
                "'\(text)' is not a length of time: write a number with ms, s, min, h, d or w (300s).")
        }
        self = span
    }
}

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
