import HalcyonEviction
import HalcyonTrace

/// What came of one trace × policy × capacity.
public struct RunResult: Sendable, Codable {
    /// The policy's name.
    public var policy: String
    /// The policy as it was asked for, with the parameters set by hand.
    public var label: String
    /// Every parameter of the policy with its value.
    public var parameters: [String: String]
    /// What the policy needs and honours.
    public var traits: [String]
    /// The capacity of the cache, or of each user's, in ``capacityUnit``.
    public var capacity: Int
    /// The capacity as it was asked for: `1%`.
    public var capacityAsked: String
    /// What capacity counts.
    public var capacityUnit: SizeUnit
    /// Which caches there were.
    public var mode: ReplayMode
    /// How many caches there were: 1, or one a user.
    public var caches: Int
    /// What a fleet's caches learnt together; `nil` in shared mode and for a policy that learns nothing.
    public var models: ModelSharing?
    /// The requests counted, the warm-up left out.
    public var requests: Int
    /// Those that found their object.
    public var hits: Int
    /// Hits by requests, 0…1.
    public var objectHitRatio: Double
    /// Bytes hit by bytes requested, 0…1; the object hit ratio where every object counts 1.
    public var byteHitRatio: Double
    /// What was fetched, in ``capacityUnit``.
    public var bytesFetched: Int
    /// What the misses cost at the prices that a policy of the report was given; `nil` if none was, or several.
    public var missCost: Double?
    /// Entries evicted to make room.
    public var evictions: Int
    /// Requests whose object was not kept: larger than the cache or refused by the policy.
    public var admissionsRefused: Int
    /// Requests that found their object expired, or of another size than what was asked for.
    public var stale: Int
    /// The requests left out of the counts.
    public var warmupRequests: Int
    /// The seed of everything random.
    public var seed: UInt64
    /// The matrix routines that the policy computed with; `nil` for a policy without a parameter `kernels`.
    public var kernels: KernelInfo?
    /// The time it took, in seconds: of the machine and the moment, not of the policy alone.
    public var seconds: Double
    /// Requests a second, the warm-up included.
    public var requestsPerSecond: Double
    /// The heap bytes of the bookkeeping of all caches at the end; a model that several caches share counts once.
    public var metadataBytes: Int
    /// Those of ``metadataBytes`` that do not grow with the number of entries; see ``HalcyonEviction/MetadataBytes/fixed``.
    public var metadataFixedBytes: Int
    /// The other heap bytes for each resident in a cache that reuses the numbers of forgotten entries, as live caches do.
    ///
    /// (bytes for each entry number × (residents + remembered entries) + bytes that grow with the residents) / residents;
    /// 0 where nothing is resident at the end.
    public var metadataBytesPerResident: Double
    /// What the policy publishes about itself (of the last cache, where there are several).
    public var metrics: [String: Double]
    /// Hits over time, in stretches of equal length.
    public var windows: [Tally]
    /// Hits by category; a request with several categories counts in each. `nil` unless asked for.
    public var categories: [String: Tally]?
    /// Hits by user. `nil` unless asked for.
    public var users: [String: Tally]?
    /// How the hit ratio is spread over users; `nil` in shared mode.
    public var userDistribution: UserDistribution?
    /// Hits by tier and latency; `nil` without tiers.
    public var tiers: TierResult?
    /// How long accesses and evictions took; `nil` unless asked for.
    public var timings: RunTimings?
    /// What came of prefetching; `nil` unless asked for.
    public var prefetch: PrefetchResult?
}

/// Whether one cache serves all, or each user has one.
public enum ReplayMode: String, Sendable, Codable {
    /// One cache serves every request.
    case shared
    /// Every user has a cache of their own.
    case perUser = "per_user"
}

/// The spread of a ratio over the users of a fleet, each user counting once.
public struct UserDistribution: Sendable, Codable, Equatable {
    /// The users with at least one counted request.
    public var users: Int
    /// The mean of the users' hit ratios.
    public var mean: Double
    /// The 10th percentile: a tenth of the users fare no better.
    public var p10: Double
    /// The lower quartile.
    public var p25: Double
    /// The median.
    public var p50: Double
    /// The upper quartile.
    public var p75: Double
    /// The 90th percentile.
    public var p90: Double

