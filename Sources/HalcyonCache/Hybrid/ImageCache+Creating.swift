import Foundation
import HalcyonEviction
import HalcyonSupport
import Synchronization

extension ImageCache where Value: DataTransformable {
    /// Creates a named cache in the user's caches directory.
    ///
    /// This does not throw. If there is no disk, or another cache of that name exists in any process, the cache uses
    /// memory alone. ``ImageCache/diskState`` states the reason.
    public convenience init(name: String) {
        self.init(disk: DiskStorageConfig(name: name), serializer: TransformingSerializer())
    }

    /// Creates a cache in a given directory with a named policy.
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

    /// The default cache for this type of values. By default a cache in the user's caches directory, created when this
    /// is first read.
    ///
    /// Set it when the app starts, to configure it; those who have read it before keep the cache that they have.
    public static var `default`: ImageCache<Value> {
        get {
            let cache = DefaultCache.of(Value.self).value {
                let name = String(reflecting: Value.self).filter {
                    $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".")
                }
                return ImageCache<Value>(name: "default.\(name)")
            }
            guard let cache = cache as? ImageCache<Value> else {
                preconditionFailure("the default cache of \(Value.self) is \(cache)")
            }
            return cache
        }
        set { DefaultCache.of(Value.self).set(newValue) }
    }
}

/// The default cache of one type of values. A generic type cannot have stored static properties.
final class DefaultCache: Sendable {
    /// The cache, once it was read or set. Held briefly, and not while a cache opens its directory.
    private let cache = Mutex<(any Sendable)?>(nil)
    /// Held while a cache is created, so that only one opens the directory.
    private let creation = Mutex(())

    private static let all = Mutex<[ObjectIdentifier: DefaultCache]>([:])

    /// Returns the default cache of a type.
    static func of(_ type: Any.Type) -> DefaultCache {
        all.withLock { all in
            let kind = ObjectIdentifier(type)
            if let one = all[kind] { return one }
            let one = DefaultCache()
            all[kind] = one
            return one
        }
    }

    /// Sets the cache. It does not wait for one that is being created.
    func set(_ new: any Sendable) { cache.withLock { $0 = new } }

    /// Returns the cache. If there is none, it creates one, which it returns unless another was set meanwhile.
    func value(_ create: () -> any Sendable) -> any Sendable {
        if let cache = cache.withLock({ $0 }) { return cache }
        return creation.withLock { _ in
            if let cache = cache.withLock({ $0 }) { return cache }
            let new = create()
            return cache.withLock { cache in
                if let cache { return cache }
                cache = new
                return new
            }
        }
    }
}

/// The behavior of a throwing initializer of ``ImageCache`` if another cache uses the directory.
public enum DirectoryInUse: Sendable {
    /// The initializer throws ``CacheError/diskUnavailable(underlying:)`` with ``CacheError/directoryInUse(_:)``. The
    /// default.
    case fail
    /// The cache uses memory alone until the other cache is closed; see ``ImageCache/diskState``.
    case memoryOnly
}
