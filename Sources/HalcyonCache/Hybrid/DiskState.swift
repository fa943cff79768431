/// Whether an ``ImageCache`` uses its directory, and why not.
public enum DiskState: Sendable {
    /// The directory is in use by this cache.
    case open
    /// The directory could not be opened for this reason, such as ``CacheError/directoryInUse(_:)``. The cache works in memory alone
    /// and tries again.
    case unavailable(any Error)
    /// The cache was closed.
    case closed

    /// Whether values can be stored on disk.
    public var isOpen: Bool {
        if case .open = self { true } else { false }
    }
}

/// What a throwing initializer of an ``ImageCache`` does with a directory that another cache has.
public enum DirectoryInUse: Sendable {
    /// It throws ``CacheError/diskUnavailable(underlying:)`` with ``CacheError/directoryInUse(_:)``. The default.
    case fail
    /// The cache works in memory alone until the other one ends; see ``ImageCache/diskState``.
    case memoryOnly
}

/// A cache that can leave its directory to others before it ends: an ``ImageCache`` or a ``DiskStorage``.
public protocol ClosableCache: Sendable {
    /// Writes what is due and frees the directory. Closing twice has no effect.
    func close() async
}

extension ImageCache: ClosableCache {}
extension DiskStorage: ClosableCache {}
