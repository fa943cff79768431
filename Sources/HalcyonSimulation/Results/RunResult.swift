import HalcyonEviction
import HalcyonTrace

/// The result of one run: one trace, one policy, one capacity.
public struct RunResult: Sendable, Codable {
    /// The policy's name; for tiers with different policies, as ``label``.
    public var policy: String
    /// The policy as requested, with the parameters set by the user. For tiers with different policies, the name of the
    /// run, or both policies (`lru/s3-fifo`), that of the memory first.
    public var label: String
    /// Every parameter of the policy with its value. For tiers with different policies, each name begins with the
    /// tier's (`memory_expiration`).
    public var parameters: [String: String]
    /// The names of the policy's traits, or of the traits of either tier's policy.
    public var traits: [String]
    /// Which objects the policy refuses. Nil for a policy that admits every object.
    public var admissionRule: String?
    /// The capacity of the cache, or of each user's cache, in ``capacityUnit``.
    public var capacity: Int
    /// The capacity as requested: `1%`.
    public var capacityAsked: String
    /// The unit of the capacity.
    public var capacityUnit: SizeUnit
    /// The kind of caches: one shared cache, or per-user caches.
    public var mode: ReplayMode
    /// The number of caches: 1, or one per user.
    public var caches: Int
    /// What the learners and the prefetch policies of per-user caches saw. Nil in shared mode, and for policies that do not
    /// learn.
    public var knowledge: Knowledge?
    /// What the models of devices were trained on before the replay: `other-users`, or the names of other traces. Nil without
    /// pretraining, and for policies that begin with no such model.
    public var pretrain: String?
    /// The restarts between visits: `visits`. Nil without.
    public var restart: String?
    /// The part of the users that was replayed: `1/4`. Nil for all users.
    public var userPart: String?
    /// The number of counted requests, without the warm-up.
    public var requests: Int
    /// The number of requests that found their object.
    public var hits: Int
    /// The object hit ratio: hits by requests, 0…1.
    public var objectHitRatio: Double
    /// The byte hit ratio: bytes hit by bytes requested, 0…1. Equals the object hit ratio if every object counts 1.
    public var byteHitRatio: Double
    /// The total size of the misses, in ``capacityUnit``.
    public var bytesFetched: Int
    /// The total cost of the misses, at the prices given to a policy of the report. Nil if no policy has prices, or
    /// several have different ones.
    public var missCost: Double?
    /// The number of entries evicted to make room.
    public var evictions: Int
    /// The number of requests whose object was not admitted: larger than the cache or refused by the policy.
    public var admissionsRefused: Int
    /// The part of ``admissionsRefused`` whose object is larger than the cache, or than its largest tier.
    public var refusedTooLarge: Int
    /// The number of requests that found their object expired or of a different size.
    public var stale: Int
    /// The number of warm-up requests, which are not counted.
    public var warmupRequests: Int
    /// The seed of all random choices.
    public var seed: UInt64
    /// The matrix routines that the policy computed with. Nil for a policy without a parameter `kernels`.
    public var kernels: KernelInfo?
    /// The processor time of the run's thread, in seconds: of the fastest of up to five runs if one takes less than 50
    /// ms. Depends on the machine. With ``ReplayOptions/timings``, and for a stream, it is that of one run.
    public var seconds: Double
    /// The requests per second of processor time, including the warm-up.
    public var requestsPerSecond: Double
    /// The heap bytes of the metadata of all caches at the end. A model that several caches share counts once.
    public var metadataBytes: Int
    /// The part of ``metadataBytes`` that does not grow with the number of entries; see
    /// `MetadataBytes.fixed`.
    public var metadataFixedBytes: Int
    /// The other metadata bytes per resident, in a cache that reuses the numbers of forgotten entries, as live caches
    /// do.
    ///
    /// (bytes per entry number × (residents + remembered entries) + bytes that grow with the residents) / residents.
    /// It is 0 if nothing is resident at the end.
    public var metadataBytesPerResident: Double
    /// The metadata of one device. Nil for a shared cache, and with server knowledge where that decides the result.
    public var deviceMetadata: DeviceMetadata?
    /// The metrics that the policy publishes; with several caches, those of the last cache.
    public var metrics: [String: Double]
    /// The hits over time, in windows of equal length.
    public var windows: [Tally]
    /// The hits by category. A request with several categories counts in each. Nil unless
    /// ``ReplayOptions/byCategory`` is set.
    public var categories: [String: Tally]?
    /// The hits by user. Nil unless ``ReplayOptions/byUser`` is set.
    public var users: [String: Tally]?
    /// The hits by category and by user as rows; nil unless either is counted.
    public var breakdown: [Breakdown]?
    /// The distribution of the hit ratio over users. Nil in shared mode.
    public var userDistribution: UserDistribution?
    /// The hits by tier and the latencies. Nil without tiers.
    public var tiers: TierResult?
    /// The durations of accesses and evictions. Nil unless ``ReplayOptions/timings`` is set.
    public var timings: RunTimings?
    /// The results of prefetching. Nil without prefetching.
    public var prefetch: PrefetchResult?
}

