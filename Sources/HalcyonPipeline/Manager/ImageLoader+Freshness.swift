import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport

/// What is known of a cached entry when a load asks for it.
struct FreshnessSituation {
    let policy: FreshnessPolicy
    /// What the server has said of it; `nil` without a record.
    let freshness: Freshness?
    /// Seconds since 1970.
    let now: Int64
    /// Whether the server, or this image, has just failed to be revalidated (``RevalidationPauses``).
    let isFailing: Bool
    /// Whether the entry was selected by other request fields than those of the load.
    let isOther: Bool
    /// Whether the load may use the cache alone.
    let onlyFromCache: Bool

    /// What to do; `nil` if the entry is not that of the load, and counts as missing.
    ///
    /// See `RevalidationDecisionTests.everySituationHasItsDecision()`.
    var decision: FreshnessDecision? {
        if isOther { return nil }
        if onlyFromCache { return .use }
        return policy.decision(for: freshness, at: now, isServerFailing: isFailing)
    }
}

/// The freshness of cached images, for loads that heed the server.
///
/// A cancelled load ends with its `CancellationError`: it decides, stores and notes nothing after that.
extension ImageLoader {
    /// Returns what is known of the entry of a load, or of its original.
    func situation(
        _ load: ImageLoad, _ policy: FreshnessPolicy, _ freshness: Freshness?
    ) async throws -> FreshnessSituation {
        let isOther =
            if let freshness, freshness.mayHaveOthers, let request = await load.request() {
                freshness.isOther(for: request.headers)
            } else {
                false
            }
        try Task.checkCancellation()
        let now = seconds(load)
        return FreshnessSituation(
            policy: policy, freshness: freshness, now: now,
            isFailing: load.source.url.map { pauses.contain($0, at: now) } ?? false, isOther: isOther,
            onlyFromCache: load.options.onlyFromCache)
    }

    /// The policy of a load, if it heeds the server.
    func policy(_ load: ImageLoad) -> FreshnessPolicy? {
        load.source.url == nil ? nil : load.options.freshness.flatMap { $0.honoursServer ? $0 : nil }
    }

    // MARK: - Loads that wait

    /// Revalidates a stale image: an unchanged one is used and expires later, a changed one is loaded. Where the server fails, the
    /// cached image is used as far as that is allowed.
    func renewed(
        _ load: ImageLoad, _ record: FreshnessRecord?, _ policy: FreshnessPolicy
    ) async throws -> ImageResult {
        do {
            return try await revalidated(load, record, changed: { $0 }) { record, freshness in
                // It may have been removed meanwhile.
                try await confirmed(load, record, freshness)
            } else: {
                try await loaded(load)
            }
        } catch  where !error.isCancellation {
            noteFailure(load, error)
            guard error.allowsStale, policy.mayServeAfterError(record?.freshness, at: seconds(load)),
                let found = try await lookUp(load)
            else { throw error }
            return found
        }
    }

    /// Asks the server of a stale image whether it has changed, if that can be asked: it has validators, and is what
    /// its record describes. Loads that ask at the same time check the file once.
    ///
    /// - Parameters:
    ///   - changed: returns the result for a changed image, which is kept.
    ///   - unchanged: returns the result for an unchanged image, of which the server says this now.
    ///   - other: returns the result if the server cannot be asked, if the image is private to its user by now, or if
    ///     `unchanged` returns `nil`.
    private func revalidated<Value>(
        _ load: ImageLoad, _ record: FreshnessRecord?, changed: (ImageResult) -> Value,
        unchanged: (FreshnessRecord, Freshness) async throws -> Value?, else other: () async throws -> Value
    ) async throws -> Value {
        guard let url = load.source.url else { return try await other() }
        var result: Value?
        if load.ofLowDataSource == nil, let record, !record.freshness.validators.isEmpty {
            let key = SharedChecks.Key(entry: load.entry, digest: record.digest)
            result = try await checks.with(key, { [self] in await holds(load, record) }) { isRight in
                guard isRight else { return nil }
                let answer = try await load.observed.transferring {
                    try await load.options.downloader.revalidate(
                        url, record.freshness, processor: processor(load), options: load.options.download, load.task)
                }
                try Task.checkCancellation()
                switch answer {
                case .modified(let new): return changed(try await self.result(load, own(new, url, load)))
                case .notModified(let freshness):
                    // The image is private by now: it is loaded as that of its user. The shared entry is removed, and
                    // the original of which a variant was made.
                    if freshness.isPrivate, load.owner == nil {
                        await removeEntry(load)
                        return nil
                    }
                    return try await unchanged(record, freshness)
                }
            }
        }
        let value = if let result { result } else { try await other() }
        pauses.succeeded(url)
        return value
    }

