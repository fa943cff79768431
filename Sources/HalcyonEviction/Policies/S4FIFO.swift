/// S4-FIFO is S3-FIFO with the constants as parameters and two rules of its own. Hits in the newest part of the small
/// queue do not count towards promotion (`skip`). The first `returns` ghost hits of an object insert it into the small
/// queue again, with its count; only the next one inserts it into the main queue.
///
/// At the default parameters it decides exactly as ``S3FIFO``. The paper's model, which chooses the parameters for a
/// workload, is not part of this policy. It takes `small` from 0.05 to 0.9, `ghost` from 0.9 to 6, `skip` 0 or 0.25,
/// `threshold` 1 or 2 and `returns` 0 or 1. We follow the authors' code (libCacheSim at commit 06961b4). As in
/// ``S3FIFO``, an entry as large as the small queue is admitted by default, which the code refuses (`refuse=as-large`).
///
/// A hit is O(1), an eviction is amortised O(1). Bytes an entry: 10, and 8 more for variable sizes; 8 more with a
/// `skip` above 0, 1 more with `returns` above 0. The ghosts are nine tenths as large as the cache.
public struct S4FIFO: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The share of the capacity for the small queue.
        public var small = 0.1
        /// The size of the ghost queue, as a share of the capacity.
        public var ghost = 0.9
        /// The share of the small queue, from its head, in which hits do not count.
        public var skip = 0.0
        /// The number of hits in the small queue that qualify an entry for the main queue.
        public var threshold = 2
        /// The number of ghost hits after which an object still returns to the small queue.
        public var returns = 0
        /// The entries that are too large to be admitted.
        public var refuse = S3FIFO.Refusal.larger

        public init() {}
        public static let table = [
            Parameter<Parameters>.real("small", \.small, in: 0...1, "share of the capacity for the small queue"),
            .real("ghost", \.ghost, in: 0...10, "size of the ghost queue, in capacities"),
            .real("skip", \.skip, in: 0...1, "share of the small queue, from its head, in which hits do not count"),
            .integer("threshold", \.threshold, in: 1...3, "hits that qualify an entry for the main queue"),
            .integer("returns", \.returns, in: 0...100, "ghost hits after which an object returns to the small queue"),
            .choice("refuse", \.refuse, "size, compared with the small queue, from which entries are refused"),
        ]
    }

    public static let info = PolicyInfo(
        name: "s4-fifo", summary: "S3-FIFO whose small queue does not count hits directly after an insertion",
        source: "Xia, Nixon, Marthen, Bhandari, Yang: Learning-augmented heuristics, OSDI 2026; as the authors' code",
        traits: .hasAdmission,
        admissionRule: "refuses a new object larger than its small queue (small × capacity)")

    private var queues: FilteredClock
    private var skipped: SkipRegion
    /// The ghost hits of residents of the small queue and of ghosts.
    private var ghostHits: SlotArray<UInt8>
    private let parameters: Parameters
    private var refusedCost = 0
    private var isFilling = true
    private var isReturning = false
    private var returns = 0

    public init(_ parameters: Parameters, context: PolicyContext) {
        queues = FilteredClock(small: parameters.small, ghost: parameters.ghost, context: context)
        skipped = SkipRegion(isUsed: parameters.skip > 0, context: context)
        ghostHits = SlotArray(repeating: 0, capacity: parameters.returns > 0 ? context.entries : 0)
        self.parameters = parameters
        resize(to: context.capacity)
    }

    public mutating func resize(to capacity: Int) {
        queues.resize(to: capacity)
        skipped.limit = Int(Double(queues.smallLimit) * parameters.skip)
        refusedCost = queues.smallLimit + (parameters.refuse == .larger ? 1 : 0)
    }

    public mutating func hit(_ access: Access) {
        if !(skipped.contains(access.entry) && queues.isInSmall(access.entry)) { queues.hit(access.entry) }
    }

    public mutating func admit(_ access: Access) -> Bool {
        (isReturning, returns) = (false, 0)
        if queues.remembers(access.entry) {
            returns = (parameters.returns > 0 ? Int(ghostHits[access.entry]) : 0) + 1
            isReturning = returns > parameters.returns
            queues.remove(access.entry)
        }
        return isReturning || access.size < refusedCost
    }

    public mutating func victim(for access: Access) -> EntryID {
        isFilling = false
        return queues.evict(threshold: UInt8(parameters.threshold))
    }

    public mutating func insert(_ access: Access) {
        let intoMain = isReturning || (isFilling && queues.smallSize >= queues.smallLimit)
        queues.insert(access, intoMain: intoMain)
        if parameters.returns > 0 { ghostHits[access.entry] = UInt8(isReturning ? 0 : returns) }
        if !intoMain { skipped.insert(access.entry, size: access.size) }
    }

    public mutating func remove(_ entry: EntryID) { queues.remove(entry) }
    public func remembers(_ entry: EntryID) -> Bool { queues.remembers(entry) }
    public var metadataBytes: MetadataBytes {
        queues.metadataBytes + skipped.metadataBytes + MetadataBytes(perNumber: ghostHits.byteCount)
    }
    public var metrics: [PolicyMetric] { [PolicyMetric("ghosts", Double(queues.ghostCount))] }
}
