import Foundation
import Synchronization

/// The state of a load from disk that its caller may cancel.
package final class LoadCancellation: Sendable {
    private let isCancelled = Atomic<Bool>(false)

    package func cancel() { isCancelled.store(true, ordering: .relaxed) }

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
        }
        guard toMemory || toDisk else {
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: .success(())))
            return
        }
        hub.send(.store(key: computed, categories: options.context.categories))
        var options = options
        options.context.isPrefetch = options.isPrefetch
        options.context.requestNumber =
            options.isPrefetch ? requests.load(ordering: .relaxed) : requests.add(1, ordering: .relaxed).oldValue
        if toMemory { keepInMemory(value, computed, options) }
        guard toDisk else {
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: .success(())))
            return
        }
        ioQueue.async(flags: .barrier) { [self, options] in
            let result = Result<Void, any Error> {
                guard let data = (other ?? serializer).data(with: value, original: original) else {
                    throw CacheError.cannotSerialize(key: computed)
                }
                let isKept = try tier.get().store(
                    value: data, forKey: computed, expiration: options.diskCacheExpiration,
                    forcedExtension: options.forcedExtension, context: options.context)
                if isKept { kept?(data) }
            }
            if case .failure(let error) = result { hub.failed(error) }
            done(CacheStoreResult(memoryCacheResult: .success(()), diskCacheResult: result))
        }
    }

    package func fromMemory(_ computed: String, _ options: CacheOptions) -> Value? {
        var context = options.context
        context.requestNumber = requests.load(ordering: .relaxed)
        let value = memoryStorage.value(
            forKey: computed, extendingExpiration: options.memoryCacheAccessExtendingExpiration, context: context)
        guard let value else { return nil }
        requests.add(1, ordering: .relaxed)
        hub.lookedUp(computed, .memory, options.context.categories)
        record(computed, cost: value.cacheCost, options, prefetches.take(computed) ? .prefetched : .memory)
        return value
    }

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
        // Asked for now, so that whatever is stored or removed from now on makes it void.
        let ticket = memoryStorage.beginRead(forKey: computed)
        if !options.loadDiskFileSynchronously {
            ioQueue.async { [self] in
                done(Result { try loadFromDisk(computed, options, other, ticket, cancellation) })
            }
        } else if DispatchQueue.getSpecific(key: onIOQueue) == true {
            done(Result { try loadFromDisk(computed, options, other, ticket, cancellation) })
        } else {
            done(Result { try ioQueue.sync { try loadFromDisk(computed, options, other, ticket, cancellation) } })
        }
    }

    private func loadFromDisk(
        _ computed: String, _ options: CacheOptions, _ other: (any CacheSerializer<Value>)?,
        _ ticket: PendingReads.Ticket, _ cancellation: LoadCancellation?
    ) throws -> ImageCacheResult<Value> {
        do { try cancellation?.check() } catch {
            memoryStorage.endRead(ticket)
            throw error
        }
        guard let storage = try? tier.get() else {
            memoryStorage.endRead(ticket)
            return missed(computed, options)
        }
        var options = options
        options.context.requestNumber = requests.load(ordering: .relaxed)
        let value: Value?
        do {
            let data = try storage.value(
                forKey: computed, forcedExtension: options.forcedExtension,
                extendingExpiration: options.diskCacheAccessExtendingExpiration, context: options.context)
            // Decoding may take longer than reading, and promotion evicts others.
            if data != nil { try cancellation?.check() }
            value = data.flatMap { (other ?? serializer).value(with: $0) }
            if value != nil { try cancellation?.check() }
        } catch {
            memoryStorage.endRead(ticket)
            if !(error is CancellationError) { hub.failed(error) }
            throw error
        }
        guard let value else {
            memoryStorage.endRead(ticket)
            return missed(computed, options)
        }
        requests.add(1, ordering: .relaxed)
        keepInMemory(value, computed, options, endOf: ticket)
        hub.lookedUp(computed, .disk, options.context.categories)
        record(computed, cost: value.cacheCost, options, prefetches.take(computed) ? .prefetched : .disk)
        return .disk(value)
    }

    package func keepInMemory(
        _ value: Value, _ computed: String, _ options: CacheOptions, endOf ticket: PendingReads.Ticket? = nil
    ) {
        memoryStorage.store(
            value, computed, options.memoryCacheExpiration, options.keepInBackground, options.context, endOf: ticket)
    }

    /// Says whether what was stored ahead of need under a computed key is still likely to be asked for; if not, it is the first
    /// to go from any tier.
    package func reconsider(_ computed: String, isLikely: Bool) {
        memoryStorage.reconsider(computed, isLikely: isLikely)
        onDisk(changing: false) { storage in
            storage.reconsider(computed, isLikely: isLikely)
        } done: { _ in
        }
    }

    package func record(_ computed: String, cost: Int, _ options: CacheOptions, _ outcome: RecordedAccess.Outcome) {
        guard recorder != nil || hub.isObserved else { return }
        let access = RecordedAccess(
            time: clock.now, key: computed, cost: cost, categories: options.context.categories,
            user: options.context.user, outcome: outcome)
        recorder?.record(access)
        hub.accessed(access)
    }

    /// Does something with the disk storage off the caller's thread; `nil` if there is none.
    package func onDisk<Result: Sendable>(
        changing: Bool = false, _ work: @escaping @Sendable (DiskStorage<Data>) -> Result
    ) async -> Result? {
        await withCheckedContinuation { continuation in
            onDisk(changing: changing, work) { continuation.resume(returning: $0) }
        }
    }

    /// The same with a callback.
    package func onDisk<Result: Sendable>(
        changing: Bool, _ work: @escaping @Sendable (DiskStorage<Data>) -> Result,
        done: @escaping @Sendable (Result?) -> Void
    ) {
        ioQueue.async(flags: changing ? .barrier : []) { [self] in done((try? tier.get()).map(work)) }
    }
}
