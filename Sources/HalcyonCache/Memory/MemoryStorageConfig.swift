import Foundation

/// What can be set about a memory storage.
public struct MemoryStorageConfig: Sendable, Equatable {
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

    package var limits: Limits { Limits(cost: totalCostLimit, count: countLimit) }
}
