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

extension ImageCache where Value: DataTransformable {
    /// A cache in the user's folder of caches, by name. Nothing is thrown: where there is no disk, or another cache of that name in
    /// this process or another, memory serves alone. ``ImageCache/diskState`` says so.
    public convenience init(name: String) {
        self.init(disk: DiskStorageConfig(name: name), serializer: TransformingSerializer())
    }

    /// A cache in a directory of one's own, and under policies by name.
    ///
    /// - Parameters:
    ///   - path: computes the folder from the directory and the name; called once.
    ///   - policy: the policy of both tiers; see ``MemoryStorage``.
    ///   - rule: what to do if another cache has the directory.
    /// - Throws: ``CacheError/diskUnavailable(underlying:)`` if the directory cannot be used, `PolicyError` if there is no such policy.
    public convenience init(
        name: String, cacheDirectoryURL: URL?,
        diskCachePathClosure path: (@Sendable (URL, String) -> URL)? = nil, policyNamed policy: String = "lru",
        in catalogue: PolicyCatalogue = .classical, onDirectoryInUse rule: DirectoryInUse = .fail
    ) throws {
        let policy = try catalogue.livePolicy(policy)
        self.init(
            disk: DiskStorageConfig(name: name, directory: cacheDirectoryURL, cachePathBlock: path),
            memoryPolicy: policy, diskPolicy: policy, serializer: TransformingSerializer())
        try requireDisk(rule)
    }

    /// A cache as configured, under policies of a catalogue by name: `s3-fifo`, `learned(horizon=2)`.
    ///
    /// - Parameters:
    ///   - seed: of everything random in the policies.
    ///   - recorder: is told of every access.
    ///   - triggers: report when memory is short or the app enters the background. By default ``CacheTriggers/standard``.
    ///   - rule: what to do if another cache has the directory.
    /// - Throws: ``CacheError/diskUnavailable(underlying:)`` if the directory cannot be used; `PolicyError` if there is no such policy or
    ///   it does not take these settings; ``CacheError/policyNeedsFuture(_:)`` if it is one that only a replay can serve.
    public convenience init(
        memory: MemoryStorage<Value>.Config = .init(), disk: DiskStorageConfig, memoryPolicyNamed memoryPolicy: String,
        diskPolicyNamed diskPolicy: String = "lru", in catalogue: PolicyCatalogue = .classical, seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), recorder: (any AccessRecorder)? = nil,
        triggers: [any CacheTrigger] = CacheTriggers.standard, onDirectoryInUse rule: DirectoryInUse = .fail
    ) throws {
        self.init(
            memory: memory, disk: disk, memoryPolicy: try catalogue.livePolicy(memoryPolicy),
            diskPolicy: try catalogue.livePolicy(diskPolicy), seed: seed, serializer: TransformingSerializer(),
            clock: clock, recorder: recorder, triggers: triggers)
        try requireDisk(rule)
    }

    /// - Throws: ``CacheError/diskUnavailable(underlying:)`` if the disk is not open and the rule does not allow that.
    private func requireDisk(_ rule: DirectoryInUse) throws {
        guard case .unavailable(let error) = diskState else { return }
        if rule == .memoryOnly, case CacheError.directoryInUse = error { return }
        throw CacheError.diskUnavailable(underlying: error)
    }

    /// The default cache of this kind of value, made when it is first asked for.
    public static var `default`: ImageCache<Value> {
        DefaultCaches.caches.withLock { caches in
            if let known = caches[ObjectIdentifier(Value.self)] as? ImageCache<Value> { return known }
            let kind = String(reflecting: Value.self).filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") }
            let cache = ImageCache<Value>(name: "default.\(kind)")
            caches[ObjectIdentifier(Value.self)] = cache
            return cache
        }
    }
}

/// The default caches by their kind of value; a generic type cannot hold one itself.
private enum DefaultCaches {
    static let caches = Mutex<[ObjectIdentifier: any Sendable]>([:])
}

/// What a throwing initializer of an ``ImageCache`` does with a directory that another cache has.
public enum DirectoryInUse: Sendable {
    /// It throws ``CacheError/diskUnavailable(underlying:)`` with ``CacheError/directoryInUse(_:)``. The default.
    case fail
    /// The cache works in memory alone until the other one ends; see ``ImageCache/diskState``.
    case memoryOnly
}

/// A cache that can leave its directory to others before it ends: an ``ImageCache`` or a ``DiskStorage``.
public protocol ClosableCache: Sendable {
    /// Writes what is due and frees the directory. Closing twice has no effect.
    func close() async
}

extension ImageCache: ClosableCache {}
extension DiskStorage: ClosableCache {}

extension ImageCache {
    /// Removes the value of a key from memory at once, from disk before this returns, or from one of both.
    ///
    /// - Parameter forcedExtension: the extension that the file was stored with (``CacheOptions/forcedExtension``).
    public func remove(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil, fromMemory: Bool = true,
        fromDisk: Bool = true
    ) async {
        await withCheckedContinuation { continuation in
            remove(key.computedKey(with: processorIdentifier), forcedExtension, fromMemory, fromDisk) {
                continuation.resume()
            }
        }
    }