    /// The spread of `ratios` by the nearest-rank method; `nil` for none. O(n log n).
    public init?(_ ratios: [Double]) {
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
    /// The result of a run.
    ///
    /// - Parameters:
    ///   - seconds: the time that the run took.
    ///   - timings: the times of accesses and evictions; `nil` if they were not timed.
    init(
        _ resolved: ResolvedJob, facts: SourceFacts, recorder: Recorder, caches: CacheSummary, seconds: Double,
        timings: RunTimings?
    ) {
        let (job, policy, total) = (resolved.job, resolved.job.policy, recorder.total)
        self.init(
            policy: policy.info.name, label: policy.label,
            parameters: Dictionary(policy.parameters.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }),
            traits: policy.info.traits.nameList, capacity: resolved.capacity,
            capacityAsked: job.capacity.description, capacityUnit: facts.sizeUnit, mode: job.mode,
            caches: caches.caches, models: job.mode == .perUser && policy.learns ? job.models : nil,
            requests: total.requests, hits: total.hits, objectHitRatio: total.objectHitRatio,
            byteHitRatio: total.byteHitRatio, bytesFetched: total.bytesFetched, evictions: caches.evictions,
            admissionsRefused: recorder.refused, stale: recorder.stale, warmupRequests: recorder.warmup,
            seed: job.options.seed, kernels: KernelInfo(policy), seconds: seconds,
            requestsPerSecond: seconds > 0 ? Double(facts.requests) / seconds : 0,
            metadataBytes: caches.metadataBytes.total, metadataFixedBytes: caches.metadataBytes.fixed,
            metadataBytesPerResident: caches.bytesPerResident,
            metrics: Dictionary(caches.metrics.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }),
            windows: recorder.windows, timings: timings)
        if job.options.byCategory { categories = Self.byCategory(recorder.byCategorySet, facts) }
        if job.options.byUser { users = Self.named(recorder.byUser, facts.names.users) }
        if job.mode == .perUser {
            userDistribution = UserDistribution(
                recorder.byUser.filter { $0.requests > 0 }.map(\.objectHitRatio))
        }
        if let memoryCapacity = resolved.memoryCapacity {
            tiers = recorder.latency?.result(memoryCapacity: memoryCapacity, diskCapacity: resolved.capacity)
        }
        if let options = job.options.prefetch, let prefetching = caches.prefetching {
            prefetch = PrefetchResult(options, prefetching.counts, policy: prefetching.policy, recorder)
        }
    }

    private static func byCategory(_ tallies: [Tally], _ facts: SourceFacts) -> [String: Tally] {
        var sums = [Tally](repeating: Tally(), count: facts.categoryCount)
        for (set, tally) in tallies.enumerated() where tally.requests > 0 {
            for category in facts.categorySets[UInt32(set)] { sums[Int(category)].add(tally) }
        }
        return named(sums, facts.names.categories)
    }

    /// By name, or by number where names were not kept.
    private static func named(_ tallies: [Tally], _ names: StringTable) -> [String: Tally] {
        var table: [String: Tally] = [:]
        for (number, tally) in tallies.enumerated() where tally.requests > 0 {
            table[number < names.count ? names[UInt32(number)] : "\(number)", default: Tally()].add(tally)
        }
        return table
    }
}

extension PolicyTraits {
    /// The traits by name.
    public var nameList: [String] { PolicyTraits.names.filter { contains($0.trait) }.map(\.name) }
}

/// What was counted over some requests.
public struct Tally: Sendable, Equatable, Codable {
    /// The requests.
    public var requests = 0
    /// Those that found their object in the cache.
    public var hits = 0
    /// The size of all requests together: bytes, or 1 each.
    public var size = 0
    /// The size of the hits together.
    public var hitSize = 0

    /// Nothing counted yet.
    public init() {}

    @inline(__always)
    mutating func count(_ outcome: AccessOutcome, size amount: Int) {
        let hit = outcome.isHit ? 1 : 0
        requests &+= 1
        hits &+= hit
        size &+= amount
        hitSize &+= amount &* hit
    }

    /// Adds the size of a request that ``requests`` counts already.
    @inline(__always)
    mutating func add(_ amount: Int, isHit: Bool) {
        let hit = isHit ? 1 : 0
        hits &+= hit
        size &+= amount
        hitSize &+= amount &* hit
    }

    mutating func add(_ other: Tally) {
        requests += other.requests
        hits += other.hits
        size += other.size
        hitSize += other.hitSize
    }

    /// Hits by requests; 0 where there are none.
    public var objectHitRatio: Double { requests == 0 ? 0 : Double(hits) / Double(requests) }
    /// Bytes hit by bytes requested; the object hit ratio where every object counts 1; 0 where there are none.
    public var byteHitRatio: Double { size == 0 ? 0 : Double(hitSize) / Double(size) }
    /// The bytes that had to be fetched.
    public var bytesFetched: Int { size - hitSize }

    enum CodingKeys: String, CodingKey {
        case requests, hits, size, hitSize
    }
}

/// Hits by tier, and how long requests took by the stated costs.
public struct TierResult: Sendable, Codable, Equatable {
    /// The capacity of the memory tier.
    public var memoryCapacity: Int
    /// The capacity of the disk tier.
    public var diskCapacity: Int
    /// Requests served from memory.
    public var memoryHits: Int
    /// Requests served from disk.
    public var diskHits: Int
    /// Requests that went to the network.
    public var networkFetches: Int
    /// The mean latency in milliseconds.
    public var meanLatency: Double
    /// The 99th percentile of the latency in milliseconds, by the nearest rank.
    public var p99Latency: Double
    /// The costs that the latencies are computed from.
    public var costs: LatencyModel
}
