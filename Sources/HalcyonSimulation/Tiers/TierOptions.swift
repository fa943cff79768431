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
