import Foundation

// What a manager needs of a cache beside what everybody does.
extension ImageCache {
    /// The value of a key, looked up as asked; its bytes are read by another serializer than the cache's, if one is given.
    package func image(
        forKey key: String, serializer other: (any CacheSerializer<Value>)?, options: CacheOptions
    ) async throws -> ImageCacheResult<Value> {
        let computed = key.computedKey(with: options.processorIdentifier)
        if let value = fromMemory(computed, options) { return .memory(value) }
        return try await afterMemory(computed, serializer: other, options)
    }

    /// The value of a computed key that is not in memory, looked up as asked.
    @usableFromInline
    func afterMemory(
        _ computed: String, serializer other: (any CacheSerializer<Value>)?, _ options: CacheOptions
    ) async throws -> ImageCacheResult<Value> {
        if options.fromMemoryCacheOrRefresh { return missed(computed, options) }
        try Task.checkCancellation()
        let cancellation = LoadCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                fromDisk(computed, options, serializer: other, cancellation: cancellation) {
                    continuation.resume(with: $0)
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    /// Notes a hit on disk that another look-up at the same time has read.
    package func sharedHit(_ computed: String, _ value: Value, _ options: CacheOptions) {
        hub.lookedUp(computed, .disk, options.context.categories)
        record(computed, cost: value.cacheCost, options, .disk)
    }

    /// Keeps the bytes that images are made of on disk, as they are. This is no access.
    package func keepOriginal(
        _ data: Data, forKey key: String, options: CacheOptions, kept: @escaping @Sendable () -> Void,
        done: @escaping @Sendable () -> Void
    ) {
        hub.send(.store(key: key, categories: options.context.categories))
        disk.store(.store(key)) {
            data
        } write: { storage, data in
            let isKept = try storage.store(
                value: data, forKey: key, expiration: options.diskCacheExpiration, context: options.context)
            if isKept { kept() }
        } done: { [hub] result in
            if case .failure(let error) = result { hub.failed(error) }
            done()
        }
        // What memory may have of it is not made of these bytes. The disk first, as in every store.
        memoryStorage.remove(forKey: key)
    }

    /// The bytes on disk of a key; for the disk's policy this is an access.
    package func original(forKey key: String, options: CacheOptions) async -> Data? {
        await onDisk(.read(key)) { storage in
            try? storage.value(
                forKey: key, extendingExpiration: options.diskCacheAccessExtendingExpiration, context: options.context)
        } ?? nil
    }

    /// Whether a computed key is in memory, or on disk; no access, and the disk is not asked on the caller's thread.
    package func isThere(_ computed: String) async -> CacheType {
        if memoryStorage.isCached(forKey: computed) { return .memory }
        return await onDisk(.read(computed)) { $0.isCached(forKey: computed) } == true ? .disk : .none
    }

    /// Takes what is on disk into memory ahead of need.
    package func promote(_ computed: String, serializer other: (any CacheSerializer<Value>)?, options: CacheOptions)
        async
    {
        let ticket = memoryStorage.beginRead(forKey: computed)
        var options = options
        options.context.isPrefetch = true
        let isKept = await onDisk(.read(computed)) { [self, options] storage in
            let data = try? storage.value(forKey: computed, extendingExpiration: .none, context: options.context)
            guard let value = data.flatMap({ (other ?? serializer).value(with: $0) }) else { return false }
            prefetches.mark(computed)
            keepInMemory(value, computed, options, endOf: ticket)
            return true
        }
        if isKept != true { memoryStorage.endRead(ticket) }
    }

    /// Returns whether a computed key has bytes on disk that satisfy `isExpected`. This is no access.
    package func holds(_ computed: String, where isExpected: @escaping @Sendable (Data) -> Bool) async -> Bool {
        await onDisk(.read(computed)) { storage in
            storage.isCached(forKey: computed)
                && (try? Data(contentsOf: storage.cacheFileURL(forKey: computed))).map(isExpected) == true
        } == true
    }

    /// Lets a value on disk expire later; for the disk's policy this is an access.
    package func extend(_ computed: String, _ extending: ExpirationExtending) async {
        _ = await onDisk(.read(computed)) { storage in
            _ = try? storage.value(forKey: computed, extendingExpiration: extending)
        }
    }
}
