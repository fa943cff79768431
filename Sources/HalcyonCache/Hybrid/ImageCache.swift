import Foundation
import HalcyonEviction
import HalcyonSupport
import Synchronization

/// A cache with a memory tier in front of a disk tier.
///
/// ```swift
/// let cache = ImageCache<Data>(name: "images")
/// await cache.store(bytes, forKey: url, options: CacheOptions(categories: ["shoes"], user: "u7"))
/// let found = try await cache.image(forKey: url)
/// print(found.cacheType)
/// ```
///
/// A look-up searches memory, then the disk. A value found on disk is promoted to memory before the caller receives
/// it. A store changes memory before its first suspension, and the disk later. Operations on the disk that concern
/// the same key run in the order of the calls.
///
/// Each tier has its own entry index and policy; see ``MemoryStorage`` and ``DiskStorage``. No call waits for the
/// disk on the caller's thread unless it is requested (``CacheOptions/loadDiskFileSynchronously``). For callbacks in
/// place of `await` see ``retrieveImage(forKey:options:callbackQueue:completionHandler:)`` and the methods next to
/// it.
public final class ImageCache<Value: CacheCostCalculable & Sendable>: Sendable {
    /// The memory tier.
    public let memoryStorage: MemoryStorage<Value>
    /// The core of ``memoryStorage``, stored here as well, so that a hit needs neither the indirection nor a
    /// reference count.
    @usableFromInline let core: MemoryCore
    /// The serializer of the values.
    public let serializer: any CacheSerializer<Value>
    /// The owner of the directory, which orders all operations on it.
    package let disk: DiskOwner
    /// Notes about the entries on disk.
    package let notes: EntryNotes
    @usableFromInline let hub: CacheEventHub
    /// The slot for the observer of all accesses.
    package let observation: ObserverSlot
    package let clock: any CacheClock
    let prefetches: PrefetchMarks
    /// Whether there are entries that are private to a user.
    package let privateEntries: PrivateEntries
    /// The subscriptions to triggers. They end with the cache.
    let subscriptions = Mutex<[TriggerSubscription]>([])
    /// Called by a store or a removal after its request to the disk and before its change of memory; a test may load there.
    let betweenTiers = Mutex<(@Sendable () -> Void)?>(nil)
    /// Called by a look-up on disk after it has read and before it decodes; a test may cancel there.
    let afterReading = Mutex<(@Sendable () -> Void)?>(nil)

