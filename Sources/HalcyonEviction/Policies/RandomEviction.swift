/// Random evicts any resident, each with the same probability.
///
/// Every operation is O(1). Bytes an entry: 4, and 4 a resident. Decisions depend on the seed alone.
public struct RandomEviction: ~Copyable, CataloguedPolicy {
    public static let info = PolicyInfo(
        name: "random", summary: "evicts a random resident",
        source: "Belady: A study of replacement algorithms for a virtual-storage computer, 1966",
        traits: .isRandomised)

    /// The empty state of a resident.
    private struct Nothing: BitwiseCopyable {}

    private var pool: DensePool<Nothing>
    private var generator: SplitMix64

    public init(_ parameters: NoParameters, context: PolicyContext) {
        pool = DensePool(capacity: context.entries)
        generator = SplitMix64(seed: context.seed)
    }

    public mutating func hit(_ access: Access) {}

    public mutating func victim(for access: Access) -> EntryID {
        let victim = pool[pool.draw(with: &generator)].entry
        pool.remove(victim)
        return victim
    }

    public mutating func insert(_ access: Access) { pool.insert(access.entry, Nothing()) }
    public mutating func remove(_ entry: EntryID) { pool.remove(entry) }
    public var metadataBytes: MetadataBytes { pool.metadataBytes }
}
