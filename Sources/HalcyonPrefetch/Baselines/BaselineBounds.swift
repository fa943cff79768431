import HalcyonEviction

/// Up to where the baselines keep arrays by number, so that one stray number does not cost gigabytes.
enum BaselineBounds {
    /// Objects with this number or a larger one are of no account where there is an array by object.
    static let objects: UInt32 = 1 << 24
    /// Categories with this number or a larger one are of no account.
    static let categories: UInt32 = 1 << 16
    /// As many users are told apart.
    static let users: UInt32 = 1 << 22

    /// The place of a user in an array: all those beyond the bound and the unknown share the first.
    @inline(__always)
    static func slot(ofUser user: UInt32) -> UInt32 { user < users &- 1 ? user &+ 1 : 0 }
}
