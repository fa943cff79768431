import Foundation
import HalcyonEviction
import HalcyonSupport
import Synchronization

extension ImageCache where Value: DataTransformable {
    /// A cache in the user's folder of caches, by name. Nothing is thrown: where there is no disk, or another cache of that name in
    /// this process or another, memory serves alone. ``ImageCache/diskState`` says so.
    public convenience init(name: String) {
        self.init(disk: DiskStorageConfig(name: name), serializer: TransformingSerializer())
    }

    /// A cache in a directory of one's own, and under policies by name.
    ///
    /// - Parameters:
    ///   - path: computes the folder from the directory and the name; called once.
    ///   - policy: the policy of both tiers; see ``MemoryStorage``.
    ///   - rule: what to do if another cache has the directory.
    /// - Throws: ``CacheError/diskUnavailable(underlying:)`` if the directory cannot be used, `PolicyError` if there is no such policy.
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

    /// A cache as configured, under policies of a catalogue by name: `s3-fifo`, `learned(horizon=2)`.
    ///
    /// - Parameters:
    ///   - seed: of everything random in the policies.
    ///   - recorder: is told of every access.
    ///   - triggers: report when memory is short or the app enters the background. By default ``CacheTriggers/standard``.
    ///   - rule: what to do if another cache has the directory.
    /// - Throws: ``CacheError/diskUnavailable(underlying:)`` if the directory cannot be used; `PolicyError` if there is no such policy or
    ///   it does not take these settings; ``CacheError/policyNeedsFuture(_:)`` if it is one that only a replay can serve.
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

    /// The default cache of this kind of value, made when it is first asked for.
    public static var `default`: ImageCache<Value> {
        DefaultCaches.caches.withLock { caches in
            if let known = caches[ObjectIdentifier(Value.self)] as? ImageCache<Value> { return known }
            let kind = String(reflecting: Value.self).filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") }
            let cache = ImageCache<Value>(name: "default.\(kind)")
            caches[ObjectIdentifier(Value.self)] = cache
            return cache
        }
    }
}

/// The default caches by their kind of value; a generic type cannot hold one itself.
private enum DefaultCaches {
    static let caches = Mutex<[ObjectIdentifier: any Sendable]>([:])
}
