import HalcyonAccessLog
import Dispatch
import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonLearning
import HalcyonNetworking
import HalcyonPipeline
import HalcyonPrefetch

extension HalcyonManager {
    /// Starts predictive prefetching, by default with `VisitPlanner`. A running predictor is stopped, and the new one continues
    /// with its model and accesses.
    ///
    /// There is one predictor for a cache, which all managers over the cache share. It loads through the manager that started it, as
    /// long as that exists.
    @discardableResult
    public func startPredicting(_ configuration: PrefetchConfiguration = PrefetchConfiguration())
        -> PredictivePrefetcher
    {
        let (toMemory, cache, forcedExtension) = (configuration.toMemory, cache, defaultOptions.forcedExtension)
        let host = PrefetchHost(
            heldKey: { [weak cache] key, source, user in
                guard let cache, !cache.isCached(forKey: EntryKey(key, forcedExtension: forcedExtension)) else {
                    return key
                }
                guard cache.privateEntries.mayExist, let source else { return nil }
                let own = EntryOrigin.privateKey(computed: key, ofSource: source, for: user ?? "")
                return cache.isCached(forKey: EntryKey(own, forcedExtension: forcedExtension)) ? own : nil
            },
            capacity: { [weak cache] in
                CacheCapacity(
                    memory: cache?.memoryStorage.config.limits.cost ?? 0,
                    disk: cache?.diskStorage?.config.limits.cost ?? 0)
            },
            room: { [weak cache] in cache?.memoryStorage.room ?? 0 },
            roomOnDisk: { [weak cache] in cache?.diskStorage?.roomInFiles },
            evictNext: { [weak cache] in
                cache?.evictNext($0.map { EntryKey($0, forcedExtension: forcedExtension) })
            },
            reconsider: { [weak cache] in
                cache?.reconsider(EntryKey($0, forcedExtension: forcedExtension), isLikely: $1)
            },
            fileName: { [weak cache] in cache?.hash(forKey: EntryKey($0, forcedExtension: forcedExtension)) },
            folder: { [weak cache] in cache?.diskStorage?.folder.hidden },
            now: { [clock = cache.clock] in clock.now },
            record: { [weak cache] in cache?.recorded($0) },
            fetch: { [weak self] resource, options in
                guard let self else { return .noManager }
                do {
                    let loaded = try await prefetch(resource, options, toMemory: toMemory)
                    return loaded.map { .loaded(bytes: $0.bytes, cost: $0.cost) } ?? .cached
                } catch {
                    return error.isCancellation ? .cancelled : error.isRejection ? .rejected : .failed
                }
            })
        return cache.observation.start { ending, conditions in
            let prefetcher = PredictivePrefetcher(
                configuration, host, options: defaultOptions, clock: cache.clock, after: ending,
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

extension HalcyonManager {
    /// Forgets a user in the manager's caches. O(values).
    ///
    /// For `cache`, `originalCache` and the caches that `defaultOptions` names, it removes:
    ///
    /// - the values that are private to the user, from memory and disk;
    /// - the user's accesses that prediction keeps, in memory and in its file, and the fetches in flight for the user;
    /// - the user's accesses in the cache's recorder, if that is an `AccessLog`.
    ///
    /// The following stays:
    ///
    /// - what models have learnt from the accesses, in which no user has a name;
    /// - what a running process counts under the number of the user, which no later access of the user has in prediction;
    /// - a log that is not the cache's recorder, and values in caches that only single calls name;
    /// - an entry whose row in the disk's index was lost, until it expires or is evicted;
    /// - shared values. Loads of the user in flight may store private values later: cancel them before.
    ///
    /// - Throws: the first error, such as `AccessLogError`. All other parts are forgotten nevertheless; call again for the rest.
    public func forget(user: String) async throws {
        var failure: (any Error)?
        for cache in caches {
            let file = (cache.diskStorage?.folder.hidden).map(KeptAccessesFile.init)
            do {
                try await cache.forget(user: user) {
                    guard let file else { return }
                    try await CallbackQueue.dispatch(.global(qos: .utility)).result { try file.forget(user: user) }
                }
            } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }
}

extension HalcyonManager {
    /// Creates a manager over a cache whose memory tier is under the policy `learned` with a trained model.
    ///
    /// ```swift
    /// let manager = try HalcyonManager(name: "photos", model: modelURL)
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name of the cache, whose folder has it.
    ///   - model: a file that `replay train` has written.
    ///   - mode: whether the model goes on learning, or stays as it is. Default: it goes on.
    ///   - memory: the configuration of the memory tier. Default: a quarter of the memory that this process may use.
    ///   - diskPolicy: the policy of the disk tier. Default: `lru`.
    ///   - directory: the folder of the cache's folder. Default: the user's caches directory.
    ///   - recorder: receives every access, such as an `AccessLog`. Default: none.
    /// - Throws: `ModelFileError` if the file is no such model. `PolicyError` if there is no such disk policy, or if the
    ///   model was trained with other kernels. `CacheError.diskUnavailable(underlying:)` if the directory cannot be used.
    public convenience init(
        name: String, model: URL, mode: PretrainedModel.Mode = .continuing,
        memory: MemoryStorage<Bitmap>.Config = .init(), diskPolicyNamed diskPolicy: String = "lru",
        directory: URL? = nil, recorder: (any AccessRecorder)? = nil, downloader: ImageDownloader = .default,
        defaultOptions: ImageOptions = ImageOptions()
    ) throws {
        let catalogue = PolicyCatalogue.standard.serving(try PretrainedModel(contentsOf: model.path), mode: mode)
        let cache = try ImageCache<Bitmap>(
            memory: memory, disk: DiskStorageConfig(name: name, directory: directory), memoryPolicyNamed: "learned",
            diskPolicyNamed: diskPolicy, in: catalogue, recorder: recorder)
        self.init(cache: cache, downloader: downloader, defaultOptions: defaultOptions)
    }
}