    /// Creates a cache with policies and a serializer.
    ///
    /// This does not throw. If the disk cannot be opened, for example because another cache uses the directory, the
    /// cache uses memory alone. ``diskState`` states the reason, operations on the disk fail with
    /// ``CacheError/diskUnavailable(underlying:)``, and each failure is a ``CacheEvent/failure(_:)``. Operations on
    /// the disk try to open it again, at most every ten seconds. If another cache uses the directory, this waits up
    /// to a second for it to close.
    ///
    /// - Parameters:
    ///   - memoryPolicy: the policy in memory; by default least recently used.
    ///   - diskPolicy: the policy on disk; by default least recently used.
    ///   - seed: the seed of the policies' random numbers.
    ///   - recorder: receives every access.
    ///   - triggers: report when memory is short or the app enters the background. By default
    ///     ``CacheTriggers/standard``.
    public init(
        memory: MemoryStorage<Value>.Config = .init(), disk: DiskStorageConfig,
        memoryPolicy: ConfiguredPolicy = ConfiguredPolicy(LRU.self),
        diskPolicy: ConfiguredPolicy = ConfiguredPolicy(LRU.self), seed: UInt64 = 1,
        serializer: any CacheSerializer<Value>, clock: any CacheClock = SystemClock(),
        recorder: (any AccessRecorder)? = nil, triggers: [any CacheTrigger] = CacheTriggers.standard
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
        core = memoryStorage.core
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
                        }))
            } catch {
                // Nothing can be found on it.
                privateEntries.listed(hasAny: false)
                throw error
            }
        } onFailure: { error in
            hub.send(.failure("\(error)"), isNotable: true)
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

    /// The disk tier; `nil` if it could not be opened so far, or was closed.
    public var diskStorage: DiskStorage<Data>? { disk.storage }

    /// Whether the disk is in use, and if not, the reason.
    public var diskState: DiskState { disk.diskState }

    /// Returns the description of the disk's opening when its folder was listed; `nil` if the disk is not open.
    package func diskOpening() async -> DiskOpening? {
        await onDisk(.settle) { storage in
            storage.files.waitUntilListed()
            return storage.files.opening.withLock { $0 }
        } ?? nil
    }

    /// Closes the disk. Pending operations end, all changes are written, prefetching by prediction stops, and another
    /// cache can use the directory.
    ///
    /// The memory tier remains usable. From this call on, look-ups on disk miss, stores on disk fail with
    /// ``CacheError/closed``, and removals and triggers do not change the disk. This returns after all completions have returned, so a
    /// completion must not wait for it. A second call has no effect.
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

    /// Stores a value: in memory before the first suspension, on disk before this returns.
    ///
    /// - Parameters:
    ///   - original: the bytes that the value was made of. The serializer may store these.
    ///   - toDisk: whether the value is stored on disk. If not, the file of an earlier value of the key is removed, and in the
    ///     same way if the serializer cannot serialize the value. The newest value is therefore the only one that a look-up
    ///     can find. A file with another ``CacheOptions/forcedExtension`` stays.
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

    /// Looks a key up in memory, then on disk.
    ///
    /// - Throws: ``CacheError/cannotLoadDataFromDisk(_:underlying:)``; `CancellationError` if the task was cancelled
    ///   before the value was promoted to memory. After a cancellation, the value is not read, decoded or promoted.
    @inlinable
    public func image(forKey key: String, options: CacheOptions = CacheOptions()) async throws -> ImageCacheResult<
        Value
    > {
        let computed = key.computedKey(with: options.processorIdentifier)
        if let value = fromMemory(computed, options) { return .memory(value) }
        return try await afterMemory(computed, serializer: nil, options)
    }

    /// Looks a key up in memory.
    @inlinable
    public func imageInMemory(forKey key: String, options: CacheOptions = CacheOptions()) -> Value? {
        let computed = key.computedKey(with: options.processorIdentifier)
        if let value = fromMemory(computed, options) { return value }
        _ = missed(computed, options)
        return nil
    }

    /// Returns the tier that contains the value of a key. This is not an access and extends nothing. It reads the
    /// disk on the caller's thread.
    ///
    /// - Parameter forcedExtension: the extension with which the file was stored (``CacheOptions/forcedExtension``).
    public func imageCachedType(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil
    ) -> CacheType {
        let computed = key.computedKey(with: processorIdentifier)
        if memoryStorage.isCached(forKey: computed) { return .memory }
        return disk.storage?.isCached(forKey: computed, forcedExtension: forcedExtension) == true ? .disk : .none
    }

    /// Returns whether there is a value of a key, in memory or on disk.
    public func isCached(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil
    ) -> Bool {
        imageCachedType(
            forKey: key, processorIdentifier: processorIdentifier, forcedExtension: forcedExtension
        ).cached
    }

    /// Returns the name of a key's file, whether the file exists or not; `nil` without a disk.
    public func hash(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil
    ) -> String? {
        let computed = key.computedKey(with: processorIdentifier)
        return disk.storage?.cacheFileURL(forKey: computed, forcedExtension: forcedExtension).lastPathComponent
    }

    /// Records a miss whose object is not loaded.
    public func recordMiss(forKey key: String, options: CacheOptions = CacheOptions()) {
        record(key.computedKey(with: options.processorIdentifier), cost: 0, options, .miss)
    }

    // MARK: - Hits in memory

    // The path of every hit. The storage's lanes are the only data that all hits share. The storage counts hits,
    // numbers requests and knows the prefetched entries. The only other check is whether the hub has listeners.

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

    /// Reports a hit to the listeners.
    @usableFromInline @inline(never)
    func report(
        _ value: Value, _ computed: String, _ categories: [String], _ user: String?, isFirstSincePrefetch: Bool
    ) {
        let wasPrefetched = isFirstSincePrefetch && prefetches.use(computed)
        hub.send(.lookUp(key: computed, .memory, categories: categories))
        record(computed, cost: value.cacheCost, categories, user, wasPrefetched ? .prefetched : .memory)
    }

    // MARK: - What is held

    /// The counts since the cache was created.
    public var statistics: CacheStatistics {
        var statistics = hub.statistics
        statistics.add(memoryStorage.tierHits)
        statistics.prefetches = prefetches.counts
        statistics.memory = memoryStorage.statistics
        statistics.disk = disk.storage?.statistics ?? StorageStatistics()
        return statistics
    }

    /// Returns a stream of all events from now on. It buffers the newest `count` events that were not read yet.
    public func events(bufferingNewest count: Int = 1_024) -> AsyncStream<CacheEvent> {
        hub.stream(bufferingNewest: count)
    }

    /// Returns a stream of the events that are rare and notable: failures and cleanings. Unlike
    /// ``events(bufferingNewest:)``, it costs nothing per look-up, store and removal.
    package func notableEvents(bufferingNewest count: Int = 1_024) -> AsyncStream<CacheEvent> {
        hub.stream(bufferingNewest: count, onlyNotable: true)
    }

    /// Returns the total size of all files on the disk in bytes; 0 without a disk or if its folder was deleted.
    public func diskStorageSize() async -> Int {
        await onDisk(.settle) { storage in storage.totalSize } ?? 0
    }

    /// Returns the number and the total size of the values of a category, in memory and on disk.
    public func use(category: String) async -> (memory: CategoryUse, disk: CategoryUse) {
        let disk = await onDisk(.settle) { storage in storage.use(category: category) }
        return (memoryStorage.use(category: category), disk ?? CategoryUse())
    }
}

/// A cache that can free its directory before it is released: an ``ImageCache`` or a ``DiskStorage``.
public protocol ClosableCache: Sendable {
    /// Writes all pending changes and frees the directory. A second call has no effect.
    func close() async
}

extension ImageCache: ClosableCache {}
extension DiskStorage: ClosableCache {}
