/// Multi-queue: an entry with f accesses stands in the LRU queue log₂ f; whoever waits at the end of a queue for longer than
/// a lifetime without an access drops to the queue below, and the end of the lowest queue goes. The frequency of evicted
/// entries is remembered, the latest evicted first.
///
/// The pseudo-code of the paper, with sizes in place of counts. Time is counted in accesses that hit or brought something
/// in. The paper lets a server estimate the lifetime from the distances it sees; here it is a parameter, by default that of
/// libCacheSim 0.3.5.
///
/// `rules=libcachesim` gives the counts of that release exactly: it looks for the newcomer in the memory before the victims
/// are put into it, where the paper looks afterwards, when they may have pushed it out. That
/// changes the misses on seven traces at four sizes by at most 0.02 %.
///
/// Every verb is O(queues). Bytes an entry: 21, and 8 more where sizes vary.
public struct MQ: ~Copyable, CataloguedPolicy {
    /// What can be set.
    public struct Parameters: PolicyParameters {
        /// Whose pseudo-code is followed.
        public enum Rules: String, CaseIterable, Sendable {
            case paper, libcachesim
        }

        /// How many queues there are.
        public var queues = 8
        /// After how many accesses without one of its own an entry drops by a queue.
        public var lifetime = 10_000
        /// What the remembered entries may size, as a share of the capacity.
        public var ghosts = 4.0
        /// Whose pseudo-code is followed.
        public var rules = Rules.paper
        public static let table = [
            Parameter<Self>.integer("queues", \.queues, in: 1...64, "how many queues there are"),
            .integer("lifetime", \.lifetime, in: 1...1_000_000_000, "accesses after which an entry drops by a queue"),
            .real("ghosts", \.ghosts, in: 0...64, "size of the evicted that are remembered, in capacities"),
            .choice("rules", \.rules, "the paper, or libCacheSim 0.3.5, which looks into the memory first"),
        ]

        public init() {}
    }

    public static let info = PolicyInfo(
        name: "mq", summary: "multi-queue: LRU queues by the logarithm of frequency, with lifetimes",
        source: "Zhou, Philbin, Li: The multi-queue replacement algorithm for second level buffer caches, USENIX 2001")

    private let queues: UInt8
    private let lifetime: Int
    private let ghostShare: Double
    private var ghostCapacity = 0
    private let followsPaper: Bool
    /// The queues, and behind them the list of the remembered.
    private var lists: ListFamily
    private var frequency: SlotArray<UInt32>
    private var expiry: SlotArray<Int>
    private var now = 0
    private var recalled: UInt32 = 0

    private var ghosts: UInt8 { queues }

    public init(_ parameters: Parameters, context: PolicyContext) {
        queues = UInt8(parameters.queues)
        lifetime = parameters.lifetime
        ghostShare = parameters.ghosts
        followsPaper = parameters.rules == .paper
        lists = ListFamily(count: parameters.queues + 1, context: context)
        frequency = SlotArray(repeating: 0, capacity: context.entries)
        expiry = SlotArray(repeating: 0, capacity: context.entries)
        resize(to: context.capacity)
    }

    public mutating func resize(to capacity: Int) { ghostCapacity = Int(min(ghostShare * Double(capacity), 0x1p62)) }

    public mutating func hit(_ access: Access) {
        frequency[access.entry] = min(frequency[access.entry], .max - 1) + 1
        lists.moveToHead(access.entry, of: queue(of: access.entry))
        expiry[access.entry] = now &+ lifetime
        adjust()
    }

    public mutating func admit(_ access: Access) -> Bool {
        recalled = 0
        if !followsPaper { recall(access.entry) }
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        guard let lowest = (0..<queues).first(where: { !lists.isEmpty($0) }) else { return access.entry }
        let entry = lists.tail(ofList: lowest)
        if lists.size(of: entry) > ghostCapacity { return lists.popTail(ofList: lowest) }
        lists.moveToHead(entry, of: ghosts)
        while lists.size(ofList: ghosts) > ghostCapacity { lists.popTail(ofList: ghosts) }
        return entry
    }

    public mutating func insert(_ access: Access) {
        if followsPaper { recall(access.entry) }
        frequency[access.entry] = min(recalled, .max - 1) + 1
        lists.pushHead(access.entry, size: access.size, to: queue(of: access.entry))
        expiry[access.entry] = now &+ lifetime
        adjust()
    }

    public mutating func remove(_ entry: EntryID) { lists.remove(entry) }
    public func remembers(_ entry: EntryID) -> Bool { lists.list(of: entry) == ghosts }
    public var metadataBytes: MetadataBytes {
        lists.metadataBytes + MetadataBytes(perNumber: frequency.byteCount + expiry.byteCount)
    }
    public var metrics: [PolicyMetric] { [PolicyMetric("ghosts", Double(lists.count(ofList: ghosts)))] }

    /// QueueNum of the paper: the whole part of log₂ of the frequency, at most the highest queue.
    private func queue(of entry: EntryID) -> UInt8 {
        min(UInt8(31 - frequency[entry].leadingZeroBitCount), queues - 1)
    }

    private mutating func recall(_ entry: EntryID) {
        if lists.list(of: entry) != ghosts { return }
        recalled = frequency[entry]
        lists.remove(entry)
    }

    /// Adjust of the paper: time passes, and each queue lets its last entry down if its lifetime is over.
    private mutating func adjust() {
        now &+= 1
        for queue in 1..<max(queues, 1) {
            let last = lists.tail(ofList: queue)
            if last == .none || expiry[last] >= now { continue }
            lists.moveToHead(last, of: queue - 1)
            expiry[last] = now &+ lifetime
        }
    }
}
