/// S3-FIFO uses three FIFO queues. New objects enter the small queue. When they reach its tail, objects hit at least
/// `threshold` times move to the main queue; the rest are evicted and remembered in the ghost queue. An object that is
/// requested while in the ghost queue is inserted into the main queue. At the tail of the main queue, an entry with a
/// 2-bit count above 0 is reinserted with its count reduced by 1.
///
/// We follow the authors' later code (libCacheSim 0.3.5) in one respect: until the cache has been full once, new
/// objects enter the main queue when the small queue is full. The paper inserts all of them into the small queue
/// (`fill=small`). On eight public traces that gives 10 to 22 % more misses on a loop, and between 0.2 % fewer and 0.2
/// % more elsewhere.
///
/// An entry larger than the small queue is not admitted. The authors' code also rejects an entry of equal size
/// (`refuse=as-large`), so it admits no object if the small queue holds only one. With that rule the miss counts are
/// equal in all 40 cases, without it in 39 (a loop in a cache of 10 objects: 501,009 misses instead of 505,500).
///
/// A hit is O(1), an eviction is amortised O(1). Bytes an entry: 10, and 8 more for variable sizes. The ghosts are
/// nine tenths as large as the cache.
public struct S3FIFO: ~Copyable, CataloguedPolicy {
    /// The queue for new objects while the small queue is full and the cache has not been full yet.
    public enum Filling: String, CaseIterable, Sendable {
        /// The main queue, as in the authors' code.
        case main
        /// The small queue, as in the paper.
        case small
    }

    /// The entries that are too large to be admitted.
    public enum Refusal: String, CaseIterable, Sendable {
        /// Entries larger than the small queue.
        case larger
        /// Entries as large as the small queue, or larger.
        case asLarge = "as-large"
    }

    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The share of the capacity for the small queue.
        public var small = 0.1
        /// The size of the ghost queue, as a share of the capacity.
        public var ghost = 0.9
        /// The number of hits in the small queue that qualify an entry for the main queue.
        public var threshold = 2
        /// The queue for new objects while the cache fills.
        public var fill = Filling.main
        /// The entries that are too large to be admitted.
        public var refuse = Refusal.larger

        public init() {}

        public static let table = [
            Parameter<Parameters>.real("small", \.small, in: 0...1, "share of the capacity for the small queue"),
            Parameter<Parameters>.real("ghost", \.ghost, in: 0...10, "size of the ghost queue, in capacities"),
            Parameter<Parameters>.integer(
                "threshold", \.threshold, in: 1...3, "hits in the small queue that qualify an entry for the main queue"),
            Parameter<Parameters>.choice(
                "fill", \.fill, "queue of new objects while the small queue is full and the cache is not"),
            Parameter<Parameters>.choice(
                "refuse", \.refuse, "size, compared with the small queue, from which entries are refused"),
        ]
    }

    public static let info = PolicyInfo(
        name: "s3-fifo", summary: "a small FIFO queue that filters new objects for the main queue",
        source: "Yang, Zhang, Qiu, Yue, Rashmi: FIFO queues are all you need for cache eviction, SOSP 2023",
        traits: .hasAdmission,
        admissionRule: "refuses a new object larger than its small queue (small × capacity)")

    private var queues: FilteredClock
    private let threshold: UInt8
    private let refusal: Refusal
    private var refusedCost = 0
    private var fillsMain: Bool
    private var isReturning = false

    public init(_ parameters: Parameters, context: PolicyContext) {
        queues = FilteredClock(small: parameters.small, ghost: parameters.ghost, context: context)
        threshold = UInt8(parameters.threshold)
        refusal = parameters.refuse
        fillsMain = parameters.fill == .main
        resize(to: context.capacity)
    }

    public mutating func resize(to capacity: Int) {
        queues.resize(to: capacity)
        refusedCost = queues.smallLimit + (refusal == .larger ? 1 : 0)
    }

    public mutating func hit(_ access: Access) { queues.hit(access.entry) }

    public mutating func admit(_ access: Access) -> Bool {
        isReturning = queues.remembers(access.entry)
        if isReturning { queues.remove(access.entry) }
        return isReturning || access.size < refusedCost
    }

    public mutating func victim(for access: Access) -> EntryID {
        fillsMain = false
        return queues.evict(threshold: threshold)
    }

    public mutating func insert(_ access: Access) {
        queues.insert(access, intoMain: isReturning || (fillsMain && queues.smallSize >= queues.smallLimit))
    }

    public mutating func remove(_ entry: EntryID) { queues.remove(entry) }
    public func remembers(_ entry: EntryID) -> Bool { queues.remembers(entry) }
    public var metadataBytes: MetadataBytes { queues.metadataBytes }
    public var metrics: [PolicyMetric] { [PolicyMetric("ghosts", Double(queues.ghostCount))] }
}
