import HalcyonEviction

/// A memory in front of a disk, each a bounded cache of its own, that looks like one cache.
///
/// An access asks the memory first. What the memory lacks, it takes in from below (promotion), whether the disk had it
/// or the network brought it; what neither had, both take in. A hit in memory does not touch the disk.
struct TieredCache {
    let memory: CacheRun
    let disk: CacheRun

    func access(_ access: Access) -> AccessOutcome {
        let upper = memory.access(access)
        if upper == .hit { return .hit }
        let lower = disk.access(access)
        if lower == .hit { return .lowerTierHit }
        if upper == .stale || lower == .stale { return .stale }
        return upper == .refused && lower == .refused ? .refused : .miss
    }

    /// The two as one cache; its counters are the sums of theirs.
    var asOne: CacheRun {
        CacheRun(
            replay: { batch, outcomes in
                for index in 0..<batch.entries.count { outcomes[index] = access(batch.access(index)) }
            },
            access: access,
            contains: { memory.contains($0) || disk.contains($0) },
            remembers: { memory.remembers($0) || disk.remembers($0) },
            remove: {
                memory.remove($0)
                disk.remove($0)
            },
            define: {
                memory.define($0, $1)
                disk.define($0, $1)
            },
            state: {
                let (upper, lower) = (memory.state(), disk.state())
                return CacheState(
                    used: upper.used + lower.used, count: upper.count + lower.count,
                    evictions: upper.evictions + lower.evictions,
                    expirations: upper.expirations + lower.expirations,
                    metadataBytes: upper.metadataBytes + lower.metadataBytes,
                    metrics: upper.metrics.map { PolicyMetric("memory_" + $0.name, $0.value) }
                        + lower.metrics.map { PolicyMetric("disk_" + $0.name, $0.value) })
            },
            used: { memory.used() + disk.used() },
            rememberedCount: { memory.rememberedCount($0) + disk.rememberedCount($0) })
    }
}
