/// Admits an object at its second request: the first request only adds it to a Bloom filter.
///
/// Two filters take turns. Refused objects are added to the young one. Once it has three for each resident of the cache,
/// and at least 3,072, the old filter is cleared and becomes the young one. So a request counts as the second if the
/// first was among the last one to two filters of refused objects. A Bloom filter takes up to 1 % of other objects for
/// members, and admits them at once. libCacheSim's `bloomfilter` admission remembers every object for ever, in a hash
/// table; while the young filter is not full, decisions are equal except for false members.
///
/// The filters know objects by their numbers. A number goes to another object only when neither filter contains it
/// (``remembers(_:)``), so the first request of the new object is not taken for a second one. A live cache therefore keeps
/// the numbers and keys of up to six refused objects a resident, or of 6,144 if that is more. Which objects are false
/// members depends on their numbers, and so do a few decisions.
///
/// O(1); clearing takes O(size) once a filter. Bytes: 8 to 16 a resident, at least 8 KB. The number of residents is
/// estimated: the capacity over the mean size of the objects that were inserted, at most their number.
///
/// Maggs, Sitaraman: Algorithmic nuggets in content delivery, CCR 2015 ("cache on second hit").
public struct BloomAdmission: ~Copyable, AdmissionFilter {
    private static let leastEntries = 1_024

    public static let decidesByNumber = true

    private var young: BloomFilter
    private var old: BloomFilter
    private var members = 0
    private var capacity: Int
    private var insertions = 0
    private var insertedSize = 0

    public init(_ parameters: AdmissionParameters, context: PolicyContext) {
        young = BloomFilter(entries: BloomAdmission.leastEntries)
        old = BloomFilter(entries: BloomAdmission.leastEntries)
        capacity = context.capacity
    }

    public mutating func admit(_ access: Access) -> Bool {
        if young.contains(access.entry) || old.contains(access.entry) { return true }
        if members >= 3 * entries {
            swap(&young, &old)
            young.clear()
            members = 0
        }
        young.ensure(entries: entries)
        _ = young.insert(access.entry)
        members += 1
        return false
    }

    public mutating func insert(_ access: Access) {
        insertions += 1
        insertedSize &+= access.size
    }

    public mutating func resize(to capacity: Int) { self.capacity = capacity }

    /// The number of entries that fit into the cache, by the mean size of those that were inserted; at least 1,024.
    private var entries: Int {
        let mean = insertedSize / max(insertions, 1)
        return max(min(capacity / max(mean, 1), insertions), BloomAdmission.leastEntries)
    }

    public func remembers(_ entry: EntryID) -> Bool { young.contains(entry) || old.contains(entry) }

    public var metadataBytes: MetadataBytes { MetadataBytes(perResident: young.byteCount + old.byteCount) }
}
