import Foundation
import HalcyonEviction
import HalcyonSupport

/// A store for values in files with a limited total size. Each value is kept until it is evicted, expires or is
/// removed.
///
/// ```swift
/// let disk = try DiskStorage<Data>(config: .init(name: "images", sizeLimit: 500 << 20))
/// try disk.store(value: bytes, forKey: "a")
/// let bytes = try disk.value(forKey: "a")
/// ```
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
/// All methods can be called from any thread. All of them may wait for the disk, except
/// ``isCached(forKey:forcedExtension:)`` and look-ups of absent keys.
public final class DiskStorage<Value: DataTransformable & Sendable>: Sendable {
    /// The parameters of the storage.
    public typealias Config = DiskStorageConfig

    package let files: FileStore

    init(files: FileStore) { self.files = files }

    /// Creates a storage for tests. The closures, which are called at each step on the disk and before the listing,
    /// may wait, throw or never return.
    package convenience init(
        config: Config, configured policy: ConfiguredPolicy = ConfiguredPolicy(LRU.self),
        clock: any CacheClock = SystemClock(), flushDelay: Duration = .seconds(1),
        onStep: @escaping @Sendable (DiskStep) throws -> Void,
        beforeListing: @escaping @Sendable () throws -> Void = {},
        onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) throws {
        try self.init(
            files: FileStore(
                config: config, policy: policy, seed: 1, clock: clock, flushDelay: flushDelay, onStep: onStep,
                beforeListing: beforeListing, onRemoval: onRemoval))
    }

    /// Creates a storage with a policy. The files in its folder are added in the background.
    ///
    /// A value that is stored meanwhile is kept. See `DiskStorageTests.storeDuringListingIsKept()`.
    ///
    /// - Parameters:
    ///   - seed: the seed of the policy's random numbers.
    ///   - onRemoval: receives the removed values, named by their files, and the reasons, on the thread that caused
    ///     the removal.
    /// - Throws: ``CacheError`` if the directory cannot be created or another storage uses it.
    public convenience init(
        config: Config, configured policy: ConfiguredPolicy, seed: UInt64 = 1, clock: any CacheClock = SystemClock(),
        onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) throws {
        try self.init(
            files: FileStore(config: config, policy: policy, seed: seed, clock: clock, onRemoval: onRemoval))
    }