/// The kind of caches: one shared cache, or per-user caches.
public enum ReplayMode: String, Sendable, Codable {
    /// One cache serves every request.
    case shared
    /// Every user has a separate cache.
    case perUser = "per_user"
}

/// The heap bytes of the metadata of one device of per-user caches at the end: of its cache, with its model, and of its
/// prefetch policy.
public struct DeviceMetadata: Sendable, Codable, Equatable {
    /// The mean over the devices, rounded down.
    public var meanBytes: Int
    /// Those of the device with the most.
    public var largestBytes: Int
}

/// The distribution of a ratio over the users of per-user caches. Each user counts once.
public struct UserDistribution: Sendable, Codable, Equatable {
    /// The users with at least one counted request.
    public var users: Int
    /// The mean of the users' hit ratios.
    public var mean: Double
    /// The 10th percentile.
    public var p10: Double
    /// The lower quartile.
    public var p25: Double
    /// The median.
    public var p50: Double
    /// The upper quartile.
    public var p75: Double
    /// The 90th percentile.
    public var p90: Double

    /// Creates the distribution of `ratios` by the nearest-rank method; `nil` if there are none. O(n log n).
    package init?(_ ratios: [Double]) {
        guard !ratios.isEmpty else { return nil }
        let sorted = ratios.sorted()
        func percentile(_ share: Double) -> Double {
            sorted[min(sorted.count - 1, max(0, Int((share * Double(sorted.count)).rounded(.up)) - 1))]
        }
        users = sorted.count
        mean = sorted.reduce(0, +) / Double(sorted.count)
        p10 = percentile(0.1)
        p25 = percentile(0.25)
        p50 = percentile(0.5)
        p75 = percentile(0.75)
        p90 = percentile(0.9)
    }
}

extension RunResult {
    /// Creates the result of a run.
    ///
    /// - Parameters:
    ///   - seconds: the processor time of the run.
    ///   - timings: the durations of accesses and evictions; `nil` if they were not measured.
    init(
        _ resolved: ResolvedJob, facts: SourceFacts, recorder: Recorder, caches: CacheSummary, seconds: Double,
        timings: RunTimings?
    ) {
        let (job, total) = (resolved.job, recorder.total)
        let policies = job.policies
        self.init(
            policy: policies.count == 1 ? policies[0].info.name : job.label, label: job.label,
            parameters: Self.parameters(policies), traits: job.traits.nameList,
            admissionRule: policies.lazy.compactMap(\.info.admissionRule).first, capacity: resolved.capacity,
            capacityAsked: job.capacity.description, capacityUnit: facts.sizeUnit, mode: job.mode,
            caches: caches.caches,
            knowledge: job.statedKnowledge, pretrain: job.statedPretraining?.description,
            restart: job.options.restart?.description,
            userPart: job.users?.description, requests: total.requests, hits: total.hits,
            objectHitRatio: total.objectHitRatio, byteHitRatio: total.byteHitRatio, bytesFetched: total.bytesFetched,
            evictions: caches.evictions,
            admissionsRefused: recorder.refused, refusedTooLarge: recorder.refusedTooLarge, stale: recorder.stale,
            warmupRequests: recorder.warmupServed,
            seed: job.options.seed, kernels: policies.lazy.compactMap { KernelInfo($0) }.first, seconds: seconds,
            requestsPerSecond: 0,
            metadataBytes: caches.metadataBytes.total, metadataFixedBytes: caches.metadataBytes.fixed,
            metadataBytesPerResident: caches.bytesPerResident,
            metrics: Dictionary(caches.metrics.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }),
            windows: recorder.windows, timings: timings)
        setSeconds(seconds)
        if job.options.byCategory { categories = Self.byCategory(recorder.byCategorySet, facts) }
        if job.options.byUser { users = Self.named(recorder.byUser, facts.names.users) }
        if job.options.byCategory || job.options.byUser {
            breakdown = Breakdown.rows(by: "category", categories) + Breakdown.rows(by: "user", users)
        }
        if job.mode == .perUser, job.statedKnowledge != .server { deviceMetadata = caches.deviceMetadata }
        if job.mode == .perUser {
            userDistribution = UserDistribution(
                recorder.byUser.filter { $0.requests > 0 }.map(\.objectHitRatio))
        }
        if let memoryCapacity = resolved.memoryCapacity {
            tiers = recorder.latency?.result(memoryCapacity: memoryCapacity, diskCapacity: resolved.capacity)
            tiers?.memoryPolicy = job.memoryPolicy?.label ?? ""
            tiers?.diskPolicy = job.mainPolicy.label
            tiers?.memoryLifetime = job.tiers?.memoryLifetime
            tiers?.diskLifetime = job.tiers?.diskLifetime
            tiers?.decodedSizeRatio = job.tiers.flatMap { $0.decodedSizeRatio == 1 ? nil : $0.decodedSizeRatio }
        }
        if let options = job.options.prefetch, let prefetching = caches.prefetching {
            prefetch = PrefetchResult(options, prefetching, recorder)
            if let announcements = job.options.announcements {
                prefetch?.add(
                    announcements, lists: prefetching.counts.announcedLists,
                    entries: prefetching.counts.announcedEntries, unit: facts.sizeUnit)
            }
        }
    }

    /// Sets the processor time, and the speed by it.
    mutating func setSeconds(_ seconds: Double) {
        self.seconds = seconds
        requestsPerSecond = seconds > 0 ? Double(requests + warmupRequests) / seconds : 0
    }

    /// Returns the parameters of the policy that results name; for two tiers with different policies, with the tier in front.
    package static func parameters(_ policies: [ConfiguredPolicy]) -> [String: String] {
        let prefixes = policies.count == 1 ? [""] : ["memory_", "disk_"]
        let named = zip(prefixes, policies).flatMap { prefix, policy in
            policy.recordedParameters.map { (prefix + $0.name, $0.value) }
        }
        return Dictionary(named, uniquingKeysWith: { $1 })
    }

    private static func byCategory(_ tallies: [Tally], _ facts: SourceFacts) -> [String: Tally] {
        var sums = [Tally](repeating: Tally(), count: facts.categoryCount)
        for (set, tally) in tallies.enumerated() where tally.requests > 0 {
            for category in facts.categorySets[UInt32(set)] { sums[Int(category)].add(tally) }
        }
        return named(sums, facts.names.categories)
    }

    /// Returns the tallies by name, or by number if names were not kept.
    private static func named(_ tallies: [Tally], _ names: StringTable) -> [String: Tally] {
        var table: [String: Tally] = [:]
        for (number, tally) in tallies.enumerated() where tally.requests > 0 {
            table[number < names.count ? names[UInt32(number)] : "\(number)", default: Tally()].add(tally)
        }
        return table
    }
}

