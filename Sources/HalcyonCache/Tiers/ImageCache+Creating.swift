import Foundation
import HalcyonEviction
import HalcyonSupport

extension ImageCache where Value: DataTransformable {
    /// Creates a named cache in the user's caches directory.
    ///
    /// This does not throw. If there is no disk, or another cache of that name exists in any process, the cache uses
    /// memory alone. ``ImageCache/diskState`` states the reason.
    ///
    /// See `ImageCacheTests.badDirectoryIsRefused()`.
    public convenience init(name: String) {
        self.init(disk: DiskStorageConfig(name: name), serializer: TransformingSerializer())
    }

    /// Creates a cache in a given directory with a named policy.
    ///
    /// See `ImageCacheTests.badDirectoryIsRefused()`.
    ///
    /// - Parameters:
    ///   - path: computes the folder from the directory and the name; called once.
    ///   - policy: the policy of both tiers; see ``MemoryStorage``.
    ///   - rule: the behavior if another cache uses the directory.
    /// - Throws: ``CacheError/diskUnavailable(underlying:)`` if the directory cannot be used, `PolicyError` if there
    ///   is no such policy.
    public convenience init(
        name: String, cacheDirectoryURL: URL?,
        diskCachePathClosure path: (@Sendable (URL, String) -> URL)? = nil, policyNamed policy: String = "lru",
        in catalogue: PolicyCatalogue = .classical, onDirectoryInUse rule: DirectoryInUse = .fail
    ) throws {
        let policy = try catalogue.livePolicy(policy)
        self.init(
            disk: DiskStorageConfig(name: name, directory: cacheDirectoryURL, cachePathBlock: path),
            memoryPolicy: policy, diskPolicy: policy, serializer: TransformingSerializer())
        try requireDisk(rule)
    }

    /// Creates a cache with configurations and named policies of a catalogue: `s3-fifo`, `learned(horizon=2)`.
    ///
    /// - Parameters:
    ///   - seed: the seed of the policies' random numbers.
    ///   - recorder: receives every access.
    ///   - triggers: report when memory is short or the app enters the background. By default
    ///     ``CacheTriggers/standard``.
    ///   - rule: the behavior if another cache uses the directory.
    /// - Throws: ``CacheError/diskUnavailable(underlying:)`` if the directory cannot be used. `PolicyError` if there
    ///   is no such policy or it does not accept these parameters. ``CacheError/policyNeedsFuture(_:)`` if only a
    ///   replay can use the policy.
    public convenience init(
        memory: MemoryStorage<Value>.Config = .init(), disk: DiskStorageConfig, memoryPolicyNamed memoryPolicy: String,
        diskPolicyNamed diskPolicy: String = "lru", in catalogue: PolicyCatalogue = .classical, seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), recorder: (any AccessRecorder)? = nil,
        triggers: [any CacheTrigger] = CacheTriggers.standard, onDirectoryInUse rule: DirectoryInUse = .fail
    ) throws {
        self.init(
            memory: memory, disk: disk, memoryPolicy: try catalogue.livePolicy(memoryPolicy),
            diskPolicy: try catalogue.livePolicy(diskPolicy), seed: seed, serializer: TransformingSerializer(),
            clock: clock, recorder: recorder, triggers: triggers)
        try requireDisk(rule)
    }

    /// - Throws: ``CacheError/diskUnavailable(underlying:)`` if the disk is not open and the rule does not allow that.
    private func requireDisk(_ rule: DirectoryInUse) throws {
        guard case .unavailable(let error) = diskState else { return }
        if rule == .memoryOnly, case CacheError.directoryInUse = error { return }
        throw CacheError.diskUnavailable(underlying: error)
    }
}

/// The behavior of a throwing initializer of ``ImageCache`` if another cache uses the directory.
///
/// See `DiskOpeningTests.secondCacheOfDirectoryThrowsOrUsesMemory()` and
/// `DiskOpeningTests.memoryOnlyCacheTakesOverFreedDirectory()`.
public enum DirectoryInUse: Sendable {
    /// The initializer throws ``CacheError/diskUnavailable(underlying:)`` with ``CacheError/directoryInUse(_:)``. The
    /// default.
    case fail
    /// The cache uses memory alone until the other cache is closed; see ``ImageCache/diskState``.
    case memoryOnly
}

/// A cache that can free its directory before it is released: an ``ImageCache`` or a ``DiskStorage``.
public protocol ClosableCache: Sendable {
    /// Writes all pending changes and frees the directory. A second call has no effect.
    func close() async
}

extension ImageCache: ClosableCache {}
extension DiskStorage: ClosableCache {}

extension Notification.Name {
    /// The notification that a cleaning removed files from disk. The object is the ``ImageCache``; `cleanedHashes` in
    /// the user info contains the names of the files.
    ///
    /// See `CleaningTests.notificationCarriesRemovedHashes()`.
    public static let halcyonDidCleanDiskCache = Notification.Name("halcyon.didCleanDiskCache")
}