    /// Returns whether a cached original may be used without asking its server, and its record, which may be of other bytes.
    ///
    /// - Throws: `CancellationError`.
    func freshnessOfOriginal(_ load: ImageLoad) async throws -> (isUsable: Bool, noted: FreshnessRecord?) {
        let record = await record(load.options.originalCache, load.originalKey)
        try Task.checkCancellation()
        guard let policy = policy(load) else { return (true, record) }
        return (try await situation(load, policy, record?.freshness).decision == .use, record)
    }

    /// Returns the record of a load's entry; `nil` if there is none.
    func record(of load: ImageLoad) async -> FreshnessRecord? {
        await record(load.options.cache, load.entryKey)
    }

    /// Returns whether the server has said of the shared or private entry of a load that no request field selects it.
    func isUnselected(_ load: ImageLoad) async -> Bool {
        await record(of: load)?.freshness.mayHaveOthers == false
    }

    /// Notes that the server of a load has failed, so that it is not asked again at once for what may be shown meanwhile.
    func noteFailure(_ load: ImageLoad, _ error: any Error) {
        guard let url = load.source.url, load.ofLowDataSource == nil else { return }
        pauses.failed(url, error, at: seconds(load))
    }

    // MARK: - Inside

    private func seconds(_ load: ImageLoad) -> Int64 { load.options.cache.clock.now / 1_000_000 }

    private func record(_ cache: ImageCache<Bitmap>, _ key: EntryKey) async -> FreshnessRecord? {
        FreshnessRecord(note: await cache.notes.settled(of: key))
    }

    private func holds(_ load: ImageLoad, _ record: FreshnessRecord) async -> Bool {
        await load.options.cache.holds(load.entryKey, where: record.isOf)
    }

    /// Uses an image that has not changed: it expires later, and its record is what the server says now. `nil` if it is gone.
    ///
    /// - Throws: `CancellationError`.
    private func confirmed(
        _ load: ImageLoad, _ record: FreshnessRecord, _ freshness: Freshness
    ) async throws -> ImageResult? {
        var extended = load
        let caching = load.options.caching
        extended.options.caching.memoryCacheAccessExtendingExpiration = .restarting(caching.memoryCacheExpiration)
        extended.options.caching.diskCacheAccessExtendingExpiration = .restarting(caching.diskCacheExpiration)
        guard let found = try await lookUp(extended) else { return nil }
        try await confirm(load, record, freshness, extendsDisk: found.cacheType == .memory)
        return found
    }

    /// Notes what the server says now of an image that has not changed.
    ///
    /// - Throws: `CancellationError`.
    private func confirm(
        _ load: ImageLoad, _ record: FreshnessRecord, _ freshness: Freshness, extendsDisk: Bool
    ) async throws {
        try Task.checkCancellation()
        var record = record
        record.freshness = freshness
        let cache = load.options.cache
        await cache.notes.set(record.note, of: load.entryKey)
        if extendsDisk { await cache.extend(load.entryKey, .restarting(load.options.caching.diskCacheExpiration)) }
    }

    // MARK: - Without a load that waits

    /// Revalidates an image that is used meanwhile; once at a time for each entry. A changed image is kept, and a failure changes
    /// nothing but the pause until the server is asked again.
    func renewLater(_ load: ImageLoad, _ record: FreshnessRecord) {
        let entry = load.entry
        guard revalidating.withLock({ $0.insert(entry).inserted }) else { return }
        var later = load
        // No request waits for it, and it is no access.
        (later.isPrefetch, later.options.download.onProgress, later.options.download.priority) = (true, nil, .low)
        (later.observed, later.task) = (nil, nil)
        Task.detached { [self, later] in
            defer { revalidating.withLock { _ = $0.remove(entry) } }
            _ = try? await renewedUnseen(later, record)
        }
    }

    /// Revalidates a cached image without a look-up, as in the background or for a prefetch. An unchanged image expires later.
    ///
    /// - Returns: whether it has changed, and was loaded.
    private func renewedUnseen(_ load: ImageLoad, _ record: FreshnessRecord) async throws -> Bool {
        do {
            return try await revalidated(load, record, changed: { _ in true }) { record, freshness in
                try await confirm(load, record, freshness, extendsDisk: true)
                return false
            } else: {
                _ = try await loadedUnseen(load)
                return true
            }
        } catch {
            noteFailure(load, error)
            throw error
        }
    }

    /// Prefetches a cached and stale image, if freshness counts. Where the server fails, the cached image stays as far as that is
    /// allowed.
    ///
    /// - Returns: whether it was loaded.
    func prefetchedStale(_ load: ImageLoad) async throws -> Bool {
        guard let policy = policy(load), !load.options.onlyFromCache else { return false }
        let record = await record(of: load)
        let decision = try await situation(load, policy, record?.freshness).decision
        if decision == .use { return false }
        guard let record, decision != nil else {
            _ = try await loadedUnseen(load)
            return true
        }
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
