import Foundation
import HalcyonEviction
import HalcyonSupport
import HalcyonTestSupport
import Synchronization

@testable import HalcyonCache

extension CacheOptions {
    /// Options of look-ups that read the disk on the caller's thread.
    static var synchronous: CacheOptions {
        var options = CacheOptions()
        options.loadDiskFileSynchronously = true
        return options
    }
}

extension ImageCache<Blob> {
    /// Looks a key up on the caller's thread.
    func load(_ key: String) -> ImageCacheResult<Blob>? {
        let found = Mutex<ImageCacheResult<Blob>?>(nil)
        retrieveImage(forKey: key, options: .synchronous, callbackQueue: .untouch) { result in
            found.withLock { $0 = try? result.get() }
        }
        return found.withLock { $0 }
    }

    /// Opens a cache with a serializer in a folder of its own.
    static func gated(_ serializer: GatedSerializer) throws -> (ImageCache<Blob>, TemporaryFolder) {
        let folder = try TemporaryFolder()
        return (
            ImageCache(
                memory: .lasting(cost: 10_000), disk: .init(name: "x", directory: URL(fileURLWithPath: folder.path)),
                serializer: serializer, clock: ManualClock(), triggers: []), folder
        )
    }

    /// Opens a cache in a folder.
    static func open(_ folder: TemporaryFolder, trigger: ManualTrigger? = nil) throws -> ImageCache<Blob> {
        ImageCache(
            memory: .lasting(cost: 100), disk: .init(name: "x", directory: URL(fileURLWithPath: folder.path)),
            serializer: BlobSerializer(), triggers: trigger.map { [$0] } ?? [])
    }
}

extension DiskStorage {
    /// Opens a storage of a folder.
    @discardableResult
    static func open(_ folder: TemporaryFolder, _ patience: Duration) throws -> DiskStorage {
        try DiskStorage(
            config: .init(name: "x", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero), seed: 1,
            clock: ManualClock(), patience: patience)
    }
}

extension CacheFixture {
    /// The configuration of the next storage in the same folder.
    var nextConfig: DiskStorageConfig {
        DiskStorageConfig(name: "test", directory: URL(fileURLWithPath: folder.path))
    }
}

extension DiskOwner {
    /// The bytes that wait to be written.
    var preparedSize: Int { state.withLock { $0.preparedSize } }
    /// The number of stores that were not serialized because too many bytes wait.
    var unpreparedCount: Int { state.withLock { $0.unprepared.count } }
    /// The number of operations that have not ended.
    var pendingCount: Int { state.withLock { $0.schedule.pendingCount } }
    /// The number of completions that are due or run.
    var undeliveredCount: Int { state.withLock { $0.schedule.undeliveredCount } }
}

/// A count that any thread increases.
final class CallCounter: Sendable {
    private let state = Mutex(0)
    var count: Int { state.withLock { $0 } }
    func add() { state.withLock { $0 += 1 } }
}

/// A serializer that waits while it is closed.
final class GatedSerializer: CacheSerializer {
    private let isClosed = Mutex(false)
    private let inner = BlobSerializer()

    func close() { isClosed.withLock { $0 = true } }
    func open() { isClosed.withLock { $0 = false } }

    func data(with value: Blob, original: Data?) -> Data? {
        while isClosed.withLock({ $0 }) { usleep(1_000) }
        return inner.data(with: value, original: original)
    }

    func value(with data: Data) -> Blob? { inner.value(with: data) }
}