    /// Removes the values that have a category, from memory and disk. O(values).
    ///
    /// A file whose row in the index was lost has no categories and stays; see ``DiskStorage/remove(category:)``.
    public func remove(category: String) async {
        await withCheckedContinuation { continuation in
            // The disk first: a read that is asked for later waits for it, and what earlier ones read is kept out of memory.
            disk.perform(.changeAll) { storage in
                storage.remove(category: category)
            } done: { _ in
                continuation.resume()
            }
            memoryStorage.remove(category: category)
        }
    }

    /// Removes everything from memory. O(values).
    public func clearMemoryCache() {
        memoryStorage.removeAll()
    }

    /// Removes everything from disk, and forgets what was asked for (`PrefetchPrediction.keepsAccesses`). O(values).
    public func clearDiskCache() async {
        await withCheckedContinuation { continuation in clearDisk { continuation.resume() } }
    }

    /// Removes everything. O(values). Afterwards memory and disk hold what was stored since this was called, and nothing else.
    public func clear() async {
        await withCheckedContinuation { continuation in
            // The disk first, as in remove(category:).
            clearDisk { continuation.resume() }
            clearMemoryCache()
        }
    }

    /// Removes what has expired from memory. O(values).
    public func cleanExpiredMemoryCache() { memoryStorage.removeExpired() }

    /// Removes from disk what has expired, then what is over the limit; tells who listens if that was anybody. O(values).
    ///
    /// - Returns: the names of the files that went.
    @discardableResult
    public func cleanExpiredDiskCache() async -> [String] {
        await withCheckedContinuation { continuation in
            cleanDisk { continuation.resume(returning: $0) }
        }
    }

    /// The same as ``clear()``.
    public func clearCache() async { await clear() }

    /// The same as ``clean()``.
    @discardableResult
    public func cleanExpiredCache() async -> [String] { await clean() }

    /// Removes what has expired everywhere, and from disk what is over the limit. O(values).
    @discardableResult
    public func clean() async -> [String] {
        cleanExpiredMemoryCache()
        return await cleanExpiredDiskCache()
    }

    /// To be called when the app goes to the background: memory keeps what asked to stay, the disk is cleaned, and what
    /// waits to be written is. O(values).
    public func enterBackground() async {
        memoryStorage.enterBackground()
        await cleanExpiredDiskCache()
        _ = await onDisk(.settle) { storage in storage.flush() }
        await withCheckedContinuation { continuation in hub.enteredBackground { continuation.resume() } }
    }

    // MARK: - Inside

    package func remove(
        _ computed: String, _ forcedExtension: String? = nil, _ fromMemory: Bool, _ fromDisk: Bool,
        done: @escaping @Sendable () -> Void
    ) {
        prefetches.take(computed)
        if fromDisk {
            // The disk first, as in remove(category:).
            disk.perform(forcedExtension == nil ? .remove(computed) : .change(computed)) { storage in
                storage.remove(forKey: computed, forcedExtension: forcedExtension)
            } done: { _ in
                done()
            }
        }
        if fromMemory { memoryStorage.remove(forKey: computed) }
        if !fromDisk { done() }
    }

    func clearDisk(done: @escaping @Sendable () -> Void) {
        disk.perform(.clear) { [notes] storage in
            storage.removeAll()
            notes.removeAll()
            return storage.files.folder.hidden
        } done: { [observation] result in
            guard let folder = try? result.get() else { return done() }
            Task {
                await observation.forgetAccesses(in: folder)
                done()
            }
        }
    }

    func cleanDisk(done: @escaping @Sendable ([String]) -> Void) {
        onDisk(.settle) { storage in
            (storage.removeExpiredValues() + storage.removeSizeExceededValues()).map(\.key)
        } done: { [self] removed in
            let hashes = removed ?? []
            if !hashes.isEmpty {
                hub.send(.cleaned(hashes: hashes))
                NotificationCenter.default.post(
                    name: .halcyonDidCleanDiskCache, object: self, userInfo: ["cleanedHashes": hashes])
            }
            done(hashes)
        }
    }

    package func respond(to event: CacheTriggerEvent) {
        switch event {
        case .memoryPressure(.some):
            memoryStorage.trim(toCost: memoryStorage.totalCost / 2)
        case .memoryPressure(.full):
            clearMemoryCache()
        case .enterBackground(let done):
            memoryStorage.enterBackground()
            cleanDisk { [self] _ in
                onDisk(.settle) { storage in
                    storage.flush()
                } done: { [hub] _ in
                    hub.enteredBackground(done: done)
                }
            }
        }
    }
}

extension Notification.Name {
    /// Cleaning removed files from a disk cache. The object is the ``ImageCache``; `cleanedHashes` in the user info are the names.
    public static let halcyonDidCleanDiskCache = Notification.Name("halcyon.didCleanDiskCache")
}
