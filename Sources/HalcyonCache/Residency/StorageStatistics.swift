/// How often something was asked for, and found.
public struct HitCounts: Sendable, Equatable {
    /// Found.
    public var hits = 0
    /// Absent or expired.
    public var misses = 0

    /// Counts, 0 unless given.
    public init(hits: Int = 0, misses: Int = 0) {
        self.hits = hits
        self.misses = misses
    }
}

/// What a storage counted since it was made.
public struct StorageStatistics: Sendable, Equatable {
    /// The look-ups.
    public var lookUps = HitCounts()
    /// The look-ups by category: those the caller names, or on a hit those of the entry.
    public var lookUpsByCategory: [String: HitCounts] = [:]
    /// What was stored and kept.
    public var stores = 0
    /// What was to be stored and was not admitted: too large, or refused by the policy.
    public var refusals = 0
    /// Who left, by reason.
    public var removals: [RemovalReason: Int] = [:]
    /// What is held by category; an entry counts in each of its categories.
    public var useByCategory: [String: CategoryUse] = [:]
    /// What all residents cost together.
    public var cost = 0
    /// The number of residents.
    public var count = 0
}
