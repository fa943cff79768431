import Foundation
import HalcyonEviction
import HalcyonSupport

/// Values in files, within a size, each until it expires.
///
/// ```swift
/// let disk = try DiskStorage<Data>(config: .init(name: "images", sizeLimit: 500 << 20))
/// try disk.store(value: bytes, forKey: "a")
/// let bytes = try disk.value(forKey: "a")
/// ```
///
/// Who stays is decided by the same index and the same policies as in memory and in a replay; the cost of a value is what
/// its file takes on the disk, blocks × 512. A folder belongs to one storage at a time, of one process. A process that is
/// killed at any instant leaves whole values only. ``close()`` leaves the folder to others before the object ends. Any thread may call anything; every call but ``isCached(forKey:forcedExtension:)``
/// and a look-up of what is absent may wait for the disk.
public final class DiskStorage<Value: DataTransformable & Sendable>: Sendable {
    /// What can be set.
    public typealias Config = DiskStorageConfig

    package let files: FileStore

    init(files: FileStore) { self.files = files }

    /// A storage for tests: what is called at each step on the disk, and before the listing, may wait, fail or never return.
    package convenience init(
        config: Config, configured policy: ConfiguredPolicy = ConfiguredPolicy(LRU.self),
        clock: any CacheClock = SystemClock(), flushDelay: Double = 1,
        onStep: @escaping @Sendable (DiskStep) throws -> Void,
        beforeListing: @escaping @Sendable () throws -> Void = {},
        onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) throws {
        try self.init(
            files: FileStore(
                config: config, policy: policy, seed: 1, clock: clock, flushDelay: flushDelay, onStep: onStep,
                beforeListing: beforeListing, onRemoval: onRemoval))
    }

    /// A storage under a policy; what its folder holds is taken in, in the background.
    ///
    /// - Parameters:
    ///   - seed: of everything random in the policy.
    ///   - onRemoval: hears who left and why, by the names of their files, on the thread that caused it.
    /// - Throws: ``CacheError`` if the directory cannot be made or belongs to another storage.
    public convenience init(
        config: Config, configured policy: ConfiguredPolicy, seed: UInt64 = 1, clock: any CacheClock = SystemClock(),
        onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) throws {
        try self.init(
            files: FileStore(config: config, policy: policy, seed: seed, clock: clock, onRemoval: onRemoval))
    }

    /// A storage under a policy of the given type, by default least recently used.
    ///
    /// - Throws: ``CacheError`` if the directory cannot be made or belongs to another storage.
    @inline(__always)
    public convenience init<Policy: CataloguedPolicy & ~Copyable>(
        config: Config, policy: Policy.Type = LRU.self, seed: UInt64 = 1, clock: any CacheClock = SystemClock(),
        onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) throws {
        try self.init(
            config: config, configured: ConfiguredPolicy(policy), seed: seed, clock: clock, onRemoval: onRemoval)
    }

    /// A storage under a policy of a catalogue, by name: `s3-fifo`, `learned(horizon=2)`.
    ///
    /// - Throws: ``CacheError``, or `PolicyError` if there is no such policy or it does not take these settings.
    public convenience init(
        config: Config, policyNamed name: String, in catalogue: PolicyCatalogue = .classical, seed: UInt64 = 1,
        clock: any CacheClock = SystemClock(), onRemoval: (@Sendable ([Removal]) -> Void)? = nil
    ) throws {
        try self.init(
            config: config, configured: catalogue.livePolicy(name), seed: seed, clock: clock,
            onRemoval: onRemoval)
    }

    // MARK: - Values

    /// Keeps a value under a key, in place of one that is there; others make room.
    ///
    /// - Parameters:
    ///   - expiration: when it expires; by default as the rule of its category says, or else the configuration. One that
    ///     has passed already changes nothing.
    ///   - forcedExtension: the extension of the file, in place of the configured one; 1 to 20 letters and digits.
    /// - Returns: whether the value is kept.
    /// - Throws: ``CacheError/cannotConvertToData(key:underlying:)``, ``CacheError/cannotWriteFile(_:underlying:)`` or
    ///   ``CacheError/closed``.
    @discardableResult
    public func store(
        value: Value, forKey key: String, expiration: StorageExpiration? = nil, forcedExtension: String? = nil,
        context: AccessContext = AccessContext()
    ) throws -> Bool {
        let data: Data
        do {
            data = try value.toData()
        } catch {
            throw CacheError.cannotConvertToData(key: key, underlying: error)
        }
        return try files.store(
            data, forKey: key, forcedExtension: forcedExtension, expiration: expiration, context: context)
    }

