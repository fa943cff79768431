/// Belady's MIN evicts the entry whose next use is furthest in the future. It is the offline optimum of the object hit
/// ratio for uniform sizes, and a strong heuristic for variable sizes.
///
/// No two residents have the same next use, so the residents are a set of positions in the sequence of requests: a
/// ``HierarchicalBitmap`` whose largest member is the victim. Residents that are never used again are on a stack and
/// are evicted first; their order does not change any later hit.
///
/// By default every object is admitted, even if it is never used again, as in libCacheSim 0.3.5; the miss counts are
/// equal. This is the optimum among caches that keep each object that they fetch. With `bypass=on` a full cache refuses
/// an object whose next use is later than that of every resident, or that is never used again. For uniform sizes that
/// is the optimum among all caches, those with admission included: A B A B A in a cache of one object has 2 hits
/// instead of 0. With variable sizes neither is an optimum.
///
/// Without ``PolicyContext/future`` no entry has a next use, and the victim is the entry accessed last; with
/// `bypass=on` a full cache refuses everything.
///
/// Every operation is O(log₆₄ n) in the number of requests. Bytes a request: 4 for the future and 1/8; bytes an entry:
/// 4, and 4 for each resident that is never used again.
public struct Belady: ~Copyable, CataloguedPolicy {
    /// The parameters of the policy.
    public struct Parameters: PolicyParameters {
        /// Whether objects may be refused.
        public enum Bypass: String, CaseIterable, Sendable {
            case off, on
        }

        /// Whether a full cache refuses an object whose next use is later than that of every resident. The default is
        /// `off`.
        public var bypass = Bypass.off
        public static let table = [
            Parameter<Self>.choice("bypass", \.bypass, "whether an object used later than every resident is refused")
        ]

        public init() {}
    }

    public static let info = PolicyInfo(
        name: "belady", summary: "the offline optimum: evicts the furthest next use",
        source: "Belady: A study of replacement algorithms for a virtual-storage computer, 1966",
        traits: .needsFuture)

    private let bypasses: Bool

    private let future: FutureKnowledge
    private var upcoming: HierarchicalBitmap
    /// The next use of each resident, `never`, or `absent`.
    private var nextUse: SlotArray<UInt32>
    /// The entries that are never used again; some of them may have been removed since.
    private var finished: [EntryID] = []

    private static let absent = FutureKnowledge.never - 1

    public init(_ parameters: Parameters, context: PolicyContext) {
        bypasses = parameters.bypass == .on
        future = context.future ?? FutureKnowledge(entries: [], entryCount: 0)
        upcoming = HierarchicalBitmap(capacity: future.entries.count)
        nextUse = SlotArray(repeating: Belady.absent, capacity: context.entries)
    }

    public mutating func hit(_ access: Access) {
        forget(access.entry)
        insert(access)
    }

    public mutating func victim(for access: Access) -> EntryID {
        let next = bypasses && access.entry != .none ? nextUse(of: access) : 0
        if next == FutureKnowledge.never { return access.entry }
        while let entry = finished.popLast() {
            if nextUse[entry] != FutureKnowledge.never { continue }
            nextUse[entry] = Belady.absent
            return entry
        }
        guard let furthest = upcoming.largest, furthest >= next else { return access.entry }
        upcoming.remove(furthest)
        let entry = future.entries[Int(furthest)]
        nextUse[entry] = Belady.absent
        return entry
    }

    public mutating func insert(_ access: Access) {
        let next = nextUse(of: access)
        nextUse[access.entry] = next
        if next == FutureKnowledge.never { finished.append(access.entry) } else { upcoming.insert(next) }
    }

    public mutating func remove(_ entry: EntryID) {
        forget(entry)
        nextUse[entry] = Belady.absent
    }

    public var metadataBytes: MetadataBytes {
        MetadataBytes(
            fixed: upcoming.byteCount + future.nextUse.count * MemoryLayout<UInt32>.stride,
            perNumber: nextUse.byteCount,
            perResident: finished.capacity * MemoryLayout<EntryID>.stride)
    }

    @inline(__always)
    private func nextUse(of access: Access) -> UInt32 {
        access.requestNumber < future.nextUse.count ? future.nextUse[access.requestNumber] : FutureKnowledge.never
    }

    /// Removes the next use of an entry. An entry on the stack stays there and is ignored, because it is marked as
    /// absent.
    @inline(__always)
    private mutating func forget(_ entry: EntryID) {
        let next = nextUse[entry]
        if next < Belady.absent { upcoming.remove(next) }
    }
}
