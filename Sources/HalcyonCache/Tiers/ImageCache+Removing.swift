import Foundation
import HalcyonSupport

// Removals from both tiers. A removal requests its operation on the disk first and then changes memory. Reads that are
// requested later wait for it. The values of earlier reads are kept out of memory.

extension ImageCache {
    /// Removes the value of a key: from memory at once, from disk before this returns, or from one tier only.
    ///
    /// It does not remove what a manager keeps for one user, as after a load with `Authorization`: the manager's
    /// `remove(_:)` removes that, too.
    ///
    /// See `ImageCacheTests.removalReachesStatedTiers()`.
    ///
    /// - Parameter key: the key, or the name of a variant or of a file with another extension (``EntryKey``).
    public func remove(forKey key: some EntryNaming, fromMemory: Bool = true, fromDisk: Bool = true) async {
        await withCheckedContinuation { continuation in
            remove(key.entryKey, fromMemory, fromDisk) { continuation.resume() }
        }
    }

    /// Removes the value of a key from memory at once, and from disk later.
    ///
    /// The completion may be omitted. See `ImageCacheTests.removalsNeedNoCompletion()`.
    public func removeImage(
        forKey key: some EntryNaming, fromMemory: Bool = true, fromDisk: Bool = true,
        callbackQueue: CallbackQueue = .untouch, completionHandler: (@Sendable () -> Void)? = nil
    ) {
        remove(key.entryKey, fromMemory, fromDisk) {
            if let completionHandler { callbackQueue.execute(completionHandler) }
        }
    }

    private func remove(
        _ key: EntryKey, _ fromMemory: Bool, _ fromDisk: Bool, done: @escaping @Sendable () -> Void
    ) {
        prefetches.take(key.computed)
        if fromDisk { disk.perform(.remove(key), { $0.remove(forKey: key) }, done: { _ in done() }) }
        if fromMemory { memoryStorage.remove(forKey: key.computed) }
        if !fromDisk { done() }
    }

    /// Removes the values of a category from memory and disk. O(values).
    ///
    /// A file whose row in the index database was lost has no categories and is not removed; see
    /// ``DiskStorage/remove(category:)``.
    ///
    /// See `CategoryRuleTests.categoriesCanBeCountedAndRemoved()`.
    public func remove(category: String) async {
        // It waits for no store but those of this category that run.
        let filter = DiskOwner.Schedule.Filter { _, labels in labels.categories.containsBytes(of: category) }
        await remove(filter) {
            $0.remove(category: category)
        } fromMemory: {
            memoryStorage.remove(category: category)
        }
    }

    /// Removes the value of a key and all its variants (``EntryKey``), whoever owns them, from memory and disk.
    /// O(values).
    ///
    /// A file whose row in the index database was lost is not known as a variant and stays, as in ``remove(category:)``.
    /// A variant that an earlier version has stored stays, too. In memory, a value is removed, too, whose own key is `key` with `@` and more.
    public func removeVariants(ofKey key: String) async {
        let origin = EntryOrigin(key: key).source
        let filter = DiskOwner.Schedule.Filter(mayMatch: { EntryOrigin.isKey($0.text, ofSource: key) }) {
            computed, labels in
            computed == key || labels.origin?.source == origin
        }
        await remove(filter) { storage in
            storage.remove(forKey: key)
            storage.remove { $0.source == origin }
        } fromMemory: {
            memoryStorage.remove { EntryOrigin.isKey($0, ofSource: key) }
        }
    }

    /// Removes the values that are private to a user from memory and disk. O(values).
    ///
    /// A file whose row in the index database was lost has no known owner and stays until it expires or is evicted.
    package func removePrivate(ofUser user: String) async {
        let owner = EntryOrigin.owner(of: user)
        let filter = DiskOwner.Schedule.Filter(mayMatch: { EntryOrigin.isKey($0.text, ofOwner: user) }) { _, labels in
            labels.origin?.owner == owner
        }
        await remove(filter) { storage in
            storage.remove { $0.owner == owner }
        } fromMemory: {
            memoryStorage.remove { EntryOrigin.isKey($0, ofOwner: user) }
        }
    }

