import Foundation
import Halcyon
import HalcyonServiceLifecycle
import HalcyonTestSupport
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite("A cache as a service", .timeLimit(.minutes(20)))
struct CacheServiceTests {
    private func caches(in folder: TemporaryFolder) throws -> (ImageCache<Data>, DiskStorage) {
        let directory = URL(fileURLWithPath: folder.path)
        return (
            try ImageCache<Data>(name: "service", cacheDirectoryURL: directory),
            try DiskStorage(config: .init(name: "storage", directory: directory))
        )
    }

    @Test("A graceful shutdown closes all caches and keeps what was stored", .timeLimit(.minutes(20)))
    func gracefulShutdownClosesCaches() async throws {
        let folder = try TemporaryFolder()
        let (cache, storage) = try caches(in: folder)
        try storage.store(value: Data("s".utf8), forKey: "a")
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await CacheService(cache, storage).run() }
                await cache.store(Data("c".utf8), forKey: "a")
                #expect(cache.diskState.isOpen)
                trigger.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
        #expect(!cache.diskState.isOpen)
        #expect(throws: CacheError.self) { try storage.store(value: Data(), forKey: "b") }
        // The folders are free while the old objects still exist.
        let (next, other) = try caches(in: folder)
        #expect(try await next.image(forKey: "a").image == Data("c".utf8))
        #expect(try other.value(forKey: "a") == Data("s".utf8))
        await next.close()
        withExtendedLifetime((cache, storage)) {}
    }

    @Test("Cancelling the service's task closes the caches", .timeLimit(.minutes(20)))
    func cancellationClosesCaches() async throws {
        let folder = try TemporaryFolder()
        let (cache, storage) = try caches(in: folder)
        let running = Task { try await CacheService(cache, storage).run() }
        running.cancel()
        try await running.value
        #expect(!cache.diskState.isOpen)
        _ = try caches(in: folder)
    }
}
