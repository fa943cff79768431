/// What came of prefetching; each resource is in one of the lists, once.
public struct PrefetchReport: Sendable {
    /// Why a resource could not be prefetched.
    public struct Failure: Sendable {
        /// What was to be prefetched.
        public let resource: Resource
        /// Why it could not be.
        public let error: any Error
    }

    /// Was cached already.
    public internal(set) var skipped: [Resource] = []
    /// Could be had from no source.
    public internal(set) var failed: [Failure] = []
    /// Is cached now.
    public internal(set) var completed: [Resource] = []
    /// Was not begun, or not done, when the prefetcher was stopped; empty before the end.
    public internal(set) var stopped: [Resource] = []

    /// How many have ended.
    public var count: Int { skipped.count + failed.count + completed.count + stopped.count }
}
