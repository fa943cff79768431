/// Hyperbolic caching: an entry is worth its accesses over the time since it came in; of a sample of residents the one
/// that is worth the least goes. The worth of an entry falls while it is not asked for, slowly if it has been here long.
///
/// As in the paper 64 residents are drawn, and time is counted in accesses to the cache. A cache of no more than that many
/// looks at all of them. Of entries that are worth the same the one that came in first goes. The paper's variant for
/// entries that differ in size, worth over size, is `size=divides`; the default leaves size out, as does libCacheSim 0.3.5.
///
/// A hit and an insertion are O(1), an eviction O(`sample`). Bytes an entry: 4, and 16 a resident.
public struct Hyperbolic: ~Copyable, CataloguedPolicy {
    /// What can be set.
    public struct Parameters: PolicyParameters {
        /// Whether what an entry sizes counts.
        public enum Cost: String, CaseIterable, Sendable {
            case ignored, divides
        }

        /// How many residents are drawn for a victim.
        public var sample = 64
        /// Whether what an entry sizes counts.
        public var cost = Cost.ignored
        public static let table = [
            Parameter<Self>.integer("sample", \.sample, in: 1...65536, "how many residents are drawn for a victim"),
            .choice("cost", \.cost, "whether the worth of an entry is divided by its cost"),
        ]

        public init() {}
    }

    public static let info = PolicyInfo(
        name: "hyperbolic", summary: "hyperbolic caching: fewest accesses over time since it came in, of a sample",
        source: "Blankstein, Sen, Freedman: Hyperbolic caching: flexible caching for web applications, ATC 2017",
        traits: [.isRandomised, .usesSizes])

    /// What is known of a resident.
    private struct Record: BitwiseCopyable {
        var accesses: UInt32
        var since: UInt32
        /// 1 over the size, or 1 where size does not count.
        var scale: Float
    }

    private let sample: Int
    private let costDivides: Bool
    private var pool: DensePool<Record>
    private var clock: UInt32 = 0
    private var generator: SplitMix64

    public init(_ parameters: Parameters, context: PolicyContext) {
        sample = parameters.sample
        costDivides = parameters.cost == .divides
        pool = DensePool(capacity: context.entries)
        generator = SplitMix64(seed: context.seed)
    }

    public mutating func hit(_ access: Access) {
        clock &+= 1
        pool[access.entry].accesses &+= 1
    }

    public mutating func admit(_ access: Access) -> Bool {
        clock &+= 1
        return true
    }

    public mutating func victim(for access: Access) -> EntryID {
        let looksAtAll = pool.count <= sample
        var victim = EntryID.none
        var (least, longest) = (Double.infinity, UInt32(0))
        for turn in 0..<min(sample, pool.count) {
            let member = pool[looksAtAll ? turn : pool.draw(with: &generator)]
            let age = clock &- member.payload.since
            let worth = Double(member.payload.accesses) * Double(member.payload.scale) / Double(max(age, 1))
            if worth < least || (worth == least && age > longest) {
                (victim, least, longest) = (member.entry, worth, age)
            }
        }
        pool.remove(victim)
        return victim
    }

    public mutating func insert(_ access: Access) {
        let scale = costDivides ? 1 / Float(max(access.size, 1)) : 1
        pool.insert(access.entry, Record(accesses: 1, since: clock, scale: scale))
    }

    public mutating func remove(_ entry: EntryID) { pool.remove(entry) }
    public var metadataBytes: MetadataBytes { pool.metadataBytes }
}
