import Foundation
import HalcyonEviction
import HalcyonSupport
import Synchronization

/// Values in memory in front of values on disk.
///
/// ```swift
/// let cache = ImageCache<Data>(name: "images")
/// await cache.store(bytes, forKey: url, options: CacheOptions(categories: ["shoes"], user: "u7"))
/// let found = try await cache.image(forKey: url)
/// print(found.cacheType)
/// ```
///
/// A look-up asks the memory, then the disk; what the disk has is in memory before the caller hears of it. A store is in
/// memory when it returns from its synchronous part, and on the disk later, in the order of the calls for a key. Each tier decides by
/// an index and a policy of its own; see ``MemoryStorage`` and ``DiskStorage``. No call waits for the disk on the caller's
/// thread unless that is asked for (``CacheOptions/loadDiskFileSynchronously``). For callbacks in place of `await` see
/// ``retrieveImage(forKey:options:callbackQueue:completionHandler:)`` and its neighbours.
public final class ImageCache<Value: CacheCostCalculable & Sendable>: Sendable {
    /// What is in memory.
    public let memoryStorage: MemoryStorage<Value>
    /// Its core, one step nearer to a hit, which need not count a reference to it.
    @usableFromInline let core: MemoryCore
    /// What tells bytes and values.
    public let serializer: any CacheSerializer<Value>
    /// The directory, and the order of all operations on it.
    package let disk: DiskOwner
    /// Notes about the entries on disk.
    package let notes: EntryNotes
    @usableFromInline let hub: CacheEventHub
    /// The observer of all accesses.
    package let observation: ObserverSlot
    package let clock: any CacheClock
    let prefetches = PrefetchMarks()
    /// Ends with the cache.
    private let subscriptions = Mutex<[TriggerSubscription]>([])

    /// A cache from its parts.
    ///
    /// Nothing is thrown. Where the disk cannot be opened, because another cache has the directory for one, the cache works in memory
    /// alone: ``diskState`` says so and why, what goes to the disk fails with ``CacheError/diskUnavailable(underlying:)``, and each
    /// failure is a ``CacheEvent/failure(_:)``. An operation on the disk tries again, at most every ten seconds. This initializer waits
    /// up to a second for a cache that has the directory and is about to end.
    ///
    /// - Parameters:
    ///   - memoryPolicy: who stays in memory; by default least recently used.
    ///   - diskPolicy: who stays on disk; by default least recently used.
    ///   - seed: of everything random in the policies.
    ///   - recorder: is told of every access.
    ///   - triggers: report when memory is short or the app enters the background. By default ``CacheTriggers/standard``.
    public init(
        memory: MemoryStorage<Value>.Config = .init(), disk: DiskStorageConfig,
        memoryPolicy: ConfiguredPolicy = ConfiguredPolicy(LRU.self),
        diskPolicy: ConfiguredPolicy = ConfiguredPolicy(LRU.self), seed: UInt64 = 1,
        serializer: any CacheSerializer<Value>, clock: any CacheClock = SystemClock(),
        recorder: (any AccessRecorder)? = nil, triggers: [any CacheTrigger] = CacheTriggers.standard
    ) {
        let (hub, users) = (CacheEventHub(recorder: recorder), UserNumbers())
        self.hub = hub
        observation = ObserverSlot(hub)
        self.serializer = serializer
        self.clock = clock
        memoryStorage = MemoryStorage(
            memory, memoryPolicy, seed: seed, clock: clock, users: users, prefetches: true,
            onRemoval: { hub.removed(.memory, $0) })
        core = memoryStorage.core
        self.disk = DiskOwner(clock: clock) { patience in
            try DiskStorage(
                files: FileStore(
                    config: disk, policy: diskPolicy, seed: seed, clock: clock, users: users, prefetches: true,
                    patience: patience, onRemoval: { hub.removed(.disk, $0) }))
        } onFailure: { error in
            hub.send(.failure("\(error)"))
        }
        notes = EntryNotes(disk: self.disk, clock: clock)
        let subscribed = triggers.map { trigger in
            trigger.subscribe { [weak self] event in
                guard let self else { return event.abandon() }
                respond(to: event)
            }
        }
        subscriptions.withLock { $0 = subscribed }
    }

    /// What is on disk; `nil` if it could not be opened so far, or was closed.
    public var diskStorage: DiskStorage<Data>? { disk.storage }

    /// Whether the disk is in use, and why not.
    public var diskState: DiskState { disk.diskState }

    /// Ends the use of the disk: what was asked for is done and written, prefetching by prediction is stopped, and the directory is free
    /// for another cache.
    ///
    /// Memory goes on. From then on look-ups on disk miss, stores on disk fail with ``CacheError/closed``, and triggers have no effect.
    /// It returns after all completions have; none may wait for it. Closing twice has no effect.
    public func close() async {
        let ending = subscriptions.withLock { subscriptions in
            defer { subscriptions = [] }
            return subscriptions
        }
        for subscription in ending { subscription.cancel() }
        await observation.end()
        await disk.close()
        await notes.close()
    }

