import HalcyonEviction
import HalcyonSupport

// The removals of a disk storage: each changes the entries and the files together.

extension DiskStorage {
    /// Removes the value of a key.
    ///
    /// If the disk is read-only, the value is not found again, and its file is deleted when that is possible. See
    /// `FullDiskTests.readOnlyDiskHidesRemovedValues()` and `FullDiskTests.readOnlyUnlistedDiskHidesRemovedValues()`.
    public func remove(forKey key: some EntryNaming) {
        let name = name(of: key.entryKey)
        change { state, _ in
            if let entry = state.entries.resident(name) { state.entries.remove(entry, reason: .removed) }
        } then: {
            // The file may exist although the index does not contain it.
            removeFile(name)
        }
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
        change { state, _ in state.entries.remove(category: category, reason: .removed) }
    }

    /// Removes the values whose origin satisfies a condition. O(values).
    func remove(where holds: (EntryOrigin) -> Bool) {
        change { state, _ in state.remove(where: holds) }
    }

    /// Removes all values, and the files of what policies have learned. O(values).
    public func removeAll() {
        change { state, _ in
            state.entries.removeAll(reason: .cleared)
            state.entries.calls?.removeAll()
        } then: {
            for (name, _) in (try? list()) ?? [] { removeFile(name) }
        }
        removeKept()
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
        change { state, now in state.removeExpired(at: now) }
    }

    /// Evicts values until the size limit holds, and returns the removals. O(values).
    ///
    /// The limit holds while the storage runs, unless another program enlarged files. This measures such files again.
    ///
    /// See `CleaningTests.cleaningMeasuresGrownFiles()`.
    @discardableResult
    public func removeSizeExceededValues() -> [Removal] {
        measure()
    }

    /// Evicts values until their total size is at most `size`, in the order that the policy chooses. The limit does
    /// not change.
    @discardableResult
    public func trim(toSize size: Int) -> [Removal] {
        change { state, now in state.entries.trim(to: max(size, 0), at: now) }
    }

    /// Updates whether a prefetched entry is still likely to be requested. An unlikely entry is evicted first.
    func reconsider(_ key: EntryKey, isLikely: Bool) {
        let (name, now) = (name(of: key), clock.now)
        state.withLock { $0.entries.reconsider(name, isLikely: isLikely, at: now) }
    }

    /// Sets the entries whose files are evicted next when room is needed, in this order. They replace those of the last call.
    func evictNext(_ keys: [EntryKey]) {
        let naming = state.withLock { $0.config.naming }
        let names = keys.map { naming.name(of: $0) }
        state.withLock { $0.entries.evictNext(names) }
    }

    // MARK: - Changing

    /// Returns the files of the cache: those that its naming can give, and those in `known`. O(files).
    ///
    /// - Throws: ``SystemError`` if the folder cannot be listed.
    func list(known: Set<ByteName> = []) throws -> [(name: String, status: CacheFolder.Status)] {
        let naming = state.withLock { $0.config.naming }
        return try folder.list().filter { naming.isOwn($0.name) || known.contains($0.name) }
    }

    /// Changes the entries, removes the files of removed entries, and returns the removals.
    @discardableResult
    func change(
        _ body: (inout DiskEntryIndex, _ now: Int64) -> Void, then finish: () -> Void = {}
    ) -> [Removal] {
        change(having: {}, { state, _, now in body(&state, now) }, then: finish)
    }

    /// Changes the entries as above. `find` runs first, while no file changes but without the lock that readers need.
    func change<Found: Sendable>(
        having find: () -> Found, _ body: (inout DiskEntryIndex, Found, _ now: Int64) -> Void,
        then finish: () -> Void = {}
    ) -> [Removal] {
        waitUntilListed()
        let now = clock.now
        let removals = mutation.withLock { _ -> [Removal] in
            if state.withLock({ $0.isClosed }) { return [] }
            let found = find()
            let removals = state.withLock { state -> [Removal] in
                body(&state, found, now)
                return state.takeRemovals()
            }
            removeFiles(removals)
            finish()
            return removals
        }
        scheduleFlush()
        report(removals)
        return removals
    }

    /// Removes a file. If this fails, a flush tries again. `mutation` must be held.
    func removeFile(_ name: String) {
        if isFolderMissing { return }
        if !folder.remove(name) { state.withLock { _ = $0.undeleted.insert(name) } }
    }

    func removeFiles(_ removals: [Removal]) {
        for one in removals { removeFile(one.key) }
    }

    func report(_ removals: [Removal]) {
        if !removals.isEmpty { onRemoval?(removals) }
    }
}
