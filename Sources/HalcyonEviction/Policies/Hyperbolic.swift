/// Hyperbolic caching gives an entry a priority: its accesses divided by the time since its insertion. It evicts, from
/// a random sample of residents, the entry with the lowest priority. The priority of an entry falls between its
/// requests; the older the entry, the slower.
///
/// As in the paper, 64 residents are drawn, and time is counted in accesses to the cache. A cache with no more
/// residents examines all of them. Of equal priorities, the entry inserted first is evicted. `size=divides` is the
/// paper's variant for variable sizes, which divides the priority by the size. The default ignores size, as
/// libCacheSim 0.3.5 does.
///
/// A hit and an insertion are O(1), an eviction is O(`sample`). Bytes an entry: 4, and 16 a resident.
public struct Hyperbolic: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The effect of an entry's size.
        public enum SizeEffect: String, CaseIterable, Sendable {
            case ignored, divides
        }

        /// The number of residents drawn for each eviction.
        public var sample = 64
        /// The effect of an entry's size on its priority.
        public var size = SizeEffect.ignored
        public static let table = [
            Parameter<Self>.integer("sample", \.sample, in: 1...65536, "residents drawn for each eviction"),
            Parameter.choice("size", \.size, "whether the priority of an entry is divided by its size"),
        ]

        public init() {}
    }

    public static let info = PolicyInfo(
        name: "hyperbolic",
        summary: "hyperbolic caching: evicts, of a sample, the entry with the fewest accesses per time since insertion",
        source: "Blankstein, Sen, Freedman: Hyperbolic caching: flexible caching for web applications, ATC 2017",
        traits: [.isRandomised, .usesSizes])

    /// The state of a resident. Not private, because Swift 6.3 then emits invalid code for tests of this noncopyable type.
    struct Record: BitwiseCopyable {
        var accesses: UInt32
        var since: UInt32
        /// 1 divided by the size, or 1 if size is ignored.
        var scale: Float
    }

    private let sample: Int
    private let sizeDivides: Bool
    private var pool: DensePool<Record>
    /// The number of accesses, modulo 2³².
    var clock: UInt32 = 0
    private var generator: SplitMix64

    public init(_ parameters: Parameters, context: PolicyContext) {
        sample = parameters.sample
        sizeDivides = parameters.size == .divides
        pool = DensePool(capacity: context.entries)
        generator = SplitMix64(seed: context.seed)
    }

    public mutating func hit(_ access: Access) {
        tick()
        let accesses = pool[access.entry].accesses
        pool[access.entry].accesses = min(accesses, .max - 1) &+ 1
    }

    public mutating func admit(_ access: Access) -> Bool {
        tick()
        return true
    }

    @inline(__always)
    private mutating func tick() {
        clock &+= 1
        if WrappingClock.isSweepDue(clock) { limitAges() }
    }

    /// Halves the accesses and the age of each entry that is more than 2³¹ accesses old, which keeps its priority. No
    /// age or count then exceeds 32 bits.
    @inline(never)
    private mutating func limitAges() {
        let now = clock
        pool.updateAll { record in
            let age = now &- record.since
            guard age > WrappingClock.longestAge else { return }
            record.since = now &- age / 2
            record.accesses = max(record.accesses / 2, 1)
        }
    }

    public mutating func victim(for access: Access) -> EntryID {
        let looksAtAll = pool.count <= sample
        var victim = EntryID.none
        var (least, longest) = (Double.infinity, UInt32(0))
        for turn in 0..<min(sample, pool.count) {
            let member = pool[looksAtAll ? turn : pool.draw(with: &generator)]
            let age = clock &- member.payload.since
            let priority = Double(member.payload.accesses) * Double(member.payload.scale) / Double(max(age, 1))
            if priority < least || (priority == least && age > longest) {
                (victim, least, longest) = (member.entry, priority, age)
            }
        }
        pool.remove(victim)
        return victim
    }

    public mutating func insert(_ access: Access) {
        let scale = sizeDivides ? 1 / Float(max(access.size, 1)) : 1
        pool.insert(access.entry, Record(accesses: 1, since: clock, scale: scale))
    }

    public mutating func remove(_ entry: EntryID) { pool.remove(entry) }
    public var metadataBytes: MetadataBytes { pool.metadataBytes }
}
