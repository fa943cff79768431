import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonNetworking
@testable import HalcyonPipeline

/// Each option of a call: its own value, else that of the manager's defaults, else the documented default.
@Suite("Manager: merging of each option", .timeLimit(.minutes(20)))
struct OptionMergingTests {
    /// One option, with a first and a second value.
    private struct Option: Sendable {
        /// The name of the stored property.
        let name: String
        let set: @Sendable (inout ImageOptions, _ isSecond: Bool) -> Void
        let read: @Sendable (ResolvedOptions) -> String
        /// The value that is read for the default.
        let ifUnset: String

        init<Value: Sendable>(
            _ name: String, _ property: WritableKeyPath<ImageOptions, Value> & Sendable, _ first: Value,
            _ second: Value, ifUnset: String, _ read: @escaping @Sendable (ResolvedOptions) -> String
        ) {
            self.name = name
            set = { $0[keyPath: property] = $1 ? second : first }
            self.read = read
            self.ifUnset = ifUnset
        }

        /// An option that is `true` or `false`.
        init(
            _ name: String, _ property: WritableKeyPath<ImageOptions, Bool?> & Sendable, ifUnset: String,
            _ read: @escaping @Sendable (ResolvedOptions) -> Bool?
        ) {
            self.init(name, property, true, false, ifUnset: ifUnset) { read($0).map { "\($0)" } ?? "none" }
        }
    }

    private struct Named: ImageProcessor, ImageModifier, CacheSerializer, RetryStrategy, ImageDownloadRequestModifier,
        ImageDownloadRedirectHandler
    {
        let identifier: String

        func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap {
            throw ImageError.unknownFormat
        }
        func modified(_ image: Bitmap) -> Bitmap { image }
        func data(with value: Bitmap, original: Data?) -> Data? { nil }
        func value(with data: Data) -> Bitmap? { nil }
        func decision(for context: RetryContext) async -> RetryDecision { .stop }
        func modified(for request: TransportRequest) -> TransportRequest? { request }
        func handleHTTPRedirection(
            for response: ResponseHead, newRequest: TransportRequest
        ) async -> TransportRequest? { newRequest }
    }

    /// A processor that calls a closure where it runs.
    private struct Noting: ImageProcessor {
        let identifier = "noting"
        let note: @Sendable () -> Void

        init(_ note: @escaping @Sendable () -> Void) { self.note = note }

        func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap {
            note()
            return try DefaultImageProcessor().process(item, decoder: decoder)
        }
    }

    private let (own, first, second): (ManagerFixture, ManagerFixture, ManagerFixture)
    private let options: [Option]

