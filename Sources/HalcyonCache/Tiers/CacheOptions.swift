import Dispatch

/// What a store or a look-up in an ``ImageCache`` asks for, beside the name of its entry. The cache resolves it to the
/// ``AccessContext`` and the expirations that its tiers receive.
public struct CacheOptions: Sendable {
    /// The object's categories and the user.
    public var context = AccessContext()
    /// The expiration of a stored value in memory; `nil`, the default, for that of its category's rule or of the
    /// configuration.
    public var memoryCacheExpiration: StorageExpiration?
    /// The effect of a look-up on the expiration in memory. By default, the time to live restarts.
    public var memoryCacheAccessExtendingExpiration = ExpirationExtending.cacheTime
    /// The expiration of a stored value on disk; `nil`, the default, for that of its category's rule or of the
    /// configuration.
    public var diskCacheExpiration: StorageExpiration?
    /// The effect of a look-up on the expiration on disk. By default, the time to live restarts.
    public var diskCacheAccessExtendingExpiration = ExpirationExtending.cacheTime
    /// Whether a look-up skips the disk, so that an object that is not in memory is loaded again.
    ///
    /// See `ImageCacheTests.memoryOnlyLookUpSkipsDisk()`.
    public var fromMemoryCacheOrRefresh = false
    /// Whether a look-up reads the disk on the caller's thread.
    ///
    /// See `ImageCacheTests.synchronousLoadReadsOnCallersThread()`.
    public var loadDiskFileSynchronously = false
    /// Whether a value is kept in memory when the app enters the background; `nil`, the default, for the
    /// configuration.
    public var keepInBackground: Bool?
    /// Whether a store is a prefetch. A prefetch is not an access, and the access log marks the first hit on it.
    public var isPrefetch = false
    /// How long the fetch of a stored value took, in microseconds; `nil` where unknown. The access log has it.
    package var fetchDuration: Int64?
    /// The queue on which a store makes the bytes for the disk; `nil` for the disk's. A manager's prefetches have their own.
    package var serializationQueue: DispatchQueue?

    /// Creates the default options.
    public init() {}

    /// Creates options with categories and a user, and defaults otherwise.
    public init(categories: [String], user: String? = nil) {
        context = AccessContext(categories: categories, user: user)
    }
}