    /// Creates a storage with a policy of the given type, by default least recently used.
    ///
    /// - Throws: ``CacheError`` if the directory cannot be created or another storage uses it.
    @inline(__always)
    public convenience init<Policy: CataloguedPolicy & ~Copyable>(
        config: Config, policy: Policy.Type = LRU.self, seed: UInt64 = 1, clock: any CacheClock = SystemClock(),
        onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) throws {
        try self.init(
            config: config, configured: ConfiguredPolicy(policy), seed: seed, clock: clock, onRemoval: onRemoval)
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

    // MARK: - Values

    /// Stores a value under a key, and replaces an earlier value. Other values are evicted if there is no room.
    ///
    /// On a full disk, or beyond a quota, it evicts other values for the bytes that it needs and tries again, as for
    /// the size limit: values of low priority first, of protected categories last. A value that would not fit into
    /// the room of all values together evicts none, and the call throws. See
    /// `DiskExpirationTests.expiredStoreChangesNothing()` and `FullDiskTests.fullDiskEvicts()`.
    ///
    /// - Parameters:
    ///   - expiration: when the value expires. By default, the rule of its category decides, or else the
    ///     configuration. If it has already passed, the call has no effect.
    ///   - forcedExtension: the extension of the file in place of the configured one; 1 to 20 letters and digits.
    /// - Returns: whether the value is kept.
    /// - Throws: ``CacheError/cannotConvertToData(key:underlying:)``, ``CacheError/cannotWriteFile(_:underlying:)``
    ///   or ``CacheError/closed``.
    @discardableResult
    public func store(
        value: Value, forKey key: String, expiration: StorageExpiration? = nil, forcedExtension: String? = nil,
        context: AccessContext = AccessContext()
    ) throws -> Bool {
        try store(
            value: value, forKey: key, expiration: expiration, forcedExtension: forcedExtension, context: context,
            note: nil)
    }

    /// Stores a value with a note; see ``EntryNotes``.
    func store(
        value: Value, forKey key: String, expiration: StorageExpiration?, forcedExtension: String?,
        context: AccessContext, note: Data?
    ) throws -> Bool {
        let data: Data
        do {
            data = try value.toData()
        } catch {
            throw CacheError.cannotConvertToData(key: key, underlying: error)
        }
        return try files.store(
            data, forKey: key, forcedExtension: forcedExtension, expiration: expiration, context: context, note: note)
    }

    /// Returns the value of a key; `nil` if there is none or it has expired, and while the folder cannot be searched.
    ///
    /// The access and the extended expiration are written in the background if they have moved by more than a hundredth
    /// of the time to live (at most of a week). Otherwise ``flush()`` and ``close()`` write them. See
    /// `DiskExpirationTests.hitWritesNothingUntilExpirationMoves()`.
    ///
    /// A reader does not wait for that write. See `DiskExpirationTests.readerDoesNotWaitForExtension()` and
    /// `DiskStorageTests.unreadableBytesAreAnError()`.
    ///
    /// - Throws: ``CacheError/cannotLoadDataFromDisk(_:underlying:)`` if a file cannot be read or its bytes are not a
    ///   value.
    public func value(
        forKey key: String, forcedExtension: String? = nil, extendingExpiration: ExpirationExtending = .cacheTime,
        context: AccessContext = AccessContext()
    ) throws -> Value? {
        let found = try files.data(
            forKey: key, forcedExtension: forcedExtension, extending: extendingExpiration, context: context)
        guard let found else { return nil }
        do {
            return try Value.fromData(found)
        } catch {
            let url = files.url(forKey: key, forcedExtension: forcedExtension)
            throw CacheError.cannotLoadDataFromDisk(url, underlying: error)
        }
    }

    /// Returns whether there is a value that has not expired. The call does not extend the expiration and is not an
    /// access.
    ///
    /// An absent key needs no file system call, unless the folder could not be listed. See
    /// `DiskStorageTests.absentNameNeedsNoFileSystem()`.
    public func isCached(forKey key: String, forcedExtension: String? = nil) -> Bool {
        files.isCached(forKey: key, forcedExtension: forcedExtension)
    }

    /// Returns the URL of a key's file, whether the file exists or not.
    public func cacheFileURL(forKey key: String, forcedExtension: String? = nil) -> URL {
        files.url(forKey: key, forcedExtension: forcedExtension)
    }

    // MARK: - Removing

    /// Removes the value of a key.
    ///
    /// If the disk is read-only, the value is not found again, and its file is deleted when that is possible. See
    /// `FullDiskTests.readOnlyDiskHidesRemovedValues()` and `FullDiskTests.readOnlyUnlistedDiskHidesRemovedValues()`.
    public func remove(forKey key: String, forcedExtension: String? = nil) {
        files.remove(forKey: key, forcedExtension: forcedExtension)
    }

    /// Removes the values of a category. O(values).
    ///
    /// A file whose row in the index database was lost has no categories and is not removed. It gets categories when
    /// it is stored again or loaded with categories. A row is lost if the process was killed within about a second
    /// after the store, or if the database was damaged.
    ///
    /// See `DiskRecoveryTests.fileWithoutRowHasNoCategories()` and
    /// `CategoryRuleTests.categoriesCanBeCountedAndRemoved()`.
    public func remove(category: String) {
        files.change { state, _ in state.entries.remove(category: category, reason: .removed) }
    }

    /// Removes the values whose origin satisfies a condition. O(values).
    func remove(where holds: (EntryOrigin) -> Bool) {
        files.change { state, _ in state.remove(where: holds) }
    }

    /// Removes all values. O(values).
    public func removeAll() {
        files.change { state, _ in
            state.entries.removeAll(reason: .cleared)
        } then: {
            for (name, _) in (try? files.list()) ?? [] { files.removeFile(name) }
        }
    }

    /// Removes expired values, and returns the removals. O(values).
    ///
    /// Values that were stored or read while the clock was ahead would expire too late. They count as stored now. See
    /// `DiskExpirationTests.valueOfTheFutureIsRedated(restarts:)`.
    ///
    /// A file that cannot be deleted does not stop the removal. A folder that could not be listed is listed now. See
    /// `DiskFaultTests.undeletableFileDoesNotStopCleaning()` and `DamageTests.nextCleaningListsUnlistedFolder()`.
    @discardableResult
    public func removeExpiredValues() -> [Removal] {
        files.change { state, now in state.removeExpired(at: now) }
    }

    /// Evicts values until the size limit holds, and returns the removals. O(values).
    ///
    /// The limit holds while the storage runs, unless another program enlarged files. This measures such files again.
    ///
    /// See `CleaningTests.cleaningMeasuresGrownFiles()`.
    @discardableResult
    public func removeSizeExceededValues() -> [Removal] {
        files.measure()
    }

    /// Evicts values until their total size is at most `size`, in the order that the policy chooses. The limit does
    /// not change.
    @discardableResult
    public func trim(toSize size: Int) -> [Removal] {
        files.change { state, now in state.entries.trim(to: max(size, 0), at: now) }
    }

    /// Updates whether a prefetched entry is still likely to be requested. An unlikely entry is evicted first.
    func reconsider(_ key: String, forcedExtension: String? = nil, isLikely: Bool) {
        files.reconsider(key, forcedExtension: forcedExtension, isLikely: isLikely)
    }

    /// Sets the keys whose files are evicted next when room is needed, in this order. They replace those of the last call.
    func evictNext(_ keys: [String], forcedExtension: String? = nil) {
        files.evictNext(keys, forcedExtension: forcedExtension)
    }

    /// The number of files like the present ones for which there is room without an eviction; `nil` without a limit or a file to
    /// compare with. Does not wait for the first listing.
    package var roomInFiles: Int? {
        files.state.withLock { state in
            let (limits, used, count) = (state.entries.limits, state.entries.used, state.entries.count)
            guard limits.cost < .max, count > 0 else { return nil }
            return max(min((limits.cost - used) / max(used / count, 1), limits.count - count), 0)
        }
    }

    // MARK: - What is held

    /// The total size of all files on the disk in bytes (blocks × 512); 0 if the folder was deleted. Waits for the
    /// first listing.
    ///
    /// See `DiskOwnerTests.deletedFolderHasSizeZero()`.
    public var totalSize: Int { files.look(0) { $0.entries.used } }

    /// The number of values. Waits for the first listing.
    public var count: Int { files.look(0) { $0.entries.count } }

    /// Returns the number and the total size of the values of a category. Waits for the first listing.
    public func use(category: String) -> CategoryUse {
        files.look(CategoryUse()) { state in
            state.entries.categories.number(of: category).map { state.entries.counters.use($0) } ?? CategoryUse()
        }
    }

    /// The counts since the storage was created. O(categories).
    public var statistics: StorageStatistics { files.state.withLock { $0.entries.statistics } }

    /// The folder of the files.
    public var directoryURL: URL { files.folder.url }

    /// Writes all pending changes to the disk: access times, extended expirations and the index database.
    ///
    /// If the disk is full, all of them are written when there is room again. See
    /// `FullDiskTests.indexIsWrittenOnceThereIsSpace()`.
    public func flush() {
        files.waitUntilListed()
        files.flush()
    }

    /// Writes all pending changes and frees the folder, outside the caller's thread. From then on, stores throw
    /// ``CacheError/closed``, look-ups miss, and nothing changes. A second call has no effect.
    public func close() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .userInitiated).async { [files] in
                files.close()
                continuation.resume()
            }
        }
    }

    // MARK: - Configuration

    /// The configuration, read and set under the storage's lock.
    public var config: Config {
        get { files.state.withLock { $0.config } }
        set { withConfig { $0 = newValue } }
    }

    /// Reads and changes the configuration atomically. A lower limit takes effect at once. The folder does not
    /// change.
    ///
    /// See `DiskStorageTests.configurationChangesAreAtomic()`.
    public func withConfig<Result: Sendable>(_ change: @Sendable (inout Config) throws -> Result) rethrows -> Result {
        let (result, isDue, sweeps) = try files.state.withLock { state throws -> (Result, Bool, Bool) in
            let before = state.config
            let result = try change(&state.config)
            let isDue =
                state.config.limits != before.limits || state.config.categoryRules != before.categoryRules
            return (result, isDue, state.config.cleanInterval != before.cleanInterval)
        }
        if sweeps { files.sweep() }
        if isDue {
            files.change { state, now in
                state.entries.apply(state.config.categoryRules, time: now)
                state.entries.limit(state.config.limits, at: now)
            }
        }
        return result
    }
}
