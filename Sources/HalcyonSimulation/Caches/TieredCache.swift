import HalcyonEviction
import HalcyonPrefetch

/// A cache of one or two tiers: a memory in front of a disk, as in an app's image cache.
///
/// An access goes to the memory first. On a memory miss, the memory admits the object from the disk or the network
/// (promotion). If neither tier holds it, both admit it. A hit in the memory does not reach the disk.
final class TieredCache {
    /// The memory, or the only tier.
    private(set) var memory: AnyCache
    /// The disk; ``memory`` if there is only one tier.
    private var disk: AnyCache
    /// The two tiers if the app is killed between visits.
    private var restarting: (memory: RestartingTier, disk: RestartingTier?)?
    /// The time of the last access, if the app is killed between visits.
    private var lastAccess: Int64?
    let hasDisk: Bool
    /// The number of requests served so far, if blocks mix caches.
    var requests = 0
    /// The number of evictions up to the end of the warm-up.
    var evictionsBefore = 0
    /// The time of the last request or event of a cache with prefetching, in microseconds.
    var now = Int64.min
    private var numbers: EntryNumbers
    /// The ratio of an object's size in memory to its size on disk.
    private let decodedSizeRatio: Double

    init(
        memory: AnyCache, disk: AnyCache?, recyclesNumbers: Bool = false, decodedSizeRatio: Double = 1,
        restarting: (memory: RestartingTier, disk: RestartingTier?)? = nil
    ) {
        self.restarting = restarting
        self.decodedSizeRatio = decodedSizeRatio
        self.memory = memory
        self.disk = disk ?? memory
        hasDisk = disk != nil
        numbers = EntryNumbers(recycles: recyclesNumbers)
    }

    /// Returns the entry of an object, as this cache numbers it.
    func entry(of object: UInt32) -> EntryID { numbers.number(of: object, isForgotten: isForgotten) }

    /// The number of entry numbers that ``entry(of:)`` has assigned.
    var numberCount: Int { numbers.count }

    /// Returns the entry of an object; `nil` if it has none yet.
    func knownEntry(of object: UInt32) -> EntryID? { numbers.find(object) }

    /// Returns the object of an entry.
    func object(of entry: EntryID) -> UInt32 { numbers.object(of: entry) }

    /// Returns whether a tier holds an object that has not expired at ``now``.
    func holds(_ object: UInt32) -> Bool {
        guard let entry = numbers.find(object) else { return false }
        return contains(entry, freshAt: now)
    }

    /// Returns whether a tier holds an entry. It may have expired.
    func contains(_ entry: EntryID) -> Bool { memory.contains(entry) || hasDisk && disk.contains(entry) }

    private func isForgotten(_ entry: EntryID) -> Bool {
        !contains(entry) && !memory.remembers(entry) && (!hasDisk || !disk.remembers(entry))
    }

    /// Serves an access.
    ///
    /// - Parameter deadline: when an entry that it inserts expires, in microseconds; with one tier. A hit does not
    ///   change it.
    func access(_ access: Access, deadline: Int64?) -> AccessOutcome {
        guard let deadline else { return self.access(access) }
        let isHit =
            memory.contains(access.entry, freshAt: access.time) && memory.lastSize(of: access.entry) == access.size
        if isHit { return memory.access(access) }
        var victims: [EntryID] = []
        return memory.store(access, deadline: deadline, victims: &victims)
    }

    func access(_ access: Access) -> AccessOutcome {
        if restarting != nil { restartIfIdle(at: access.time) }
        let inMemory = decoded(access)
        restarting?.memory.note(inMemory)
        let upper = memory.access(inMemory)
        if !hasDisk || upper == .hit { return upper }
        restarting?.disk?.note(access)
        let lower = disk.access(access)
        if lower == .hit { return .lowerTierHit }
        if upper == .stale || lower == .stale { return .stale }
        return upper == .refused && lower == .refused ? .refused : .miss
    }

