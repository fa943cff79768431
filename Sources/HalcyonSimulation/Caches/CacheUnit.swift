import HalcyonEviction
import HalcyonTrace

/// The unit in which the caches of a replay count: entries if sizes are uniform, otherwise the unit of the trace.
///
/// Policies run faster if every access has the size 1. With uniform sizes of s bytes, a cache of N bytes is therefore
/// replayed as a cache of N / s entries. Reports stay in the unit of the trace: each size that a cache counts is
/// multiplied by ``size``.
struct CacheUnit: Sendable, Equatable {
    /// Whether every access has the size 1.
    let usesUniformSizes: Bool
    /// The size of one unit of the cache in the unit of the trace: the size of every object if sizes are uniform,
    /// otherwise 1.
    let size: Int

    /// Creates the unit for objects that all have the size `uniformSize`; `nil` if sizes vary.
    init(uniformSize: UInt64?) {
        usesUniformSizes = uniformSize != nil
        size = max(1, Int(clamping: uniformSize ?? 1))
    }

    /// Creates the unit for the requests of `trace`.
    init(_ trace: Trace) { self.init(uniformSize: trace.uniformSize) }

    /// Converts a capacity from the unit of the trace, rounded down: 0 if no object fits.
    func capacity(_ capacity: Int) -> Int { capacity / size }

    /// Converts the capacity of a memory that holds decoded objects; see ``TierOptions/decodedSizeRatio``.
    func memoryCapacity(_ capacity: Int, _ tiers: TierOptions) -> Int {
        usesUniformSizes ? capacity / max(1, tiers.decodedSize(size)) : capacity
    }

    /// Returns the size on disk of the largest object that fits into such a memory.
    func largestInMemory(_ capacity: Int, _ tiers: TierOptions) -> Int {
        guard !usesUniformSizes, tiers.decodedSizeRatio != 1 else { return memoryCapacity(capacity, tiers) }
        let estimate = Int(clamping: UInt64((Double(capacity) / tiers.decodedSizeRatio).rounded(.down)))
        // The division rounds; the size that the memory counts decides.
        if estimate > 0, tiers.decodedSize(estimate) > capacity { return estimate - 1 }
        return estimate < .max && tiers.decodedSize(estimate + 1) <= capacity ? estimate + 1 : estimate
    }

    /// Returns the size of request `index` of `trace` to a cache. O(1).
    @inline(__always)
    func size(ofRequest index: Int, in trace: Trace) -> Int {
        usesUniformSizes ? 1 : Int(clamping: trace.size(ofRequest: index))
    }

    /// Returns the context for the policy of a cache.
    ///
    /// - Parameters:
    ///   - capacity: the capacity of the cache in the unit of the trace.
    ///   - entries: the number of entries to make room for from the start.
    func context(
        capacity: Int, entries: Int = 0, seed: UInt64, future: FutureKnowledge? = nil
    ) -> PolicyContext {
        PolicyContext(
            capacity: self.capacity(capacity), entries: entries, usesUniformSizes: usesUniformSizes, seed: seed,
            future: future)
    }
}
