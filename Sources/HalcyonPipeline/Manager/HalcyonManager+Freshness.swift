import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking

// What is cached and what servers say of it, for loads that heed that.
extension HalcyonManager {
    /// What the cache has of an image.
    enum CacheAnswer {
        case found(ImageResult)
        /// It is there, or was, and its server has to be asked.
        case stale(FreshnessRecord, FreshnessPolicy)
        case missing
    }

    /// Looks an image up, as far as it may be used. What may be used while its server is asked is, and that happens later.
    func lookUpFresh(_ load: ImageLoad) async -> CacheAnswer {
        guard let policy = load.options.freshness, policy.honoursServer else {
            return await lookUp(load).map(CacheAnswer.found) ?? .missing
        }
        let record = await record(cache, load.computedKey)
        let decision = policy.decision(for: record?.freshness, at: seconds)
        if decision == .revalidate, let record, !load.options.onlyFromCache {
            if await cache.isThere(load.computedKey).cached { return .stale(record, policy) }
            _ = cache.missed(load.computedKey, load.cacheOptions)
            return .missing
        }
        guard let found = await lookUp(load) else { return .missing }
        if decision == .useAndRevalidate, let record, !load.options.onlyFromCache { renewLater(load, record, policy) }
        return .found(found)
    }

    /// Asks the server of a stale image: what has not changed is used and expires later, what has is loaded. Where the server
    /// fails, what is there may stand in as far as was allowed.
    func renewed(
        _ load: ImageLoad, _ record: FreshnessRecord, _ policy: FreshnessPolicy, _ task: DownloadTask?
    ) async throws -> ImageResult {
        do {
            guard let url = load.source.url, !record.freshness.validators.isEmpty,
                await cache.holds(load.computedKey, where: record.isOf)
            else { return try await loaded(load, task) }
            switch try await downloader.revalidate(
                url, record.freshness, processor: processor(load), options: limited(load.options).download)
            {
            case .modified(let new):
                return await result(load, new.value, new.originalData, new.freshness)
            case .notModified(let freshness):
                // It may have gone meanwhile.
                guard let found = await confirmed(load, record, freshness) else { return try await loaded(load, task) }
                return found
            }
        } catch  where !error.isCancellation {
            guard policy.mayServeAfterError(record.freshness, at: seconds), let found = await lookUp(load) else {
                throw error
            }
            return found
        }
    }

    /// Whether an original that is kept may be used without asking its server, and what was noted of it, which may be of other bytes.
    func freshnessOfOriginal(_ load: ImageLoad) async -> (isUsable: Bool, noted: FreshnessRecord?) {
        guard let policy = load.options.freshness, policy.honoursServer else { return (true, nil) }
        let record = await record(originalCache, load.key)
        let mayUse = load.options.onlyFromCache || policy.decision(for: record?.freshness, at: seconds) == .use
        return (mayUse, record)
    }

    // MARK: - Inside

    private var seconds: Int64 { cache.clock.now / 1_000_000 }

    private func record(_ cache: ImageCache<Bitmap>, _ computed: String) async -> FreshnessRecord? {
        await cache.onDisk(.read(computed)) { [notes = cache.notes] _ in FreshnessRecord(note: notes.note(of: computed))
        } ?? nil
    }

    /// Uses what has not changed: it expires later, and what is known of it is what the server says now.
    private func confirmed(_ load: ImageLoad, _ record: FreshnessRecord, _ freshness: Freshness) async -> ImageResult? {
        var extended = load
        extended.options.memoryCacheAccessExtendingExpiration = .restarting(load.options.memoryCacheExpiration)
        extended.options.diskCacheAccessExtendingExpiration = .restarting(load.options.diskCacheExpiration)
        guard let found = await lookUp(extended) else { return nil }
        await confirm(load, record, freshness, extendsDisk: found.cacheType == .memory)
        return found
    }

    /// Notes what the server says now of what has not changed.
    private func confirm(
        _ load: ImageLoad, _ record: FreshnessRecord, _ freshness: Freshness, extendsDisk: Bool
    ) async {
        var record = record
        record.freshness = freshness
        let (confirmed, computed, notes) = (record.note, load.computedKey, cache.notes)
        _ = await cache.onDisk(.change(computed)) { _ in notes.set(confirmed, of: computed) }
        if extendsDisk { await cache.extend(computed, .restarting(load.options.diskCacheExpiration)) }
    }

    /// Asks the server of an image that is used meanwhile; once at a time for each. What has changed is kept, and a failure
    /// leaves everything as it is.
    private func renewLater(_ load: ImageLoad, _ record: FreshnessRecord, _ policy: FreshnessPolicy) {
        guard revalidating.withLock({ $0.insert(load.computedKey).inserted }) else { return }
        var later = load
        // No load waits for it, and it is no access.
        (later.isPrefetch, later.options.onProgress, later.options.priority) = (true, nil, .low)
        Task.detached { [self, later] in
            defer { revalidating.withLock { _ = $0.remove(later.computedKey) } }
            _ = try? await renewedUnseen(later, record)
        }
    }

    /// Revalidates a cached image without an access, for a background revalidation or a prefetch. If it has not changed, it expires
    /// later.
    ///
    /// - Returns: whether it has changed and was loaded.
    private func renewedUnseen(_ load: ImageLoad, _ record: FreshnessRecord) async throws -> Bool {
        guard let url = load.source.url, !record.freshness.validators.isEmpty,
            await cache.holds(load.computedKey, where: record.isOf)
        else {
            _ = try await loaded(load, nil)
            return true
        }
        switch try await downloader.revalidate(
            url, record.freshness, processor: processor(load), options: limited(load.options).download)
        {
        case .modified(let new):
            _ = await result(load, new.value, new.originalData, new.freshness)
            return true
        case .notModified(let freshness):
            await confirm(load, record, freshness, extendsDisk: true)
            return false
        }
    }

    /// Revalidates a cached, stale image for a prefetch, if the options request freshness. If the server fails, the image stays as
    /// long as the policy allows.
    ///
    /// - Returns: whether it was loaded.
    func prefetchedStale(_ load: ImageLoad) async throws -> Bool {
        guard let policy = load.options.freshness, policy.honoursServer, !load.options.onlyFromCache,
            let record = await record(cache, load.computedKey),
            policy.decision(for: record.freshness, at: seconds) != .use
        else { return false }
        do {
            return try await renewedUnseen(load, record)
        } catch  where !error.isCancellation && policy.mayServeAfterError(record.freshness, at: seconds) {
            return false
        }
    }
}

extension ExpirationExtending {
    /// As if it were stored now, for the time that is asked for or else the one that it was stored for.
    fileprivate static func restarting(_ expiration: StorageExpiration?) -> ExpirationExtending {
        expiration.map { .expirationTime($0) } ?? .cacheTime
    }
}
