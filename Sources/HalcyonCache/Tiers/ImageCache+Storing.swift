import Foundation
import HalcyonAccessLog
import HalcyonSupport

// Stores in both tiers. A store requests its operation on the disk first and then changes memory. A read that is
// requested later waits for that operation. The values of earlier reads are kept out of memory.

extension ImageCache {
    /// Stores a value: in memory before the first suspension, on disk before this returns.
    ///
    /// With an empty key it is stored nowhere, and the result on disk is ``CacheError/emptyKey``.
    ///
    /// See `ImageCacheTests.storesKeepOrderOnDisk()` and `ImageCacheTests.emptyKeyIsRefused()`.
    ///
    /// - Parameters:
    ///   - original: the bytes that the value was made of. The serializer may store these.
    ///   - toDisk: whether the value is stored on disk. If not, the file of an earlier value of the key is removed, and in the
    ///     same way if the serializer cannot serialize the value. The newest value is therefore the only one that a look-up
    ///     can find. A file with another ``EntryKey/forcedExtension`` stays.
    @discardableResult
    public func store(
        _ value: Value, original: Data? = nil, forKey key: some EntryNaming, toDisk: Bool = true,
        options: CacheOptions = CacheOptions()
    ) async -> CacheStoreResult {
        await withCheckedContinuation { continuation in
            store(
                value, original: original, forKey: key.entryKey, toMemory: true, toDisk: toDisk, options: options
            ) {
                continuation.resume(returning: $0)
            }
        }
    }

    /// Stores a value: in memory when this returns, on disk when the completion is called.
    public func store(
        _ value: Value, original: Data? = nil, forKey key: some EntryNaming, toDisk: Bool = true,
        options: CacheOptions = CacheOptions(), callbackQueue: CallbackQueue = .untouch,
        completionHandler: (@Sendable (CacheStoreResult) -> Void)?
    ) {
        store(value, original: original, forKey: key.entryKey, toMemory: true, toDisk: toDisk, options: options) {
            result in
            guard let completionHandler else { return }
            callbackQueue.execute { completionHandler(result) }
        }
    }

    /// Stores in memory before this returns, and on the disk later.
    ///
    /// - Parameters:
    ///   - toMemory: whether the value is stored in memory. If it is stored in neither tier, the call only records
    ///     the access.
    ///   - keepsFile: whether a store in memory alone leaves the key's file on disk. By default the file is removed, because
    ///     its value is older.
    ///   - other: a serializer in place of the cache's.
    ///   - note: returns the note of the bytes that are about to be written; by default there is none. It also
    ///     receives the note of the entry that they replace.
    ///   - kept: receives the bytes that are on disk now, before another operation can read or replace them.
    package func store(
        _ value: Value, original: Data?, forKey key: EntryKey, toMemory: Bool, toDisk: Bool,
        keepsFile: Bool = false, serializer other: (any CacheSerializer<Value>)? = nil, options: CacheOptions,
        note: NoteMaker? = nil, kept: (@Sendable (Data) -> Void)? = nil,
        done: @escaping @Sendable (CacheStoreResult) -> Void
    ) {
        let serializer = other ?? serializer
        store(
            toMemory ? value : nil, cost: value.cacheCost, { serializer.data(with: value, original: original) },
            forKey: key, toDisk: toDisk, keepsFile: keepsFile, options: options, note: note, kept: kept, done: done)
    }

    /// Stores on the disk alone, later, the bytes of a value that has not been made of them. A value in memory stays.
    ///
    /// - Parameters:
    ///   - cost: the cost that the value would have in memory.
    ///   - bytes: makes the bytes of the file, on the options' queue; `nil` if there are none.
    ///   - note: returns the note of the bytes that are about to be written, as in a store of a value.
    ///   - kept: receives the bytes that are on disk now.
    package func store(
        bytes: @escaping @Sendable () -> Data?, cost: Int, forKey key: EntryKey, options: CacheOptions,
        note: NoteMaker? = nil, kept: (@Sendable (Data) -> Void)? = nil,
        done: @escaping @Sendable (CacheStoreResult) -> Void
    ) {
        store(
            nil, cost: cost, bytes, forKey: key, toDisk: true, keepsFile: false, options: options, note: note,
            kept: kept,
            done: done)
    }