    /// Removes the values that a filter matches: from memory before the first suspension, from disk before this returns.
    private func remove(
        _ filter: DiskOwner.Schedule.Filter, fromDisk: @escaping @Sendable (DiskStorage) -> Void,
        fromMemory: () -> Void
    ) async {
        await withCheckedContinuation { continuation in
            disk.perform(.removeAll(filter), fromDisk) { _ in continuation.resume() }
            fromMemory()
        }
    }

    /// Forgets a user: removes the accesses of the user from the observer and the recorder, then the values that are private
    /// to the user (``removePrivate(ofUser:)``), and the accesses from what is kept of policies that learn. O(values).
    ///
    /// - Parameter removeFromFile: removes the accesses from the observer's file; called if there is no observer.
    /// - Throws: the first error. The other parts are forgotten nevertheless.
    package func forget(user: String, removeFromFile: () async throws -> Void) async throws {
        var failure: (any Error)?
        do { try await observation.forget(user: user, removeFromFile: removeFromFile) } catch { failure = error }
        await removePrivate(ofUser: user)
        do { try await hub.forget(user: user) } catch { failure = failure ?? error }
        // Names that were cached to number the requests. Later requests of the user get another number.
        let number = core.forget(user: user)
        disk.openStorage?.state.withLock { $0.entries.forget(user: user, number: number) }
        _ = await onDisk(.settle) { $0.keepCalls() }
        if let failure { throw failure }
    }

    // MARK: - Clearing

    /// Removes all values from memory. O(values).
    public func clearMemoryCache() {
        memoryStorage.removeAll()
    }

    /// Removes all values from disk, the recorded accesses (`PrefetchConfiguration.keepsAccesses`), and the calls
    /// that are kept of policies that learn (``DiskStorageConfig/keepsLearning``). O(values).
    public func clearDiskCache() async {
        await withCheckedContinuation { continuation in clearDisk { continuation.resume() } }
    }

    /// Removes all values from disk, the recorded accesses (`PrefetchConfiguration.keepsAccesses`), and the calls
    /// that are kept of policies that learn (``DiskStorageConfig/keepsLearning``).
    public func clearDiskCache(
        callbackQueue: CallbackQueue = .mainCurrentOrAsync, completionHandler: (@Sendable () -> Void)? = nil
    ) {
        clearDisk { if let completionHandler { callbackQueue.execute(completionHandler) } }
    }

    /// Removes all values. O(values). Afterwards, memory and disk contain only values that were stored after this
    /// call.
    public func clear() async {
        await withCheckedContinuation { continuation in
            clearDisk { continuation.resume() }
            clearMemoryCache()
        }
    }

    private func clearDisk(done: @escaping @Sendable () -> Void) {
        core.withLock { $0.entries.calls?.removeAll() }
        disk.perform(.clear) { storage in
            storage.removeAll()
            return storage.folder.hidden
        } done: { [observation] result in
            guard let folder = try? result.get() else { return done() }
            Task {
                await observation.forgetAccesses(in: folder)
                done()
            }
        }
    }

    // MARK: - Cleaning

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

    func cleanDisk(done: @escaping @Sendable ([String]) -> Void) {
        onDisk(.settle) { storage in
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

    // MARK: - Prefetched entries and predicted evictions

    /// Updates whether a prefetched entry is still likely to be requested. An unlikely entry is evicted first, from
    /// both tiers.
    package func reconsider(_ key: EntryKey, isLikely: Bool) {
        memoryStorage.reconsider(key.computed, isLikely: isLikely)
        onDisk(.change(key), { $0.reconsider(key, isLikely: isLikely) }, done: { _ in })
    }

    /// Sets the entries whose values each tier evicts next when it needs room, in this order, before its policy is asked. They
    /// replace those of the last call. O(entries).
    package func evictNext(_ keys: [EntryKey]) {
        memoryStorage.evictNext(keys.map(\.computed))
        onDisk(.settle, { $0.evictNext(keys) }, done: { _ in })
    }
}
