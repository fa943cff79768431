/// QD-LP-FIFO, quick demotion and lazy promotion: newcomers enter a small FIFO queue; who was hit there moves to a 2-bit
/// clock when it comes to the end, the others leave and are remembered; who comes back while remembered enters the clock.
///
/// As in libCacheSim 0.3.5, whose counts this gives exactly, the clock makes room of its own for whoever enters it, and
/// an entry larger than the small queue is refused. A hit is O(1), an eviction amortised
/// O(1). Bytes an entry: 10, and 8 more where costs differ; it remembers nine tenths of what it holds.
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

    public static let card = PolicyCard(
        name: "qd-lp-fifo", summary: "a small FIFO queue that filters for a 2-bit clock",
        source: "Yang, Qiu, Zhang, Yue, Rashmi: FIFO can be better than LRU: the power of lazy promotion and quick "
            + "demotion, HotOS 2023",
        traits: .hasAdmission)

    private static let small: UInt8 = 0, clock: UInt8 = 1, ghost: UInt8 = 2

    private var queues: ListFamily
    private var frequency: SlotArray<UInt8>
    private let capacity: Int
    private let smallLimit: Int
    private let clockLimit: Int
    private let ghostLimit: Int
    private let threshold: UInt8
    /// The entry at the end of the small queue that waits for room in the clock.
    private var promoted: EntryID = .none
    /// What the newcomer costs that is bound for the clock; -1 if it is not.
    private var returningCost = -1

    public init(_ parameters: Parameters, context: PolicyContext) {
        queues = ListFamily(count: 3, context: context)
        frequency = SlotArray(repeating: 0, capacity: context.entries)
        capacity = context.capacity
        let share = Int(Double(capacity) * parameters.small)
        smallLimit = max(share, context.everyCostIsOne ? 1 : 0)
        clockLimit = capacity - smallLimit
        ghostLimit = Int(Double(capacity) * parameters.ghost)
        threshold = UInt8(parameters.threshold)
    }

    public var overflows: Bool {
        promoted != .none || (returningCost >= 0 && !fitsClock(returningCost) && !queues.isEmpty(QDLPFIFO.clock))
    }

    public mutating func hit(_ access: Access) {
        frequency[access.entry] = min(frequency[access.entry] &+ 1, 3)
    }

    public mutating func admit(_ access: Access) -> Bool {
        let isReturning = queues.list(of: access.entry) == QDLPFIFO.ghost
        if isReturning { queues.remove(access.entry) }
        returningCost = isReturning ? access.cost : -1
        return isReturning || access.cost <= smallLimit
    }

    public mutating func victim(for access: Access) -> EntryID {
        while promoted == .none {
            let used = queues.cost(ofList: QDLPFIFO.small) &+ queues.cost(ofList: QDLPFIFO.clock)
            let tail = queues.tail(ofList: QDLPFIFO.small)
            if tail == .none || used &+ access.cost <= capacity { return evictFromClock() }
            if frequency[tail] < threshold {
                queues.remember(tail, on: QDLPFIFO.ghost, limit: ghostLimit)
                return tail
            }
            promoted = tail
            promoteIfItFits()
        }
        if queues.isEmpty(QDLPFIFO.clock) {
            // Larger than the whole clock.
            let tail = promoted
            promoted = .none
            queues.remove(tail)
            return tail
        }
        let victim = evictFromClock()
        promoteIfItFits()
        return victim
    }

    public mutating func insert(_ access: Access) {
        frequency[access.entry] = 0
        queues.pushHead(
            access.entry, cost: access.cost, to: returningCost >= 0 ? QDLPFIFO.clock : QDLPFIFO.small)
        returningCost = -1
    }

    public mutating func remove(_ entry: EntryID) { queues.remove(entry) }
    public func remembers(_ entry: EntryID) -> Bool { queues.list(of: entry) == QDLPFIFO.ghost }
    public var metadataBytes: Int { queues.byteCount + frequency.byteCount }

    @inline(__always)
    private func fitsClock(_ cost: Int) -> Bool { queues.cost(ofList: QDLPFIFO.clock) &+ cost <= clockLimit }

    @inline(__always)
    private mutating func promoteIfItFits() {
        guard fitsClock(queues.cost(of: promoted)) else { return }
        frequency[promoted] = 0
        queues.moveToHead(promoted, of: QDLPFIFO.clock)
        promoted = .none
    }

    private mutating func evictFromClock() -> EntryID {
        var tail = queues.tail(ofList: QDLPFIFO.clock)
        while frequency[tail] > 0 {
            frequency[tail] &-= 1
            queues.moveToHead(tail, of: QDLPFIFO.clock)
            tail = queues.tail(ofList: QDLPFIFO.clock)
        }
        queues.remove(tail)
        return tail
    }
}
