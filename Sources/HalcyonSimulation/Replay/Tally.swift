import HalcyonEviction

/// What was counted over some requests.
public struct Tally: Sendable, Equatable, Codable {
    /// The requests.
    public var requests = 0
    /// Those that found their object in the cache.
    public var hits = 0
    /// The cost of all requests together: bytes, or 1 each.
    public var cost = 0
    /// The cost of the hits together.
    public var hitCost = 0

    /// Nothing counted yet.
    public init() {}

    @inline(__always)
    mutating func count(_ outcome: AccessOutcome, cost amount: Int) {
        let hit = outcome.isHit ? 1 : 0
        requests &+= 1
        hits &+= hit
        cost &+= amount
        hitCost &+= amount &* hit
    }

    mutating func add(_ other: Tally) {
        requests += other.requests
        hits += other.hits
        cost += other.cost
        hitCost += other.hitCost
    }

    /// Hits by requests; 0 where there are none.
    public var objectHitRatio: Double { requests == 0 ? 0 : Double(hits) / Double(requests) }
    /// Bytes hit by bytes requested; the object hit ratio where every object counts 1; 0 where there are none.
    public var byteHitRatio: Double { cost == 0 ? 0 : Double(hitCost) / Double(cost) }
    /// The bytes that had to be fetched.
    public var bytesFetched: Int { cost - hitCost }

    enum CodingKeys: String, CodingKey {
        case requests, hits, cost, hitCost
    }
}
