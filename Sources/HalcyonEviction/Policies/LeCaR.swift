import HalcyonSupport

/// Learning cache replacement: an LRU and an LFU expert each name a victim, and a draw by their weights decides; when what
/// one of them threw out comes back, its weight falls, the more the sooner that was.
///
/// The pseudo-code of the paper with its constants: learning rate 0.45, discount 0.005^(1/N), a memory of N/2 for each
/// expert. Where both name the same entry it is not remembered, as neither is to blame; an entry's accesses are forgotten
/// when it goes. As in libCacheSim 0.3.5 N is the capacity, so that where sizes are bytes regret hardly fades.
///
/// Every verb is O(1). Bytes an entry: 25, and 8 more where sizes vary, and 32 for each frequency that occurs at once;
/// it
/// remembers at most as much as it holds. Over 80 runs on 17 traces it misses 0.2 % more often than libCacheSim 0.3.5.
public struct LeCaR: ~Copyable, CataloguedPolicy {
    /// What can be set.
    public struct Parameters: PolicyParameters {
        /// How strongly a mistake moves the weights.
        public var learningRate = 0.45
        /// What is left of a regret after as many accesses as the capacity has units.
        public var discount = 0.005
        /// The weight of the LRU expert at the start.
        public var lruWeight = 0.5
        public static let table = [
            Parameter<Self>.real(
                "learning-rate", \.learningRate, in: 0...100, "how strongly a mistake moves the weights"),
            .real("discount", \.discount, in: 0.000001...1, "what is left of a regret after one capacity of accesses"),
            .real("lru-weight", \.lruWeight, in: 0...1, "weight of the LRU expert at the start"),
        ]

        public init() {}
    }

    public static let info = PolicyInfo(
        name: "lecar", summary: "learning cache replacement: LRU or LFU, drawn by weights that learn from regret",
        source: "Vietri et al.: Driving cache replacement with ML-based LeCaR, HotStorage 2018",
        traits: .isRandomised)

    /// The residents by recency, and what each expert threw out.
    private static let residents: UInt8 = 0, lruGhosts: UInt8 = 1, lfuGhosts: UInt8 = 2

    private let learningRate: Double
    private let discount: Double
    private var fading = 0.0
    private var ghostLimit = 0
    private var recency: ListFamily
    private var frequency: FrequencyLists
    private var evictedAt: SlotArray<UInt32>
    private var clock: UInt32 = 0
    private var lruWeight: Double
    private var generator: SplitMix64

    public init(_ parameters: Parameters, context: PolicyContext) {
        learningRate = parameters.learningRate
        discount = parameters.discount
        recency = ListFamily(count: 3, context: context)
        frequency = FrequencyLists(capacity: context.entries)
        evictedAt = SlotArray(repeating: 0, capacity: context.entries)
        lruWeight = parameters.lruWeight
        generator = SplitMix64(seed: context.seed)
        resize(to: context.capacity)
    }

    public mutating func resize(to capacity: Int) {
        fading = PortableMath.ln(discount) / Double(max(capacity, 1))
        ghostLimit = capacity / 2
    }

    public mutating func hit(_ access: Access) {
        clock &+= 1
        recency.moveToHead(access.entry, of: LeCaR.residents)
        frequency.raise(access.entry)
    }

    public mutating func admit(_ access: Access) -> Bool {
        clock &+= 1
        let ghosts = recency.list(of: access.entry)
        if ghosts == ListFamily.none { return true }
        learn(lruErred: ghosts == LeCaR.lruGhosts, age: clock &- evictedAt[access.entry])
        recency.remove(access.entry)
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        let (oldest, rarest) = (recency.tail(ofList: LeCaR.residents), frequency.leastFrequent)
        let followsLRU = oldest == rarest || generator.nextUnit() < lruWeight
        let victim = followsLRU ? oldest : rarest
        frequency.remove(victim)
        if oldest == rarest {
            recency.remove(victim)
        } else {
            evictedAt[victim] = clock
            recency.remember(victim, on: followsLRU ? LeCaR.lruGhosts : LeCaR.lfuGhosts, limit: ghostLimit)
        }
        return victim
    }

    public mutating func insert(_ access: Access) {
        recency.pushHead(access.entry, size: access.size, to: LeCaR.residents)
        frequency.insert(access.entry)
    }

    public mutating func remove(_ entry: EntryID) {
        recency.remove(entry)
        frequency.remove(entry)
    }

    public func remembers(_ entry: EntryID) -> Bool {
        let list = recency.list(of: entry)
        return list == LeCaR.lruGhosts || list == LeCaR.lfuGhosts
    }
    public var metadataBytes: MetadataBytes {
        recency.metadataBytes + frequency.metadataBytes + MetadataBytes(perNumber: evictedAt.byteCount)
    }
    public var metrics: [PolicyMetric] { [PolicyMetric("lru_weight", lruWeight)] }

    /// The weight of the expert that erred is multiplied by e^(-rate · discount^age); then both are made to sum to 1.
    private mutating func learn(lruErred: Bool, age: UInt32) {
        let regret = PortableMath.fastExp(fading * Double(age))
        let factor = PortableMath.fastExp(-learningRate * regret)
        let lru = lruErred ? lruWeight * factor : lruWeight
        let lfu = lruErred ? 1 - lruWeight : (1 - lruWeight) * factor
        // Neither weight vanishes altogether, so that an expert can come back.
        lruWeight = min(max(lru / max(lru + lfu, 1e-300), 1e-10), 1 - 1e-10)
    }
}
