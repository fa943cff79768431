import Foundation
import HalcyonCache
import HalcyonNetworking
import HalcyonSupport

/// Where an image comes from.
///
/// See `SourceTests.everyKindOfSourceLoadsUnderItsKey()`.
public enum Source: Sendable {
    /// A server. The image is cached under `cacheKey`, by default the URL as it is written. A file's URL and a `data:` URL are read as by
    /// ``init(_:cacheKey:)``.
    case network(URL, cacheKey: String? = nil)
    /// A provider of the image's bytes.
    case provider(any ImageDataProvider)

    /// Creates the source of a URL: a file's provider for a file URL, the content of a `data:` URL (RFC 2397), else a server.
    ///
    /// What may be loaded says the manager's ``SourcePolicy``. The content of a `data:` URL is bounded like the body of a response. Its
    /// picture is kept in memory alone, because a file would be a second copy; what a processor makes of it is kept on disk, too. See
    /// `DataURLTests`.
    ///
    /// - Parameter cacheKey: the key in the cache; by default the URL as it is written, of a `data:` URL `data:sha256:` and its SHA-256.
    public init(_ url: URL, cacheKey: String? = nil) {
        self = Source.network(url, cacheKey: cacheKey).resolved
    }

    /// A file of this machine, cached under `cacheKey`, by default its URL.
    ///
    /// It is kept in memory alone, unless the load states an ``ImageOptions/diskPolicy``. A change of its size or of its time of modification
    /// is noticed by the next load, which then reads it again. A hit in memory reads both on the caller's thread. An image of a file that
    /// is gone is used as long as it is cached. What your code stores in the cache under the file's key is not of a known version, and is
    /// replaced. See `LocalFileTests`.
    ///
    /// - Parameter queue: where the file is read; by default a global queue.
    public static func file(
        _ url: URL, cacheKey: String? = nil, queue: CallbackQueue = .dispatch(.global(qos: .userInitiated))
    ) -> Source {
        .provider(LocalFileProvider(url, cacheKey: cacheKey, queue: queue))
    }

    /// Bytes in memory.
    public static func data(_ data: Data, cacheKey: String) -> Source {
        .provider(DataProvider(data, cacheKey: cacheKey))
    }

    /// The key of the image in the cache. In a key of your own, the control characters U+001E and U+001F are escaped, so that it cannot
    /// be the key of an entry that is private to a user. Ask the cache by this property where a key may have them.
    ///
    /// See `PrivateContentTests.keyOfAnAppReachesNoPrivateImage()`.
    public var cacheKey: String {
        switch self {
        case .network(let url, let cacheKey):
            EntryOrigin.sourceKey(
                cacheKey ?? (DataURLProvider.isDataURL(url) ? DataURLProvider.key(of: url) : url.absoluteString))
        case .provider(let provider): EntryOrigin.sourceKey(provider.cacheKey)
        }
    }

    /// The URL on a server; `nil` for a source that is none.
    public var url: URL? {
        if case .network(let url, _) = resolved { return url }
        return nil
    }

    /// The same source, as a provider if its URL names no server.
    var resolved: Source {
        guard case .network(let url, let cacheKey) = self else { return self }
        if url.isFileURL { return .file(url, cacheKey: cacheKey) }
        return DataURLProvider.isDataURL(url) ? .provider(DataURLProvider(url, cacheKey: cacheKey)) : self
    }

    /// Whether it is a file of this machine.
    var isFile: Bool {
        switch self {
        case .network(let url, _): url.isFileURL
        case .provider(let provider): provider is LocalFileProvider
        }
    }

    /// Whether it is a `data:` URL, which needs no copy of its bytes.
    var isDataURL: Bool { if case .provider(let provider) = resolved { provider is DataURLProvider } else { false } }
}

/// An image that an app requests: its source, and what the policies and rules of a cache use.
///
/// Copying is O(1) and counts one reference, so that a hit costs little for resources that an app keeps.
///
/// Key, categories and user reach both tiers and the access log. See
/// `SourceTests.resourceMetadataReachesTiersAndLog()`.
public struct Resource: Sendable {
    /// The properties, which copies share.
    private final class Content: Sendable {
        let source: Source
        let cacheKey: String
        let categories: [String]
        let user: String?
        let detail: Resource?
        /// Whether the source is a file of this machine.
        let isFile: Bool

