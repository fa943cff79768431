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
    /// Starts predictive prefetching, by default with `PrefetchPlanner`. A running predictor is stopped, and the new one continues
    /// with its model and accesses.
    ///
    /// There is one predictor for a cache, which all managers over the cache share. It loads through the manager that started it, as
    /// long as that exists.
    @discardableResult
    public func startPredicting(_ configuration: PrefetchConfiguration = PrefetchConfiguration()) -> LivePrefetcher {
        let host = ManagerHost(self, toMemory: configuration.toMemory)
        return cache.observation.start { ending, conditions in
            let prefetcher = LivePrefetcher(configuration, host, options: defaultOptions, after: ending)
            if let conditions = conditions as? PrefetchConditions, !conditions.isEmpty {
                prefetcher.conditions = conditions
            }
            return prefetcher
        }
    }

    /// Stops predictive prefetching. Prefetched images stay cached.
    public func stopPredicting() { cache.observation.stop() }

    /// The predictor of the manager's cache, if it was started.
    public var predictive: LivePrefetcher? { cache.observation.observer as? LivePrefetcher }
}

extension HalcyonManager {
    /// Forgets a user in the manager's caches. O(values).
    ///
    /// For `cache`, `originalCache` and the caches that `defaultOptions` names, it removes:
    ///
    /// - the values that are private to the user, from memory and disk;
    /// - the user's accesses that prediction keeps, in memory and in its file, the lists that are shown to the user, and the fetches in
    ///   flight for the user;
    /// - the user's accesses and lists in the cache's recorder, if that is an `AccessLog`;
    /// - the user's accesses in what is kept of eviction policies that learn (`DiskStorageConfig.keepsLearning`).
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
    /// - Throws: `ModelFileError` if the file is no such model, or is of another result version. A manager
    ///   over a cache under `learned` then begins with the shipped model. `PolicyError` if there is no such disk policy, or if the
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
