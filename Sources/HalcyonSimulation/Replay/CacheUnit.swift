import HalcyonEviction
import HalcyonTrace

/// The unit in which the caches of a replay count: entries where sizes are uniform, otherwise the unit of the trace.
///
/// Policies run faster where every access costs 1. So a cache of N bytes for objects of s bytes each is replayed as a cache
/// of N / s entries. Reports stay in the unit of the trace: each cost that a cache counts is
/// multiplied by ``size``.
package struct CacheUnit: Sendable, Equatable {
    /// Whether every access costs 1.
    let usesUniformSizes: Bool
    /// The cost in the unit of the trace for each unit of the cache: the size of every object where sizes are uniform,
    /// otherwise 1.
    let size: Int

    /// The unit for objects that all have the size `uniformSize`; `nil` where sizes vary.
    init(uniformSize: UInt64?) {
        usesUniformSizes = uniformSize != nil
        size = max(1, Int(clamping: uniformSize ?? 1))
    }

    /// The unit for the requests of `trace`.
    package init(_ trace: Trace) { self.init(uniformSize: trace.uniformSize) }

    /// The capacity of a cache whose capacity in the unit of the trace is `capacity`, rounded down: 0 where no object fits.
    package func capacity(_ capacity: Int) -> Int { capacity / size }

    /// The cost of request `index` of `trace` to a cache. O(1).
    @inline(__always)
    func cost(ofRequest index: Int, in trace: Trace) -> Int {
        usesUniformSizes ? 1 : Int(clamping: trace.cost(ofRequest: index))
    }

    /// The context for the policy of a cache.
    ///
    /// - Parameters:
    ///   - capacity: the capacity of the cache in the unit of the trace.
    ///   - entries: the number of entries to make room for from the start.
    package func context(
        capacity: Int, entries: Int = 0, seed: UInt64, future: FutureKnowledge? = nil
    ) -> PolicyContext {
        PolicyContext(
            capacity: self.capacity(capacity), entries: entries, everyCostIsOne: usesUniformSizes, seed: seed,
            future: future)
    }
}
