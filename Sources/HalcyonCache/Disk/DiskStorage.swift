import Foundation
import HalcyonEviction
import HalcyonSupport
import Synchronization

/// A store for values in files with a limited total size. Each value is kept until it is evicted, expires or is
/// removed.
///
/// ```swift
/// let disk = try DiskStorage(config: .init(name: "images", sizeLimit: 500 << 20))
/// try disk.store(value: bytes, forKey: "a")
/// let bytes = try disk.value(forKey: "a")
/// try disk.store(value: note, forKey: "b")
/// let note = try disk.value(forKey: "b", as: Note.self)
/// ```
///
/// It stores the bytes of values that convert themselves (``DataTransformable``).
///
/// The same index and the same policies as in memory and in a replay decide which entries are kept. The size of an
/// entry is that of its file on the disk, blocks × 512.
///
/// Only one storage at a time, of all processes, can use a folder. ``close()`` frees the folder before the object is
/// released.
///
/// - A process that is killed at any instant leaves complete values only, and their sizes are right at the next start.
///   Nothing is synchronised to the disk: the state after a power failure depends on the file system. See
///   `DiskRecoveryTests.killedProcessLeavesWholeValues()` and `KillTests.killedCacheLeavesWholeValuesAndLog()`.
/// - A lost or damaged index database is rebuilt from the files, in the order of their last access. See
///   `DiskRecoveryTests.lostIndexIsRebuiltFromFiles()` and `DamageTests.damagedIndexLosesNoValue()`.
/// - On a full or read-only disk, the present values are found, with their categories. On a full disk, a store evicts
///   others to make room. On a read-only one it throws. See `FullDiskTests.fullDiskAtStartKeepsValues()` and
///   `FullDiskTests.readOnlyDiskAtStartKeepsValues()`.
/// - A file that was deleted is a miss. A folder that was deleted is created by the next store. If another process has
///   created the folder and uses it, stores throw until that process frees it. See
///   `DiskStorageTests.vanishedFileIsMissAndFolderIsRemade()` and
///   `DiskStorageTests.folderOfAnotherOwnerIsLeftAlone()`.
/// - A file or a directory in the place of another is an error for its key, or for stores, until it is removed. See
///   `DiskFaultTests.directoryInPlaceOfFileAffectsOneKey()`, `DiskFaultTests.fileAtFolderPathIsRefused()` and
///   `DamageTests.fileInPlaceOfFolderIsAnError()`.
///
/// All methods can be called from any thread. All of them may wait for the disk, except ``isCached(forKey:)`` and
/// look-ups of absent keys.
public final class DiskStorage: Sendable {
    /// The parameters of the storage.
    public typealias Config = DiskStorageConfig

    // Three locks are always taken in this order:
    //
    // 1. `database` is held while SQLite reads or writes.
    // 2. `mutation` is held while files change, so that files and entry index change together.
    // 3. `state` is held briefly, without system calls.
    //
    // Readers take `state` only. The first listing runs on its own queue. Until it ends, readers read the folder itself,
    // and writers wait.
    let state: Mutex<DiskEntryIndex>
    let mutation = Mutex(())
    package let folder: CacheFolder
    let clock: any CacheClock
    let flushDelay: Duration
    let onRemoval: (@Sendable ([Removal]) -> Void)?
    let onListing: (@Sendable (_ mayHavePrivateEntries: Bool) -> Void)?
    let onFull: (@Sendable (any Error) -> Void)?
    let onFault: (@Sendable (any Error) -> Void)?
    /// What the policy in memory has learned, to be kept with that of this storage's.
    let memoryCalls: (@Sendable () -> CallsSource?)?
    /// Held while what policies have learned is written or removed.
    let keeping = Mutex(())
    /// The index database. It is `nil` until the next flush if it could not be opened or failed.
    let database = Mutex<IndexDatabase?>(nil)
    /// The lock on the folder; `nil` once the storage is closed.
    let lock: Mutex<DirectoryLock?>
    /// The description of the opening; `nil` until the folder was listed.
    let opening = Mutex<DiskOpening?>(nil)
    private let closing = Mutex(())
    let background = DispatchQueue(label: "halcyon.disk", qos: .utility)
    private let listed = DispatchGroup()
    /// The closures to call after the listing; `nil` once it has ended.
    private let listingWaiters = Mutex<[@Sendable () -> Void]?>([])
    private let sweeper = Sweeper()
    let parts = Atomic<UInt64>(0)

