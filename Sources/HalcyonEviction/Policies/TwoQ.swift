/// 2Q, full version: newcomers pass through a FIFO queue A1in and are remembered in A1out when they leave; who comes back
/// while remembered enters Am, an LRU list.
///
/// The paper counts pages. Where sizes vary we do as libCacheSim 0.3.5, whose counts this gives exactly: an entry larger
/// than A1in is refused, and Am holds no more than what A1in leaves, so that a return may evict from Am although the cache
/// has room. Every verb is O(1). Bytes an entry: 9, and 8 more where sizes vary; it remembers half of what it holds.
public struct TwoQ: ~Copyable, CataloguedPolicy {
    /// What can be set.
    public struct Parameters: PolicyParameters {
        /// The share of the capacity for A1in.
        public var newcomers = 0.25
        /// What A1out remembers, as a share of the capacity.
        public var ghosts = 0.5

        public init() {}

        public static let table = [
            Parameter<Parameters>.real("in", \.newcomers, in: 0...1, "share of the capacity for the newcomers (Kin)"),
            Parameter<Parameters>.real("out", \.ghosts, in: 0...10, "what is remembered, over the capacity (Kout)"),
        ]
    }

    public static let info = PolicyInfo(
        name: "2q", summary: "newcomers in a FIFO queue, those that come back in an LRU list",
        source: "Johnson, Shasha: 2Q: a low overhead high performance buffer management replacement algorithm, 1994",
        traits: .hasAdmission)

    private static let a1in: UInt8 = 0, a1out: UInt8 = 1, am: UInt8 = 2

    private var lists: ListFamily
    private let parameters: Parameters
    private let leastKin: Int
    private var capacity = 0
    private var kin = 0
    private var kout = 0
    /// Whether the newcomer was found in A1out, and what it sizes then.
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
        kin = max(Int(Double(capacity) * parameters.newcomers), leastKin)
        kout = Int(Double(capacity) * parameters.ghosts)
    }

    /// Am must make room of its own for an entry that comes back.
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
        let (newcomers, others) = (lists.size(ofList: TwoQ.a1in), lists.size(ofList: TwoQ.am))
        let fits = newcomers &+ others &+ access.size <= capacity
        if !lists.isEmpty(TwoQ.am) && (newcomers <= kin || fits) { return lists.popTail(ofList: TwoQ.am) }
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