    /// The value of a key; `nil` if there is none or it has expired. Its extension is written later, by others.
    ///
    /// - Throws: ``CacheError/cannotLoadDataFromDisk(_:underlying:)`` if a file is there and cannot be read, or is no value.
    public func value(
        forKey key: String, forcedExtension: String? = nil, extendingExpiration: ExpirationExtending = .cacheTime,
        context: AccessContext = AccessContext()
    ) throws -> Value? {
        let found = try files.data(
            forKey: key, forcedExtension: forcedExtension, extending: extendingExpiration, context: context)
        guard let found else { return nil }
        do {
            return try Value.fromData(found.data)
        } catch {
            throw CacheError.cannotLoadDataFromDisk(found.url, underlying: error)
        }
    }

    /// Whether there is a value that has not expired. Neither extends its expiration nor counts as an access.
    public func isCached(forKey key: String, forcedExtension: String? = nil) -> Bool {
        files.isCached(forKey: key, forcedExtension: forcedExtension)
    }

    /// The file that a key has or would have.
    public func cacheFileURL(forKey key: String, forcedExtension: String? = nil) -> URL {
        files.url(forKey: key, forcedExtension: forcedExtension)
    }

    // MARK: - Removing

    /// Removes the value of a key.
    public func remove(forKey key: String, forcedExtension: String? = nil) {
        files.remove(forKey: key, forcedExtension: forcedExtension)
    }

    /// Removes the values that have a category. O(values).
    ///
    /// A file whose row in the index was lost has no categories until it is stored again, or loaded with categories: the process
    /// was killed within about a second after the store, or the index was damaged. Such a file stays.
    public func remove(category: String) {
        files.change { state, _ in state.entries.remove(category: category, reason: .removed) }
    }

    /// Removes all values. O(values).
    public func removeAll() {
        files.change { state, _ in
            state.entries.removeAll(reason: .cleared)
        } then: {
            for (name, _) in (try? files.list()) ?? [] { files.removeFile(name) }
        }
    }

    /// Removes what has expired, and returns who left. O(values).
    @discardableResult
    public func removeExpiredValues() -> [Removal] {
        files.change { state, now in state.entries.removeExpired(at: now) }
    }

    /// Evicts until the limit of the size holds, and returns who left. It always holds while the storage runs, unless
    /// files grew behind its back; those are then measured anew. O(values).
    @discardableResult
    public func removeSizeExceededValues() -> [Removal] {
        files.measure()
    }

    /// Evicts down to a size, as the policy chooses. The limit stays as it is.
    @discardableResult
    public func trim(toSize size: Int) -> [Removal] {
        files.change { state, now in state.entries.trim(to: max(size, 0), at: now) }
    }

    /// Says whether what was stored ahead of need is still likely to be asked for; if not, it is the first to go.
    func reconsider(_ key: String, isLikely: Bool) { files.reconsider(key, isLikely: isLikely) }

    // MARK: - What is held

    /// What all files take on the disk, in bytes; blocks × 512. 0 if the folder was deleted. Waits for the first listing.
    public var totalSize: Int { files.look(0) { $0.entries.used } }

    /// The number of values. Waits for the first listing.
    public var count: Int { files.look(0) { $0.entries.count } }

    /// What is held of a category. Waits for the first listing.
    public func use(category: String) -> CategoryUse {
        files.look(CategoryUse()) { state in
            state.entries.categories.number(of: category).map { state.entries.counters.use($0) } ?? CategoryUse()
        }
    }

    /// What was counted since the storage was made. O(categories).
    public var statistics: StorageStatistics { files.state.withLock { $0.entries.statistics } }

    /// The folder of the files.
    public var directoryURL: URL { files.folder.url }

    /// Writes to the disk what is written later otherwise: access times, extended expirations, the index.
    public func flush() {
        files.waitUntilListed()
        files.flush()
    }

    /// Writes what is due and leaves the folder to others, off the caller's thread. From then on, stores throw
    /// ``CacheError/closed``, nothing is found, and nothing is changed. Closing twice has no effect.
    public func close() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .userInitiated).async { [files] in
                files.close()
                continuation.resume()
            }
        }
    }

    // MARK: - Configuration

    /// How the storage is configured, read and set under its lock.
    public var config: Config {
        get { files.state.withLock { $0.config } }
        set { withConfig { $0 = newValue } }
    }

    /// Reads and changes the configuration in one step that nobody else comes between. A lower limit trims at once. The
    /// folder stays as it is.
    public func withConfig<Result: Sendable>(_ change: @Sendable (inout Config) throws -> Result) rethrows -> Result {
        let (result, isDue, sweeps) = try files.state.withLock { state throws -> (Result, Bool, Bool) in
            let before = state.config
            let result = try change(&state.config)
            let isDue =
                state.config.limits != before.limits || state.config.categoryRules != before.categoryRules
            return (result, isDue, state.config.cleaningInterval != before.cleaningInterval)
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
