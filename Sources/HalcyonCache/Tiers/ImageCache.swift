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
///
/// If the disk is full, other values are evicted from it to make room, and the failure is reported. If the disk
/// fails, memory remains in service. Failures are counted and reported, and the disk is used again as soon
/// as that is possible. See `CacheFaultTests.fullDiskEvictsAndReports()`,
/// `CacheFaultTests.fullDiskLeavesMemoryWorking()` and `CacheFaultTests.vanishedFolderLeavesMemoryWorking()`.
///
/// Every call ends exactly once, also with an error or a cancellation. Each tier can be used without the other. See
/// `ImageCacheTests.everyPathResumesOnce()` and `ImageCacheTests.eachLayerWorksAlone()`.
public final class ImageCache<Value: CacheCostCalculable & Sendable>: Sendable {
    /// The memory tier.
    public let memoryStorage: MemoryStorage<Value>
    /// The core of ``memoryStorage``, stored here as well, so that a hit needs neither the indirection nor a
    /// reference count.
    @usableFromInline let core: MemoryCore
    /// The hub of ``tiers``, for the same reason.
    @usableFromInline let hub: CacheEventHub
    /// Both tiers, and the operations on both that this type offers in two styles.
    package let tiers: CacheTiers<Value>
    /// The slot for the observer of all accesses, and whether there are private entries, as in ``tiers``, for the same reason.
    package let observation: ObserverSlot
    package let privateEntries: PrivateEntries
    /// The subscriptions to triggers. They end with the cache.
    let subscriptions = Mutex<[TriggerSubscription]>([])
    /// The memory beside the memory tier that triggers release, too.
    private let memoryHolders = TriggerHandlers()

