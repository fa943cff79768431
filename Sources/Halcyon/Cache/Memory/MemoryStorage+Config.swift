import Foundation

extension MemoryStorage {
    /// What can be set about a memory storage.
    public struct Config: Sendable, Equatable {
        /// The most that all values may cost together; 0 for no limit. Lowering it trims at once.
        public var totalCostLimit: Int
        /// The most values; 0 for no limit. Lowering it trims at once.
        public var countLimit: Int
        /// When values expire that are stored without saying so.
        public var expiration: StorageExpiration
        /// The seconds between two sweeps for what has expired; 0 for none.
        public var cleanInterval: TimeInterval
        /// Whether values stay when the app goes to the background, unless the store says otherwise.
        public var keepWhenEnteringBackground: Bool
        /// What holds for single categories, by name.
        public var categoryRules: [String: CategoryRule]

        /// A configuration; unless given, a quarter of the memory that this process may use (``MemoryBudget``), no limit
        /// of the count, 300 s after the last access, a sweep every 120 s.
        public init(
            totalCostLimit: Int = MemoryBudget().bytes / 4, countLimit: Int = 0,
            expiration: StorageExpiration = .seconds(300), cleanInterval: TimeInterval = 120,
            keepWhenEnteringBackground: Bool = false, categoryRules: [String: CategoryRule] = [:]
        ) {
            self.totalCostLimit = totalCostLimit
            self.countLimit = countLimit
            self.expiration = expiration
            self.cleanInterval = cleanInterval
            self.keepWhenEnteringBackground = keepWhenEnteringBackground
            self.categoryRules = categoryRules
        }

        var limits: Limits { Limits(cost: totalCostLimit, count: countLimit) }
    }

    /// How the storage is configured, read and set under its lock.
    public var config: Config {
        get { state.withLock { $0.config } }
        set { withConfig { $0 = newValue } }
    }

    /// Reads and changes the configuration in one step that nobody else comes between.
    ///
    /// New limits and rules hold when this returns; `change` must not use the storage.
    public func withConfig<Result: Sendable>(_ change: @Sendable (inout Config) throws -> Result) rethrows -> Result {
        let now = clock.now
        let (result, leavers) = try state.withLock { state throws -> (Result, Leavers) in
            let before = state.config
            let result = try change(&state.config)
            if state.config.categoryRules != before.categoryRules {
                state.ledger.apply(state.config.categoryRules, time: now)
            }
            if state.config.limits != before.limits { state.ledger.limit(state.config.limits, at: now) }
            return (result, state.takeLeavers(reporting: reports))
        }
        report(leavers)
        return result
    }
}
