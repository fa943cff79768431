import Foundation
import Synchronization

/// The state of a load from disk that its caller may cancel.
package final class LoadCancellation: Sendable {
    private let isCancelled = Atomic<Bool>(false)
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    /// Cancels the load, and does what was asked for; outside of any lock.
    func cancel() {
        isCancelled.store(true, ordering: .sequentiallyConsistent)
        action.withLock { $0.take() }?()
    }

    /// Does something when the load is cancelled, or at once if it has been.
    func whenCancelled(_ work: @escaping @Sendable () -> Void) {
        action.withLock { $0 = work }
        if isCancelled.load(ordering: .sequentiallyConsistent) { action.withLock { $0.take() }?() }
    }

    /// Throws `CancellationError` if the load was cancelled.
    package func check() throws {
        if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
    }
}

// What the async and the callback API are made of. Each `done` is called exactly once, wherever the work ends.
extension ImageCache {
    /// Stores in memory before it returns, and on the disk later.
    ///
    /// - Parameters:
    ///   - toMemory: whether it goes to memory. Where it goes nowhere, this is the access alone.
    ///   - other: takes the place of the cache's serializer.
    ///   - kept: is told the bytes that are on disk now, before anybody can read or replace them.
    package func store(
        _ value: Value, original: Data?, forKey key: String, toMemory: Bool = true, toDisk: Bool,
        serializer other: (any CacheSerializer<Value>)? = nil, options: CacheOptions,
        kept: (@Sendable (Data) -> Void)? = nil, done: @escaping @Sendable (CacheStoreResult) -> Void
    ) {
        let computed = key.computedKey(with: options.processorIdentifier)
        if !options.isPrefetch {
            prefetches.take(computed)
            record(computed, cost: value.cacheCost, options, .network)
        } else if toMemory || toDisk {
            prefetches.mark(computed)
            if !toMemory { memoryStorage.notePrefetch(forKey: computed) }
        }
        guard toMemory || toDisk else {
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: .success(())))
            return
        }
        hub.send(.store(key: computed, categories: options.context.categories))
        var options = options
        options.context.isPrefetch = options.isPrefetch
        // What memory stores, memory counts.
        options.context.requestNumber = memoryStorage.nextRequest(counting: !toMemory && !options.isPrefetch)
        guard toDisk else {
            keepInMemory(value, computed, options)
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: .success(())))
            return
        }
        // The disk first: a read that is asked for later waits for the new value, and what earlier ones read is kept out of memory.
        disk.store(options.forcedExtension == nil ? .store(computed) : .change(computed)) { [serializer] in
            guard let data = (other ?? serializer).data(with: value, original: original) else {
                throw CacheError.cannotSerialize(key: computed)
            }
            return data
        } write: { [options] storage, data in
            let isKept = try storage.store(
                value: data, forKey: computed, expiration: options.diskCacheExpiration,
                forcedExtension: options.forcedExtension, context: options.context)
            if isKept { kept?(data) }
        } done: { [self] result in
            if case .failure(let error) = result { hub.failed(error) }
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: result))
        }
        if toMemory { keepInMemory(value, computed, options) } else { memoryStorage.voidReads(forKey: computed) }
    }

    @usableFromInline
    package func missed(_ computed: String, _ options: CacheOptions) -> ImageCacheResult<Value> {
        hub.lookedUp(computed, .none, options.context.categories)
        return .none
    }

    /// Looks a key up on disk, and promotes what it finds before `done` hears of it.
    package func fromDisk(
        _ computed: String, _ options: CacheOptions, serializer other: (any CacheSerializer<Value>)? = nil,
        cancellation: LoadCancellation? = nil,
        done: @escaping @Sendable (Result<ImageCacheResult<Value>, any Error>) -> Void
    ) {
        // Before the disk is asked: a store or a removal asks the disk and then changes memory. One that this read does not wait for
        // voids the ticket or finds in memory what was promoted.
        let ticket = memoryStorage.beginRead(forKey: computed)
        let work = { @Sendable [self] (storage: DiskStorage<Data>) in
            try loadFromDisk(storage, computed, options, other, ticket, cancellation)
        }
        let ended = { @Sendable [self] (result: Result<ImageCacheResult<Value>, any Error>) in
            // Promotion ends the read.
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
        if options.loadDiskFileSynchronously {
            disk.performNow(reading: computed, work, done: ended)
        } else {
            guard let read = disk.perform(.read(computed), work, done: ended) else { return }
            cancellation?.whenCancelled { [disk] in disk.cancel(read) }
        }
    }

    private func loadFromDisk(
        _ storage: DiskStorage<Data>, _ computed: String, _ options: CacheOptions,
        _ other: (any CacheSerializer<Value>)?, _ ticket: PendingReads.Ticket, _ cancellation: LoadCancellation?
    ) throws -> ImageCacheResult<Value> {
        try cancellation?.check()
        var options = options
        options.context.requestNumber = ticket.requestNumber
        let data = try storage.value(
            forKey: computed, forcedExtension: options.forcedExtension,
            extendingExpiration: options.diskCacheAccessExtendingExpiration, context: options.context)
        // Decoding may take longer than reading, and promotion evicts others.
        if data != nil { try cancellation?.check() }
        let value = data.flatMap { (other ?? serializer).value(with: $0) }
        guard let value else { return missed(computed, options) }
        try cancellation?.check()
        keepInMemory(value, computed, options, endOf: ticket)
        hub.lookedUp(computed, .disk, options.context.categories)
        record(computed, cost: value.cacheCost, options, prefetches.take(computed) ? .prefetched : .disk)
        return .disk(value)
    }

    /// - Returns: how many requests came before.
    @discardableResult
    func keepInMemory(
        _ value: Value, _ computed: String, _ options: CacheOptions, endOf ticket: PendingReads.Ticket? = nil
    ) -> Int {
        var context = options.context
        context.isTiered = true
        return memoryStorage.store(
            value, computed, options.memoryCacheExpiration, options.keepInBackground, context, endOf: ticket
        ).requestNumber
    }

    /// Says whether what was stored ahead of need under a computed key is still likely to be asked for; if not, it is the first
    /// to go from any tier.
    package func reconsider(_ computed: String, isLikely: Bool) {
        memoryStorage.reconsider(computed, isLikely: isLikely)
        onDisk(.read(computed)) { storage in
            storage.reconsider(computed, isLikely: isLikely)
        } done: { _ in
        }
    }

    func record(_ computed: String, cost: Int, _ options: CacheOptions, _ outcome: RecordedAccess.Outcome) {
        record(computed, cost: cost, options.context.categories, options.context.user, outcome)
    }

    func record(
        _ computed: String, cost: @autoclosure () -> Int, _ categories: [String], _ user: String?,
        _ outcome: RecordedAccess.Outcome
    ) {
        guard hub.isRecorded else { return }
        hub.accessed(
            RecordedAccess(
                time: clock.now, key: computed, cost: cost(), categories: categories, user: user, outcome: outcome))
    }

    /// Does something with the disk storage off the caller's thread, in the order of the operations; `nil` if there is none.
    package func onDisk<Result: Sendable>(
        _ operation: DiskOwner.Plan.Operation, _ work: @escaping @Sendable (DiskStorage<Data>) -> Result
    ) async -> Result? {
        await withCheckedContinuation { continuation in
            onDisk(operation, work) { continuation.resume(returning: $0) }
        }
    }

    /// The same with a callback.
    func onDisk<Result: Sendable>(
        _ operation: DiskOwner.Plan.Operation, _ work: @escaping @Sendable (DiskStorage<Data>) -> Result,
        done: @escaping @Sendable (Result?) -> Void
    ) {
        disk.perform(operation, work) { done(try? $0.get()) }
    }

    /// Returns when the disk has done what it was asked to.
    package func settleDisk() async { _ = await onDisk(.settle) { _ in } }
}

extension MemoryStorage {
    /// Keeps what is being read of a key from a slower tier out of memory.
    func voidReads(forKey key: String) { core.state.withLock { $0.reads.void(key) } }
}