        init(
            _ source: Source, _ cacheKey: String, _ categories: [String], _ user: String?, _ detail: Resource?
        ) {
            (self.source, self.cacheKey, self.categories) = (source, cacheKey, categories)
            (self.user, self.detail) = (user, detail)
            isFile = source.isFile
        }
    }

    private var content: Content

    /// Creates a resource of a source.
    public init(_ source: Source, categories: [String] = [], user: String? = nil) {
        content = Content(source, source.cacheKey, categories, user, nil)
    }

    /// Creates a resource of a URL, also a file's, cached under `cacheKey`, by default the URL.
    public init(_ url: URL, cacheKey: String? = nil, categories: [String] = [], user: String? = nil) {
        self.init(Source(url, cacheKey: cacheKey), categories: categories, user: user)
    }

    /// The source of the image.
    public var source: Source {
        get { content.source }
        set { content = Content(newValue, newValue.cacheKey, content.categories, content.user, content.detail) }
    }
    /// Whether the source is a file of this machine.
    var isFile: Bool { content.isFile }
    /// The key of the image in the cache.
    public var cacheKey: String { content.cacheKey }
    /// The categories of the image; the first one decides where only one can.
    public var categories: [String] {
        get { content.categories }
        set { content = Content(content.source, content.cacheKey, newValue, content.user, content.detail) }
    }
    /// The user or profile that requests the image; an empty name counts as none. Responses that are private to a user are cached for
    /// that user alone; see <doc:Manager>.
    public var user: String? {
        get { content.user }
        set { content = Content(content.source, content.cacheKey, content.categories, newValue, content.detail) }
    }
    /// The image that is opened from this one, such as the large form of a thumbnail; `nil`, the default, if this image itself
    /// is opened. Lists announce it in place of this one, with this one's categories and user where it has none; see
    /// ``HalcyonManager/show(list:in:options:)``.
    public var detail: Resource? {
        get { content.detail }
        set { content = Content(content.source, content.cacheKey, content.categories, content.user, newValue) }
    }

    /// The image that is opened: ``detail``, otherwise this one.
    var opened: Resource {
        guard var opened = detail else { return self }
        if opened.categories.isEmpty { opened.categories = categories }
        if opened.user == nil { opened.user = user }
        return opened
    }
}

/// Has the bytes of an image, or gets them: from a file, an archive, a database, a generator.
///
/// Loads from providers of one type with one key share one call of ``data()``. Its errors are given to the
/// ``ImageOptions/retryStrategy``, as those of a transfer are.
///
/// An error reaches all these loads and is not remembered. A cancelled load does not wait for the provider. See
/// `ProviderTests.concurrentRequestsCallProviderOnce()`, `ProviderTests.providersOfTwoKindsAreNotMerged()`,
/// `ProviderTests.providerFailureReachesAllAndIsForgotten()` and
/// `ProviderTests.cancellingLastWaiterCancelsProvider()`.
public protocol ImageDataProvider: Sendable {
    /// The key of the image in the cache; two providers with the same key have the same image.
    var cacheKey: String { get }
    /// Returns the bytes of a file in a known format. Called off the caller's thread, and cancelled with the last load that waits.
    func data() async throws -> Data
}

/// A regular file of this machine, not longer than the body of a response may be.
struct LocalFileProvider: URLProvider {
    let url: URL
    let cacheKey: String
    var access = FileAccess(folders: nil, limit: TransferLimits().responseBytes)
    private let queue: CallbackQueue

    init(_ url: URL, cacheKey: String?, queue: CallbackQueue) {
        self.url = url
        self.cacheKey = cacheKey ?? url.absoluteString
        self.queue = queue
    }

    func data() async throws -> Data {
        try await queue.result { [url, access] in try access.read(url) }
    }
}

/// Bytes in memory.
struct DataProvider: ImageDataProvider {
    private let bytes: Data
    let cacheKey: String

    init(_ bytes: Data, cacheKey: String) {
        self.bytes = bytes
        self.cacheKey = cacheKey
    }

    func data() async throws -> Data { bytes }
}
