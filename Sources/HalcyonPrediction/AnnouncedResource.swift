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
