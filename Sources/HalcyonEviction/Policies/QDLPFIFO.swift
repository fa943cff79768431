/// QD-LP-FIFO (quick demotion and lazy promotion) inserts new objects into a small FIFO queue. When they reach its
/// tail, objects hit at least `threshold` times move to a 2-bit clock; the rest are evicted and remembered in the
/// ghost queue. An object that is requested while in the ghost queue is inserted into the clock.
///
/// As in libCacheSim 0.3.5, an insertion into the clock evicts from the clock, and an entry larger than the small
/// queue is not admitted; the miss counts are equal. A hit is O(1), an eviction is amortised O(1). Bytes an entry: 10,
/// and 8 more for variable sizes. The ghosts are nine tenths as large as the cache.
public struct QDLPFIFO: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The share of the capacity for the small queue.
        public var small = 0.1
        /// The size of the ghost queue, as a share of the capacity.
        public var ghost = 0.9
        /// The number of hits in the small queue that qualify an entry for the clock.
        public var threshold = 1

        public init() {}

        public static let table = [
            Parameter<Parameters>.real("small", \.small, in: 0...1, "share of the capacity for the small queue"),
            Parameter<Parameters>.real("ghost", \.ghost, in: 0...10, "size of the ghost queue, in capacities"),
            Parameter<Parameters>.integer(
                "threshold", \.threshold, in: 1...3, "hits in the small queue that qualify an entry for the clock"),
        ]
    }

    public static let info = PolicyInfo(
        name: "qd-lp-fifo", summary: "a small FIFO queue that filters new objects for a 2-bit clock",
        source: "Yang, Qiu, Zhang, Yue, Rashmi: FIFO can be better than LRU: the power of lazy promotion and quick "
            + "demotion, HotOS 2023",
        traits: .hasAdmission,
        admissionRule: "refuses a new object larger than its small queue (small × capacity)")

    private var queues: FilteredClock
    private var capacity: Int
    private let threshold: UInt8
    /// The tail of the small queue, while it waits for room in the clock.
    private var promoted: EntryID = .none
    /// The size of the entry to be inserted into the clock; -1 if it is not inserted there.
    private var returningSize = -1

    public init(_ parameters: Parameters, context: PolicyContext) {
        queues = FilteredClock(small: parameters.small, ghost: parameters.ghost, context: context)
        capacity = context.capacity
        threshold = UInt8(parameters.threshold)
    }

    public mutating func resize(to capacity: Int) {
        self.capacity = capacity
        queues.resize(to: capacity)
    }

    public static let mayOverflow = true
    public var overflows: Bool {
        promoted != .none || (returningSize >= 0 && !fitsClock(returningSize) && !queues.isMainEmpty)
    }

    public mutating func hit(_ access: Access) { queues.hit(access.entry) }

    public mutating func admit(_ access: Access) -> Bool {
        let isReturning = queues.remembers(access.entry)
        if isReturning { queues.remove(access.entry) }
        returningSize = isReturning ? access.size : -1
        return isReturning || access.size <= queues.smallLimit
    }

    public mutating func cancelAdmission(_ access: Access) { returningSize = -1 }

    public mutating func victim(for access: Access) -> EntryID {
        while promoted == .none {
            let oldest = queues.smallTail
            let fits = queues.smallSize &+ queues.mainSize &+ access.size <= capacity
            // With a limit on the number of entries, an eviction can be requested while the main queue is empty.
            if oldest == .none || (fits && !queues.isMainEmpty) { return queues.evictFromMain() }
            if queues.count(of: oldest) < threshold {
                queues.evictFromSmall(oldest)
                return oldest
            }
            promoted = oldest
            promoteIfItFits()
        }
        if queues.isMainEmpty {
            // The entry is larger than the whole clock.
            defer { promoted = .none }
            queues.remove(promoted)
            return promoted
        }
        let victim = queues.evictFromMain()
        promoteIfItFits()
        return victim
    }

    public mutating func insert(_ access: Access) {
        queues.insert(access, intoMain: returningSize >= 0)
        returningSize = -1
    }

    public mutating func remove(_ entry: EntryID) { queues.remove(entry) }
    public func remembers(_ entry: EntryID) -> Bool { queues.remembers(entry) }
    public var metadataBytes: MetadataBytes { queues.metadataBytes }
    public var metrics: [PolicyMetric] { [PolicyMetric("ghosts", Double(queues.ghostCount))] }

    @inline(__always)
    private func fitsClock(_ size: Int) -> Bool { queues.mainSize &+ size <= queues.mainLimit }

    @inline(__always)
    private mutating func promoteIfItFits() {
        guard fitsClock(queues.size(of: promoted)) else { return }
        queues.promote(promoted)
        promoted = .none
    }
}
