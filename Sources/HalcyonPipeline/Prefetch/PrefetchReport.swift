/// The results of prefetching. Each resource is in exactly one of the lists.
public struct PrefetchReport: Sendable {
    /// A resource that could not be prefetched, and the error.
    public struct Failure: Sendable {
        /// The resource.
        public let resource: Resource
        /// The error of its load.
        public let error: any Error
    }

    /// The resources that were already cached.
    public internal(set) var skipped: [Resource] = []
    /// The resources that failed from all sources.
    public internal(set) var failed: [Failure] = []
    /// The resources that were loaded and are now cached.
    public internal(set) var completed: [Resource] = []
    /// The resources that were not started or not finished when the prefetcher was stopped. Empty until the end.
    public internal(set) var stopped: [Resource] = []

    /// The number of resources in all lists.
    public var count: Int { skipped.count + failed.count + completed.count + stopped.count }
}
