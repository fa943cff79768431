import HalcyonSupport

/// Cacheus is ``LeCaR`` with two other experts and an adaptive learning rate. SR-LRU resists scans: new objects are in
/// SR, and R holds entries that were requested again. CR-LFU resists churn: among the least frequent entries it evicts
/// the latest, and an entry that is inserted again keeps its frequency.
///
/// This is the pseudo-code of the paper with sizes in place of counts. R has half of the capacity at the start; δ of
/// the paper moves the border. The history of SR-LRU is as large as the cache, and the ghost list of each expert half
/// as large. The learning rate is adapted once in as many accesses as there are residents, which is the paper's N for
/// uniform sizes.
///
/// libCacheSim 0.3.5 differs from the paper in four places that we do not follow:
/// - Its hit ratio is a quotient of whole numbers, so the learning rate can only fall.
/// - An entry that moves back to R loses the mark "demoted", so R never grows.
/// - SR is limited to its share before the cache is full.
/// - The first learning rate is random. We use √(2 ln 2 / N), as the authors do.
///
/// Over 80 runs on 17 traces, the misses are 2.6 % below those of that release.
///
/// Every operation is O(1), except for the heap of CR-LFU, which is O(log n). Bytes an entry: 27, and 16 more for
/// variable sizes, and 16 a resident. The ghosts are at most twice as large as the cache.
public struct Cacheus: ~Copyable, CataloguedPolicy {
    public static let info = PolicyInfo(
        name: "cacheus", summary: "scan-resistant LRU or churn-resistant LFU, chosen at random by learned weights",
        source: "Rodriguez et al.: Learning cache replacement with Cacheus, FAST 2021", traits: .isRandomised)

    /// The ghost list of each expert.
    private static let lruGhosts: UInt8 = 0, lfuGhosts: UInt8 = 1

    private var ghostLimit: Int
    private var recency: ScanResistantLRU
    private var frequency: ChurnResistantLFU
    private var ghosts: ListFamily
    private var rate: AdaptiveLearningRate
    private var lruWeight = 0.5
    private var generator: SplitMix64

    public init(_ parameters: NoParameters, context: PolicyContext) {
        ghostLimit = context.capacity / 2
        recency = ScanResistantLRU(context: context)
        frequency = ChurnResistantLFU(context: context)
        ghosts = ListFamily(count: 2, context: context)
        generator = SplitMix64(seed: context.seed)
        rate = AdaptiveLearningRate()
    }

    public mutating func resize(to capacity: Int) {
        ghostLimit = capacity / 2
        recency.resize(to: capacity)
    }

    public mutating func hit(_ access: Access) {
        recency.hit(access.entry)
        frequency.hit(access.entry)
        rate.count(isHit: true, residents: frequency.count, generator: &generator)
    }

    public mutating func admit(_ access: Access) -> Bool {
        rate.count(isHit: false, residents: frequency.count, generator: &generator)
        let list = ghosts.list(of: access.entry)
        if list == ListFamily.none { return true }
        let factor = PortableMath.fastExp(-rate.value)
        let lru = list == Cacheus.lruGhosts ? lruWeight * factor : lruWeight
        let lfu = list == Cacheus.lfuGhosts ? (1 - lruWeight) * factor : 1 - lruWeight
        lruWeight = lru / (lru + lfu)
        ghosts.remove(access.entry)
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        rate.start(residents: frequency.count)
        let (oldest, rarest) = (recency.candidate, frequency.candidate)
        let followsLRU = oldest == rarest || generator.nextUnit() < lruWeight
        let victim = followsLRU ? oldest : rarest
        if oldest != rarest {
            ghosts.remember(
                victim, size: recency.size(of: victim), on: followsLRU ? Cacheus.lruGhosts : Cacheus.lfuGhosts,
                limit: ghostLimit)
        }
        recency.evict(victim)
        frequency.remove(victim)
        return victim
    }

    public mutating func insert(_ access: Access) {
        let isKnown = recency.insert(access)
        frequency.insert(access.entry, keepsFrequency: isKnown)
    }

    public mutating func remove(_ entry: EntryID) {
        recency.remove(entry)
        frequency.remove(entry)
    }

