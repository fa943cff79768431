/// Random: any resident goes, each with the same probability.
///
/// Every verb is O(1). Bytes an entry: 4, and 4 a resident. Decisions depend on the seed alone.
public struct RandomEviction: ~Copyable, CataloguedPolicy {
    public static let card = PolicyCard(
        name: "random", summary: "any resident, each with the same probability",
        source: "Belady: A study of replacement algorithms for a virtual-storage computer, 1966",
        traits: .isRandomised)

    private var residents = SlotArray<EntryID>(repeating: .none)
    private var places: SlotArray<UInt32>
    private var count: UInt32 = 0
    private var generator: SplitMix64

    public init(_ parameters: NoParameters, context: PolicyContext) {
        places = SlotArray(repeating: .none, capacity: context.entries)
        generator = SplitMix64(seed: context.seed)
    }

    public mutating func hit(_ access: Access) {}

    public mutating func victim(for access: Access) -> EntryID {
        let victim = residents[UInt32(truncatingIfNeeded: generator.next(below: Int(count)))]
        remove(victim)
        return victim
    }

    public mutating func insert(_ access: Access) {
        residents[count] = access.entry
        places[access.entry] = count
        count &+= 1
    }

    public mutating func remove(_ entry: EntryID) {
        // The last one takes the place of the one that leaves.
        count &-= 1
        let last = residents[count]
        residents[places[entry]] = last
        places[last] = places[entry]
    }

    public var metadataBytes: Int { residents.byteCount + places.byteCount }
}
