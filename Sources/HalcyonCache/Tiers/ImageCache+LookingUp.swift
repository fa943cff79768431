import Foundation
import HalcyonAccessLog
import HalcyonSupport
import Synchronization

/// The state of a cancellable load from disk.
package final class LoadCancellation: Sendable {
    private let isCancelled = Atomic<Bool>(false)
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    package init() {}

    /// Cancels the load and calls the registered closure, without a lock held.
    package func cancel() {
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

// Look-ups in memory, then on disk. The `done` of a look-up is called exactly once, wherever the look-up ends.

extension ImageCache {
    /// Looks a key up in memory, then on disk.
    ///
    /// A value that is replaced or removed while it is read from disk does not return to memory. See
    /// `ImageCacheTests.lookUpTriesMemoryThenDisk()` and `ImageCacheTests.changedValueIsNotPromoted()`.
    ///
    /// It does not find what a manager keeps for one user, as after a load with `Authorization`: ask the manager for it.
    ///
    /// - Throws: ``CacheError/cannotLoadDataFromDisk(_:underlying:)``; `CancellationError` if the task was cancelled
    ///   before the value was promoted to memory. After a cancellation, the value is not read, decoded or promoted.
    @inlinable
    public func image(
        forKey key: some EntryNaming, options: CacheOptions = CacheOptions()
    ) async throws -> ImageCacheResult<Value> {
        let key = key.entryKey
        if let value = fromMemory(key.computed, options) { return .memory(value) }
        return try await fromDisk(key, options)
    }

    /// Looks a key up in memory, then on disk.
    public func retrieveImage(
        forKey key: some EntryNaming, options: CacheOptions = CacheOptions(),
        callbackQueue: CallbackQueue = .mainCurrentOrAsync,
        completionHandler: @escaping @Sendable (Result<ImageCacheResult<Value>, any Error>) -> Void
    ) {
        let key = key.entryKey
        if let value = fromMemory(key.computed, options) {
            callbackQueue.execute { completionHandler(.success(.memory(value))) }
        } else if options.fromMemoryCacheOrRefresh {
            let result = missed(key.computed, options)
            callbackQueue.execute { completionHandler(.success(result)) }
        } else {
            fromDisk(key, options) { result in callbackQueue.execute { completionHandler(result) } }
        }
    }

    /// Looks a key up in memory.
    @inlinable
    public func imageInMemory(forKey key: some EntryNaming, options: CacheOptions = CacheOptions()) -> Value? {
        let computed = key.entryKey.computed
        if let value = fromMemory(computed, options) { return value }
        return missed(computed, options).image
    }

    /// Returns the tier that contains the value of a key. This is not an access and extends nothing. It reads the
    /// disk on the caller's thread.
    ///
    /// A value counts as on disk from the call that stores it, and as removed from the call that removes it, as a
    /// look-up finds it. See `ImageCacheTests.queuedStoreCountsAsCached()`.
    public func imageCachedType(forKey key: some EntryNaming) -> CacheType {
        let key = key.entryKey
        if memoryStorage.isCached(forKey: key.computed) { return .memory }
        guard let storage = disk.storage else { return .none }
        return disk.pendingFile(of: key) ?? storage.isCached(forKey: key) ? .disk : .none
    }

    /// Returns whether there is a value of a key, in memory or on disk.
    ///
    /// It is `false` for what a manager keeps for one user, as after a load with `Authorization`: the manager's
    /// `imageCachedType(for:options:)` tells that.
    public func isCached(forKey key: some EntryNaming) -> Bool { imageCachedType(forKey: key).cached }

    /// Returns the name of a key's file, whether the file exists or not; `nil` without a disk.
    public func hash(forKey key: some EntryNaming) -> String? { disk.storage?.name(of: key.entryKey) }

    /// Records a miss whose object is not loaded.
    public func recordMiss(forKey key: some EntryNaming, options: CacheOptions = CacheOptions()) {
        record(key.entryKey.computed, cost: 0, options, .miss)
    }

    // MARK: - Hits in memory

    // The path of every hit. The storage's lanes are the only data that all hits share. The storage counts hits,
    // numbers requests and knows which hits have to ask for a mark (``PrefetchMarks``). The only other check is whether
    // the hub has listeners.

    @inlinable
    func fromMemory(_ computed: String, _ options: CacheOptions) -> Value? {
        fromMemory(
            computed, options.memoryCacheAccessExtendingExpiration, categories: options.context.categories,
            user: options.context.user)
    }

    /// Looks a computed key up in memory, as an access.
    @inlinable
    package func fromMemory(
        _ computed: String, _ extending: ExpirationExtending, categories: [String], user: String?,
        kind: LookUpKind = .tier
    ) -> Value? {
        let (item, mayHaveMark) = core.load(computed, extending, categories: categories, user: user, kind: kind)
        guard let item else { return nil }
        let value = memoryStorage.value(of: item)
        if mayHaveMark || !hub.isSilent { report(value, computed, categories, user, mayHaveMark: mayHaveMark) }
        return value
    }

    /// Reports a hit to the listeners.
    @usableFromInline @inline(never)
    func report(
        _ value: Value, _ computed: String, _ categories: [String], _ user: String?, mayHaveMark: Bool
    ) {
        let wasPrefetched = mayHaveMark && prefetches.use(computed)
        hub.send(.lookUp(key: computed, .memory, categories: categories))
        record(computed, cost: value.cacheCost, categories, user, wasPrefetched ? .prefetched : .memory)
    }

    // MARK: - Misses in memory

    /// Counts a miss of a look-up.
    @usableFromInline
    package func missed(_ computed: String, _ options: CacheOptions) -> ImageCacheResult<Value> {
        hub.lookedUp(computed, .none, options.context.categories)
        return .none
    }

    /// Looks an entry up on disk, and promotes a found value to memory before it calls `done`.
    ///
    /// - Parameter decoding: the queue on which the bytes of a file are decoded. By default that of the serializer, or else
    ///   the thread that reads them.
    package func fromDisk(
        _ key: EntryKey, _ options: CacheOptions, serializer other: (any CacheSerializer<Value>)? = nil,
        decoding: CallbackQueue? = nil, cancellation: LoadCancellation? = nil,
        done: @escaping @Sendable (Result<ImageCacheResult<Value>, any Error>) -> Void
    ) {
        // The read begins before the disk operation. Stores and removals request their disk operation first and then
        // change memory. One that this read does not wait for either voids the ticket or finds the promoted value in
        // memory.
        let ticket = core.beginRead(forKey: key.computed)
        let decode = { @Sendable [self] (data: Data?) in
            try decoded(data, key.computed, options, other, ticket, cancellation)
        }
        let ended = { @Sendable [self] (result: Result<ImageCacheResult<Value>, any Error>) in
            // The promotion has ended the read.
            if case .success(.disk) = result { return done(result) }
            core.endRead(ticket)
            switch result {
            case .failure(CacheError.diskUnavailable), .failure(CacheError.closed):
                done(.success(missed(key.computed, options)))
            case .failure(let error):
                if !(error is CancellationError) { hub.failed(error) }
                done(result)
            case .success: done(result)
            }
        }
        var context = options.context
        context.requestNumber = ticket.requestNumber
        let read = { @Sendable [context] (storage: DiskStorage) throws -> Data? in
            try cancellation?.check()
            return try storage.value(
                forKey: key, extendingExpiration: options.diskCacheAccessExtendingExpiration, context: context)
        }
        let pending: DiskOwner.Schedule.Ticket?
        if options.loadDiskFileSynchronously {
            return disk.performNow(reading: key, { try decode(try read($0)) }, done: ended)
        } else if let decoding = decoding ?? (other ?? serializer).decodingQueue {
            let absent = { (storage: DiskStorage) -> Data?? in storage.misses(key, context) ? .some(nil) : nil }
            pending = disk.perform(.read(key), absent: absent, read) { [decodings] result in
                guard case .success(.some) = result else {
                    return ended(result.flatMap { data in Result { try decode(data) } })
                }
                decodings.enter()
                decoding.execute {
                    ended(result.flatMap { data in Result { try decode(data) } })
                    decodings.leave()
                }
            }
        } else {
            pending = disk.perform(
                .read(key), absent: { $0.misses(key, context) ? try? decode(nil) : nil },
                { try decode(try read($0)) }, done: ended)
        }
        if let pending { cancellation?.whenCancelled { [disk] in disk.cancel(pending) } }
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

    /// Looks up an entry that is not in memory, and stops if the task is cancelled.
    ///
    /// - Parameters:
    ///   - other: a serializer in place of the cache's.
    ///   - decoding: the queue on which the bytes of a file are decoded.
    @usableFromInline
    package func fromDisk(
        _ key: EntryKey, _ options: CacheOptions, serializer other: (any CacheSerializer<Value>)? = nil,
        decoding: CallbackQueue? = nil
    ) async throws -> ImageCacheResult<Value> {
        if options.fromMemoryCacheOrRefresh { return missed(key.computed, options) }
        try Task.checkCancellation()
        let cancellation = LoadCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                fromDisk(key, options, serializer: other, decoding: decoding, cancellation: cancellation) {
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

    /// Returns the bytes of a key on disk. For the disk's policy this is an access.
    ///
    /// - Returns: the bytes; `nil` if there are none, or if the task was cancelled, after which nothing is read.
    package func original(forKey key: EntryKey, options: CacheOptions) async -> Data? {
        await reading(key, absent: { $0.misses(key, options.context) ? .some(nil) : nil }) { storage in
            try? storage.value(
                forKey: key, extendingExpiration: options.diskCacheAccessExtendingExpiration, context: options.context)
        } ?? nil
    }

    /// Reads from a key on disk; `nil` if there is no disk storage, or if the task was cancelled before it read.
    private func reading<Result: Sendable>(
        _ key: EntryKey, absent: (DiskStorage) -> Result? = { _ in nil },
        _ work: @escaping @Sendable (DiskStorage) -> Result
    ) async -> Result? {
        let cancellation = LoadCancellation()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ticket = disk.perform(.read(key), absent: absent) { storage in
                    try cancellation.check()
                    return work(storage)
                } done: {
                    continuation.resume(returning: try? $0.get())
                }
                if let ticket { cancellation.whenCancelled { [disk] in disk.cancel(ticket) } }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    /// Whether an entry certainly has no file, and no change of it is pending. Does not read the disk.
    package func isAbsentOnDisk(_ key: EntryKey) -> Bool {
        disk.isFree(key) && disk.storage?.mayContain(key.computed) == false
    }

    /// Returns whether an entry is in memory or on disk. This is not an access, and the caller's thread does not wait for the
    /// disk.
    package func isThere(_ key: EntryKey) async -> CacheType {
        if memoryStorage.isCached(forKey: key.computed) { return .memory }
        if isAbsentOnDisk(key) { return .none }
        return await onDisk(.read(key)) { $0.isCached(forKey: key) } == true ? .disk : .none
    }

    /// Promotes a value from disk to memory before it is requested. After a cancellation of the task it is not read,
    /// decoded or promoted.
    package func promote(
        _ key: EntryKey, serializer other: (any CacheSerializer<Value>)?, options: CacheOptions,
        decoding: CallbackQueue? = nil
    ) async {
        let computed = key.computed
        let ticket = core.beginRead(forKey: key.computed)
        var options = options
        options.context.isPrefetch = true
        let data = await reading(key) { [prefetches, options] storage -> Data? in
            let data = try? storage.value(forKey: key, extendingExpiration: .none, context: options.context)
            guard let data else { return nil }
            prefetches.mark(computed, inMemory: true, fileName: storage.name(of: key))
            return data
        }
        guard let data, let data else { return core.endRead(ticket) }
        if Task.isCancelled {
            prefetches.take(computed)
            return core.endRead(ticket)
        }
        let serializer = other ?? serializer
        let queue = decoding ?? serializer.decodingQueue ?? .dispatch(.global())
        guard let value = try? await queue.result({ serializer.value(with: data) }), !Task.isCancelled else {
            prefetches.take(computed)
            return core.endRead(ticket)
        }
        if !keepInMemory(value, computed, options, endOf: ticket) { prefetches.refused(computed, by: .memory) }
    }

    /// Returns whether an entry has bytes on disk that satisfy `isExpected`. This is not an access. After a cancellation of
    /// the task it reads nothing and returns `false`.
    package func holds(_ key: EntryKey, where isExpected: @escaping @Sendable (Data) -> Bool) async -> Bool {
        await reading(key) { storage in storage.bytes(of: key).map(isExpected) == true } == true
    }

    /// Extends the expiration of a value on disk. For the disk's policy this is an access.
    package func extend(_ key: EntryKey, _ extending: ExpirationExtending) async {
        _ = await onDisk(.read(key)) { storage in
            _ = try? storage.value(forKey: key, extendingExpiration: extending)
        }
    }

    // MARK: - Recording

    /// Passes an event to the cache's recorder, if it has one.
    package func recorded(_ event: @autoclosure () -> RecordedEvent) { hub.recorded(event()) }

    /// Passes a list that is shown to the cache's recorder, if it has one.
    package func recorded(list: @autoclosure () -> RecordedList) { hub.recorded(list: list()) }

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
}
