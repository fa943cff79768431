@testable import HalcyonCache

extension MemoryCore {
    /// Uses the maximum number of lanes, as if many threads had competed.
    func takeAllLanes() {
        withLock { _ in
            while lanes.count < lanes.most { lanes.grow(from: lanes.count) }
        }
    }
}

extension MemoryStorage {
    /// Returns when a value expires, in microseconds since 1970; `nil` if there is no value.
    func deadline(forKey key: String) -> Int64? {
        let now = core.clock.now
        return core.withLock { state in state.entries.find(key, at: now).map { state.entries.deadline(of: $0) } }
    }
}
