import HalcyonAccessLog
import Foundation
import Synchronization

/// The state of a cancellable load from disk.
package final class LoadCancellation: Sendable {
    private let isCancelled = Atomic<Bool>(false)
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    /// Cancels the load and calls the registered closure, without a lock held.
    func cancel() {
        isCancelled.store(true, ordering: .sequentiallyConsistent)
        action.withLock { $0.take() }?()
    }

    /// Calls a closure when the load is cancelled, or at once if it was cancelled already.
    func whenCancelled(_ work: @escaping @Sendable () -> Void) {
        action.withLock { $0 = work }
        if isCancelled.load(ordering: .sequentiallyConsistent) { action.withLock { $0.take() }?() }
    }

    /// Throws `CancellationError` if the load was cancelled.
    package func check() throws {
        if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
    }
}

// The operations on both tiers that the async API, the callback API and managers use. Each `done` is called exactly
// once, wherever the operation ends.
extension ImageCache {
    /// Stores in memory before this returns, and on the disk later.
    ///
    /// - Parameters:
    ///   - toMemory: whether the value is stored in memory. If it is stored in neither tier, the call only records
    ///     the access.
    ///   - keepsFile: whether a store in memory alone leaves the key's file on disk. By default the file is removed, because
    ///     its value is older.
    ///   - other: a serializer in place of the cache's.
    ///   - kept: receives the bytes that are on disk now, before another operation can read or replace them.
    package func store(
        _ value: Value, original: Data?, forKey key: String, toMemory: Bool = true, toDisk: Bool,
        keepsFile: Bool = false, serializer other: (any CacheSerializer<Value>)? = nil, options: CacheOptions,
        kept: (@Sendable (Data) -> Void)? = nil, done: @escaping @Sendable (CacheStoreResult) -> Void
    ) {
        let computed = key.computedKey(with: options.processorIdentifier)
        var isJoined = false
        if options.isPrefetch {
            let context = options.context
            hub.recorded(
                RecordedEvent(
                    time: clock.now, kind: .prefetchArrival, key: computed, user: context.user,
                    duration: options.fetchDuration, cost: value.cacheCost))
            if toMemory || toDisk {
                prefetches.mark(
                    computed, inMemory: toMemory,
                    fileName: toDisk ? fileName(computed, forcedExtension: options.forcedExtension) : nil)
                if !toMemory { memoryStorage.notePrefetch(forKey: computed) }
            }
        } else {
            prefetches.take(computed)
            record(computed, cost: value.cacheCost, options, .network)
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
        options.context.origin = origin(of: key)
        // The memory storage counts the requests that it stores.
        options.context.requestNumber = memoryStorage.nextRequest(
            counting: !toMemory && !isJoined && !options.isPrefetch)
        guard toDisk else {
            if !keepsFile { removeOlderFile(computed, options.forcedExtension) }
            betweenTiers.withLock { $0 }?()
            keepNew(value, computed, options)
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: .success(())))
            return
        }
        // The disk is first. Reads that are requested later wait for the new value. The values of earlier reads are
        // kept out of memory.
        disk.store(computed, options.labels) { [serializer] in
            guard let data = (other ?? serializer).data(with: value, original: original) else {
                throw CacheError.cannotSerialize(key: computed)
            }
            return data
        } write: { [options, prefetches] storage, data in
            let isKept = try storage.store(
                value: data, forKey: computed, expiration: options.diskCacheExpiration,
                forcedExtension: options.forcedExtension, context: options.context)
            if isKept { kept?(data) } else if options.isPrefetch { prefetches.refused(computed, by: .disk) }
        } done: { [self, options] result in
            if case .failure(let error) = result {
                if options.isPrefetch { prefetches.refused(computed, by: .disk) }
                hub.failed(error)
            }
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: result))
        }
        betweenTiers.withLock { $0 }?()
        if toMemory { keepNew(value, computed, options) } else { memoryStorage.voidReads(forKey: computed) }
    }

    /// Removes the file of a key whose newest value is stored in memory alone. Otherwise the older value would be found once
    /// memory has evicted the new one. It asks the disk only if there may be a file.
    private func removeOlderFile(_ computed: String, _ forcedExtension: String?) {
        guard let files = disk.storage?.files, !disk.isFree(computed) || files.mayContain(computed) else { return }
        disk.perform(.remove(computed, forcedExtension: forcedExtension)) { storage in
            storage.remove(forKey: computed, forcedExtension: forcedExtension)
        } done: { _ in
        }
    }

    @usableFromInline
    package func missed(_ computed: String, _ options: CacheOptions) -> ImageCacheResult<Value> {
        hub.lookedUp(computed, .none, options.context.categories)
        return .none
    }

    /// Looks a key up on disk, and promotes a found value to memory before it calls `done`.
    ///
    /// - Parameter decoding: the queue on which the bytes of a file are decoded, once they were read; `nil` for the thread
    ///   that reads them.
    package func fromDisk(
        _ computed: String, _ options: CacheOptions, serializer other: (any CacheSerializer<Value>)? = nil,
        decoding: CallbackQueue? = nil, cancellation: LoadCancellation? = nil,
        done: @escaping @Sendable (Result<ImageCacheResult<Value>, any Error>) -> Void
    ) {
        // The read begins before the disk operation. Stores and removals request their disk operation first and then
        // change memory. One that this read does not wait for either voids the ticket or finds the promoted value in
        // memory.
        let ticket = memoryStorage.beginRead(forKey: computed)
        let decode = { @Sendable [self] (data: Data?) in
            try decoded(data, computed, options, other, ticket, cancellation)
        }
        let ended = { @Sendable [self] (result: Result<ImageCacheResult<Value>, any Error>) in
            // The promotion has ended the read.
            if case .success(.disk) = result { return done(result) }
            memoryStorage.endRead(ticket)
            switch result {
            case .failure(CacheError.diskUnavailable), .failure(CacheError.closed):
                done(.success(missed(computed, options)))
            case .failure(let error):
                if !(error is CancellationError) { hub.failed(error) }
                done(result)
            case .success: done(result)
            }
        }
        let read = { @Sendable [self] (storage: DiskStorage<Data>) throws -> Data? in
            try bytes(storage, computed, options, ticket, cancellation)
        }
        let pending: DiskOwner.Plan.Ticket?
        if options.loadDiskFileSynchronously {
            return disk.performNow(reading: computed, { try decode(try read($0)) }, done: ended)
        } else if let decoding {
            pending = disk.perform(.read(computed), read) { result in
                guard case .success(.some) = result else {
                    return ended(result.flatMap { data in Result { try decode(data) } })
                }
                decoding.execute { ended(result.flatMap { data in Result { try decode(data) } }) }
            }
        } else {
            pending = disk.perform(.read(computed), { try decode(try read($0)) }, done: ended)
        }
        if let pending { cancellation?.whenCancelled { [disk] in disk.cancel(pending) } }
    }

    /// Returns the bytes of a key's file, as an access; `nil` if there is none.
    private func bytes(
        _ storage: DiskStorage<Data>, _ computed: String, _ options: CacheOptions, _ ticket: PendingReads.Ticket,
        _ cancellation: LoadCancellation?
    ) throws -> Data? {
        try cancellation?.check()
        var context = options.context
        context.requestNumber = ticket.requestNumber
        let data = try storage.value(
            forKey: computed, forcedExtension: options.forcedExtension,
            extendingExpiration: options.diskCacheAccessExtendingExpiration, context: context)
        afterReading.withLock { $0 }?()
        return data
    }

    /// Returns the value of the bytes of a key's file, and promotes it.
    private func decoded(
        _ data: Data?, _ computed: String, _ options: CacheOptions, _ other: (any CacheSerializer<Value>)?,
        _ ticket: PendingReads.Ticket, _ cancellation: LoadCancellation?
    ) throws -> ImageCacheResult<Value> {
        var options = options
        options.context.requestNumber = ticket.requestNumber
        // Decoding may take longer than reading, and a promotion evicts other values.
        if data != nil { try cancellation?.check() }
        let value = data.flatMap { (other ?? serializer).value(with: $0) }
        guard let value else { return missed(computed, options) }
        try cancellation?.check()
        keepInMemory(value, computed, options, endOf: ticket)
        hub.lookedUp(computed, .disk, options.context.categories)
        record(computed, cost: value.cacheCost, options, prefetches.use(computed) ? .prefetched : .disk)
        return .disk(value)
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
        return memoryStorage.store(
            value, computed, options.memoryCacheExpiration, options.keepInBackground, context, endOf: ticket
        ).isKept
    }

    /// Returns the name of a computed key's file; `nil` without a disk.
    private func fileName(_ computed: String, forcedExtension: String?) -> String? {
        disk.storage?.cacheFileURL(forKey: computed, forcedExtension: forcedExtension).lastPathComponent
    }

    /// Updates whether a prefetched entry is still likely to be requested. An unlikely entry is evicted first, from
    /// both tiers.
    package func reconsider(_ computed: String, forcedExtension: String? = nil, isLikely: Bool) {
        memoryStorage.reconsider(computed, isLikely: isLikely)
        onDisk(.read(computed)) { storage in
            storage.reconsider(computed, forcedExtension: forcedExtension, isLikely: isLikely)
        } done: { _ in
        }
    }

    /// Sets the computed keys whose values each tier evicts next when it needs room, in this order, before its policy is asked. They
    /// replace those of the last call. O(keys).
    package func evictNext(_ computed: [String], forcedExtension: String? = nil) {
        memoryStorage.evictNext(computed)
        onDisk(.settle) { storage in
            storage.evictNext(computed, forcedExtension: forcedExtension)
        } done: { _ in
        }
    }

    /// Passes an event to the cache's recorder, if it has one.
    package func recorded(_ event: @autoclosure () -> RecordedEvent) { hub.recorded(event()) }

    func record(_ computed: String, cost: Int, _ options: CacheOptions, _ outcome: RecordedAccess.Outcome) {
        record(
            computed, cost: cost, options.context.categories, options.context.user, outcome,
            duration: options.fetchDuration)
    }

    func record(
        _ computed: String, cost: @autoclosure () -> Int, _ categories: [String], _ user: String?,
        _ outcome: RecordedAccess.Outcome, duration: Int64? = nil
    ) {
        guard hub.isRecorded else { return }
        hub.accessed(
            RecordedAccess(
                time: clock.now, key: computed, cost: cost(), categories: categories, user: user, outcome: outcome,
                duration: duration))
    }

    /// Runs an operation on the disk storage outside the caller's thread, in the order of the operations. It returns
    /// `nil` if there is no disk storage.
    package func onDisk<Result: Sendable>(
        _ operation: DiskOwner.Plan.Operation, _ work: @escaping @Sendable (DiskStorage<Data>) -> Result
    ) async -> Result? {
        await withCheckedContinuation { continuation in
            onDisk(operation, work) { continuation.resume(returning: $0) }
        }
    }

    /// Runs an operation on the disk storage and calls `done` with its result; `nil` if there is no disk storage.
    func onDisk<Result: Sendable>(
        _ operation: DiskOwner.Plan.Operation, _ work: @escaping @Sendable (DiskStorage<Data>) -> Result,
        done: @escaping @Sendable (Result?) -> Void
    ) {
        disk.perform(operation, work) { done(try? $0.get()) }
    }

    /// Returns when all earlier operations on the disk have ended.
    package func settleDisk() async { _ = await onDisk(.settle) { _ in } }
}

