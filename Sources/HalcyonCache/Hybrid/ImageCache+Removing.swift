import Foundation
import HalcyonSupport

// Removing, clearing and cleaning.
extension ImageCache {
    /// Removes the value of a key: from memory at once, from disk before this returns, or from one tier only.
    ///
    /// - Parameter forcedExtension: the extension with which the file was stored (``CacheOptions/forcedExtension``).
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

    /// Removes the values of a category from memory and disk. O(values).
    ///
    /// A file whose row in the index database was lost has no categories and is not removed; see
    /// ``DiskStorage/remove(category:)``.
    public func remove(category: String) async {
        await withCheckedContinuation { continuation in
            // The disk is first. Reads that are requested later wait for the removal, which waits for no store but those
            // of this category that run. The values of earlier reads are kept out of memory.
            let filter = DiskOwner.Plan.Filter { _, labels in labels.categories.contains(category) }
            disk.perform(.removeAll(filter)) { storage in
                storage.remove(category: category)
            } done: { _ in
                continuation.resume()
            }
            betweenTiers.withLock { $0 }?()
            memoryStorage.remove(category: category)
        }
    }

    /// Removes the value of a key and all its variants (``CacheOptions/processorIdentifier``), whoever owns them, from memory and disk.
    /// O(values).
    ///
    /// A file whose row in the index database was lost is not known as a variant and stays, as in ``remove(category:)``.
    /// A variant that an earlier version has stored stays, too. In memory, a value is removed, too, whose own key is `key` with `@` and more.
    public func removeVariants(ofKey key: String) async {
        let origin = EntryOrigin(key: key).source
        await withCheckedContinuation { continuation in
            // The disk is first, as in `remove(category:)`.
            let filter = DiskOwner.Plan.Filter(mayMatch: { EntryOrigin.isKey($0, ofSource: key) }) { computed, labels in
                computed == key || labels.origin?.source == origin
            }
            disk.perform(.removeAll(filter)) { storage in
                storage.remove(forKey: key)
                storage.remove { $0.source == origin }
            } done: { _ in
                continuation.resume()
            }
            betweenTiers.withLock { $0 }?()
            memoryStorage.remove { EntryOrigin.isKey($0, ofSource: key) }
        }
    }

    /// Removes the values that are private to a user from memory and disk. O(values).
    ///
    /// A file whose row in the index database was lost has no known owner and stays until it expires or is evicted.
    package func removePrivate(ofUser user: String) async {
        let owner = EntryOrigin.owner(of: user)
        await withCheckedContinuation { continuation in
            let filter = DiskOwner.Plan.Filter(mayMatch: { EntryOrigin.isKey($0, ofOwner: user) }) { _, labels in
                labels.origin?.owner == owner
            }
            disk.perform(.removeAll(filter)) { storage in
                storage.remove { $0.owner == owner }
            } done: { _ in
                continuation.resume()
            }
            betweenTiers.withLock { $0 }?()
            memoryStorage.remove { EntryOrigin.isKey($0, ofOwner: user) }
        }
    }

    /// Forgets a user: removes the accesses of the user from the observer and the recorder, then the values that are private
    /// to the user (``removePrivate(ofUser:)``). O(values).
    ///
    /// - Parameter removeFromFile: removes the accesses from the observer's file; called if there is no observer.
    /// - Throws: the first error. The other parts are forgotten nevertheless.
    package func forget(user: String, removeFromFile: () async throws -> Void) async throws {
        var failure: (any Error)?
        do { try await observation.forget(user: user, removeFromFile: removeFromFile) } catch { failure = error }
        await removePrivate(ofUser: user)
        do { try await hub.forget(user: user) } catch { failure = failure ?? error }
        if let failure { throw failure }
    }

    /// Removes all values from memory. O(values).
    public func clearMemoryCache() {
        memoryStorage.removeAll()
    }

    /// Removes all values from disk, and the recorded accesses (`PrefetchPrediction.keepsAccesses`). O(values).
    public func clearDiskCache() async {
        await withCheckedContinuation { continuation in clearDisk { continuation.resume() } }
    }

    /// Removes all values. O(values). Afterwards, memory and disk contain only values that were stored after this
    /// call.
    public func clear() async {
        await withCheckedContinuation { continuation in
            // The disk is first, as in `remove(category:)`.
            clearDisk { continuation.resume() }
            betweenTiers.withLock { $0 }?()
            clearMemoryCache()
        }
    }

    /// Removes expired values from memory. O(values).
    public func cleanExpiredMemoryCache() { memoryStorage.removeExpired() }

    /// Removes expired values from disk, then evicts until the limit holds. If this removed files, it sends an event
    /// and posts a notification. O(values).
    ///
    /// - Returns: the names of the removed files.
    @discardableResult
    public func cleanExpiredDiskCache() async -> [String] {
        await withCheckedContinuation { continuation in
            cleanDisk { continuation.resume(returning: $0) }
        }
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
            // The disk is first, as in `remove(category:)`.
            disk.perform(.remove(computed, forcedExtension: forcedExtension)) { storage in
                storage.remove(forKey: computed, forcedExtension: forcedExtension)
            } done: { _ in
                done()
            }
        }
        betweenTiers.withLock { $0 }?()
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
                hub.send(.cleaned(hashes: hashes), isNotable: true)
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
    /// The notification that a cleaning removed files from disk. The object is the ``ImageCache``; `cleanedHashes` in
    /// the user info contains the names of the files.
    public static let halcyonDidCleanDiskCache = Notification.Name("halcyon.didCleanDiskCache")
}
