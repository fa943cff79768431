import Foundation
import HalcyonSupport
import Synchronization

/// Notes beside the entries on disk of a cache, such as the freshness that servers state.
///
/// The notes are not among the cache's own entries, so that its policy, its limits and its log see images and nothing else; nor
/// are they in its index, which may lag by a second and can be rebuilt without them. They are kept in a ``DiskStorage`` of at most
/// 64 MB. A note can be older or newer than its entry, after a crash for example, and must therefore contain a digest of the bytes
/// that it describes. Without a disk there are no notes.
package final class EntryNotes: Sendable {
    private let tier: DiskTier
    private let clock: any CacheClock
    private let opened = Mutex<DiskStorage<Data>?>(nil)

    package init(tier: DiskTier, clock: any CacheClock) {
        self.tier = tier
        self.clock = clock
    }

    /// Returns the note of a computed key; `nil` if there is none.
    package func note(of computed: String) -> Data? {
        // Opened for reading only where something was written.
        storage(makesOne: false).flatMap { try? $0.value(forKey: computed) }
    }

    /// Replaces the note of a computed key; `nil` removes it.
    package func set(_ note: Data?, of computed: String) {
        if let note {
            _ = try? storage(makesOne: true)?.store(value: note, forKey: computed)
        } else {
            storage(makesOne: false)?.remove(forKey: computed)
        }
    }

    /// Removes all notes.
    package func removeAll() { storage(makesOne: false)?.removeAll() }

    private func storage(makesOne: Bool) -> DiskStorage<Data>? {
        guard let beside = tier.storage?.directoryURL else { return nil }
        let folder = beside.deletingLastPathComponent()
            .appendingPathComponent(beside.lastPathComponent + ".freshness", isDirectory: true)
        return opened.withLock { opened in
            if let opened { return opened }
            guard makesOne || FileManager.default.fileExists(atPath: folder.path) else { return nil }
            let config = DiskStorageConfig(
                name: "freshness", sizeLimit: 64 << 20, expiration: .days(30), cachePathBlock: { _, _ in folder })
            opened = try? DiskStorage(config: config, clock: clock)
            return opened
        }
    }
}