    // MARK: - Storing and looking up

    /// Keeps a value: in memory before anything is awaited, on disk before this returns.
    ///
    /// - Parameters:
    ///   - original: the bytes that the value was made of, which the serializer may prefer.
    ///   - toDisk: whether it goes to the disk at all.
    @discardableResult
    public func store(
        _ value: Value, original: Data? = nil, forKey key: String, toDisk: Bool = true,
        options: CacheOptions = CacheOptions()
    ) async -> CacheStoreResult {
        await withCheckedContinuation { continuation in
            store(value, original: original, forKey: key, toDisk: toDisk, options: options) {
                continuation.resume(returning: $0)
            }
        }
    }

    /// The value of a key, from memory or else from disk.
    ///
    /// - Throws: ``CacheError/cannotLoadDataFromDisk(_:underlying:)``; `CancellationError` if the task was cancelled
    ///   before the value was promoted to memory. A cancelled load neither reads, decodes nor promotes from then on.
    @inlinable
    public func image(forKey key: String, options: CacheOptions = CacheOptions()) async throws -> ImageCacheResult<
        Value
    > {
        let computed = key.computedKey(with: options.processorIdentifier)
        if let value = fromMemory(computed, options) { return .memory(value) }
        return try await afterMemory(computed, serializer: nil, options)
    }

    /// The value of a key, if it is in memory.
    @inlinable
    public func imageInMemory(forKey key: String, options: CacheOptions = CacheOptions()) -> Value? {
        let computed = key.computedKey(with: options.processorIdentifier)
        if let value = fromMemory(computed, options) { return value }
        _ = missed(computed, options)
        return nil
    }

    /// Where the value of a key is. This is no access, extends nothing, and looks at the disk on the caller's thread.
    ///
    /// - Parameter forcedExtension: the extension that the file was stored with (``CacheOptions/forcedExtension``).
    public func imageCachedType(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil
    ) -> CacheType {
        let computed = key.computedKey(with: processorIdentifier)
        if memoryStorage.isCached(forKey: computed) { return .memory }
        return disk.storage?.isCached(forKey: computed, forcedExtension: forcedExtension) == true ? .disk : .none
    }

    /// Whether there is a value of a key, in memory or on disk.
    public func isCached(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil
    ) -> Bool {
        imageCachedType(
            forKey: key, processorIdentifier: processorIdentifier, forcedExtension: forcedExtension
        ).cached
    }

    /// The name of the file that a key has or would have; `nil` without a disk.
    public func hash(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil
    ) -> String? {
        let computed = key.computedKey(with: processorIdentifier)
        return disk.storage?.cacheFileURL(forKey: computed, forcedExtension: forcedExtension).lastPathComponent
    }

    /// Writes down that a key was looked up in vain and is not loaded either.
    public func recordMiss(forKey key: String, options: CacheOptions = CacheOptions()) {
        record(key.computedKey(with: options.processorIdentifier), cost: 0, options, .miss)
    }

    // MARK: - Hits in memory

    // What every hit runs through. Nothing of it is shared by all hits but the storage's lanes: it counts hits, numbers requests
    // and knows what was prefetched, and where nobody listens the hub is not asked for more than that.

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
        let (item, isFirst) = core.load(computed, extending, categories: categories, user: user, kind: kind)
        guard let item else { return nil }
        let value = memoryStorage.value(of: item)
        if isFirst || !hub.isSilent { report(value, computed, categories, user, isFirstSincePrefetch: isFirst) }
        return value
    }

    /// Reports a hit to those who listen.
    @usableFromInline @inline(never)
    func report(
        _ value: Value, _ computed: String, _ categories: [String], _ user: String?, isFirstSincePrefetch: Bool
    ) {
        let wasPrefetched = isFirstSincePrefetch && prefetches.take(computed)
        hub.send(.lookUp(key: computed, .memory, categories: categories))
        record(computed, cost: value.cacheCost, categories, user, wasPrefetched ? .prefetched : .memory)
    }

    // MARK: - What is held

    /// What was counted since the cache was made.
    public var statistics: CacheStatistics {
        var statistics = hub.statistics
        statistics.add(memoryStorage.tierHits)
        statistics.memory = memoryStorage.statistics
        statistics.disk = disk.storage?.statistics ?? StorageStatistics()
        return statistics
    }

    /// What happens from now on; of what nobody takes in time the newest `count` are kept.
    public func events(bufferingNewest count: Int = 1_024) -> AsyncStream<CacheEvent> {
        hub.stream(bufferingNewest: count)
    }

    /// What all files take on the disk, in bytes; 0 without a disk or if its folder was deleted.
    public func diskStorageSize() async -> Int {
        await onDisk(.settle) { storage in storage.totalSize } ?? 0
    }

    /// What is held of a category, in memory and on disk.
    public func use(category: String) async -> (memory: CategoryUse, disk: CategoryUse) {
        let disk = await onDisk(.settle) { storage in storage.use(category: category) }
        return (memoryStorage.use(category: category), disk ?? CategoryUse())
    }
}