    /// Creates a cache with policies and a serializer.
    ///
    /// This does not throw. If the disk cannot be opened, for example because another cache uses the directory, the
    /// cache uses memory alone. ``diskState`` states the reason, operations on the disk fail with
    /// ``CacheError/diskUnavailable(underlying:)``, and each failure is a ``CacheEvent/failure(_:)``. Operations on
    /// the disk try to open it again, at most every ten seconds. If another cache uses the directory, this waits up
    /// to a second for it to close.
    ///
    /// See `ImageCacheTests.unavailableDiskIsRetried()` and `CacheFaultTests.lookUpOpensUnavailableDisk()`.
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
        tiers = CacheTiers(
            memory: memory, disk: disk, memoryPolicy: memoryPolicy, diskPolicy: diskPolicy, seed: seed,
            serializer: serializer, clock: clock, recorder: recorder)
        (memoryStorage, core, hub) = (tiers.memoryStorage, tiers.memoryStorage.core, tiers.hub)
        (observation, privateEntries) = (tiers.observation, tiers.privateEntries)
        let subscribed = triggers.map { trigger in
            trigger.subscribe { [weak self] event in
                guard let self else { return event.abandon() }
                respond(to: event)
            }
        }
        subscriptions.withLock { $0 = subscribed }
    }

    /// The serializer of the values.
    public var serializer: any CacheSerializer<Value> { tiers.serializer }

    /// The disk tier; `nil` if it could not be opened so far, or was closed.
    public var diskStorage: DiskStorage<Data>? { tiers.disk.storage }

    /// Whether the disk is in use, and if not, the reason.
    public var diskState: DiskState { tiers.disk.diskState }

    /// Returns the description of the disk's opening when its folder was listed; `nil` if the disk is not open.
    @_spi(Observation) public func diskOpening() async -> DiskOpening? {
        await tiers.onDisk(.settle) { storage in
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
    ///
    /// See `DiskOwnerTests.closingFinishesWorkAndFreesDirectory()`.
    public func close() async {
        let ending = subscriptions.withLock { subscriptions in
            defer { subscriptions = [] }
            return subscriptions
        }
        for subscription in ending { subscription.cancel() }
        await tiers.close()
    }

    // MARK: - Storing and looking up

    /// Stores a value: in memory before the first suspension, on disk before this returns.
    ///
    /// See `ImageCacheTests.storesKeepOrderOnDisk()`.
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
            tiers.store(value, original: original, forKey: key, toDisk: toDisk, options: options) {
                continuation.resume(returning: $0)
            }
        }
    }

    /// Stores a value: in memory when this returns, on disk when the completion is called.
    public func store(
        _ value: Value, original: Data? = nil, forKey key: String, toDisk: Bool = true,
        options: CacheOptions = CacheOptions(), callbackQueue: CallbackQueue = .untouch,
        completionHandler: (@Sendable (CacheStoreResult) -> Void)?
    ) {
        tiers.store(value, original: original, forKey: key, toDisk: toDisk, options: options) { result in
            guard let completionHandler else { return }
            callbackQueue.execute { completionHandler(result) }
        }
    }

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
    public func image(forKey key: String, options: CacheOptions = CacheOptions()) async throws -> ImageCacheResult<
        Value
    > {
        let computed = key.computedKey(with: options.processorIdentifier)
        if let value = fromMemory(computed, options) { return .memory(value) }
        return try await afterMemory(computed, options)
    }

    /// Looks a key up in memory, then on disk.
    public func retrieveImage(
        forKey key: String, options: CacheOptions = CacheOptions(),
        callbackQueue: CallbackQueue = .mainCurrentOrAsync,
        completionHandler: @escaping @Sendable (Result<ImageCacheResult<Value>, any Error>) -> Void
    ) {
        let computed = key.computedKey(with: options.processorIdentifier)
        if let value = fromMemory(computed, options) {
            callbackQueue.execute { completionHandler(.success(.memory(value))) }
        } else if options.fromMemoryCacheOrRefresh {
            let result = tiers.missed(computed, options)
            callbackQueue.execute { completionHandler(.success(result)) }
        } else {
            tiers.fromDisk(computed, options) { result in callbackQueue.execute { completionHandler(result) } }
        }
    }

    /// Looks a key up in memory.
    @inlinable
    public func imageInMemory(forKey key: String, options: CacheOptions = CacheOptions()) -> Value? {
        let computed = key.computedKey(with: options.processorIdentifier)
        if let value = fromMemory(computed, options) { return value }
        missed(computed, options)
        return nil
    }

    /// Returns the tier that contains the value of a key. This is not an access and extends nothing. It reads the
    /// disk on the caller's thread.
    ///
    /// A value counts as on disk from the call that stores it, and as removed from the call that removes it, as a
    /// look-up finds it. See `ImageCacheTests.queuedStoreCountsAsCached()`.
    ///
    /// - Parameter forcedExtension: the extension with which the file was stored (``CacheOptions/forcedExtension``).
    public func imageCachedType(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil
    ) -> CacheType {
        let computed = key.computedKey(with: processorIdentifier)
        if memoryStorage.isCached(forKey: computed) { return .memory }
        guard let storage = tiers.disk.storage else { return .none }
        let isStored =
            tiers.disk.pendingFile(of: computed, forcedExtension)
            ?? storage.isCached(forKey: computed, forcedExtension: forcedExtension)
        return isStored ? .disk : .none
    }

    /// Returns whether there is a value of a key, in memory or on disk.
    ///
    /// It is `false` for what a manager keeps for one user, as after a load with `Authorization`: the manager's
    /// `imageCachedType(for:options:)` tells that.
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
        return tiers.disk.storage?.cacheFileURL(forKey: computed, forcedExtension: forcedExtension).lastPathComponent
    }

    /// Records a miss whose object is not loaded.
    public func recordMiss(forKey key: String, options: CacheOptions = CacheOptions()) {
        tiers.record(key.computedKey(with: options.processorIdentifier), cost: 0, options, .miss)
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
        let wasPrefetched = isFirstSincePrefetch && tiers.prefetches.use(computed)
        hub.send(.lookUp(key: computed, .memory, categories: categories))
        tiers.record(computed, cost: value.cacheCost, categories, user, wasPrefetched ? .prefetched : .memory)
    }

    /// Looks up the value of a key for a manager.
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
        return try await tiers.fromDisk(computed, options, serializer: other, decoding: decoding)
    }

    /// Looks up a computed key that is not in memory.
    @usableFromInline
    func afterMemory(_ computed: String, _ options: CacheOptions) async throws -> ImageCacheResult<Value> {
        try await tiers.fromDisk(computed, options)
    }

    /// Counts a miss of a look-up.
    @usableFromInline
    func missed(_ computed: String, _ options: CacheOptions) { _ = tiers.missed(computed, options) }

    // MARK: - Removing

    /// Removes the value of a key: from memory at once, from disk before this returns, or from one tier only.
    ///
    /// It does not remove what a manager keeps for one user, as after a load with `Authorization`: the manager's
    /// `remove(_:)` removes that, too.
    ///
    /// See `ImageCacheTests.removalReachesStatedTiers()`.
    ///
    /// - Parameter forcedExtension: the extension with which the file was stored (``CacheOptions/forcedExtension``).
    public func remove(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil, fromMemory: Bool = true,
        fromDisk: Bool = true
    ) async {
        await withCheckedContinuation { continuation in
            tiers.remove(key.computedKey(with: processorIdentifier), forcedExtension, fromMemory, fromDisk) {
                continuation.resume()
            }
        }
    }

    /// Removes the value of a key from memory at once, and from disk later.
    ///
    /// The completion may be omitted. See `ImageCacheTests.removalsNeedNoCompletion()`.
    public func removeImage(
        forKey key: String, processorIdentifier: String = "", forcedExtension: String? = nil, fromMemory: Bool = true,
        fromDisk: Bool = true, callbackQueue: CallbackQueue = .untouch,
        completionHandler: (@Sendable () -> Void)? = nil
    ) {
        tiers.remove(key.computedKey(with: processorIdentifier), forcedExtension, fromMemory, fromDisk) {
            if let completionHandler { callbackQueue.execute(completionHandler) }
        }
    }

    /// Removes the values of a category from memory and disk. O(values).
    ///
    /// A file whose row in the index database was lost has no categories and is not removed; see
    /// ``DiskStorage/remove(category:)``.
    ///
    /// See `CategoryRuleTests.categoriesCanBeCountedAndRemoved()`.
    public func remove(category: String) async { await tiers.remove(category: category) }

    /// Removes the value of a key and all its variants (``CacheOptions/processorIdentifier``), whoever owns them, from memory and disk.
    /// O(values).
    ///
    /// A file whose row in the index database was lost is not known as a variant and stays, as in ``remove(category:)``.
    /// A variant that an earlier version has stored stays, too. In memory, a value is removed, too, whose own key is `key` with `@` and more.
    public func removeVariants(ofKey key: String) async { await tiers.removeVariants(ofKey: key) }

    /// Removes all values from memory. O(values).
    public func clearMemoryCache() {
        memoryStorage.removeAll()
    }

    /// Removes all values from disk, and the recorded accesses (`PrefetchConfiguration.keepsAccesses`). O(values).
    public func clearDiskCache() async {
        await withCheckedContinuation { continuation in tiers.clearDisk { continuation.resume() } }
    }

    /// Removes all values from disk, and the recorded accesses (`PrefetchConfiguration.keepsAccesses`).
    public func clearDiskCache(
        callbackQueue: CallbackQueue = .mainCurrentOrAsync, completionHandler: (@Sendable () -> Void)? = nil
    ) {
        tiers.clearDisk { if let completionHandler { callbackQueue.execute(completionHandler) } }
    }

    /// Removes all values. O(values). Afterwards, memory and disk contain only values that were stored after this
    /// call.
    public func clear() async {
        await withCheckedContinuation { continuation in
            // The disk is first, as in `remove(category:)`.
            tiers.clearDisk { continuation.resume() }
            tiers.betweenTiers.withLock { $0 }?()
            clearMemoryCache()
        }
    }

    /// Removes expired values from memory. O(values).
    public func cleanExpiredMemoryCache() { memoryStorage.removeExpired() }

    /// Removes expired values from disk, then evicts until the limit holds. If this removed files, it sends an event
    /// and posts a notification. O(values).
    ///
    /// See `CleaningTests.cleaningReportsExpiredHashes()` and `DiskFaultTests.undeletableFileDoesNotStopCleaning()`.
    ///
    /// - Returns: the names of the removed files.
    @discardableResult
    public func cleanExpiredDiskCache() async -> [String] {
        await withCheckedContinuation { continuation in
            cleanDisk { continuation.resume(returning: $0) }
        }
    }

    /// Removes expired values from disk, and then evicts until the limit holds.
    public func cleanExpiredDiskCache(
        callbackQueue: CallbackQueue = .mainCurrentOrAsync, completionHandler: (@Sendable () -> Void)? = nil
    ) {
        cleanDisk { _ in if let completionHandler { callbackQueue.execute(completionHandler) } }
    }

    /// Removes all values; another name of ``clear()``.
    public func clearCache() async { await clear() }

    /// Removes expired values; another name of ``clean()``.
    @discardableResult
    public func cleanExpiredCache() async -> [String] { await clean() }

    /// Removes expired values from both tiers, and evicts from disk until the limit holds. O(values).
    ///
    /// - Returns: the names of the removed files.
    @discardableResult
    public func clean() async -> [String] {
        cleanExpiredMemoryCache()
        return await cleanExpiredDiskCache()
    }

    /// Prepares for the background: removes the values in memory that are not to be kept, cleans the disk, and writes
    /// all pending changes. The app calls it when it enters the background. O(values).
    public func enterBackground() async {
        memoryStorage.enterBackground()
        releaseHolders(.full)
        await cleanExpiredDiskCache()
        _ = await tiers.onDisk(.settle) { storage in storage.flush() }
        await withCheckedContinuation { continuation in hub.enteredBackground { continuation.resume() } }
    }

    // MARK: - Triggers

    private func cleanDisk(done: @escaping @Sendable ([String]) -> Void) {
        tiers.onDisk(.settle) { storage in
            (storage.removeExpiredValues() + storage.removeSizeExceededValues()).map(\.key)
        } done: { [self] removed in
            let hashes = removed ?? []
            if !hashes.isEmpty {
                hub.send(.cleaned(hashes: hashes), isNotable: true)
                NotificationCenter.default.post(
                    name: .halcyonDidCleanDiskCache, object: self, userInfo: ["cleanedHashes": hashes])
            }
            done(hashes)
        }
    }

    /// Adds memory beside the memory tier that the cache's triggers release, too, such as decoded frames or partial
    /// bodies.
    ///
    /// See `CleaningTests.triggersReachOtherHoldersOfMemory()`.
    ///
    /// - Parameter release: releases the memory; called on any thread, without a lock held. It receives the severity
    ///   of the shortage. Entering the background counts as ``MemoryPressure/full``.
    /// - Returns: the subscription, which ends when it is cancelled or released.
    public func addMemoryHolder(_ release: @escaping @Sendable (MemoryPressure) -> Void) -> TriggerSubscription {
        memoryHolders.add { event in if case .memoryPressure(let pressure) = event { release(pressure) } }
    }

    private func releaseHolders(_ pressure: MemoryPressure) {
        for holder in memoryHolders.all { holder(.memoryPressure(pressure)) }
    }

    package func respond(to event: CacheTriggerEvent) {
        switch event {
        case .memoryPressure(let pressure):
            if pressure == .full {
                clearMemoryCache()
            } else {
                memoryStorage.trim(toCost: memoryStorage.totalCost / 2)
            }
            releaseHolders(pressure)
        case .enterBackground(let done):
            memoryStorage.enterBackground()
            releaseHolders(.full)
            cleanDisk { [self] _ in
                tiers.onDisk(.settle) { storage in
                    storage.flush()
                } done: { [hub] _ in
                    hub.enteredBackground(done: done)
                }
            }
        }
    }

    // MARK: - What is held

    /// The counts since the cache was created.
    ///
    /// See `StatisticsTests.statisticsCountTiersCategoriesAndRemovals()`.
    public var statistics: CacheStatistics {
        var statistics = hub.statistics
        statistics.add(memoryStorage.tierHits)
        statistics.prefetches = tiers.prefetches.counts
        statistics.memory = memoryStorage.statistics
        statistics.disk = tiers.disk.storage?.statistics ?? StorageStatistics()
        return statistics
    }

    /// Returns a stream of all events from now on. It buffers the newest `count` events that were not read yet.
    ///
    /// Each removal has its reason. See `StatisticsTests.eventsStreamRemovalsWithReasons()`.
    public func events(bufferingNewest count: Int = 1_024) -> AsyncStream<CacheEvent> {
        hub.stream(bufferingNewest: count)
    }

    /// Returns a stream of the events that are rare and notable: failures and cleanings. Unlike
    /// ``events(bufferingNewest:)``, it costs nothing per look-up, store and removal.
    @_spi(Observation) public func notableEvents(bufferingNewest count: Int = 1_024) -> AsyncStream<CacheEvent> {
        hub.stream(bufferingNewest: count, onlyNotable: true)
    }

    /// Returns the total size of all files on the disk in bytes; 0 without a disk or if its folder was deleted.
    public func diskStorageSize() async -> Int {
        await tiers.onDisk(.settle) { storage in storage.totalSize } ?? 0
    }

    /// Computes the total size of all files on the disk, in bytes.
    public func calculateDiskStorageSize(
        callbackQueue: CallbackQueue = .mainCurrentOrAsync, completionHandler: @escaping @Sendable (Int) -> Void
    ) {
        tiers.onDisk(.settle) { storage in
            storage.totalSize
        } done: { size in
            callbackQueue.execute { completionHandler(size ?? 0) }
        }
    }

    /// Returns the number and the total size of the values of a category, in memory and on disk.
    ///
    /// See `CategoryRuleTests.categoriesCanBeCountedAndRemoved()`.
    public func use(category: String) async -> (memory: CategoryUse, disk: CategoryUse) {
        let disk = await tiers.onDisk(.settle) { storage in storage.use(category: category) }
        return (memoryStorage.use(category: category), disk ?? CategoryUse())
    }
}

