import Foundation
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
    private let tier: DiskTier
    private let clock: any CacheClock
    private let opened = Mutex<DiskStorage<FreshnessRecord>?>(nil)

    init(tier: DiskTier, clock: any CacheClock) {
        self.tier = tier
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
