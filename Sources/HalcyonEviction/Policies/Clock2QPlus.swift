/// Clock2Q+ is a 2Q whose main queue is a clock. New objects enter a small FIFO queue. At its tail, objects with a set
/// reference bit move to the main clock; the rest are evicted and remembered in the ghost queue. An object that is
/// requested while in the ghost queue is inserted into the main clock. Hits in the correlation window, the newest part
/// of the small queue, do not set the reference bit: they are often of one operation and not a sign of popularity.
///
/// We follow the authors' code (libCacheSim 0.3.5, `Clock2QPlus`). The main clock has one bit, and an object moves with
/// its bit clear. Until the cache has been full once, new objects enter the main clock when the small queue is full.
/// The production system behind the paper also passes over dirty blocks, which a cache of unmodified objects does not
/// have. The code counts the window in objects and supports uniform sizes only. With variable sizes we measure it in
/// bytes, so that it remains a share of the queue. As in ``S3FIFO``, the code also refuses an entry as large as the small
/// queue (`refuse=as-large`).
///
/// A hit is O(1), an eviction is amortised O(1). Bytes an entry: 18, and 8 more for variable sizes. The ghosts are nine
/// tenths as large as the cache.
public struct Clock2QPlus: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The share of the capacity for the small queue.
        public var small = 0.1
        /// The size of the ghost queue, as a share of the capacity.
        public var ghost = 0.9
        /// The correlation window's share of the small queue.
        public var window = 0.5
        /// The entries that are too large to be admitted.
        public var refuse = S3FIFO.Refusal.larger

        public init() {}

        public static let table = [
            Parameter<Parameters>.real("small", \.small, in: 0...1, "share of the capacity for the small queue"),
            .real("ghost", \.ghost, in: 0...10, "size of the ghost queue, in capacities"),
            .real("window", \.window, in: 0...1, "share of the small queue, from its head, in which hits do not count"),
            .choice("refuse", \.refuse, "size, compared with the small queue, from which entries are refused"),
        ]
    }

    public static let info = PolicyInfo(
        name: "clock2q-plus", summary: "a small FIFO queue with a correlation window before a clock of one bit",
        source: "Zhai et al.: Clock2Q+: a simple and efficient replacement algorithm, VLDB 2026; as the authors' code",
        traits: .hasAdmission,
        admissionRule: "refuses a new object larger than its small queue (small × capacity)")

    private var queues: FilteredClock
    private var window: SkipRegion
    private let parameters: Parameters
    private var refusedCost = 0
    private var isFilling = true
    private var isReturning = false

    public init(_ parameters: Parameters, context: PolicyContext) {
        queues = FilteredClock(small: parameters.small, ghost: parameters.ghost, mostHits: 1, context: context)
        window = SkipRegion(isUsed: parameters.window > 0, context: context)
        self.parameters = parameters
        resize(to: context.capacity)
    }

    public mutating func resize(to capacity: Int) {
        queues.resize(to: capacity)
        window.limit = Int((Double(queues.smallLimit) * parameters.window).rounded(.up))
        refusedCost = queues.smallLimit + (parameters.refuse == .larger ? 1 : 0)
    }

    public mutating func hit(_ access: Access) {
        if !(window.contains(access.entry) && queues.isInSmall(access.entry)) { queues.hit(access.entry) }
    }

    public mutating func admit(_ access: Access) -> Bool {
        isReturning = queues.remembers(access.entry)
        if isReturning { queues.remove(access.entry) }
        return isReturning || access.size < refusedCost
    }

    public mutating func victim(for access: Access) -> EntryID {
        isFilling = false
        return queues.evict(threshold: 1)
    }

    public mutating func insert(_ access: Access) {
        let intoMain = isReturning || (isFilling && queues.smallSize >= queues.smallLimit)
        queues.insert(access, intoMain: intoMain)
        if !intoMain { window.insert(access.entry, size: access.size) }
    }

    public mutating func remove(_ entry: EntryID) { queues.remove(entry) }
    public func remembers(_ entry: EntryID) -> Bool { queues.remembers(entry) }
    public var metadataBytes: MetadataBytes { queues.metadataBytes + window.metadataBytes }
    public var metrics: [PolicyMetric] { [PolicyMetric("ghosts", Double(queues.ghostCount))] }
}
