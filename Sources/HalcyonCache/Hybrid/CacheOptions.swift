/// What can be said about one store or look-up in an ``ImageCache``.
public struct CacheOptions: Sendable {
    /// Which variant of the key's image is meant; empty for the image itself. Variants are entries of their own.
    public var processorIdentifier = ""
    /// The object's categories, and who asks.
    public var context = AccessContext()
    /// When a value expires in memory; `nil`: as its category's rule or the configuration says.
    public var memoryCacheExpiration: StorageExpiration?
    /// What a look-up does to the expiration in memory.
    public var memoryCacheAccessExtendingExpiration = ExpirationExtending.cacheTime
    /// When a value expires on disk; `nil`: as its category's rule or the configuration says.
    public var diskCacheExpiration: StorageExpiration?
    /// What a look-up does to the expiration on disk.
    public var diskCacheAccessExtendingExpiration = ExpirationExtending.cacheTime
    /// Whether a look-up leaves the disk alone: who is not in memory is to be loaded anew.
    public var fromMemoryCacheOrRefresh = false
    /// Whether a look-up reads the disk on the caller's thread.
    public var loadDiskFileSynchronously = false
    /// Whether a value stays in memory when the app goes to the background; `nil`: as configured.
    public var keepInBackground: Bool?
    /// The extension of the file on disk; `nil`: as configured.
    public var forcedExtension: String?
    /// Whether a store is made ahead of need: it is no access; the first hit on it is told apart in the access log.
    public var isPrefetch = false

    /// Everything by default.
    public init() {}

    /// Everything by default but for these.
    public init(categories: [String], user: String? = nil, processorIdentifier: String = "") {
        context = AccessContext(categories: categories, user: user)
        self.processorIdentifier = processorIdentifier
    }
}

extension String {
    /// The key under which a variant is kept: the key itself, or `key@identifier`.
    public func computedKey(with processorIdentifier: String) -> String {
        processorIdentifier.isEmpty ? self : "\(self)@\(processorIdentifier)"
    }
}
