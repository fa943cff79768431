import HalcyonCache
import HalcyonPipeline
import HalcyonPrefetch

extension HalcyonManager {
    /// Starts predictive prefetching, by default with the learned planner. A running predictor is stopped, and the new one continues
    /// with its model and accesses.
    ///
    /// There is one predictor for a cache, which all managers over the cache share. It loads through the manager that started it, as
    /// long as that exists.
    @discardableResult
    public func startPredicting(_ prediction: PrefetchPrediction = PrefetchPrediction()) -> PredictivePrefetcher {
        let (toMemory, cache, forcedExtension) = (prediction.toMemory, cache, defaultOptions.forcedExtension)
        let surroundings = ForesightSurroundings(
            heldKey: { [weak cache] key, source, user in
                guard let cache, !cache.isCached(forKey: key, forcedExtension: forcedExtension) else { return key }
                guard cache.privateEntries.mayExist, let source else { return nil }
                let own = EntryOrigin.privateKey(computed: key, ofSource: source, for: user ?? "")
                return cache.isCached(forKey: own, forcedExtension: forcedExtension) ? own : nil
            },
            capacity: { [weak cache] in
                CacheCapacity(
                    memory: cache?.memoryStorage.config.limits.cost ?? 0,
                    disk: cache?.diskStorage?.config.limits.cost ?? 0)
            },
            room: { [weak cache] in cache?.memoryStorage.room ?? 0 },
            reconsider: { [weak cache] in cache?.reconsider($0, forcedExtension: forcedExtension, isLikely: $1) },
            fileName: { [weak cache] in cache?.hash(forKey: $0, forcedExtension: forcedExtension) },
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

    /// Stops predictive prefetching. Prefetched images stay cached.
    public func stopPredicting() { cache.observation.stop() }

    /// The predictor of the manager's cache, if it was started.
    public var predictive: PredictivePrefetcher? { cache.observation.observer as? PredictivePrefetcher }
}
