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
    @usableFromInline let hub: CacheEventHub
    /// The serializer of the values.
    public let serializer: any CacheSerializer<Value>
    /// The owner of the directory, which orders all operations on it.
    package let disk: DiskOwner
    package let clock: any CacheClock
    /// The slot for the observer of all accesses.
    package let observation: ObserverSlot
    package let prefetches = PrefetchMarks()
    /// Whether there are entries that are private to a user.
    package let privateEntries = PrivateEntries()
    /// The decodings of look-ups whose reading has ended.
    let decodings = DispatchGroup()
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
        let (hub, users) = (CacheEventHub(recorder: recorder), UserNumbers())
        (self.hub, self.serializer, self.clock, observation) = (hub, serializer, clock, ObserverSlot(hub))
        memoryStorage = MemoryStorage(
            memory, memoryPolicy, seed: seed, clock: clock, users: users, prefetches: true,
            keepsCalls: disk.keepsLearning,
            reportsRemovals: { [prefetches] in prefetches.hasAny || !hub.isSilent },
            onRemoval: { [prefetches] removals in
                prefetches.removed(.memory, removals)
                hub.removed(.memory, removals)
            })
        let core = memoryStorage.core
        self.core = core
        self.disk = DiskOwner(clock: clock) { [prefetches, privateEntries] patience in
            privateEntries.opens()
            do {
                return try DiskStorage(
                    config: disk, configured: diskPolicy, seed: seed, clock: clock, users: users, prefetches: true,
                    patience: patience, onListing: { privateEntries.listed(hasAny: $0) },
                    onRemoval: { removals in
                        prefetches.removed(.disk, removals)
                        hub.removed(.disk, removals)
                    }, onFull: { hub.failed($0) }, onFault: { hub.failed(keeping: $0) },
                    memoryCalls: { core.withLock { $0.entries.callsSource } })
            } catch {
                // Nothing can be found on it.
                privateEntries.listed(hasAny: false)
                throw error
            }
        } onFailure: { error in
            hub.send(.failure("\(error)"), isNotable: true)
        }
        if disk.keepsLearning, let folder = self.disk.openStorage?.folder.hidden,
            let fault = core.restore(KeptCallsFile(folder: folder, tier: .memory))
        {
            hub.failed(keeping: fault)
        }
        let subscribed = triggers.map { trigger in
            trigger.subscribe { [weak self] event in
                guard let self else { return event.abandon() }
                respond(to: event)
            }
        }
        subscriptions.withLock { $0 = subscribed }
    }

    /// The disk tier; `nil` if it could not be opened so far, or was closed.
    public var diskStorage: DiskStorage? { disk.storage }

    /// Whether the disk is in use, and if not, the reason.
    public var diskState: DiskState { disk.diskState }

    /// Notes about the entries on disk.
    package var notes: EntryNotes { EntryNotes(disk: disk) }

    /// Returns the description of the disk's opening when its folder was listed; `nil` if the disk is not open.
    @_spi(Observation) public func diskOpening() async -> DiskOpening? {
        await onDisk(.settle) { storage in
            storage.waitUntilListed()
            return storage.opening.withLock { $0 }
        } ?? nil
    }

    /// Closes the disk. Pending operations end, all changes and what policies have learned are written, prefetching
    /// by prediction stops, and another
    /// cache can use the directory.
    ///
    /// The memory tier remains usable. From this call on, look-ups on disk miss, stores on disk fail with
    /// ``CacheError/closed``, and removals and triggers do not change the disk. This returns after all completions have returned, so a
    /// completion must not wait for it. A second call has no effect.
    ///
    /// See `DiskClosingTests.closingFinishesWorkAndFreesDirectory()`.
    public func close() async {
        let ending = subscriptions.withLock { subscriptions in
            defer { subscriptions = [] }
            return subscriptions
        }
        for subscription in ending { subscription.cancel() }
        await observation.end()
        await disk.close()
        await withCheckedContinuation { continuation in decodings.notify(queue: .global()) { continuation.resume() } }
    }

    // MARK: - Operations on the disk

    /// Runs an operation on the disk storage outside the caller's thread, in the order of the operations. It returns
    /// `nil` if there is no disk storage.
    package func onDisk<Result: Sendable>(
        _ operation: DiskOwner.Schedule.Operation, _ work: @escaping @Sendable (DiskStorage) -> Result
    ) async -> Result? {
        await withCheckedContinuation { continuation in
            onDisk(operation, work) { continuation.resume(returning: $0) }
        }
    }

    /// Runs an operation on the disk storage and calls `done` with its result; `nil` if there is no disk storage.
    func onDisk<Result: Sendable>(
        _ operation: DiskOwner.Schedule.Operation, _ work: @escaping @Sendable (DiskStorage) -> Result,
        done: @escaping @Sendable (Result?) -> Void
    ) {
        disk.perform(operation, work) { done(try? $0.get()) }
    }

    /// Returns when all earlier operations on the disk have ended.
    package func settleDisk() async { _ = await onDisk(.settle) { _ in } }

    // MARK: - Triggers

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

    /// Prepares for the background: removes the values in memory that are not to be kept, cleans the disk, and writes
    /// all pending changes and what policies have learned. The app calls it when it enters the background. O(values).
    public func enterBackground() async {
        await withCheckedContinuation { continuation in respond(to: .enterBackground { continuation.resume() }) }
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
                onDisk(.settle) { storage in
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
        statistics.prefetches = prefetches.counts
        statistics.memory = memoryStorage.statistics
        statistics.disk = disk.storage?.statistics ?? StorageStatistics()
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
        await onDisk(.settle) { storage in storage.totalSize } ?? 0
    }

    /// Computes the total size of all files on the disk, in bytes.
    public func calculateDiskStorageSize(
        callbackQueue: CallbackQueue = .mainCurrentOrAsync, completionHandler: @escaping @Sendable (Int) -> Void
    ) {
        onDisk(.settle) { storage in
            storage.totalSize
        } done: { size in
            callbackQueue.execute { completionHandler(size ?? 0) }
        }
    }

    /// Returns the number and the total size of the values of a category, in memory and on disk.
    ///
    /// See `CategoryRuleTests.categoriesCanBeCountedAndRemoved()`.
    public func use(category: String) async -> (memory: CategoryUse, disk: CategoryUse) {
        let disk = await onDisk(.settle) { storage in storage.use(category: category) }
        return (memoryStorage.use(category: category), disk ?? CategoryUse())
    }
}