extension ImageCache where Value: DataTransformable {
    /// Creates a named cache in the user's caches directory.
    ///
    /// This does not throw. If there is no disk, or another cache of that name exists in any process, the cache uses
    /// memory alone. ``ImageCache/diskState`` states the reason.
    ///
    /// See `ImageCacheTests.badDirectoryIsRefused()`.
    public convenience init(name: String) {
        self.init(disk: DiskStorageConfig(name: name), serializer: TransformingSerializer())
    }

    /// Creates a cache in a given directory with a named policy.
    ///
    /// See `ImageCacheTests.badDirectoryIsRefused()`.
    ///
    /// - Parameters:
    ///   - path: computes the folder from the directory and the name; called once.
    ///   - policy: the policy of both tiers; see ``MemoryStorage``.
    ///   - rule: the behavior if another cache uses the directory.
    /// - Throws: ``CacheError/diskUnavailable(underlying:)`` if the directory cannot be used, `PolicyError` if there
    ///   is no such policy.
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

    /// Creates a cache with configurations and named policies of a catalogue: `s3-fifo`, `learned(horizon=2)`.
    ///
    /// - Parameters:
    ///   - seed: the seed of the policies' random numbers.
    ///   - recorder: receives every access.
    ///   - triggers: report when memory is short or the app enters the background. By default
    ///     ``CacheTriggers/standard``.
    ///   - rule: the behavior if another cache uses the directory.
    /// - Throws: ``CacheError/diskUnavailable(underlying:)`` if the directory cannot be used. `PolicyError` if there
    ///   is no such policy or it does not accept these parameters. ``CacheError/policyNeedsFuture(_:)`` if only a
    ///   replay can use the policy.
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
}

