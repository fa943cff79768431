import Foundation
import HalcyonEviction
import Synchronization

/// The freshness of what a cache has on disk: a small file an entry, in a folder beside the cache's, written only for loads
/// that heed freshness.
///
/// They are not among the cache's own entries, so that its policy, its limits and its log see images and nothing else; nor
/// in its index, which may be a second behind and can be rebuilt without them. A record names the digest of the bytes that it
/// is about. Whatever happens between the two — a crash, an eviction, a store by somebody else — an answer that nothing has
/// changed is only believed of just those bytes. It is a ``DiskStorage`` of its own of at most 64 MB, some 16,000 records;
/// without one, entries have no freshness.
final class FreshnessRecords: Sendable {
    private let disk: DiskOwner
    private let clock: any CacheClock
    private let state = Mutex(State())

    private struct State {
        var storage: DiskStorage<FreshnessRecord>?
        /// When it could not be opened last.
        var failed: Int64?
    }

    init(disk: DiskOwner, clock: any CacheClock) {
        self.disk = disk
        self.clock = clock
    }

    /// What is known of a computed key.
    func record(_ computed: String) -> FreshnessRecord? {
        // Opened for reading only where something was written.
        storage(makesOne: false).flatMap { try? $0.value(forKey: computed) }
    }

    /// Notes what is known of a computed key; `nil` forgets it.
    func set(_ record: FreshnessRecord?, _ computed: String) {
        if let record {
            _ = try? storage(makesOne: true)?.store(value: record, forKey: computed)
        } else {
            storage(makesOne: false)?.remove(forKey: computed)
        }
    }

    /// Forgets everything.
    func removeAll() { storage(makesOne: false)?.removeAll() }

    private func storage(makesOne: Bool) -> DiskStorage<FreshnessRecord>? {
        guard let beside = disk.storage?.directoryURL else { return nil }
        let folder = beside.deletingLastPathComponent()
            .appendingPathComponent(beside.lastPathComponent + ".freshness", isDirectory: true)
        let now = clock.now
        return state.withLock { state in
            if let storage = state.storage { return storage }
            if let failed = state.failed, now >= failed, now - failed < DiskOwner.patience { return nil }
            guard makesOne || FileManager.default.fileExists(atPath: folder.path) else { return nil }
            let config = DiskStorageConfig(
                name: "freshness", sizeLimit: 64 << 20, expiration: .days(30), cachePathBlock: { _, _ in folder })
            // The folder beside is this cache's alone; a storage that still has it is about to end.
            let patience: Double = state.failed == nil ? 1 : 0
            state.storage = try? DiskStorage(
                files: FileStore(
                    config: config, policy: ConfiguredPolicy(LRU.self), seed: 1, clock: clock, patience: patience))
            state.failed = state.storage == nil ? now : nil
            return state.storage
        }
    }

    /// Leaves the folder to others, once no operation on the disk is pending.
    func close() async {
        let storage = state.withLock { state in
            defer { state.storage = nil }
            return state.storage
        }
        await storage?.close()
    }
}
