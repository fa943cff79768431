/// What a prefetch policy is told when it is made.
public struct PrefetchContext: Sendable {
    /// The seed of everything random.
    public var seed: UInt64
    /// How many objects to make room for from the start; 0 where nobody knows.
    public var objects: Int
    /// The object whose key is the number after that of an object's key, whether anybody has asked for it or not; `nil` where
    /// keys are no numbers. Only ``NextKeyPrefetch`` looks at it.
    public var nextByKey: (@Sendable (UInt32) -> UInt32?)?

    /// How long a fetch takes, in microseconds; 0 where nobody knows. What is asked for sooner was not worth a fetch.
    public var fetchLatency: Int64

    /// Whether each user has a cache, so that what left one is missed by that user alone. Otherwise one cache serves all.
    public var cachesPerUser: Bool

    /// A context; everything has a neutral default.
    public init(
        seed: UInt64 = 1, objects: Int = 0, nextByKey: (@Sendable (UInt32) -> UInt32?)? = nil, fetchLatency: Int64 = 0,
        cachesPerUser: Bool = false
    ) {
        self.seed = seed
        self.objects = objects
        self.nextByKey = nextByKey
        self.fetchLatency = fetchLatency
        self.cachesPerUser = cachesPerUser
    }
}
