import HalcyonEviction

/// The objects that a learned baseline knows, with a record each, and the number of requests so far.
///
/// These are the residents, in the order of their last requests, and evicted objects. Every operation is O(1). Bytes: 16 a
/// number, and a `DensePool.Member` for each object.
struct KnownObjects<Record: BitwiseCopyable>: ~Copyable {
    private(set) var residents: DensePool<Record>
    private(set) var evicted: DensePool<Record>
    /// The residents by their last requests.
    private var links: LinkArena
    private var order = EntryList()
    /// The number of requests before the present one.
    private(set) var time = -1
    private var hasEvicted = false

    init(capacity: Int) {
        residents = DensePool(capacity: capacity)
        evicted = DensePool(capacity: capacity)
        links = LinkArena(capacity: capacity)
    }

    var metadataBytes: MetadataBytes {
        residents.metadataBytes + evicted.metadataBytes + MetadataBytes(perNumber: links.byteCount)
    }
    var metrics: [PolicyMetric] { [PolicyMetric("known_evicted", Double(evicted.count))] }

    // MARK: - Requests

    /// The time modulo 2³².
    var now: UInt32 { UInt32(truncatingIfNeeded: time) }

    /// Counts a request.
    mutating func countRequest() { time += 1 }

    /// Draws the index of an object to sample; `nil` before the first eviction, or if there is no object.
    mutating func drawSample(below count: Int, with generator: inout SplitMix64) -> Int? {
        hasEvicted && count > 0 ? generator.next(below: count) : nil
    }

    // MARK: - Records

    /// Whether an object is resident.
    @inline(__always)
    func isResident(_ entry: EntryID) -> Bool { residents.place(of: entry) != nil }

    /// Whether an object is known and not resident.
    @inline(__always)
    func isEvicted(_ entry: EntryID) -> Bool { evicted.place(of: entry) != nil }

    /// The record of a known object.
    @inline(__always)
    subscript(entry: EntryID) -> Record {
        get {
            if let place = residents.place(of: entry) { return residents[place].payload }
            return evicted[entry]
        }
        set { if isResident(entry) { residents[entry] = newValue } else { evicted[entry] = newValue } }
    }

    // MARK: - Residents

    /// The resident with the oldest last request; `.none` in an empty cache.
    var oldest: EntryID { order.tail }

    /// Returns the resident that was requested next after another one; after the newest one, the oldest.
    @inline(__always)
    func following(_ entry: EntryID) -> EntryID {
        let newer = links.newer(than: entry)
        return newer == .none ? order.tail : newer
    }

    /// Makes a resident the one with the newest last request.
    @inline(__always)
    mutating func moveToNewest(_ entry: EntryID) { links.moveToHead(entry, in: &order) }

    /// Adds a resident as the one with the newest last request.
    @inline(__always)
    mutating func insert(_ entry: EntryID, _ record: Record) {
        residents.insert(entry, record)
        links.pushHead(entry, to: &order)
    }

    /// Removes a resident and returns its record.
    @inline(__always)
    @discardableResult
    mutating func remove(_ entry: EntryID) -> Record {
        let record = residents[entry]
        residents.remove(entry)
        links.remove(entry, from: &order)
        return record
    }

    // MARK: - Evicted objects

    /// Removes a resident that is the victim and returns its record. ``remember(_:_:)`` adds it to the evicted objects.
    @inline(__always)
    mutating func evict(_ entry: EntryID) -> Record {
        hasEvicted = true
        return remove(entry)
    }

    /// Adds an evicted object.
    @inline(__always)
    mutating func remember(_ entry: EntryID, _ record: Record) { evicted.insert(entry, record) }

    /// Removes an evicted object and returns its record; `nil` if there is none.
    @inline(__always)
    mutating func forget(_ entry: EntryID) -> Record? {
        guard isEvicted(entry) else { return nil }
        let record = evicted[entry]
        evicted.remove(entry)
        return record
    }
}
