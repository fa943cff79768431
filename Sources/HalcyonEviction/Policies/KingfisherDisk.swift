/// Kingfisher's disk cache: files unread for a week are gone, and once the limit is exceeded those read longest ago go
/// until half of the limit is free.
///
/// As `DiskStorage` of Kingfisher 8.11 with its defaults: expiration `.days(7)`, extended by `.cacheTime` on each read;
/// `removeSizeExceededValues` trims to `sizeLimit / 2` by last access. What a replay does not show: Kingfisher trims, and
/// sweeps expired files, only when the app goes to the background, resigns or terminates; until then its files may exceed
/// the limit, which here they never do: room is made at the access that would exceed it. It keeps access times in whole
/// seconds, so the order within a second is open. Its default is no limit at all.
///
/// Every verb is O(1). Bytes an entry: 8, and 8 for the deadline.
public struct KingfisherDisk: ~Copyable, CataloguedPolicy {
    /// What can be set.
    public struct Parameters: PolicyParameters {
        /// The days after the last access at which an entry expires.
        public var expiration = 7.0
        /// The share of the capacity that trimming leaves.
        public var trim = 0.5

        public init() {}

        public static let table = [
            Parameter<Parameters>.real(
                "expiration", \.expiration, in: 0...10_000, "days after its last access at which an entry expires"),
            Parameter<Parameters>.real("trim", \.trim, in: 0...1, "share of the capacity that trimming leaves"),
        ]
    }

    public static let info = PolicyInfo(
        name: "kingfisher-disk", summary: "LRU trimmed to half when full; expires a week after the last access",
        source: "Kingfisher 8.11, Sources/Cache/DiskStorage.swift", traits: .usesTime)

    /// Expiration after the last access, and trimming.
    public let behaviour: CacheBehaviour
    private var lru: LRU

    public init(_ parameters: Parameters, context: PolicyContext) {
        behaviour = CacheBehaviour(
            lifetime: Int64(parameters.expiration * 86_400e6), hitsExtendLifetime: true, lowWaterMark: parameters.trim)
        lru = LRU(NoParameters(), context: context)
    }

    public mutating func hit(_ access: Access) { lru.hit(access) }
    public mutating func victim(for access: Access) -> EntryID { lru.victim(for: access) }
    public mutating func insert(_ access: Access) { lru.insert(access) }
    public mutating func remove(_ entry: EntryID) { lru.remove(entry) }
    public var metadataBytes: MetadataBytes { lru.metadataBytes }
}
