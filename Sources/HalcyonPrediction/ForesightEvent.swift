import HalcyonCache
import HalcyonPipeline

/// What a ``Forecaster`` is told.
enum ForesightEvent: Sendable {
    /// How images are loaded that are made by a processor and were not announced; told before the first of them.
    case recipe(ForesightRecipe)
    /// Somebody asks for a resource, made by a processor.
    case wanted(Resource, processor: String)
    /// The app says that resources exist, and how they are loaded.
    case announced([AnnouncedResource], ForesightRecipe, time: Int64)
    /// The cache was asked for something.
    case accessed(RecordedAccess)
    /// A value left a tier.
    case removed(CacheType, Removal)
    /// The app says how the device is.
    case conditions(PrefetchConditions)
}

/// A resource that an app says exists, though nobody may have asked for it yet.
public struct AnnouncedResource: Sendable {
    /// What it is, and where it is.
    public var resource: Resource
    /// The bytes to be loaded, if they are known.
    public var bytes: Int?
    /// What it takes in memory, if that is known; for a bitmap four bytes a pixel.
    public var cost: Int?
    /// Since when it exists, in microseconds since 1970; `nil`: since now.
    public var since: Int64?

    /// A resource of which nothing more is known.
    public init(_ resource: Resource, bytes: Int? = nil, cost: Int? = nil, since: Int64? = nil) {
        self.resource = resource
        self.bytes = bytes
        self.cost = cost
        self.since = since
    }
}