    /// Creates a storage with a policy, by default least recently used. The files in its folder are added in the background.
    ///
    /// A value that is stored meanwhile is kept. See `DiskStorageTests.storeDuringListingIsKept()`.
    ///
    /// - Parameters:
    ///   - seed: the seed of the policy's random numbers.
    ///   - onRemoval: receives the removed values, named by their files, and the reasons, on the thread that caused
    ///     the removal.
    /// - Throws: ``CacheError`` if the directory cannot be created or another storage uses it.
    public convenience init(
        config: Config, configured policy: ConfiguredPolicy = ConfiguredPolicy(LRU.self), seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) throws {
        try self.init(
            config: config, configured: policy, seed: seed, clock: clock, patience: .seconds(1), onRemoval: onRemoval)
    }

    /// Creates a storage with a named policy of a catalogue: `s3-fifo`, `learned(horizon=2)`.
    ///
    /// See `DiskStorageTests.policiesByNameDecideVictims()`.
    ///
    /// - Throws: ``CacheError``, or `PolicyError` if there is no such policy or it does not accept these parameters.
    public convenience init(
        config: Config, policyNamed name: String, in catalogue: PolicyCatalogue = .classical, seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) throws {
        try self.init(
            config: config, configured: catalogue.livePolicy(name), seed: seed, clock: clock,
            onRemoval: onRemoval)
    }

