import Foundation

/// What an app wants to see: where it comes from, and what policies and rules of a cache go by.
public struct Resource: Sendable {
    /// Where it comes from.
    public var source: Source {
        didSet { cacheKey = source.cacheKey }
    }
    /// What its image is kept under.
    public private(set) var cacheKey: String
    /// Its categories; the first one decides where only one can.
    public var categories: [String]
    /// The id of the user or profile that requests it.
    public var user: String?

    /// An image from anywhere.
    public init(_ source: Source, categories: [String] = [], user: String? = nil) {
        self.source = source
        cacheKey = source.cacheKey
        self.categories = categories
        self.user = user
    }

    /// An image from a server; kept under `cacheKey`, by default its URL.
    public init(_ url: URL, cacheKey: String? = nil, categories: [String] = [], user: String? = nil) {
        self.init(.network(url, cacheKey: cacheKey), categories: categories, user: user)
    }
}
