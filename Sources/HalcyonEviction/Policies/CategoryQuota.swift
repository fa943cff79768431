/// Category quota gives every category a share of the capacity. A category may exceed its share while others are below
/// theirs. The victim is the least recently used entry of the category with the largest ratio of use to share.
///
/// This is the baseline that treats categories as tenants. The first category of a set decides; entries without a
/// category form one more group. A share is proportional to the category's requests (`share=requests`, the default) or
/// misses (`misses`), where requests `half-life` ago count half; or it is equal for every category (`equal`). The
/// shares themselves are not computed, because the ratio of use to weight has the same order. An entry whose category
/// has changed moves at its next hit.
///
/// Every operation is O(log c) in the number of categories. Bytes an entry: 12, and 8 more for variable sizes.
public struct CategoryQuota: ~Copyable, CataloguedPolicy {
    /// The quantity that a share is proportional to.
    public enum Share: String, CaseIterable, Sendable {
        /// The category's recent requests.
        case requests
        /// The category's recent misses.
        case misses
        /// A constant: equal shares.
        case equal
    }

    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The quantity that a share is proportional to.
        public var share = Share.requests
        /// The number of requests after which a request counts half; with 0, weights do not decay.
        public var halfLife = 10_000

        public init() {}

        public static let table = [
            Parameter<Parameters>.choice(
                "share", \.share, "quantity that determines the share of a category"),
            Parameter<Parameters>.integer(
                "half-life", \.halfLife, in: 0...1_000_000_000,
                "half-life of a request, in requests; 0: no decay"),
        ]
    }

    public static let info = PolicyInfo(
        name: "category-quota", summary: "LRU within a share of the capacity for each category",
        source: "Halcyon; partitioned LRU as in Thiébaut, Stone, Wolf: Improving disk cache hit-ratios through cache "
            + "partitioning, 1992",
        traits: .usesCategories)

    private var partitions: Partitions
    private var groupOfSet = SlotArray<UInt32>(repeating: 0)
    private let share: Share
    private let growth: Double
    /// The weight of a request now. It grows, which is equivalent to a decay of all earlier requests.
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
        let victim = partitions.tailOfLargestUse
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
