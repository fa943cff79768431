/// Category quota: every category is due a share of the capacity and may borrow what others leave; when room is needed,
/// the category that uses most for its share gives up its least recently used entry.
///
/// The baseline that treats categories as tenants. The first category of a set decides; what has none is a category of
/// its own. A share is proportional to the category's requests (`share=requests`, the default) or misses (`misses`), those
/// of `half-life` requests ago counting half, or the same for every category seen (`equal`). Shares are never computed:
/// that the use over the share is largest is the same as that the use over the weight is. An entry whose category has
/// changed moves at its next hit. Every verb is O(log c) in the number of categories. Bytes an entry: 12, and 8 more where
/// sizes vary.
public struct CategoryQuota: ~Copyable, CataloguedPolicy {
    /// What a share is proportional to.
    public enum Share: String, CaseIterable, Sendable {
        /// The category's recent requests.
        case requests
        /// The category's recent misses.
        case misses
        /// Nothing: the same for all.
        case equal
    }

    /// What can be set.
    public struct Parameters: PolicyParameters {
        /// What a share is proportional to.
        public var share = Share.requests
        /// The number of requests after which one counts half; 0: it counts for ever.
        public var halfLife = 10_000

        public init() {}

        public static let table = [
            Parameter<Parameters>.choice("share", \.share, "what the share of a category is proportional to"),
            Parameter<Parameters>.integer(
                "half-life", \.halfLife, in: 0...1_000_000_000, "requests after which one counts half; 0: never"),
        ]
    }

    public static let info = PolicyInfo(
        name: "category-quota", summary: "each category its share, LRU within",
        source: "Halcyon; partitioned LRU as in Thiébaut, Stone, Wolf: Improving disk cache hit-ratios through cache "
            + "partitioning, 1992",
        traits: .usesCategories)

    private var partitions: Partitions
    private var groupOfSet = SlotArray<UInt32>(repeating: 0)
    private let share: Share
    private let growth: Double
    /// What a request counts now: it grows, in place of all earlier ones fading.
    private var increment = 1.0

    public init(_ parameters: Parameters, context: PolicyContext) {
        partitions = Partitions(context: context)
        share = parameters.share
        growth = parameters.halfLife == 0 ? 1 : 1 + 0.693_147_180_559_945_3 / Double(parameters.halfLife)
    }

    public mutating func define(categorySet: CategorySetID, members: [UInt32]) {
        groupOfSet[categorySet] = members.first.map { $0 &+ 1 } ?? 0
    }

    public mutating func hit(_ access: Access) {
        let group = groupOfSet[access.categories]
        count(group, isMiss: false)
        partitions.moveToHead(access.entry, of: group)
    }

    public mutating func admit(_ access: Access) -> Bool {
        count(groupOfSet[access.categories], isMiss: true)
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        let victim = partitions.leastDeserving
        partitions.remove(victim)
        return victim
    }

    public mutating func insert(_ access: Access) {
        partitions.insert(access, into: groupOfSet[access.categories])
    }

    public mutating func remove(_ entry: EntryID) { partitions.remove(entry) }
    public var metadataBytes: MetadataBytes { partitions.metadataBytes + MetadataBytes(fixed: groupOfSet.byteCount) }
    public var metrics: [PolicyMetric] { [PolicyMetric("resident_categories", Double(partitions.occupiedCount))] }

    private mutating func count(_ group: UInt32, isMiss: Bool) {
        switch share {
        case .requests: partitions.addWeight(increment, to: group)
        case .misses: if isMiss { partitions.addWeight(increment, to: group) }
        case .equal: partitions.setWeight(1, of: group)
        }
        guard share != .equal else { return }
        increment *= growth
        if increment > 1e150 {
            partitions.divideWeights(by: increment)
            increment = 1
        }
    }
}
