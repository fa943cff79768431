import Foundation
import HalcyonAccessLog
import HalcyonEviction
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

/// Both tiers of an ``ImageCache``, and the operations that change or read them together.
///
/// Operations take computed keys (`String.computedKey(with:)`) unless their argument is named `key`. Each `done` is called exactly
/// once, wherever the operation ends. Stores and removals request their operation on the disk first and then change memory.
/// A read that is requested later waits for that operation. The values of earlier reads are kept out of memory.
package final class CacheTiers<Value: CacheCostCalculable & Sendable>: Sendable {
    package let memoryStorage: MemoryStorage<Value>
    let serializer: any CacheSerializer<Value>
    /// The owner of the directory, which orders all operations on it.
    package let disk: DiskOwner
    /// Notes about the entries on disk.
    package var notes: EntryNotes { EntryNotes(disk: disk) }
    package let hub: CacheEventHub
    /// The slot for the observer of all accesses.
    package let observation: ObserverSlot
    package let clock: any CacheClock
    package let prefetches: PrefetchMarks
    /// Whether there are entries that are private to a user.
    package let privateEntries: PrivateEntries
    /// The decodings of look-ups whose reading has ended.
    private let decodings = DispatchGroup()
    /// Called by a store or a removal after its request to the disk and before its change of memory; a test may load there.
    let betweenTiers = Mutex<(@Sendable () -> Void)?>(nil)
    /// Called by a look-up on disk after it has read and before it decodes; a test may cancel there.
    let afterReading = Mutex<(@Sendable () -> Void)?>(nil)

    /// Creates both tiers; the parameters are those of ``ImageCache``.
    init(
        memory: MemoryStorage<Value>.Config, disk: DiskStorageConfig, memoryPolicy: ConfiguredPolicy,
        diskPolicy: ConfiguredPolicy, seed: UInt64, serializer: any CacheSerializer<Value>, clock: any CacheClock,
        recorder: (any AccessRecorder)?
    ) {
        let (hub, users, prefetches) = (CacheEventHub(recorder: recorder), UserNumbers(), PrefetchMarks())
        let privateEntries = PrivateEntries()
        (self.hub, self.prefetches, self.privateEntries) = (hub, prefetches, privateEntries)
        observation = ObserverSlot(hub)
        self.serializer = serializer
        self.clock = clock
        memoryStorage = MemoryStorage(
            memory, memoryPolicy, seed: seed, clock: clock, users: users, prefetches: true,
            onRemoval: { removals in
                prefetches.removed(.memory, removals)
                hub.removed(.memory, removals)
            })
        self.disk = DiskOwner(clock: clock) { patience in
            privateEntries.opens()
            do {
                return try DiskStorage(
                    files: FileStore(
                        config: disk, policy: diskPolicy, seed: seed, clock: clock, users: users, prefetches: true,
                        patience: patience, onListing: { privateEntries.listed(hasAny: $0) },
                        onRemoval: { removals in
                            prefetches.removed(.disk, removals)
                            hub.removed(.disk, removals)
                        }, onFull: { hub.failed($0) }))
            } catch {
                // Nothing can be found on it.
                privateEntries.listed(hasAny: false)
                throw error
            }
        } onFailure: { error in
            hub.send(.failure("\(error)"), isNotable: true)
        }
    }

    /// Closes the disk. Returns after all completions of look-ups, stores and removals have returned.
    func close() async {
        await observation.end()
        await disk.close()
        await withCheckedContinuation { continuation in decodings.notify(queue: .global()) { continuation.resume() } }
    }

    // MARK: - Storing

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
        _ value: Value, original: Data?, forKey key: String, toMemory: Bool = true, toDisk: Bool,
        keepsFile: Bool = false, serializer other: (any CacheSerializer<Value>)? = nil, options: CacheOptions,
        note: NoteMaker? = nil, kept: (@Sendable (Data) -> Void)? = nil,
        done: @escaping @Sendable (CacheStoreResult) -> Void
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
        disk.store(computed, options.labels, preparation: options.serializationQueue) { [serializer] in
            guard let data = (other ?? serializer).data(with: value, original: original) else {
                throw CacheError.cannotSerialize(key: computed)
            }
            return data
        } write: { [options, prefetches] storage, data in
            let isKept = try storage.store(data, computed, options, note)
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

    /// Stores the original of images on disk. This is not an access.
    ///
    /// - Parameters:
    ///   - bytes: makes the bytes of the file, on the options' queue; `nil` if the original cannot be serialized.
    ///   - note: returns the note of the bytes that are about to be written, as in a store of a value.
    ///   - kept: receives the bytes that are on disk now.
    package func keepOriginal(
        _ bytes: @escaping @Sendable () -> Data?, forKey key: String, options: CacheOptions,
        note: NoteMaker? = nil, kept: (@Sendable (Data) -> Void)? = nil, done: @escaping @Sendable () -> Void
    ) {
        hub.send(.store(key: key, categories: options.context.categories))
        var options = options
        options.context.origin = origin(of: key)
        disk.store(key, options.labels, preparation: options.serializationQueue) {
            guard let data = bytes() else { throw CacheError.cannotSerialize(key: key) }
            return data
        } write: { [options] storage, data in
            if try storage.store(data, key, options, note) { kept?(data) }
        } done: { [hub] result in
            if case .failure(let error) = result { hub.failed(error) }
            done()
        }
        betweenTiers.withLock { $0 }?()
        // The value in memory was not made of these bytes. The disk is first, as in every store.
        memoryStorage.remove(forKey: key)
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

    // MARK: - Looking up

    /// Counts a miss of a look-up.
    package func missed(_ computed: String, _ options: CacheOptions) -> ImageCacheResult<Value> {
        hub.lookedUp(computed, .none, options.context.categories)
        return .none
    }

    /// Looks a key up on disk, and promotes a found value to memory before it calls `done`.
    ///
    /// - Parameter decoding: the queue on which the bytes of a file are decoded. By default that of the serializer, or else
    ///   the thread that reads them.
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
        let pending: DiskOwner.Schedule.Ticket?
        if options.loadDiskFileSynchronously {
            return disk.performNow(reading: computed, { try decode(try read($0)) }, done: ended)
        } else if let decoding = decoding ?? (other ?? serializer).decodingQueue {
            pending = disk.perform(.read(computed), read) { [decodings] result in
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

    /// Looks up a computed key that is not in memory, and stops if the task is cancelled.
    ///
    /// - Parameters:
    ///   - other: a serializer in place of the cache's.
    ///   - decoding: the queue on which the bytes of a file are decoded.
    package func fromDisk(
        _ computed: String, _ options: CacheOptions, serializer other: (any CacheSerializer<Value>)? = nil,
        decoding: CallbackQueue? = nil
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

    /// Returns the bytes of a key on disk. For the disk's policy this is an access.
    ///
    /// - Returns: the bytes; `nil` if there are none, or if the task was cancelled, after which nothing is read.
    package func original(forKey key: String, options: CacheOptions) async -> Data? {
        await reading(key) { storage in
            try? storage.value(
                forKey: key, forcedExtension: options.forcedExtension,
                extendingExpiration: options.diskCacheAccessExtendingExpiration, context: options.context)
        } ?? nil
    }

    /// Reads from a key on disk; `nil` if there is no disk storage, or if the task was cancelled before it read.
    private func reading<Result: Sendable>(
        _ key: String, _ work: @escaping @Sendable (DiskStorage<Data>) -> Result
    ) async -> Result? {
        let cancellation = LoadCancellation()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ticket = disk.perform(.read(key)) { storage in
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

    /// Whether a computed key certainly has no file, and no change of it is pending. Does not read the disk.
    package func isAbsentOnDisk(_ computed: String) -> Bool {
        disk.isFree(computed) && disk.storage?.files.mayContain(computed) == false
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

    /// Promotes a value from disk to memory before it is requested. After a cancellation of the task it is not read,
    /// decoded or promoted.
    package func promote(
        _ computed: String, serializer other: (any CacheSerializer<Value>)?, options: CacheOptions,
        decoding: CallbackQueue? = nil
    ) async {
        let ticket = memoryStorage.beginRead(forKey: computed)
        var options = options
        options.context.isPrefetch = true
        let data = await reading(computed) { [prefetches, options] storage -> Data? in
            let data = try? storage.value(
                forKey: computed, forcedExtension: options.forcedExtension, extendingExpiration: .none,
                context: options.context)
            guard let data else { return nil }
            let file = storage.cacheFileURL(forKey: computed, forcedExtension: options.forcedExtension)
            prefetches.mark(computed, inMemory: true, fileName: file.lastPathComponent)
            return data
        }
        guard let data, let data else { return memoryStorage.endRead(ticket) }
        if Task.isCancelled {
            prefetches.take(computed)
            return memoryStorage.endRead(ticket)
        }
        let serializer = other ?? serializer
        let queue = decoding ?? serializer.decodingQueue ?? .dispatch(.global())
        guard let value = try? await queue.result({ serializer.value(with: data) }), !Task.isCancelled else {
            prefetches.take(computed)
            return memoryStorage.endRead(ticket)
        }
        if !keepInMemory(value, computed, options, endOf: ticket) { prefetches.refused(computed, by: .memory) }
    }

    /// Returns whether a computed key has bytes on disk that satisfy `isExpected`. This is not an access. After a
    /// cancellation of the task it reads nothing and returns `false`.
    package func holds(
        _ computed: String, forcedExtension: String? = nil, where isExpected: @escaping @Sendable (Data) -> Bool
    ) async -> Bool {
        await reading(computed) { storage in
            storage.files.bytes(forKey: computed, forcedExtension: forcedExtension).map(isExpected) == true
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

    // MARK: - Removing

    /// Removes the values of a category from memory and disk. O(values).
    ///
    /// A file whose row in the index database was lost has no categories and is not removed; see
    /// ``DiskStorage/remove(category:)``.
    func remove(category: String) async {
        await withCheckedContinuation { continuation in
            // The disk is first. Reads that are requested later wait for the removal, which waits for no store but those
            // of this category that run. The values of earlier reads are kept out of memory.
            let filter = DiskOwner.Schedule.Filter { _, labels in
                labels.categories.containsBytes(of: category)
            }
            disk.perform(.removeAll(filter)) { storage in
                storage.remove(category: category)
            } done: { _ in
                continuation.resume()
            }
            betweenTiers.withLock { $0 }?()
            memoryStorage.remove(category: category)
        }
    }

    /// Removes the value of a key and all its variants (``CacheOptions/processorIdentifier``), whoever owns them, from memory and disk.
    /// O(values).
    ///
    /// A file whose row in the index database was lost is not known as a variant and stays, as in ``remove(category:)``.
    /// A variant that an earlier version has stored stays, too. In memory, a value is removed, too, whose own key is `key` with `@` and more.
    func removeVariants(ofKey key: String) async {
        let origin = EntryOrigin(key: key).source
        await withCheckedContinuation { continuation in
            // The disk is first, as in `remove(category:)`.
            let filter = DiskOwner.Schedule.Filter(mayMatch: { EntryOrigin.isKey($0.text, ofSource: key) }) {
                computed, labels in
                computed == key || labels.origin?.source == origin
            }
            disk.perform(.removeAll(filter)) { storage in
                storage.remove(forKey: key)
                storage.remove { $0.source == origin }
            } done: { _ in
                continuation.resume()
            }
            betweenTiers.withLock { $0 }?()
            memoryStorage.remove { EntryOrigin.isKey($0, ofSource: key) }
        }
    }

    /// Removes the values that are private to a user from memory and disk. O(values).
    ///
    /// A file whose row in the index database was lost has no known owner and stays until it expires or is evicted.
    package func removePrivate(ofUser user: String) async {
        let owner = EntryOrigin.owner(of: user)
        await withCheckedContinuation { continuation in
            let filter = DiskOwner.Schedule.Filter(mayMatch: { EntryOrigin.isKey($0.text, ofOwner: user) }) {
                _, labels in
                labels.origin?.owner == owner
            }
            disk.perform(.removeAll(filter)) { storage in
                storage.remove { $0.owner == owner }
            } done: { _ in
                continuation.resume()
            }
            betweenTiers.withLock { $0 }?()
            memoryStorage.remove { EntryOrigin.isKey($0, ofOwner: user) }
        }
    }

    /// Forgets a user: removes the accesses of the user from the observer and the recorder, then the values that are private
    /// to the user (``removePrivate(ofUser:)``). O(values).
    ///
    /// - Parameter removeFromFile: removes the accesses from the observer's file; called if there is no observer.
    /// - Throws: the first error. The other parts are forgotten nevertheless.
    package func forget(user: String, removeFromFile: () async throws -> Void) async throws {
        var failure: (any Error)?
        do { try await observation.forget(user: user, removeFromFile: removeFromFile) } catch { failure = error }
        await removePrivate(ofUser: user)
        do { try await hub.forget(user: user) } catch { failure = failure ?? error }
        // Names that were cached to number the requests. Later requests of the user get another number.
        memoryStorage.core.state.forget(user: user)
        disk.openStorage?.files.state.withLock { $0.entries.forget(user: user) }
        if let failure { throw failure }
    }

    package func remove(
        _ computed: String, _ forcedExtension: String? = nil, _ fromMemory: Bool, _ fromDisk: Bool,
        done: @escaping @Sendable () -> Void
    ) {
        prefetches.take(computed)
        if fromDisk {
            // The disk is first, as in `remove(category:)`.
            disk.perform(.remove(computed, forcedExtension: forcedExtension)) { storage in
                storage.remove(forKey: computed, forcedExtension: forcedExtension)
            } done: { _ in
                done()
            }
        }
        betweenTiers.withLock { $0 }?()
        if fromMemory { memoryStorage.remove(forKey: computed) }
        if !fromDisk { done() }
    }

    func clearDisk(done: @escaping @Sendable () -> Void) {
        disk.perform(.clear) { storage in
            storage.removeAll()
            return storage.files.folder.hidden
        } done: { [observation] result in
            guard let folder = try? result.get() else { return done() }
            Task {
                await observation.forgetAccesses(in: folder)
                done()
            }
        }
    }

    // MARK: - Prefetched entries and predicted evictions

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

    // MARK: - Recording

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

    // MARK: - Operations on the disk

    /// Runs an operation on the disk storage outside the caller's thread, in the order of the operations. It returns
    /// `nil` if there is no disk storage.
    package func onDisk<Result: Sendable>(
        _ operation: DiskOwner.Schedule.Operation, _ work: @escaping @Sendable (DiskStorage<Data>) -> Result
    ) async -> Result? {
        await withCheckedContinuation { continuation in
            onDisk(operation, work) { continuation.resume(returning: $0) }
        }
    }

    /// Runs an operation on the disk storage and calls `done` with its result; `nil` if there is no disk storage.
    func onDisk<Result: Sendable>(
        _ operation: DiskOwner.Schedule.Operation, _ work: @escaping @Sendable (DiskStorage<Data>) -> Result,
        done: @escaping @Sendable (Result?) -> Void
    ) {
        disk.perform(operation, work) { done(try? $0.get()) }
    }

    /// Returns when all earlier operations on the disk have ended.
    package func settleDisk() async { _ = await onDisk(.settle) { _ in } }
}

extension CacheOptions {
    /// The properties of a stored value by which removals find it.
    fileprivate var labels: DiskOwner.Schedule.Labels {
        DiskOwner.Schedule.Labels(
            forcedExtension: forcedExtension, categories: context.categories, origin: context.origin)
    }
}

/// Returns the note of the bytes that are about to be written, or `nil` for none. It receives the note of the entry
/// that they replace, too.
package typealias NoteMaker = @Sendable (_ bytes: Data, _ earlier: Data?) -> Data?

extension DiskStorage<Data> {
    /// Stores bytes under a computed key.
    fileprivate func store(
        _ data: Data, _ computed: String, _ options: CacheOptions, _ note: NoteMaker?
    ) throws -> Bool {
        // No other change of the key runs meanwhile.
        let note = note.flatMap { make in
            make(data, files.note(forKey: computed, forcedExtension: options.forcedExtension))
        }
        return try store(
            value: data, forKey: computed, expiration: options.diskCacheExpiration,
            forcedExtension: options.forcedExtension, context: options.context, note: note)
    }
}

extension MemoryStorage {
    /// Voids the pending reads of a key, so that their values are not stored in memory.
    func voidReads(forKey key: String) { core.state.withLock { $0.reads.void(key) } }
}
