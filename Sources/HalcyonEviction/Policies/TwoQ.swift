/// 2Q (the full version) inserts new objects into A1in, a FIFO queue. Entries evicted from A1in are remembered in
/// A1out, a ghost queue. An object that is requested while in A1out is inserted into Am, an LRU list.
///
/// The paper counts pages. For variable sizes we follow libCacheSim 0.3.5, and the miss counts are equal. An entry
/// larger than A1in is not admitted. Am holds at most the capacity without the share of A1in, so an insertion into Am
/// may evict from it although the cache has room. Every operation is O(1). Bytes an entry: 9, and 8 more for variable
/// sizes. The ghosts are half as large as the cache.
public struct TwoQ: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The share of the capacity for A1in.
        public var a1in = 0.25
        /// The size of A1out, as a share of the capacity.
        public var ghosts = 0.5

        public init() {}

        public static let table = [
            Parameter<Parameters>.real("in", \.a1in, in: 0...1, "share of the capacity for A1in (Kin)"),
            Parameter<Parameters>.real(
                "out", \.ghosts, in: 0...10, "size of the ghost queue A1out, in capacities (Kout)"),
        ]
    }

    public static let info = PolicyInfo(
        name: "2q",
        summary:
            "keeps new objects in a FIFO queue, objects requested again after their eviction from it in an LRU list",
        source: "Johnson, Shasha: 2Q: a low overhead high performance buffer management replacement algorithm, 1994",
        traits: .hasAdmission,
        admissionRule: "refuses an object larger than A1in (in × capacity)")

    private static let a1in: UInt8 = 0, a1out: UInt8 = 1, am: UInt8 = 2

    private var lists: ListFamily
    private let parameters: Parameters
    private let leastKin: Int
    private var capacity = 0
    private var kin = 0
    private var kout = 0
    /// Whether the new object was in A1out, and its size.
    private var isReturning = false
    private var returningSize = 0

    public init(_ parameters: Parameters, context: PolicyContext) {
        lists = ListFamily(count: 3, context: context)
        self.parameters = parameters
        leastKin = context.usesUniformSizes ? 1 : 0
        resize(to: context.capacity)
    }

    public mutating func resize(to capacity: Int) {
        self.capacity = capacity
        kin = max(Int(Double(capacity) * parameters.a1in), leastKin)
        kout = Int(Double(capacity) * parameters.ghosts)
    }

    /// Whether Am must evict for an entry from A1out.
    public var overflows: Bool {
        isReturning && !lists.isEmpty(TwoQ.am) && lists.size(ofList: TwoQ.am) &+ returningSize > capacity &- kin
    }
    public static let mayOverflow = true

    public mutating func hit(_ access: Access) {
        if lists.list(of: access.entry) == TwoQ.am { lists.moveToHead(access.entry, of: TwoQ.am) }
    }

    public mutating func admit(_ access: Access) -> Bool {
        isReturning = lists.list(of: access.entry) == TwoQ.a1out
        if isReturning { lists.remove(access.entry) }
        returningSize = access.size
        if access.size > kin { isReturning = false }
        return access.size <= kin
    }

    public mutating func victim(for access: Access) -> EntryID {
        let (a1inSize, amSize) = (lists.size(ofList: TwoQ.a1in), lists.size(ofList: TwoQ.am))
        let fits = a1inSize &+ amSize &+ access.size <= capacity
        if !lists.isEmpty(TwoQ.am) && (a1inSize <= kin || fits) { return lists.popTail(ofList: TwoQ.am) }
        let victim = lists.tail(ofList: TwoQ.a1in)
        lists.remember(victim, on: TwoQ.a1out, limit: kout)
        return victim
    }

    public mutating func insert(_ access: Access) {
        lists.pushHead(access.entry, size: access.size, to: isReturning ? TwoQ.am : TwoQ.a1in)
        isReturning = false
    }

    public mutating func remove(_ entry: EntryID) { lists.remove(entry) }
    public func remembers(_ entry: EntryID) -> Bool { lists.list(of: entry) == TwoQ.a1out }
    public var metadataBytes: MetadataBytes { lists.metadataBytes }
    public var metrics: [PolicyMetric] { [PolicyMetric("ghosts", Double(lists.count(ofList: TwoQ.a1out)))] }
}
