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
/// Notes are read and written in operations on the cache's disk. If another storage has the folder open, there are no
/// notes until an attempt a second later.
package final class EntryNotes: Sendable {
    private let disk: DiskOwner
    private let clock: any CacheClock
    private let state = Mutex(State())
    /// Whether the storage exists; `nil` if unknown. Not guarded by `state`, which is held while the storage is opened.
    private let isPresent = Mutex<Bool?>(nil)
    private let open: @Sendable (_ folder: URL, _ patience: Duration) throws -> DiskStorage<Data>

    /// The time between two attempts to open the storage.
    private static let retryInterval = Duration.seconds(1)

    private struct State {
        var storage: DiskStorage<Data>?
        /// The time of the last failed attempt to open it.
        var failed: Int64?
    }

    convenience init(disk: DiskOwner, clock: any CacheClock) {
        self.init(disk: disk, clock: clock) { folder, patience in
            let config = DiskStorageConfig(
                name: "freshness", sizeLimit: 64 << 20, expiration: .days(30), cachePathBlock: { _, _ in folder })
            return try DiskStorage(
                files: FileStore(
                    config: config, policy: ConfiguredPolicy(LRU.self), seed: 1, clock: clock, patience: patience))
        }
    }

    /// - Parameter open: opens the storage; waits up to `patience` for another storage that uses the folder.
    init(
        disk: DiskOwner, clock: any CacheClock,
        open: @escaping @Sendable (_ folder: URL, _ patience: Duration) throws -> DiskStorage<Data>
    ) {
        (self.disk, self.clock, self.open) = (disk, clock, open)
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
            if let failed = state.failed, now >= failed, now - failed < Self.retryInterval.microseconds { return nil }
            guard makesOne || FileManager.default.fileExists(atPath: folder.path) else { return nil }
            // Only this cache uses the folder. If another storage has it open, that is about to close. Others wait for
            // `state` meanwhile, so this does not wait.
            state.storage = try? open(folder, .zero)
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
