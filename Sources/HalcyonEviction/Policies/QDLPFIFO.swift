/// QD-LP-FIFO, quick demotion and lazy promotion: newcomers enter a small FIFO queue; who was hit there moves to a 2-bit
/// clock when it comes to the end, the others leave and are remembered; who comes back while remembered enters the clock.
///
/// As in libCacheSim 0.3.5, whose counts this gives exactly, the clock makes room of its own for whoever enters it, and
/// an entry larger than the small queue is refused. A hit is O(1), an eviction amortised
/// O(1). Bytes an entry: 10, and 8 more where sizes vary; it remembers nine tenths of what it holds.
public struct QDLPFIFO: ~Copyable, CataloguedPolicy {
    /// What can be set.
    public struct Parameters: PolicyParameters {
        /// The share of the capacity for the small queue.
        public var small = 0.1
        /// What is remembered, as a share of the capacity.
        public var ghost = 0.9
        /// How many hits in the small queue open the way to the clock.
        public var threshold = 1

        public init() {}

        public static let table = [
            Parameter<Parameters>.real("small", \.small, in: 0...1, "share of the capacity for newcomers"),
            Parameter<Parameters>.real("ghost", \.ghost, in: 0...10, "what is remembered, over the capacity"),
            Parameter<Parameters>.integer("threshold", \.threshold, in: 1...3, "hits that open the way to the clock"),
        ]
    }

    public static let info = PolicyInfo(
        name: "qd-lp-fifo", summary: "a small FIFO queue that filters for a 2-bit clock",
        source: "Yang, Qiu, Zhang, Yue, Rashmi: FIFO can be better than LRU: the power of lazy promotion and quick "
            + "demotion, HotOS 2023",
        traits: .hasAdmission)

    private var queues: FilteredClock
    private var capacity: Int
    private let threshold: UInt8
    /// The oldest newcomer, while it waits for room in the clock.
    private var promoted: EntryID = .none
    /// What the one to be inserted sizes if it is bound for the clock, -1 if not.
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

    public mutating func victim(for access: Access) -> EntryID {
        while promoted == .none {
            let oldest = queues.oldestNewcomer
            let fits = queues.smallSize &+ queues.mainSize &+ access.size <= capacity
            // Where entries are limited by number, room may be asked for that there is, and the main queue be empty.
            if oldest == .none || (fits && !queues.isMainEmpty) { return queues.evictFromMain() }
            if queues.count(of: oldest) < threshold {
                queues.turnAway(oldest)
                return oldest
            }
            promoted = oldest
            promoteIfItFits()
        }
        if queues.isMainEmpty {
            // It is larger than the whole clock.
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
