import HalcyonPipeline

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
    /// The server's count of the requests of all users in the period of a list; `nil` if it sends none. A negative count is 0.
    public var count: Int?

    /// Creates an announcement.
    public init(
        _ resource: Resource, bytes: Int? = nil, cost: Int? = nil, since: Int64? = nil, count: Int? = nil
    ) {
        self.resource = resource
        self.bytes = bytes
        self.cost = cost
        self.since = since
        self.count = count
    }
}

/// How often all users of a server were shown images of a category, and opened them: the pooled profile that a device lacks.
public struct CategoryOpenings: Sendable, Equatable {
    /// The largest number of categories of an announcement; those behind them are left out.
    public static let most = 10_000

    /// The category.
    public var category: String
    /// The images of the category that were shown. A negative number is 0.
    public var shown: Int
    /// Of these, the images that were opened. A negative number is 0.
    public var opened: Int

    /// Creates counts of a category.
    public init(_ category: String, shown: Int, opened: Int) {
        (self.category, self.shown, self.opened) = (category, shown, opened)
    }
}
