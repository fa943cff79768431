import HalcyonEviction

/// A cache of one tier, or of two: a memory in front of a disk, as in an app's image cache.
///
/// An access goes to the memory first. What the memory lacks it takes in (promotion), from the disk or from the network;
/// what neither holds, both take in. A hit in the memory does not reach the disk.
struct TieredCache {
    let memory: any AnyCache
    let disk: (any AnyCache)?

    func access(_ access: Access) -> AccessOutcome {
        let upper = memory.access(access)
        guard let disk, upper != .hit else { return upper }
        let lower = disk.access(access)
        if lower == .hit { return .lowerTierHit }
        if upper == .stale || lower == .stale { return .stale }
        return upper == .refused && lower == .refused ? .refused : .miss
    }

    /// Whether a tier holds an entry that has not expired.
    func contains(_ entry: EntryID, freshAt time: Int64) -> Bool {
        memory.contains(entry, freshAt: time) || disk?.contains(entry, freshAt: time) == true
    }

    /// Whether entries expire in a tier.
    var entriesExpire: Bool { memory.entriesExpire || disk?.entriesExpire == true }

    func define(_ set: CategorySetID, _ members: [UInt32]) {
        memory.define(categorySet: set, members: members)
        disk?.define(categorySet: set, members: members)
    }

    func reconsider(_ access: Access, isLikely: Bool) {
        memory.reconsider(access, isLikely: isLikely)
        disk?.reconsider(access, isLikely: isLikely)
    }

    /// The size of the residents of the largest tier: the disk, if there is one.
    var used: Int { (disk ?? memory).used }

    var evictions: Int { states.reduce(0) { $0 + $1.evictions } }

    /// Moves the entries that were evicted since the last call, and that no tier holds, to the end of a list.
    func takeVictims(into list: inout [EntryID]) {
        memory.takeVictims(into: &list)
        guard let disk else { return }
        disk.takeVictims(into: &list)
        list.removeAll { memory.contains($0) || disk.contains($0) }
    }

    /// The number of entries below the number `end` that no tier holds and that a policy remembers, by tier. O(end).
    func rememberedCount(below end: EntryID) -> Int {
        guard let disk else { return memory.rememberedCount(below: end) }
        return memory.rememberedCount(below: end) + disk.rememberedCount(below: end)
    }

    /// The state of each tier.
    var states: [CacheState] { [memory.state] + (disk.map { [$0.state] } ?? []) }

    /// What the policies publish; with two tiers, the names begin with the tier's.
    func metrics(_ states: [CacheState]) -> [PolicyMetric] {
        guard states.count == 2 else { return states[0].metrics }
        return states[0].metrics.map { PolicyMetric("memory_" + $0.name, $0.value) }
            + states[1].metrics.map { PolicyMetric("disk_" + $0.name, $0.value) }
    }
}