extension PolicyTraits {
    /// The names of the traits.
    package var nameList: [String] { PolicyTraits.names.filter { contains($0.trait) }.map(\.name) }
}

/// The counts over some requests.
public struct Tally: Sendable, Equatable, Codable {
    /// The number of requests.
    public var requests = 0
    /// The number of requests that found their object in the cache.
    public var hits = 0
    /// The total size of the requests: bytes, or 1 each.
    public var size = 0
    /// The total size of the hits.
    public var hitSize = 0

    /// Creates a tally of zero.
    package init() {}

    @inline(__always)
    mutating func count(_ outcome: AccessOutcome, size amount: Int) {
        let hit = outcome.isHit ? 1 : 0
        requests &+= 1
        hits &+= hit
        size &+= amount
        hitSize &+= amount &* hit
    }

    /// Adds the size of a request that ``requests`` already includes.
    @inline(__always)
    mutating func add(_ amount: Int, isHit: Bool) {
        let hit = isHit ? 1 : 0
        hits &+= hit
        size &+= amount
        hitSize &+= amount &* hit
    }

    package mutating func add(_ other: Tally) {
        requests += other.requests
        hits += other.hits
        size += other.size
        hitSize += other.hitSize
    }

    /// The ratio of hits to requests; 0 without requests.
    public var objectHitRatio: Double { requests == 0 ? 0 : Double(hits) / Double(requests) }
    /// The ratio of bytes hit to bytes requested; 0 without requests. Equals the object hit ratio if every object
    /// counts 1.
    public var byteHitRatio: Double { size == 0 ? 0 : Double(hitSize) / Double(size) }
    /// The total size of the misses.
    public var bytesFetched: Int { size - hitSize }

    enum CodingKeys: String, CodingKey {
        case requests, hits, size, hitSize
    }
}

/// The hits by tier, and the latencies by the stated costs.
public struct TierResult: Sendable, Codable, Equatable {
    /// The capacity of the memory tier.
    public var memoryCapacity: Int
    /// The capacity of the disk tier.
    public var diskCapacity: Int
    /// Requests served from memory.
    public var memoryHits: Int
    /// Requests served from disk.
    public var diskHits: Int
    /// Requests fetched from the network.
    public var networkFetches: Int
    /// The mean latency, in milliseconds.
    public var meanLatency: Double
    /// The 99th percentile of the latency, in milliseconds, by the nearest-rank method.
    public var p99Latency: Double
    /// The costs that the latencies are computed from.
    public var costs: LatencyModel
    /// The policy of the memory tier, with the parameters set by the user.
    public var memoryPolicy = ""
    /// The policy of the disk tier, with the parameters set by the user.
    public var diskPolicy = ""
    /// The lifetime of an entry in memory after its last access, in microseconds. Nil if the policy decides.
    public var memoryLifetime: Int64?
    /// The lifetime of an entry on disk after its last access, in microseconds. Nil if the policy decides.
    public var diskLifetime: Int64?
    /// The ratio of an object's size in memory to its size on disk. Nil if it is 1.
    public var decodedSizeRatio: Double?
}
