import HalcyonEviction
import HalcyonSupport
import HalcyonTrace

/// The options of two tiers: a memory in front of a disk, as in an app's image cache.
public struct TierOptions: Sendable {
    /// The capacity of the memory tier.
    public var memory: CapacityRequest
    /// The capacity of the disk tier.
    public var disk: CapacityRequest
    /// The policy of the memory tier. Nil by default: that of the job.
    public var memoryPolicy: ConfiguredPolicy?
    /// The policy of the disk tier. Nil by default: that of the job.
    public var diskPolicy: ConfiguredPolicy?
    /// The lifetime of an entry in memory after its last access, in microseconds. Nil by default: the policy decides.
    public var memoryLifetime: Int64?
    /// The lifetime of an entry on disk after its last access, in microseconds. Nil by default: the policy decides.
    public var diskLifetime: Int64?
    /// The latency of an access to each tier.
    public var latency: LatencyModel
    /// The ratio of an object's size in memory to its size on disk, from 0.001 to 10,000. The default is 1.
    ///
    /// A disk stores files, and a memory decoded pictures, which are larger: four bytes per pixel, some 10 times the size
    /// of a photo as JPEG. The capacity of the memory counts decoded bytes, rounded up for each object.
    public var decodedSizeRatio = 1.0

    /// Creates two tiers, by default without lifetimes and with the default latencies.
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

    /// Reads `memory=64MB,disk=1GB`, in either order, each optionally with a policy of its own:
    /// `memory=64MB:kingfisher-memory,disk=1GB:kingfisher-disk`.
    ///
    /// - Throws: ``ReplayError`` if a tier is missing, named twice or unknown, or its capacity cannot be read;
    ///   `PolicyError` for an unknown policy.
    public init(parsing text: String, catalogue: PolicyCatalogue = .classical) throws {
        var found: [String: (capacity: CapacityRequest, policy: ConfiguredPolicy?)] = [:]
        for part in PolicySpec.split(text) {
            let sides = part.split(separator: "=", maxSplits: 1).map(\.trimmingSpaces)
            guard sides.count == 2, ["memory", "disk"].contains(sides[0]), found[sides[0]] == nil else {
                throw Self.malformed(text)
            }
            let halves = sides[1].split(separator: ":", maxSplits: 1).map(\.trimmingSpaces)
            let policy = halves.count == 2 ? try catalogue.policy(halves[1]) : nil
            if halves.count < 2, sides[1].contains(":") { throw Self.malformed(text) }
            found[sides[0]] = (try CapacityRequest(parsing: halves.first ?? ""), policy)
        }
        guard let memory = found["memory"], let disk = found["disk"] else { throw Self.malformed(text) }
        self.init(memory: memory.capacity, disk: disk.capacity)
        memoryPolicy = memory.policy
        diskPolicy = disk.policy
    }

    /// The accepted values of ``decodedSizeRatio``.
    package static let decodedSizeRatios = 0.001...10_000

    /// Returns the size in memory of an object with the size `size` on disk: rounded up.
    func decodedSize(_ size: Int) -> Int { Self.decodedSize(size, ratio: decodedSizeRatio) }

    /// Returns the size in memory of an object with the size `size` on disk: rounded up.
    static func decodedSize(_ size: Int, ratio: Double) -> Int {
        ratio == 1 ? size : Int(exactly: (Double(size) * ratio).rounded(.up)) ?? .max
    }

    /// Verifies that objects have sizes to multiply.
    ///
    /// - Throws: ``ReplayError`` for a ratio that is not accepted, or other than 1 if every object counts 1.
    func verify(unit: SizeUnit) throws(ReplayError) {
        guard Self.decodedSizeRatios.contains(decodedSizeRatio) else {
            throw .usage("The ratio of decoded sizes is \(decodedSizeRatio): give a number from 0.001 to 10000.")
        }
        if decodedSizeRatio != 1, unit == .objects {
            throw .usage(
                "No size is known, so that decoded sizes are unknown, too: leave out the ratio of decoded sizes.")
        }
    }

    private static func malformed(_ text: String) -> ReplayError {
        .usage(
            "'\(text)' does not name two tiers: write memory=64MB,disk=1GB, each with a policy of its own if needed "
                + "(memory=64MB:lru).")
    }

    /// The size of the disk relative to the memory in ``kingfisher(disk:)``.
    package static let kingfisherDiskPerMemory = 16

    /// Kingfisher's image cache as an app has it: `kingfisher-memory` in front of `kingfisher-disk`. The memory has a
    /// sixteenth of the disk's capacity (64 MB for 1 GB) and holds copies of what the disk holds.
    ///
    /// Kingfisher limits the memory to a quarter of the system's and does not limit the disk by default. Both would
    /// exceed a trace, so the replay limits the disk to the capacity that the other policies have.
    public static func kingfisher(disk: CapacityRequest) -> TierOptions {
        var tiers = TierOptions(memory: disk.divided(by: kingfisherDiskPerMemory), disk: disk)
        tiers.memoryPolicy = ConfiguredPolicy(KingfisherMemory.self)
        tiers.diskPolicy = ConfiguredPolicy(KingfisherDisk.self)
        return tiers
    }
}

extension TimeSpan {
    /// Reads a duration such as `300s` or `7d`.
    ///
    /// - Throws: ``ReplayError`` if `text` is not a duration from 0 to 1,000 years.
    package init(parsing text: String) throws(ReplayError) {
        guard let span = TimeSpan(argument: text) else {
            throw ReplayError.usage(
                "'\(text)' is not a duration: write a number with ms, s, min, h, d or w (300s).")
        }
        self = span
    }
}

/// The latency of an access, by the tier that served it.
public struct LatencyModel: Sendable, Equatable, Codable {
    /// The latency of a hit in memory, in milliseconds. The default is 0.001.
    public var memory = 0.001
    /// The latency of a hit on disk, in milliseconds. The default is 10.
    public var disk = 10.0
    /// The latency of a network fetch before the first byte, in milliseconds. The default is 150.
    public var network = 150.0
    /// The bandwidth of the network, in bytes per second. The default is 5 MB/s. Ignored if every object counts 1.
    public var bandwidth = 5_000_000.0

    /// Creates the default latencies: memory 0.001 ms, disk 10 ms, network 150 ms plus size / (5 MB/s).
    public init() {}

    /// Reads `memory=0.001,disk=10,network=150,bandwidth=5MB`, in any selection. Times are in milliseconds, the
    /// bandwidth in bytes per second. Omitted names keep their defaults.
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