extension CacheOptions {
    /// The properties of a stored value by which removals find it.
    fileprivate var labels: DiskOwner.Plan.Labels {
        DiskOwner.Plan.Labels(
            forcedExtension: forcedExtension, categories: context.categories, origin: context.origin)
    }
}

extension MemoryStorage {
    /// Voids the pending reads of a key, so that their values are not stored in memory.
    func voidReads(forKey key: String) { core.state.withLock { $0.reads.void(key) } }
}

// The operations that only managers use.
extension ImageCache {
    /// Looks up the value of a key.
    ///
    /// - Parameters:
    ///   - other: a serializer in place of the cache's.
    ///   - decoding: the queue on which the bytes of a file are decoded.
    package func image(
        forKey key: String, serializer other: (any CacheSerializer<Value>)?, decoding: CallbackQueue? = nil,
        options: CacheOptions
    ) async throws -> ImageCacheResult<Value> {
        let computed = key.computedKey(with: options.processorIdentifier)
        if let value = fromMemory(computed, options) { return .memory(value) }
        return try await fromDisk(computed, serializer: other, decoding: decoding, options)
    }

    /// Looks up a computed key that is not in memory.
    @usableFromInline
    func afterMemory(
        _ computed: String, serializer other: (any CacheSerializer<Value>)?, _ options: CacheOptions
    ) async throws -> ImageCacheResult<Value> {
        try await fromDisk(computed, serializer: other, decoding: nil, options)
    }