    public func remembers(_ entry: EntryID) -> Bool {
        recency.remembers(entry) || ghosts.list(of: entry) != ListFamily.none
    }
    public var metadataBytes: MetadataBytes { recency.metadataBytes + frequency.metadataBytes + ghosts.metadataBytes }
    public var metrics: [PolicyMetric] {
        [PolicyMetric("lru_weight", lruWeight), PolicyMetric("learning_rate", rate.value)]
    }
}

/// CR-LFU, the frequency expert of ``Cacheus``. The candidate for eviction is the least frequent resident. Among
/// equals, it is the one that reached this frequency last, so a churn of equals does not evict each of them in turn.
/// CR-LFU keeps the frequency of evicted entries for a later insertion.
///
/// Every operation is O(log n). Bytes a slot: 8, and 16 a resident.
struct ChurnResistantLFU: ~Copyable {
    private var heap: IndexedHeap<Rank>
    private var frequency: SlotArray<UInt32>
    private var clock = 0

    init(context: PolicyContext) {
        heap = IndexedHeap(capacity: context.entries)
        frequency = SlotArray(repeating: 0, capacity: context.entries)
    }

    /// The number of heap bytes in use.
    var metadataBytes: MetadataBytes { heap.metadataBytes + MetadataBytes(perNumber: frequency.byteCount) }

    /// The number of residents.
    var count: Int { heap.count }

    /// The resident to evict, or `.none`.
    var candidate: EntryID { heap.smallest?.entry ?? .none }

    /// Records a hit on a resident.
    mutating func hit(_ entry: EntryID) {
        frequency[entry] = min(frequency[entry], .max - 1) &+ 1
        heap.update(entry, key: rank(of: entry))
    }

    /// Inserts an entry, with its frequency at eviction if `keepsFrequency`.
    mutating func insert(_ entry: EntryID, keepsFrequency: Bool) {
        frequency[entry] = keepsFrequency ? min(frequency[entry], .max - 1) &+ 1 : 1
        heap.insert(entry, key: rank(of: entry))
    }

    /// Removes a resident.
    mutating func remove(_ entry: EntryID) { heap.remove(entry) }

    /// Returns the rank of an entry: its frequency, with later entries first among equals.
    private mutating func rank(of entry: EntryID) -> Rank {
        clock &+= 1
        return Rank(Double(frequency[entry]), index: -clock)
    }
}

/// The adaptive learning rate of ``Cacheus``. It changes once a window: in the same direction if the hit ratio rose,
/// in the opposite direction if it fell. After ten windows without a gain it is drawn randomly.
struct AdaptiveLearningRate {
    /// The rate, from 0.001 to 1.
    private(set) var value = 0.0
    private var previous = 0.0
    private var hitRatio = 0.0
    private var hits = 0
    private var accesses = 0
    private var idleWindows = 0

    /// Sets the rate to √(2 ln 2 / N) when the cache is full for the first time; later calls have no effect.
    mutating func start(residents: Int) {
        if value == 0 { value = min(max((2 * PortableMath.ln(2) / Double(residents)).squareRoot(), 0.001), 1) }
    }

    /// Counts an access. A window ends after as many accesses as there are residents.
    mutating func count(isHit: Bool, residents: Int, generator: inout SplitMix64) {
        if value == 0 { return }
        if isHit { hits += 1 }
        accesses += 1
        if accesses >= residents && residents > 0 { endWindow(generator: &generator) }
    }

    private mutating func endWindow(generator: inout SplitMix64) {
        let current = Double(hits) / Double(accesses)
        (hits, accesses) = (0, 0)
        let (gain, change) = (current - hitRatio, value - previous)
        (hitRatio, previous) = (current, value)
        if change != 0 {
            let step = abs(value * change)
            value = min(max(gain / change > 0 ? value + step : value - step, 0.001), 1)
            idleWindows = 0
        } else if current == 0 || gain <= 0 {
            idleWindows += 1
            if idleWindows < 10 { return }
            idleWindows = 0
            value = 0.001 + 0.999 * generator.nextUnit()
        }
    }
}