    /// Stores a value in memory, if there is one, before this returns, and bytes on the disk later.
    private func store(
        _ value: Value?, cost: Int, _ bytes: @escaping @Sendable () -> Data?, forKey key: EntryKey, toDisk: Bool,
        keepsFile: Bool, options: CacheOptions, note: NoteMaker?, kept: (@Sendable (Data) -> Void)?,
        done: @escaping @Sendable (CacheStoreResult) -> Void
    ) {
        let toMemory = value != nil
        if key.key.isEmpty {
            hub.failed(CacheError.emptyKey)
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: .failure(CacheError.emptyKey)))
            return
        }
        let computed = key.computed
        var isJoined = false
        if options.isPrefetch {
            let context = options.context
            hub.recorded(
                RecordedEvent(
                    time: clock.now, kind: .prefetchArrival, key: computed, user: context.user,
                    duration: options.fetchDuration, cost: cost))
            if toMemory || toDisk {
                prefetches.mark(
                    computed, inMemory: toMemory,
                    fileName: toDisk ? hash(forKey: key) : nil)
                if !toMemory { memoryStorage.askForMark(ofKey: computed) }
            }
        } else {
            prefetches.take(computed)
            record(computed, cost: cost, options, .network)
            // Another load that shares the value has stored it.
            isJoined = !toMemory && memoryStorage.joined(forKey: computed, context: options.context)
        }
        guard toMemory || toDisk else {
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: .success(())))
            return
        }
        hub.send(.store(key: computed, categories: options.context.categories))
        var options = options
        options.context.isPrefetch = options.isPrefetch
        guard toDisk else {
            if EntryOrigin.isPrivate(key.key) { privateEntries.stored() }
            if !keepsFile { removeOlderFile(key) }
            if let value { keepNew(value, computed, options) }
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: .success(())))
            return
        }
        options.context.origin = origin(of: key.key)
        // The memory storage counts the requests that it stores.
        options.context.requestNumber = core.nextRequest(
            counting: !toMemory && !isJoined && !options.isPrefetch)
        // The disk is first. Reads that are requested later wait for the new value. The values of earlier reads are
        // kept out of memory.
        disk.store(key, options.context, preparation: options.serializationQueue) {
            guard let data = bytes() else { throw CacheError.cannotSerialize(key: computed) }
            return data
        } write: { [options, prefetches] storage, data in
            let isKept = try storage.store(
                data, key, expiration: options.diskCacheExpiration, context: options.context, note: note)
            if isKept { kept?(data) } else if options.isPrefetch { prefetches.refused(computed, by: .disk) }
        } done: { [self, options] result in
            if case .failure(let error) = result {
                if options.isPrefetch { prefetches.refused(computed, by: .disk) }
                hub.failed(error)
            }
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: result))
        }
        if let value { keepNew(value, computed, options) } else { core.voidReads(forKey: computed) }
    }

    /// Removes the file of a key whose newest value is stored in memory alone. Otherwise the older value would be found once
    /// memory has evicted the new one. It asks the disk only if there may be a file.
    private func removeOlderFile(_ key: EntryKey) {
        guard disk.mayHaveFile(of: key) else { return }
        disk.perform(.remove(key), { $0.remove(forKey: key) }, done: { _ in })
    }

    /// Stores the original of images on disk. This is not an access.
    ///
    /// - Parameters:
    ///   - bytes: makes the bytes of the file, on the options' queue; `nil` if the original cannot be serialized.
    ///   - keepsMemory: whether the key's value in memory was made of these bytes.
    ///   - note: returns the note of the bytes that are about to be written, as in a store of a value.
    ///   - kept: receives the bytes that are on disk now.
    package func keepOriginal(
        _ bytes: @escaping @Sendable () -> Data?, forKey key: EntryKey, keepsMemory: Bool = false,
        options: CacheOptions, note: NoteMaker? = nil, kept: (@Sendable (Data) -> Void)? = nil,
        done: @escaping @Sendable () -> Void
    ) {
        hub.send(.store(key: key.computed, categories: options.context.categories))
        var options = options
        options.context.origin = origin(of: key.key)
        disk.store(key, options.context, preparation: options.serializationQueue) {
            guard let data = bytes() else { throw CacheError.cannotSerialize(key: key.computed) }
            return data
        } write: { [options] storage, data in
            let isKept = try storage.store(
                data, key, expiration: options.diskCacheExpiration, context: options.context, note: note)
            if isKept { kept?(data) }
        } done: { [hub] result in
            if case .failure(let error) = result { hub.failed(error) }
            done()
        }
        // The disk is first, as in every store.
        if !keepsMemory { memoryStorage.remove(forKey: key.computed) }
    }

    /// Returns the origin of an entry that is about to be stored.
    private func origin(of key: String) -> EntryOrigin {
        let origin = EntryOrigin(key: key)
        if origin.isPrivate { privateEntries.stored() }
        return origin
    }

    /// Keeps a value in memory that was loaded, and was not on disk before.
    private func keepNew(_ value: Value, _ computed: String, _ options: CacheOptions) {
        let isKept = keepInMemory(value, computed, options)
        if !isKept, options.isPrefetch { prefetches.refused(computed, by: .memory) }
    }

    /// - Returns: whether the value is kept.
    @discardableResult
    func keepInMemory(
        _ value: Value, _ computed: String, _ options: CacheOptions, endOf ticket: PendingReads.Ticket? = nil
    ) -> Bool {
        var context = options.context
        context.isTiered = true
        return core.store(
            memoryStorage.item(of: value), cost: value.cacheCost, computed, options.memoryCacheExpiration,
            options.keepInBackground, context, endOf: ticket)
    }
}
