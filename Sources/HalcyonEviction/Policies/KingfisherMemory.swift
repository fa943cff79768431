/// Kingfisher's memory cache is LRU with a limit of total size. An entry expires 300 seconds after its last access.
///
/// The policy follows `MemoryStorage` of Kingfisher 8.11 with its defaults: expiration `.seconds(300)`, extended by
/// `.cacheTime` on each read. It differs from Kingfisher in three ways. An entry expires when it is requested or
/// evicted; Kingfisher also sweeps every 120 seconds. In an app, the system may empty the cache under memory pressure
/// and when the app enters the background. Apple does not document which entries NSCache drops above its limit, nor
/// that it stays within it; this policy assumes LRU. If all times are 0, no entry expires.
///
/// Every operation is O(1). Bytes an entry: 8, and 8 for the deadline.
public struct KingfisherMemory: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The lifetime of an entry after its last access, in seconds.
        public var expiration = 300.0

        public init() {}

        public static let table = [
            Parameter<Parameters>.real(
                "expiration", \.expiration, in: 0...1e9, "lifetime of an entry after its last access, in seconds")
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