    init() throws {
        (own, first, second) = (try ManagerFixture(), try ManagerFixture(), try ManagerFixture())
        let caches = [own.cache, first.cache, second.cache]
        let downloaders = [own.downloader, first.downloader, second.downloader]
        let (one, two) = (Named(identifier: "one"), Named(identifier: "two"))
        let name: @Sendable (Any?) -> String = { ($0 as? Named)?.identifier ?? "none" }
        let queues = ["one", "two"].map { DispatchQueue(label: $0) }
        let label: @Sendable (CallbackQueue) -> String = { queue in
            switch queue {
            case .dispatch(let queue): queue.label
            case .mainCurrentOrAsync: "main"
            default: "other"
            }
        }
        let progress: (@Sendable (DownloadProgress) -> Void)? = { _ in }
        options = [
            Option("processor", \.processor, one, two, ifUnset: "") { $0.processor.identifier },
            Option("imageModifier", \.imageModifier, one, two, ifUnset: "none") { name($0.imageModifier) },
            Option("serializer", \.serializer, one, two, ifUnset: "none") { name($0.serializer) },
            Option("wantsOriginalData", \.wantsOriginalData, ifUnset: "false") { $0.wantsOriginalData },
            Option("forceRefresh", \.forceRefresh, ifUnset: "false") { $0.forceRefresh },
            Option("onlyFromCache", \.onlyFromCache, ifUnset: "false") { $0.onlyFromCache },
            Option("fromMemoryCacheOrRefresh", \.fromMemoryCacheOrRefresh, ifUnset: "false") {
                $0.caching.fromMemoryCacheOrRefresh
            },
            Option(
                "alternativeSources", \.alternativeSources, [.network(fake("one"))], [.network(fake("two"))],
                ifUnset: ""
            ) { $0.alternativeSources.map(\.cacheKey).joined() },
            Option("lowDataSource", \.lowDataSource, .network(fake("one")), .network(fake("two")), ifUnset: "none") {
                $0.lowDataSource?.cacheKey ?? "none"
            },
            Option("allowsConstrainedNetwork", \.allowsConstrainedNetwork, ifUnset: "true") {
                $0.download.allowsConstrainedNetwork
            },
            Option(
                "freshness", \.freshness, FreshnessPolicy(), FreshnessPolicy(honoursServer: false), ifUnset: "none"
            ) { $0.freshness.map { "\($0.honoursServer)" } ?? "none" },
            Option("cache", \.cache, first.cache, second.cache, ifUnset: "0") { options in
                "\(caches.firstIndex { $0 === options.cache } ?? -1)"
            },
            Option("originalCache", \.originalCache, first.cache, second.cache, ifUnset: "0") { options in
                "\(caches.firstIndex { $0 === options.originalCache } ?? -1)"
            },
            Option("downloader", \.downloader, first.downloader, second.downloader, ifUnset: "0") { options in
                "\(downloaders.firstIndex { $0 === options.downloader } ?? -1)"
            },
            Option("readsFrom", \.readsFrom, .memory, .disk, ifUnset: "3") { "\($0.reads.rawValue)" },
            Option("writesTo", \.writesTo, .memory, .disk, ifUnset: "3") { "\($0.writes.rawValue)" },
            Option("diskPolicy", \.diskPolicy, .originals, .both, ifUnset: "automatic") { $0.diskPolicy.rawValue },
            Option("cacheMemoryOnly", \.cacheMemoryOnly, ifUnset: "false") { !$0.writes.contains(.disk) },
            Option("waitForCache", \.waitForCache, ifUnset: "false") { $0.waitForCache },
            Option("memoryCacheExpiration", \.memoryCacheExpiration, .days(1), .days(2), ifUnset: "nil") {
                "\($0.caching.memoryCacheExpiration.map { "\($0)" } ?? "nil")"
            },
            Option("memoryExtending", \.memoryCacheAccessExtendingExpiration, .none, .cacheTime, ifUnset: "cacheTime") {
                "\($0.caching.memoryCacheAccessExtendingExpiration)"
            },
            Option("diskCacheExpiration", \.diskCacheExpiration, .days(1), .days(2), ifUnset: "nil") {
                "\($0.caching.diskCacheExpiration.map { "\($0)" } ?? "nil")"
            },
            Option("diskExtending", \.diskCacheAccessExtendingExpiration, .none, .cacheTime, ifUnset: "cacheTime") {
                "\($0.caching.diskCacheAccessExtendingExpiration)"
            },
            Option("keepInBackground", \.keepInBackground, ifUnset: "none") { $0.caching.keepInBackground },
            Option("forcedExtension", \.forcedExtension, "one", "two", ifUnset: "nil") { $0.forcedExtension ?? "nil" },
            Option("priority", \.priority, .veryLow, .high, ifUnset: "normal") { "\($0.download.priority)" },
            Option("retryStrategy", \.retryStrategy, one, two, ifUnset: "none") { name($0.download.retryStrategy) },
            Option("requestModifier", \.requestModifier, one, two, ifUnset: "none") {
                name($0.download.requestModifier)
            },
            Option("redirectHandler", \.redirectHandler, one, two, ifUnset: "none") {
                name($0.download.redirectHandler)
            },
            Option("allowsInsecureRedirects", \.allowsInsecureRedirects, ifUnset: "none") {
                $0.download.allowsInsecureRedirects
            },
            Option(
                "processingQueue", \.processingQueue, .dispatch(queues[0]), .dispatch(queues[1]),
                ifUnset: DispatchQueue.global(qos: .userInitiated).label
            ) { label($0.download.processingQueue) },
            Option(
                "callbackQueue", \.callbackQueue, .dispatch(queues[0]), .dispatch(queues[1]), ifUnset: "main"
            ) { label($0.download.callbackQueue) },
            Option("previewsPerSecond", \.previewsPerSecond, 1, 2, ifUnset: "0.0") { "\($0.previewsPerSecond)" },
            // Closures cannot be compared.
            Option("onProgress", \.onProgress, progress, progress, ifUnset: "none") {
                $0.download.onProgress == nil ? "none" : "some"
            },
            Option("onPreview", \.onPreview, { _ in }, { _ in }, ifUnset: "none") {
                $0.onPreview == nil ? "none" : "some"
            },
        ]
    }

