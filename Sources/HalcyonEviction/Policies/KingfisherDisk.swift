/// Kingfisher's disk cache expires files that were not read for a week. Once the limit is exceeded, it removes the
/// least recently read files until half of the limit is free.
///
/// The policy follows `DiskStorage` of Kingfisher 8.11 with its defaults: expiration `.days(7)`, extended by
/// `.cacheTime` on each read; `removeSizeExceededValues` trims to `sizeLimit / 2` by last access. It differs from
/// Kingfisher in three ways. Kingfisher trims and sweeps only when the app enters the background, resigns or
/// terminates, and its files may exceed the limit until then. This policy trims at the access that would exceed it.
/// Kingfisher stores access times in whole seconds, so its order within a second is undefined. By default, Kingfisher
/// has no limit.
///
/// Every operation is O(1). Bytes an entry: 8, and 8 for the deadline.
public struct KingfisherDisk: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The lifetime of an entry after its last access, in days.
        public var expiration = 7.0
        /// The share of the capacity that remains after trimming.
        public var trim = 0.5

        public init() {}

        public static let table = [
            Parameter<Parameters>.real(
                "expiration", \.expiration, in: 0...10_000, "lifetime of an entry after its last access, in days"),
            Parameter<Parameters>.real("trim", \.trim, in: 0...1, "share of the capacity that remains after trimming"),
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
