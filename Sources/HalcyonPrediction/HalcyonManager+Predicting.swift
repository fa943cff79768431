import HalcyonPipeline
import HalcyonPrefetch

extension HalcyonManager {
    /// Begins to fetch what will be wanted, as the learned planner says unless told otherwise; what ran before is stopped,
    /// and what it has learnt is what the new one begins with.
    ///
    /// One predicts for a cache: managers over the same cache share it, whichever of them started it. It fetches through that one,
    /// as long as that is there.
    @discardableResult
    public func startPredicting(_ prediction: PrefetchPrediction = PrefetchPrediction()) -> PredictivePrefetcher {
        let (toMemory, cache) = (prediction.toMemory, cache)
        let surroundings = ForesightSurroundings(
            holds: { [weak cache] in cache?.isCached(forKey: $0) ?? true },
            capacity: { [weak cache] in
                CacheCapacity(
                    memory: cache?.memoryStorage.config.limits.cost ?? 0,
                    disk: cache?.diskStorage?.config.limits.cost ?? 0)
            },
            room: { [weak cache] in cache?.memoryStorage.room ?? 0 },
            reconsider: { [weak cache] in cache?.reconsider($0, isLikely: $1) },
            fileName: { [weak cache] in cache?.hash(forKey: $0) },
            folder: { [weak cache] in cache?.diskStorage?.files.folder.hidden },
            now: { [clock = cache.clock] in clock.now },
            fetch: { [weak self] resource, options in
                guard let self else { return .nobody }
                do {
                    let loaded = try await prefetch(resource, options, toMemory: toMemory)
                    return loaded.map { .loaded(bytes: $0.bytes, cost: $0.cost) } ?? .wasThere
                } catch {
                    return error.isCancellation ? .cancelled : error.isRejection ? .rejected : .failed
                }
            })
        return cache.observation.start { ending, conditions in
            let prefetcher = PredictivePrefetcher(
                prediction, surroundings, options: defaultOptions, clock: cache.clock, after: ending,
                settleCache: { [weak cache] in await cache?.settleDisk() })
            if let conditions = conditions as? PrefetchConditions, !conditions.isEmpty {
                prefetcher.conditions = conditions
            }
            return prefetcher
        }
    }

    /// Fetches nothing more ahead of need but what an app asks for. What was fetched stays.
    public func stopPredicting() { cache.observation.stop() }

    /// What predicts for the manager's cache, if that was started.
    public var predictive: PredictivePrefetcher? { cache.observation.observer as? PredictivePrefetcher }
}
