import Foundation
import HalcyonSupport

// The callback API. It corresponds to the async API. Each completion is called exactly once, on the requested queue.
extension ImageCache {
    /// Stores a value: in memory when this returns, on disk when the completion is called.
    public func store(
        _ value: Value, original: Data? = nil, forKey key: String, toDisk: Bool = true,
        options: CacheOptions = CacheOptions(), callbackQueue: CallbackQueue = .untouch,
        completionHandler: (@Sendable (CacheStoreResult) -> Void)?
    ) {
        store(value, original: original, forKey: key, toDisk: toDisk, options: options) { result in
            guard let completionHandler else { return }
            callbackQueue.execute { completionHandler(result) }
        }
    }

    /// Looks a key up in memory, then on disk.
    public func retrieveImage(
        forKey key: String, options: CacheOptions = CacheOptions(),
        callbackQueue: CallbackQueue = .mainCurrentOrAsync,
        completionHandler: @escaping @Sendable (Result<ImageCacheResult<Value>, any Error>) -> Void
    ) {
        let computed = key.computedKey(with: options.processorIdentifier)
        if let value = fromMemory(computed, options) {
            callbackQueue.execute { completionHandler(.success(.memory(value))) }
        } else if options.fromMemoryCacheOrRefresh {
            let result = missed(computed, options)
            callbackQueue.execute { completionHandler(.success(result)) }
        } else {
            fromDisk(computed, options) { result in callbackQueue.execute { completionHandler(result) } }
        }
    }

    /// Removes the value of a key from memory at once, and from disk later.
    public func removeImage(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil, fromMemory: Bool = true,
        fromDisk: Bool = true, callbackQueue: CallbackQueue = .untouch,
        completionHandler: (@Sendable () -> Void)? = nil
    ) {
        remove(key.computedKey(with: processorIdentifier), forcedExtension, fromMemory, fromDisk) {
            if let completionHandler { callbackQueue.execute(completionHandler) }
        }
    }

    /// Removes all values from disk, and the recorded accesses (`PrefetchPrediction.keepsAccesses`).
    public func clearDiskCache(
        callbackQueue: CallbackQueue = .mainCurrentOrAsync, completionHandler: (@Sendable () -> Void)? = nil
    ) {
        clearDisk { if let completionHandler { callbackQueue.execute(completionHandler) } }
    }

    /// Removes expired values from disk, and then evicts until the limit holds.
    public func cleanExpiredDiskCache(
        callbackQueue: CallbackQueue = .mainCurrentOrAsync, completionHandler: (@Sendable () -> Void)? = nil
    ) {
        cleanDisk { _ in if let completionHandler { callbackQueue.execute(completionHandler) } }
    }

    /// Computes the total size of all files on the disk, in bytes.
    public func calculateDiskStorageSize(
        callbackQueue: CallbackQueue = .mainCurrentOrAsync, completionHandler: @escaping @Sendable (Int) -> Void
    ) {
        onDisk(.settle) { storage in
            storage.totalSize
        } done: { size in
            callbackQueue.execute { completionHandler(size ?? 0) }
        }
    }
}