    /// Whether the app is killed between visits.
    var restarts: Bool { restarting != nil }

    /// Restarts the app if the last access is longer ago than a visit lasts.
    private func restartIfIdle(at time: Int64) {
        defer { lastAccess = time }
        guard let lastAccess, time.subtractingReportingOverflow(lastAccess).partialValue > PlanningMoment.idleTime
        else { return }
        let before = evictions
        if let fresh = restarting?.memory.restart(memory, at: time) { memory = fresh }
        if !hasDisk { disk = memory }
        if let fresh = restarting?.disk?.restart(disk, at: time) { disk = fresh }
        // The evictions that led to this state are no new ones.
        evictionsBefore += evictions - before
    }

    /// Returns an access as the memory receives it: with the decoded size.
    private func decoded(_ access: Access) -> Access {
        var decoded = access
        decoded.size = TierOptions.decodedSize(access.size, ratio: decodedSizeRatio)
        return decoded
    }

    /// Returns whether a tier holds an entry that has not expired.
    func contains(_ entry: EntryID, freshAt time: Int64) -> Bool {
        memory.contains(entry, freshAt: time) || hasDisk && disk.contains(entry, freshAt: time)
    }

    /// Removes an entry from both tiers. No policy decides on it, and it counts as no eviction.
    func remove(_ entry: EntryID) {
        restarting?.memory.note(removed: entry)
        restarting?.disk?.note(removed: entry)
        memory.remove(entry)
        if hasDisk { disk.remove(entry) }
    }

    func define(_ set: CategorySetID, _ members: [UInt32]) {
        restarting?.memory.define(set, members)
        restarting?.disk?.define(set, members)
        memory.define(categorySet: set, members: members)
        if hasDisk { disk.define(categorySet: set, members: members) }
    }

    /// Reports the objects of a list that is shown to the policies.
    func shown(_ objects: [UInt32]) {
        memory.shown(objects)
        if hasDisk { disk.shown(objects) }
    }

    func reconsider(_ access: Access, isLikely: Bool) {
        memory.reconsider(decoded(access), isLikely: isLikely)
        if hasDisk { disk.reconsider(access, isLikely: isLikely) }
    }

    /// Moves the entries that were evicted since the last call, and that no tier holds, to the end of a list. Each is listed once.
    func takeVictims(into list: inout [EntryID]) {
        memory.takeVictims(into: &list)
        if !hasDisk { return }
        disk.takeVictims(into: &list)
        list.removeAll(where: contains)
        guard list.count > 1 else { return }
        var listed: Set<EntryID> = []
        list.removeAll { !listed.insert($0).inserted }
    }

    /// The size of the residents of the largest tier: the disk, if there is one.
    var used: Int { disk.used }
    /// The number of residents, counted in each tier.
    var count: Int { memory.count + (hasDisk ? disk.count : 0) }
    /// The number of evictions, counted in each tier.
    var evictions: Int { memory.evictions + (hasDisk ? disk.evictions : 0) }

    var metadataBytes: MetadataBytes {
        let kept = restarting.map { $0.memory.byteCount + ($0.disk?.byteCount ?? 0) } ?? 0
        let bytes = hasDisk ? memory.metadataBytes + disk.metadataBytes : memory.metadataBytes
        return bytes + MetadataBytes(fixed: kept)
    }

    /// The metrics that the policies publish. With two tiers, each name begins with the tier's.
    var metrics: [PolicyMetric] {
        if !hasDisk { return memory.metrics }
        return memory.metrics.map { PolicyMetric("memory_" + $0.name, $0.value) }
            + disk.metrics.map { PolicyMetric("disk_" + $0.name, $0.value) }
    }

    /// Returns how many entries below the number `end` a tier does not hold and its policy remembers. O(end).
    func rememberedCount(below end: EntryID) -> Int {
        memory.rememberedCount(below: end) + (hasDisk ? disk.rememberedCount(below: end) : 0)
    }
}
