import HalcyonCache
import ServiceLifecycle

/// A service that closes caches when its group shuts down.
///
/// ```swift
/// let group = ServiceGroup(services: [CacheService(cache), server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// A group shuts its services down in reverse order. Put the caches before the services that use them, as here.
public struct CacheService: Service {
    private let caches: [any ClosableCache]

    /// Creates a service for caches.
    public init(_ caches: any ClosableCache...) { self.caches = caches }

    /// Waits for a graceful shutdown or the cancellation of its task, then closes all caches side by side and returns.
    public func run() async throws {
        // A cancelled task closes its caches, too; closing does not depend on the task.
        try? await gracefulShutdown()
        await withTaskGroup(of: Void.self) { group in
            for cache in caches { group.addTask { await cache.close() } }
        }
    }
}
