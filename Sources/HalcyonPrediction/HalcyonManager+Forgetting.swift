import Dispatch
import HalcyonCache
import HalcyonImages
import HalcyonPipeline

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
        var caches: [ImageCache<Bitmap>] = []
        for cache in [cache, originalCache, defaultOptions.cache, defaultOptions.originalCache].compactMap({ $0 })
        where !caches.contains(where: { $0 === cache }) { caches.append(cache) }
        for cache in caches {
            let file = (cache.diskStorage?.files.folder.hidden).map(KeptAccessesFile.init)
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
