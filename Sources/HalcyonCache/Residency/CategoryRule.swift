/// What holds for the entries of one category in a storage.
///
/// An entry with several categories falls under the first of them that has a rule. A quota, a priority or a protection
/// makes the category a part of the storage with an index of its own under the same policy, so that its entries compete
/// with each other first; where the storage as a whole is full, room is made in the part of the lowest priority, and
/// among equals in the part that uses most for what it may.
public struct CategoryRule: Sendable, Equatable {
    /// When the category's entries expire; `nil`: as the storage says.
    public var expiration: StorageExpiration?
    /// The most that the category may cost together, in the storage's unit; `nil`: as much as there is.
    public var costLimit: Int?
    /// The most entries that the category may have; `nil`: as many as fit.
    public var countLimit: Int?
    /// Room is made among lower priorities first, and never among higher ones than the newcomer's. Without a rule: 0.
    public var priority: Int
    /// Whether nothing outside the category may displace its entries.
    public var isProtected: Bool

    /// A rule that, unless told otherwise, changes nothing.
    public init(
        expiration: StorageExpiration? = nil, costLimit: Int? = nil, countLimit: Int? = nil, priority: Int = 0,
        isProtected: Bool = false
    ) {
        self.expiration = expiration
        self.costLimit = costLimit
        self.countLimit = countLimit
        self.priority = priority
        self.isProtected = isProtected
    }

    /// Whether the category needs an index of its own.
    var needsPartition: Bool { costLimit != nil || countLimit != nil || priority != 0 || isProtected }
}
