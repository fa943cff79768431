import Foundation
import HalcyonEviction
import HalcyonModel
import Synchronization

extension ImageCache where Value: DataTransformable {
    /// A cache in the user's folder of caches, by name. Nothing is thrown: where there is no disk, memory serves alone.
    public convenience init(name: String) {
        self.init(disk: DiskStorageConfig(name: name), serializer: TransformingSerializer())
    }

    /// A cache in a directory of one's own, and under policies by name.
    ///
    /// - Parameters:
    ///   - path: computes the folder from the directory and the name; called once.
    ///   - policy: the policy of both tiers; see ``MemoryStorage``.
    /// - Throws: ``CacheError`` if the directory cannot be used, `PolicyError` if there is no such policy.
    public convenience init(
        name: String, cacheDirectoryURL: URL?,
        diskCachePathClosure path: (@Sendable (URL, String) -> URL)? = nil, policyNamed policy: String = "lru",
        in catalogue: PolicyCatalogue = .standard
    ) throws {
        let policy = try catalogue.livePolicy(policy)
        self.init(
            disk: DiskStorageConfig(name: name, directory: cacheDirectoryURL, cachePathBlock: path),
            memoryPolicy: policy, diskPolicy: policy, serializer: TransformingSerializer())
        _ = try tier.get()
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