    private func fromDisk(
        _ computed: String, serializer other: (any CacheSerializer<Value>)?, decoding: CallbackQueue?,
        _ options: CacheOptions
    ) async throws -> ImageCacheResult<Value> {
        if options.fromMemoryCacheOrRefresh { return missed(computed, options) }
        try Task.checkCancellation()
        let cancellation = LoadCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                fromDisk(computed, options, serializer: other, decoding: decoding, cancellation: cancellation) {
                    continuation.resume(with: $0)
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    /// Counts and records a hit on disk whose value a concurrent look-up has read.
    package func sharedHit(_ computed: String, _ value: Value, _ options: CacheOptions) {
        hub.lookedUp(computed, .disk, options.context.categories)
        record(computed, cost: value.cacheCost, options, .disk)
    }

    /// Stores the original of images on disk. This is not an access.
    ///
    /// - Parameters:
    ///   - bytes: makes the bytes of the file, on the disk's queue; `nil` if the original cannot be serialized.
    ///   - kept: receives the bytes that are on disk now.
    package func keepOriginal(
        _ bytes: @escaping @Sendable () -> Data?, forKey key: String, options: CacheOptions,
        kept: @escaping @Sendable (Data) -> Void, done: @escaping @Sendable () -> Void
    ) {
        hub.send(.store(key: key, categories: options.context.categories))
        var options = options
        options.context.origin = origin(of: key)
        disk.store(key, options.labels) {
            guard let data = bytes() else { throw CacheError.cannotSerialize(key: key) }
            return data
        } write: { [options] storage, data in
            let isKept = try storage.store(
                value: data, forKey: key, expiration: options.diskCacheExpiration,
                forcedExtension: options.forcedExtension, context: options.context)
            if isKept { kept(data) }
        } done: { [hub] result in
            if case .failure(let error) = result { hub.failed(error) }
            done()
        }
        betweenTiers.withLock { $0 }?()
        // The value in memory was not made of these bytes. The disk is first, as in every store.
        memoryStorage.remove(forKey: key)
    }

    /// Returns the bytes of a key on disk. For the disk's policy this is an access.
    package func original(forKey key: String, options: CacheOptions) async -> Data? {
        await onDisk(.read(key)) { storage in
            try? storage.value(
                forKey: key, forcedExtension: options.forcedExtension,
                extendingExpiration: options.diskCacheAccessExtendingExpiration, context: options.context)
        } ?? nil
    }

    /// Returns whether a computed key is in memory or on disk. This is not an access, and the caller's thread does
    /// not wait for the disk.
    package func isThere(_ computed: String, forcedExtension: String? = nil) async -> CacheType {
        if memoryStorage.isCached(forKey: computed) { return .memory }
        let isOnDisk = await onDisk(.read(computed)) {
            $0.isCached(forKey: computed, forcedExtension: forcedExtension)
        }
        return isOnDisk == true ? .disk : .none
    }

    /// Promotes a value from disk to memory before it is requested.
    package func promote(_ computed: String, serializer other: (any CacheSerializer<Value>)?, options: CacheOptions)
        async
    {
        let ticket = memoryStorage.beginRead(forKey: computed)
        var options = options
        options.context.isPrefetch = true
        let isKept = await onDisk(.read(computed)) { [self, options] storage in
            let data = try? storage.value(
                forKey: computed, forcedExtension: options.forcedExtension, extendingExpiration: .none,
                context: options.context)
            guard let value = data.flatMap({ (other ?? serializer).value(with: $0) }) else { return false }
            let fileName = storage.cacheFileURL(forKey: computed, forcedExtension: options.forcedExtension)
                .lastPathComponent
            prefetches.mark(computed, inMemory: true, fileName: fileName)
            if !keepInMemory(value, computed, options, endOf: ticket) { prefetches.refused(computed, by: .memory) }
            return true
        }
        if isKept != true { memoryStorage.endRead(ticket) }
    }

    /// Returns whether a computed key has bytes on disk that satisfy `isExpected`. This is not an access.
    package func holds(
        _ computed: String, forcedExtension: String? = nil, where isExpected: @escaping @Sendable (Data) -> Bool
    ) async -> Bool {
        await onDisk(.read(computed)) { storage in
            let file = storage.cacheFileURL(forKey: computed, forcedExtension: forcedExtension)
            return storage.isCached(forKey: computed, forcedExtension: forcedExtension)
                && (try? Data(contentsOf: file)).map(isExpected) == true
        } == true
    }

    /// Extends the expiration of a value on disk. For the disk's policy this is an access.
    package func extend(
        _ computed: String, forcedExtension: String? = nil, _ extending: ExpirationExtending
    ) async {
        _ = await onDisk(.read(computed)) { storage in
            _ = try? storage.value(
                forKey: computed, forcedExtension: forcedExtension, extendingExpiration: extending)
        }
    }
}