/// The behavior of a throwing initializer of ``ImageCache`` if another cache uses the directory.
///
/// See `DiskOwnerTests.secondCacheOfDirectoryThrowsOrUsesMemory()` and
/// `DiskOwnerTests.memoryOnlyCacheTakesOverFreedDirectory()`.
public enum DirectoryInUse: Sendable {
    /// The initializer throws ``CacheError/diskUnavailable(underlying:)`` with ``CacheError/directoryInUse(_:)``. The
    /// default.
    case fail
    /// The cache uses memory alone until the other cache is closed; see ``ImageCache/diskState``.
    case memoryOnly
}

/// A cache that can free its directory before it is released: an ``ImageCache`` or a ``DiskStorage``.
public protocol ClosableCache: Sendable {
    /// Writes all pending changes and frees the directory. A second call has no effect.
    func close() async
}

extension ImageCache: ClosableCache {}
extension DiskStorage: ClosableCache {}

extension Notification.Name {
    /// The notification that a cleaning removed files from disk. The object is the ``ImageCache``; `cleanedHashes` in
    /// the user info contains the names of the files.
    ///
    /// See `CleaningTests.notificationCarriesRemovedHashes()`.
    public static let halcyonDidCleanDiskCache = Notification.Name("halcyon.didCleanDiskCache")
}
