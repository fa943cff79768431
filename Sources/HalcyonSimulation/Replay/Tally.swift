import HalcyonEviction

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
