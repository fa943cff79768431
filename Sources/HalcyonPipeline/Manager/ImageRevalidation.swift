import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport

/// What a server says of cached bytes: how long they may be used and how to revalidate them, with a digest of the bytes.
struct FreshnessRecord: Codable, Sendable {
    var freshness: Freshness
    /// The SHA-256 of the bytes on disk.
    private let digest: Data

    /// Creates a record of some bytes. O(bytes).
    init(_ freshness: Freshness, of bytes: Data) {
        self.freshness = freshness
        digest = Data(SHA256Digest.hash(bytes))
    }

    /// Whether it describes these bytes. O(bytes).
    func isOf(_ bytes: Data) -> Bool { Data(SHA256Digest.hash(bytes)) == digest }

    /// Reads a record from a cache's note; `nil` if there is none or it is damaged.
    init?(note: Data?) {
        guard let note, let record = try? JSONDecoder().decode(FreshnessRecord.self, from: note) else { return nil }
        self = record
    }

    /// The record as a cache's note.
    var note: Data? { try? JSONEncoder().encode(self) }

    /// Returns what makes the notes of stored bytes: the record of what the server says of them. Without anything to
    /// note, the earlier note stays if it is of the same bytes.
    static func noting(_ freshness: Freshness?) -> NoteMaker {
        { bytes, earlier in
            if let freshness { return FreshnessRecord(freshness, of: bytes).note }
            return FreshnessRecord(note: earlier)?.isOf(bytes) == true ? earlier : nil
        }
    }
}

/// Cached images and their freshness, for loads that heed the server.
struct ImageRevalidation: Sendable {
    let loader: ImageLoader

    /// The result of a look-up that heeds freshness.
    enum CacheAnswer {
        case found(ImageResult)
        /// It is cached, or was, and has to be revalidated; without a record, which may have been lost, it is loaded again.
        case stale(FreshnessRecord?, FreshnessPolicy)
        case missing
    }

    /// Looks an image up, as far as it may be used. An image that may be used while it is revalidated is revalidated later.
    func lookUpFresh(_ load: ImageLoad) async throws -> CacheAnswer {
        guard let policy = load.options.freshness, policy.honoursServer, load.source.url != nil else {
            return try await loader.lookUp(load).map(CacheAnswer.found) ?? .missing
        }
        let record = await record(of: load)
        try Task.checkCancellation()
        let decision = policy.decision(for: record?.freshness, at: seconds(load))
        if decision == .revalidate, !load.options.onlyFromCache {
            let isThere = await isThere(load)
            try Task.checkCancellation()
            if isThere { return .stale(record, policy) }
            _ = load.options.cache.tiers.missed(load.computedKey, load.cacheOptions)
            return .missing
        }
        guard let found = try await loader.lookUp(load) else { return .missing }
        if decision == .useAndRevalidate, let record, !load.options.onlyFromCache { renewLater(load, record) }
        return .found(found)
    }

    /// Revalidates a stale image: an unchanged one is used and expires later, a changed one is loaded. Where the server fails, the
    /// cached image is used as far as that is allowed.
    func renewed(
        _ load: ImageLoad, _ record: FreshnessRecord?, _ policy: FreshnessPolicy, _ task: DownloadTask?
    ) async throws -> ImageResult {
        do {
            guard let url = load.source.url, load.ofLowDataSource == nil, let record,
                !record.freshness.validators.isEmpty, await holds(load, record)
            else { return try await loader.loaded(load, task) }
            let answer = try await load.options.observed.transferring {
                try await load.options.downloader.revalidate(
                    url, record.freshness, processor: loader.processor(load),
                    options: loader.limited(load.options), task)
            }
            switch answer {
            case .modified(let new): return try await loader.result(load, loader.own(new, url, load, task))
            case .notModified(let freshness):
                if await removeShared(load, if: freshness) { return try await loader.loaded(load, task) }
                // It may have been removed meanwhile.
                guard let found = try await confirmed(load, record, freshness) else {
                    return try await loader.loaded(load, task)
                }
                return found
            }
        } catch  where !error.isCancellation {
            guard error.allowsStale, policy.mayServeAfterError(record?.freshness, at: seconds(load)),
                let found = try await loader.lookUp(load)
            else { throw error }
            return found
        }
    }

    /// Returns whether a cached original may be used without asking its server, and its record, which may be of other bytes.
    func freshnessOfOriginal(_ load: ImageLoad) async throws -> (isUsable: Bool, noted: FreshnessRecord?) {
        let record = await record(load.options.originalCache, load.key, load.originalOptions.forcedExtension)
        try Task.checkCancellation()
        guard let policy = load.options.freshness, policy.honoursServer, load.source.url != nil else {
            return (true, record)
        }
        let mayUse = load.options.onlyFromCache || policy.decision(for: record?.freshness, at: seconds(load)) == .use
        return (mayUse, record)
    }

    /// Returns the record of a load's entry; `nil` if there is none.
    func record(of load: ImageLoad) async -> FreshnessRecord? {
        await record(load.options.cache, load.computedKey, load.options.forcedExtension)
    }

    // MARK: - Inside

    private func seconds(_ load: ImageLoad) -> Int64 { load.options.cache.tiers.clock.now / 1_000_000 }

