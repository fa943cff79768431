import HalcyonCache
import HalcyonPipeline

/// An event for a ``Forecaster``.
enum ForesightEvent: Sendable {
    /// The load template of a processor, for images that were not announced. It comes before the first of them.
    case recipe(ForesightRecipe)
    /// A request for a resource with a processor.
    case wanted(Resource, processor: String)
    /// The app announces resources and their load template.
    case announced([AnnouncedResource], ForesightRecipe, time: Int64)
    /// An access to the cache.
    case accessed(RecordedAccess)
    /// A value left a tier.
    case removed(CacheType, Removal)
    /// The app sets the conditions.
    case conditions(PrefetchConditions)
}

/// A resource that an app announces, before or after its first request.
public struct AnnouncedResource: Sendable {
    /// The resource.
    public var resource: Resource
    /// The bytes to load, if they are known.
    public var bytes: Int?
    /// The size in memory, if it is known; for a bitmap four bytes a pixel.
    public var cost: Int?
    /// The time of its creation, in microseconds since 1970; `nil` for the time of the announcement.
    public var since: Int64?

    /// Creates an announcement.
    public init(_ resource: Resource, bytes: Int? = nil, cost: Int? = nil, since: Int64? = nil) {
        self.resource = resource
        self.bytes = bytes
        self.cost = cost
        self.since = since
    }
}
