/// Belady's rule with sizes evicts, from a random sample of residents, the entry with the largest product of its size
/// and the distance to its next use.
///
/// Finding the optimum for variable sizes is NP-hard (Chrobak, Woeginger, Makino, Xu: Caching is hard, even in the
/// fault model, 2012). This is the greedy rule of libCacheSim 0.3.5, which frees the most size for the longest time.
/// As there, an object that is never used again is not admitted, and an entry after its last hit is evicted first. In
/// addition, the new object takes part: it is not admitted if its own product is the largest. So it always may bypass,
/// as `belady(bypass=on)`. With sizes, the misses are 0.4 % below those of that release on average over three traces at
/// four sizes, and never above.
///
/// Without ``PolicyContext/future`` no entry has a next use, and no object is admitted.
///
/// An eviction is O(samples); everything else is O(1). Bytes a request: 4 for the future; bytes an entry: 4, and 20 a
/// resident.
public struct BeladySize: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// The number of residents drawn for each eviction.
        public var samples = 128
        public static let table = [
            Parameter<Self>.integer("samples", \.samples, in: 1...100_000, "residents drawn for each eviction")
        ]

        public init() {}
    }

    public static let info = PolicyInfo(
        name: "belady-size", summary: "offline: evicts the largest product of size and distance to the next use",
        source: "libCacheSim 0.3.5 (BeladySize), after Belady 1966",
        traits: [.needsFuture, .usesSizes, .isRandomised, .hasAdmission],
        admissionRule: "refuses an object that is never requested again, or whose product is the largest")

    struct Resident: BitwiseCopyable {
        var entry: EntryID
        var nextUse: UInt32
        var size: Int

        @inline(__always)
        func product(at now: Int) -> Double { Double(size) * Double(Int(nextUse) &- now) }
    }

    private let future: FutureKnowledge
    private let samples: Int
    private var generator: SplitMix64
    private var residents = SlotArray(repeating: Resident(entry: .none, nextUse: 0, size: 0))
    private var places: SlotArray<UInt32>
    private var count: UInt32 = 0
    /// The entries that had their last hit; some of them may have been removed since.
    private var finished: [EntryID] = []

    public init(_ parameters: Parameters, context: PolicyContext) {
        future = context.future ?? FutureKnowledge(entries: [], entryCount: 0)
        samples = parameters.samples
        generator = SplitMix64(seed: context.seed)
        places = SlotArray(repeating: .none, capacity: context.entries)
    }

    public mutating func hit(_ access: Access) {
        let next = nextUse(access)
        residents[places[access.entry]].nextUse = next
        if next == FutureKnowledge.never { finished.append(access.entry) }
    }

    public mutating func admit(_ access: Access) -> Bool { nextUse(access) != FutureKnowledge.never }

    public mutating func victim(for access: Access) -> EntryID {
        while let entry = finished.popLast() {
            let place = places[entry]
            if place == .none || residents[place].nextUse != FutureKnowledge.never { continue }
            remove(entry)
            return entry
        }
        let candidate = Resident(entry: access.entry, nextUse: nextUse(access), size: access.size)
        var (victim, largest) = (access.entry, candidate.product(at: access.requestNumber))
        // If there are no more residents than draws, examine each of them once.
        let examinesAll = samples >= Int(count)
        for draw in 0..<UInt32(min(samples, Int(count))) {
            let place = examinesAll ? draw : UInt32(truncatingIfNeeded: generator.next(below: Int(count)))
            let product = residents[place].product(at: access.requestNumber)
            if product >= largest { (largest, victim) = (product, residents[place].entry) }
        }
        if victim != access.entry { remove(victim) }
        return victim
    }

    public mutating func insert(_ access: Access) {
        residents[count] = Resident(entry: access.entry, nextUse: nextUse(access), size: access.size)
        places[access.entry] = count
        count &+= 1
    }

    public mutating func remove(_ entry: EntryID) {
        // The last resident takes the place of the removed one.
        count &-= 1
        let (place, last) = (places[entry], residents[count])
        residents[place] = last
        places[last.entry] = place
        places[entry] = .none
    }

    public var metadataBytes: MetadataBytes {
        MetadataBytes(
            fixed: future.nextUse.count * MemoryLayout<UInt32>.stride, perNumber: places.byteCount,
            perResident: residents.byteCount + finished.capacity * MemoryLayout<EntryID>.stride)
    }

    private func nextUse(_ access: Access) -> UInt32 {
        access.requestNumber < future.nextUse.count ? future.nextUse[access.requestNumber] : FutureKnowledge.never
    }
}