    private func record(
        _ cache: ImageCache<Bitmap>, _ computed: String, _ forcedExtension: String?
    ) async -> FreshnessRecord? {
        FreshnessRecord(note: await cache.tiers.notes.settled(of: computed, forcedExtension: forcedExtension))
    }

    private func isThere(_ load: ImageLoad) async -> Bool {
        await load.options.cache.tiers.isThere(load.computedKey, forcedExtension: load.options.forcedExtension).cached
    }

    private func holds(_ load: ImageLoad, _ record: FreshnessRecord) async -> Bool {
        await load.options.cache.tiers.holds(
            load.computedKey, forcedExtension: load.options.forcedExtension, where: record.isOf)
    }

    /// Uses an image that has not changed: it expires later, and its record is what the server says now.
    private func confirmed(
        _ load: ImageLoad, _ record: FreshnessRecord, _ freshness: Freshness
    ) async throws -> ImageResult? {
        var extended = load
        extended.options.memoryCacheAccessExtendingExpiration = .restarting(load.options.memoryCacheExpiration)
        extended.options.diskCacheAccessExtendingExpiration = .restarting(load.options.diskCacheExpiration)
        guard let found = try await loader.lookUp(extended) else { return nil }
        await confirm(load, record, freshness, extendsDisk: found.cacheType == .memory)
        return found
    }

    /// Removes the shared entry of a load, and the original of which a variant was made, if the server says now that they are private.
    /// The image is then loaded as that of its user.
    ///
    /// - Returns: whether it is so.
    private func removeShared(_ load: ImageLoad, if freshness: Freshness) async -> Bool {
        guard freshness.isPrivate, load.owner == nil else { return false }
        await loader.removeEntry(load)
        return true
    }

    /// Notes what the server says now of an image that has not changed.
    private func confirm(
        _ load: ImageLoad, _ record: FreshnessRecord, _ freshness: Freshness, extendsDisk: Bool
    ) async {
        var record = record
        record.freshness = freshness
        let cache = load.options.cache
        let computed = load.computedKey
        await cache.tiers.notes.set(record.note, of: computed, forcedExtension: load.options.forcedExtension)
        if extendsDisk {
            await cache.tiers.extend(
                computed, forcedExtension: load.options.forcedExtension, .restarting(load.options.diskCacheExpiration))
        }
    }

    /// Revalidates an image that is used meanwhile; once at a time for each entry. A changed image is kept, and a failure changes
    /// nothing.
    private func renewLater(_ load: ImageLoad, _ record: FreshnessRecord) {
        let entry = load.entry
        guard loader.revalidating.withLock({ $0.insert(entry).inserted }) else { return }
        var later = load
        // No request waits for it, and it is no access.
        (later.isPrefetch, later.options.onProgress, later.options.priority) = (true, nil, .low)
        later.options.observed = nil
        Task.detached { [loader, later] in
            defer { loader.revalidating.withLock { _ = $0.remove(entry) } }
            _ = try? await ImageRevalidation(loader: loader).renewedUnseen(later, record)
        }
    }

    /// Revalidates a cached image without a look-up, as in the background or for a prefetch. An unchanged image expires later.
    ///
    /// - Returns: whether it has changed, and was loaded.
    private func renewedUnseen(_ load: ImageLoad, _ record: FreshnessRecord) async throws -> Bool {
        guard let url = load.source.url, load.ofLowDataSource == nil, !record.freshness.validators.isEmpty,
            await holds(load, record)
        else {
            _ = try await loader.loadedUnseen(load)
            return true
        }
        let answer = try await load.options.observed.transferring {
            try await load.options.downloader.revalidate(
                url, record.freshness, processor: loader.processor(load), options: loader.limited(load.options)
            )
        }
        switch answer {
        case .modified(let new):
            _ = try await loader.result(load, loader.own(new, url, load, nil))
            return true
        case .notModified(let freshness):
            if await removeShared(load, if: freshness) {
                _ = try await loader.loadedUnseen(load)
                return true
            }
            await confirm(load, record, freshness, extendsDisk: true)
            return false
        }
    }

    /// Prefetches a cached and stale image, if freshness counts. Where the server fails, the cached image stays as far as that is
    /// allowed.
    ///
    /// - Returns: whether it was loaded.
    func prefetchedStale(_ load: ImageLoad) async throws -> Bool {
        guard let policy = load.options.freshness, policy.honoursServer, !load.options.onlyFromCache,
            load.source.url != nil
        else { return false }
        guard let record = await record(of: load) else {
            _ = try await loader.loadedUnseen(load)
            return true
        }
        guard policy.decision(for: record.freshness, at: seconds(load)) != .use else { return false }
        do {
            return try await renewedUnseen(load, record)
        } catch  where error.allowsStale && policy.mayServeAfterError(record.freshness, at: seconds(load)) {
            return false
        }
    }
}

extension ExpirationExtending {
    /// As if the entry were stored now, for the given time or else the one that it was stored for.
    fileprivate static func restarting(_ expiration: StorageExpiration?) -> ExpirationExtending {
        expiration.map { .expirationTime($0) } ?? .cacheTime
    }
}
