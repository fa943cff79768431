import HalcyonEviction

/// The bounds of the baselines' arrays by number, so that one stray number does not allocate gigabytes.
enum BaselineBounds {
    /// The bound of object numbers. Larger ones are ignored by arrays of objects.
    static let objects: UInt32 = 1 << 24
    /// The bound of category numbers. Larger ones are ignored.
    static let categories: UInt32 = 1 << 16
    /// The number of users that are distinguished.
    static let users: UInt32 = 1 << 22

    /// Returns the index of a user in an array. Unknown users and those beyond the bound share index 0.
    @inline(__always)
    static func slot(ofUser user: UInt32) -> UInt32 { user < users &- 1 ? user &+ 1 : 0 }
}
