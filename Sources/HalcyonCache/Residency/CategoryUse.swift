/// What a storage holds of a category.
public struct CategoryUse: Sendable, Equatable {
    /// The number of entries.
    public var count = 0
    /// What they cost together.
    public var cost = 0

    /// What is held: nothing, unless given.
    public init(count: Int = 0, cost: Int = 0) {
        self.count = count
        self.cost = cost
    }
}