    @Test("The table lists every stored property of the options")
    func tableListsEveryStoredOption() {
        let stored = Mirror(reflecting: ImageOptions()).children.compactMap(\.label)
        #expect(options.map(\.name).sorted() == stored.sorted())
    }

    @Test("A call's value overrides the manager's, which overrides the default")
    func callOverridesManagerOverridesDefault() {
        for option in options {
            func read(manager: Bool?, call: Bool?) -> String {
                let manager = HalcyonManager(
                    cache: own.cache, downloader: own.downloader,
                    defaultOptions: ImageOptions { options in manager.map { option.set(&options, $0) } })
                let options = call.map { isSecond in ImageOptions { option.set(&$0, isSecond) } }
                return option.read(SharedOptions(options, of: manager).values)
            }
            let (one, two) = (read(manager: nil, call: false), read(manager: nil, call: true))
            #expect(one != two || option.name == "onProgress" || option.name == "onPreview", "\(option.name)")
            #expect(read(manager: nil, call: nil) == option.ifUnset, "\(option.name)")
            #expect(read(manager: false, call: nil) == one && read(manager: true, call: nil) == two, "\(option.name)")
            #expect(read(manager: false, call: true) == two, "\(option.name)")
            #expect(read(manager: true, call: false) == one, "\(option.name)")
        }
    }

    @Test("Originals use the cache of the call unless it states a cache of originals")
    func originalsUseCacheOfTheCall() {
        func originals(
            _ manager: (inout ImageOptions) -> Void, _ call: (inout ImageOptions) -> Void
        ) -> ImageCache<Bitmap> {
            let manager = HalcyonManager(
                cache: own.cache, downloader: own.downloader, defaultOptions: ImageOptions(manager))
            return SharedOptions(ImageOptions(call), of: manager).values.originalCache
        }
        #expect(originals({ _ in }, { $0.cache = first.cache }) === first.cache)
        #expect(originals({ $0.originalCache = second.cache }, { $0.cache = first.cache }) === first.cache)
        #expect(originals({ $0.cache = first.cache }, { _ in }) === first.cache)
        #expect(originals({ $0.cache = first.cache }, { $0.originalCache = second.cache }) === second.cache)
    }

    @Test("Prefetches use a low priority and the utility queue by default, predicted ones the background queue")
    func prefetchesUseLowPriorityAndUtilityQueue() {
        func prefetch(_ call: ImageOptions?) -> ResolvedOptions {
            SharedOptions(call, of: own.manager, isPrefetch: true).values
        }
        func label(_ options: ResolvedOptions) -> String? {
            if case .dispatch(let queue) = options.download.processingQueue { queue.label } else { nil }
        }
        #expect(prefetch(nil).download.priority == .low)
        #expect(prefetch(ImageOptions { $0.priority = .high }).download.priority == .high)
        #expect(label(prefetch(nil)) == DispatchQueue.global(qos: .utility).label)
        let predicted = prefetch(ImageOptions { $0.priority = .veryLow })
        #expect(label(predicted) == DispatchQueue.global(qos: .background).label)
    }

    @Test("Joined loads are processed on the queue of the load with the highest priority")
    func joinedLoadsUseQueueOfHighestPriority() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let marker = DispatchSpecificKey<Int>()
        let ran = Mutex<[Int?]>([])
        let processor = Noting { ran.withLock { $0.append(DispatchQueue.getSpecific(key: marker)) } }
        var loads: [Task<ImageResult, any Error>] = []
        for (number, priority) in [TransferPriority.veryLow, .high, .normal].enumerated() {
            let queue = DispatchQueue(label: "queue \(number)")
            queue.setSpecific(key: marker, value: number)
            let options = ImageOptions {
                ($0.processor, $0.priority, $0.processingQueue) = (processor, priority, .dispatch(queue))
            }
            loads.append(Task { try await fixture.manager.image(for: fake("a"), options: options) })
            await fixture.downloader.waitForWaiters(number + 1)
        }
        transport.answer("a", try EncodedPicture().file)
        for load in loads { _ = try await load.value }
        #expect(ran.withLock { $0 } == [1])
    }
}
