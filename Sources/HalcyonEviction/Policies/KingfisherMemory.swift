/// Kingfisher's memory cache: LRU within a limit of size, and an entry not accessed for 300 seconds is gone; each hit
/// starts the time anew.
///
/// As `MemoryStorage` of Kingfisher 8.11 with its defaults: expiration `.seconds(300)`, extended by `.cacheTime` on each
/// read. What a replay does not show: an entry expires when it is asked for or evicted, where Kingfisher also sweeps every
/// 120 seconds; the system may empty the cache under memory pressure and when the app goes to the background; which
/// entries NSCache drops beyond its limit is not documented by Apple (LRU is what is assumed here), and it does not
/// promise to stay within it. Times of 0 throughout never expire. Every verb is O(1). Bytes an entry: 8, and 8 for the
/// deadline.
public struct KingfisherMemory: ~Copyable, CataloguedPolicy {
    /// What can be set.
    public struct Parameters: PolicyParameters {
        /// The seconds after the last access at which an entry expires.
        public var expiration = 300.0

        public init() {}

        public static let table = [
            Parameter<Parameters>.real(
                "expiration", \.expiration, in: 0...1e9, "seconds after its last access at which an entry expires")
        ]
    }

    public static let info = PolicyInfo(
        name: "kingfisher-memory", summary: "LRU by size; expires 300 s after the last access",
        source: "Kingfisher 8.11, Sources/Cache/MemoryStorage.swift", traits: .usesTime)

    /// Expiration after the last access.
    public let behaviour: CacheBehaviour
    private var lru: LRU

    public init(_ parameters: Parameters, context: PolicyContext) {
        behaviour = CacheBehaviour(lifetime: Int64(parameters.expiration * 1e6), hitsExtendLifetime: true)
        lru = LRU(NoParameters(), context: context)
    }

    public mutating func hit(_ access: Access) { lru.hit(access) }
    public mutating func victim(for access: Access) -> EntryID { lru.victim(for: access) }
    public mutating func insert(_ access: Access) { lru.insert(access) }
    public mutating func remove(_ entry: EntryID) { lru.remove(entry) }
    public var metadataBytes: MetadataBytes { lru.metadataBytes }
}
