import Foundation

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
