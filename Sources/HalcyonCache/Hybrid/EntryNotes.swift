import Foundation
import HalcyonEviction
import HalcyonSupport
import Synchronization

/// Notes about the entries on a cache's disk, such as the freshness that servers state.
///
/// Notes are not entries of the cache, so that its policy, limits and log contain images only. They are not in its
/// index database either, which may lag behind by a second and can be rebuilt without them. They are kept in a
/// ``DiskStorage`` of at most 64 MB.
///
/// A note can be older or newer than its entry, for example after a crash. It must therefore contain a digest of the
/// bytes that it describes. Without a disk there are no notes.
///
/// Notes are read and written in operations on the cache's disk, whose threads may wait while the storage is opened.
package final class EntryNotes: Sendable {
    private let disk: DiskOwner
    private let clock: any CacheClock
    private let state = Mutex(State())
    /// Whether the storage exists; `nil` if unknown. Not guarded by `state`, which is held while the storage is opened.
    private let isPresent = Mutex<Bool?>(nil)

    private struct State {
        var storage: DiskStorage<Data>?
        /// The time of the last failed attempt to open it.
        var failed: Int64?
    }

    init(disk: DiskOwner, clock: any CacheClock) {
        self.disk = disk
        self.clock = clock
    }

    /// Whether there can be any note: a look-up is not worth a hop to the disk's queue otherwise. Only the first call
    /// reads the disk.
    package var mayHaveAny: Bool {
        guard let folder = Self.folder(of: disk) else { return false }
        return isPresent.withLock { isPresent in
            if let isPresent { return isPresent }
            let exists = FileManager.default.fileExists(atPath: folder.path)
            isPresent = exists
            return exists
        }
    }

    /// Returns the note of a computed key; `nil` if there is none.
    package func note(of computed: String) -> Data? {
        // A look-up opens the storage only if it exists.
        storage(makesOne: false).flatMap { try? $0.value(forKey: computed) }
    }

    /// Replaces the note of a computed key; `nil` removes it.
    package func set(_ note: Data?, of computed: String) {
        if let note {
            isPresent.withLock { $0 = true }
            _ = try? storage(makesOne: true)?.store(value: note, forKey: computed)
        } else {
            storage(makesOne: false)?.remove(forKey: computed)
        }
    }

    /// Removes all notes.
    func removeAll() { storage(makesOne: false)?.removeAll() }

    /// The folder of the notes, among the cache's hidden files, so that no other cache can have it; `nil` without a disk.
    private static func folder(of disk: DiskOwner) -> URL? {
        disk.openStorage?.files.folder.hidden.appendingPathComponent("freshness", isDirectory: true)
    }

    private func storage(makesOne: Bool) -> DiskStorage<Data>? {
        guard let folder = Self.folder(of: disk) else { return nil }
        let now = clock.now
        return state.withLock { state in
            if let storage = state.storage { return storage }
            if let failed = state.failed, now >= failed, now - failed < DiskOwner.retryInterval.microseconds {
                return nil
            }
            guard makesOne || FileManager.default.fileExists(atPath: folder.path) else { return nil }
            let config = DiskStorageConfig(
                name: "freshness", sizeLimit: 64 << 20, expiration: .days(30), cachePathBlock: { _, _ in folder })
            // Only this cache uses the folder. If another storage has it open, it is about to close.
            let patience = state.failed == nil ? Duration.seconds(1) : .zero
            state.storage = try? DiskStorage(
                files: FileStore(
                    config: config, policy: ConfiguredPolicy(LRU.self), seed: 1, clock: clock, patience: patience))
            state.failed = state.storage == nil ? now : nil
            return state.storage
        }
    }

    /// Frees the folder. No operation on the disk may be pending.
    func close() async {
        let storage = state.withLock { state in
            defer { state.storage = nil }
            return state.storage
        }
        await storage?.close()
    }
}