    /// Opens a folder, and starts to list it in the background.
    ///
    /// - Parameters:
    ///   - prefetches: whether prefetched entries are kept apart from the policy until their first hit.
    ///   - patience: the maximum time to wait for another storage that uses the folder.
    ///   - onListing: called after each listing, with whether it has found entries that can be private to a user.
    ///   - onFull: called with the error of the full disk after a store has evicted entries because of it.
    ///   - onFault: called with the reason why what a policy had learned is not used or cannot be written.
    ///   - memoryCalls: returns what the policy in memory has learned, to be kept in the folder, too.
    /// - Throws: ``CacheError``.
    package init(
        config: DiskStorageConfig, configured policy: ConfiguredPolicy = ConfiguredPolicy(LRU.self), seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), users: UserNumbers = UserNumbers(), prefetches: Bool = false,
        patience: Duration, flushDelay: Duration = .seconds(1), calls: (any DiskCalls)? = nil,
        onListing: (@Sendable (_ mayHavePrivateEntries: Bool) -> Void)? = nil,
        onRemoval: (@Sendable ([Removal]) -> Void)? = nil, onFull: (@Sendable (any Error) -> Void)? = nil,
        onFault: (@Sendable (any Error) -> Void)? = nil, memoryCalls: (@Sendable () -> CallsSource?)? = nil
    ) throws {
        let start = clock.now
        var config = config
        folder = CacheFolder(url: try config.folder(), calls: calls ?? DirectDiskCalls())
        config.cachePathBlock = nil
        try folder.create()
        lock = Mutex(try DirectoryLock(folder.url, patience: patience))
        self.clock = clock
        self.flushDelay = flushDelay
        self.onRemoval = onRemoval
        self.onListing = onListing
        self.onFull = onFull
        self.onFault = onFault
        self.memoryCalls = memoryCalls
        state = Mutex(
            DiskEntryIndex(
                config: config,
                entries: EntryIndex(
                    policy: policy, limits: config.limits, rules: config.categoryRules,
                    usualExpiration: config.expiration, seed: seed, users: users, prefetches: prefetches,
                    keepsCalls: config.keepsLearning)))
        listed.enter()
        background.async { [self] in
            let removals = recover(from: start)
            listed.leave()
            let waiters = listingWaiters.withLock { $0.take() }
            report(removals)
            for waiter in waiters ?? [] { waiter() }
        }
        sweep()
    }

    /// Starts the periodic removal of expired values in the background, or stops it if the interval is 0.
    func sweep() {
        guard state.withLock({ $0.config.cleanInterval > .zero && !$0.isClosed }) else { return sweeper.stop() }
        sweeper.start(
            clock: clock,
            interval: { [weak self] in
                let span = self?.state.withLock { $0.config.cleanInterval } ?? .zero
                return span > .zero ? span.microseconds : nil
            },
            work: { [weak self] in
                guard let background = self?.background else { return false }
                await withCheckedContinuation { continuation in
                    background.async { [weak self] in
                        self?.removeExpired()
                        continuation.resume()
                    }
                }
                return true
            })
    }

    private func removeExpired() {
        if state.withLock({ $0.listing == .pending }) { return }
        change { state, now in state.removeExpired(at: now) }
    }

    deinit {
        flush(least: true)
        keepCalls()
    }

    /// Whether the folder was not listed yet.
    var isListing: Bool { state.withLock { $0.listing == .pending } }

    /// Waits until the folder was listed.
    func waitUntilListed() { listed.wait() }

    /// Returns whether the folder was listed. If not, it calls `block` after the listing.
    func whenListed(_ block: @escaping @Sendable () -> Void) -> Bool {
        listingWaiters.withLock { waiters in
            waiters?.append(block)
            return waiters == nil
        }
    }

    /// Writes all pending changes and what the policy has learned, and frees the folder, outside the caller's thread.
    /// From then on, stores throw
    /// ``CacheError/closed``, look-ups miss, and nothing changes. A second call has no effect.
    public func close() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .userInitiated).async { [self] in
                closeNow()
                continuation.resume()
            }
        }
    }

    /// As ``close()``, on the caller's thread.
    func closeNow() {
        closing.withLock { _ in
            waitUntilListed()
            sweeper.stop()
            mutation.withLock { _ in state.withLock { $0.isClosed = true } }
            flush(least: true)
            keepCalls()
            database.withLock { $0 = nil }
            lock.withLock { $0 = nil }
        }
    }

    // MARK: - What is held

    /// The total size of all files on the disk in bytes (blocks × 512); 0 if the folder was deleted. Waits for the
    /// first listing.
    ///
    /// See `DiskFolderTests.deletedFolderHasSizeZero()`.
    public var totalSize: Int { look(0) { $0.entries.used } }

    /// The number of values. Waits for the first listing.
    public var count: Int { look(0) { $0.entries.count } }

    /// Returns the number and the total size of the values of a category. Waits for the first listing.
    public func use(category: String) -> CategoryUse {
        look(CategoryUse()) { state in
            state.entries.categories.number(of: category).map { state.entries.counters.use($0) } ?? CategoryUse()
        }
    }

    /// The counts since the storage was created. O(categories).
    public var statistics: StorageStatistics { state.withLock { $0.entries.statistics } }

    /// The folder of the files.
    public var directoryURL: URL { folder.url }

    /// The number of files like the present ones for which there is room without an eviction; `nil` without a limit or a file to
    /// compare with. Does not wait for the first listing.
    package var roomInFiles: Int? {
        state.withLock { state in
            let (limits, used, count) = (state.entries.limits, state.entries.used, state.entries.count)
            guard limits.cost < .max, count > 0 else { return nil }
            return max(min((limits.cost - used) / max(used / count, 1), limits.count - count), 0)
        }
    }

    /// Reads the entries after the listing. If the folder no longer exists, there are none.
    ///
    /// - Parameter none: the result for a closed storage.
    func look<Result: Sendable>(_ none: Result, _ body: (borrowing DiskEntryIndex) -> Result) -> Result {
        waitUntilListed()
        noticeLoss()
        return state.withLock { $0.isClosed ? none : body($0) }
    }

    // MARK: - Configuration

    /// The configuration, read and set under the storage's lock.
    public var config: Config {
        get { state.withLock { $0.config } }
        set { withConfig { $0 = newValue } }
    }

    /// Reads and changes the configuration atomically. A lower limit takes effect at once. The folder does not
    /// change.
    ///
    /// See `DiskStorageTests.configurationChangesAreAtomic()`.
    public func withConfig<Result: Sendable>(_ change: @Sendable (inout Config) throws -> Result) rethrows -> Result {
        let (result, isDue, sweeps) = try state.withLock { state throws -> (Result, Bool, Bool) in
            let before = state.config
            let result = try change(&state.config)
            let isDue =
                state.config.limits != before.limits || state.config.categoryRules != before.categoryRules
            return (result, isDue, state.config.cleanInterval != before.cleanInterval)
        }
        if sweeps { sweep() }
        if isDue {
            self.change { state, now in
                state.entries.apply(state.config.categoryRules, time: now)
                state.entries.limit(state.config.limits, at: now)
            }
        }
        return result
    }
}
