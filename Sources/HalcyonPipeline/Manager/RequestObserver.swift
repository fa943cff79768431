import HalcyonCache

/// An observer of a cache that also hears of each request to the managers over it.
package protocol RequestObserver: CacheObserver {
    /// Handles a request. Called on the caller's path.
    func requested(_ resource: Resource, _ options: ImageOptions)
}
