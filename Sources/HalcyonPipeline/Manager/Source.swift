import Foundation

/// Where an image comes from.
public enum Source: Sendable {
    /// A server; kept under `cacheKey`, by default the URL as it is written.
    case network(URL, cacheKey: String? = nil)
    /// A provider of its bytes.
    case provider(any ImageDataProvider)

    /// A file of this machine; kept under `cacheKey`, by default its URL. What changes at the same path is not noticed: give
    /// each version a key of its own, or refresh (``ImageOptions/forceRefresh``).
    public static func file(_ url: URL, cacheKey: String? = nil) -> Source {
        .provider(LocalFileProvider(url, cacheKey: cacheKey))
    }

    /// Bytes that are here already.
    public static func data(_ data: Data, cacheKey: String) -> Source {
        .provider(DataProvider(data, cacheKey: cacheKey))
    }

    /// What its image is kept under.
    public var cacheKey: String {
        switch self {
        case .network(let url, let cacheKey): cacheKey ?? url.absoluteString
        case .provider(let provider): provider.cacheKey
        }
    }

    /// Where it is on a server; `nil` for what does not come from one.
    public var url: URL? {
        if case .network(let url, _) = self { return url }
        return nil
    }
}
