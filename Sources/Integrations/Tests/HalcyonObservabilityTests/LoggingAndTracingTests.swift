import Foundation
import Halcyon
import HalcyonTestSupport
import InMemoryTracing
import Logging
import Synchronization
import Testing
import Tracing

@testable import HalcyonObservability
@testable import HalcyonNetworking
@testable import HalcyonPipeline

/// Keeps the messages that are logged: `level: message metadata`.
struct RecordingHandler: LogHandler {
    final class Lines: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock { $0 } }

        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        lines.add((["\(event.level):", "\(event.message)"] + details).joined(separator: " "))
    }
}

/// A provider that answers only to cancellation.
struct NeverProvider: ImageDataProvider {
    let cacheKey = "never"

    func data() async throws -> Data {
        try await Task.sleep(for: .seconds(3_600))
        return Data()
    }
}

@Suite("Logging and tracing", .timeLimit(.minutes(20)))
struct LoggingAndTracingTests {
    @Test("A failed load, a cleaning and a directory in use are logged, without queries and users")
    func failuresAreLoggedWithoutSecrets() async throws {
        let fixture = try Fixture()
        let lines = RecordingHandler.Lines()
        let logger = Logger(label: "test") { _ in RecordingHandler(lines: lines) }
        let logging = CacheLogger(fixture.manager, logger: logger)
        await waitUntil { lines.all.contains { $0.hasPrefix("info: The disk tier is open. entries=0") } }
        let url = try #require(URL(string: "http://name:word@127.0.0.1:1/a.png?token=secret#part"))
        _ = try? await fixture.manager.image(for: url, user: "secret-user")
        await waitUntil { lines.all.contains { $0.hasPrefix("warning: A load failed.") } }
        var options = CacheOptions()
        options.diskCacheExpiration = .seconds(0.001)
        let image = try await fixture.manager.image(for: try Fixture.resource("a")).image
        await fixture.cache.store(image, forKey: "expiring", options: options)
        await waitUntil { fixture.cache.diskStorage?.isCached(forKey: "expiring") == false }
        #expect(await fixture.cache.cleanExpiredDiskCache().count == 1)
        await waitUntil { lines.all.contains("info: A cleaning removed files from disk. files=1") }
        let second = ImageCache<Data>(
            disk: .init(name: "observed", directory: URL(fileURLWithPath: fixture.folder.path)),
            serializer: TransformingSerializer(), triggers: [])
        let other = CacheLogger(second, logger: logger)
        await waitUntil { lines.all.contains { $0.hasPrefix("warning: Another cache uses the directory;") } }
        #expect(lines.all.contains { $0.contains("url=http://127.0.0.1:1/a.png") })
        #expect(!lines.all.contains { $0.contains("secret") || $0.contains("word@") || $0.contains("token") })
        withExtendedLifetime((logging, other)) {}
    }

    @Test("A cancelled load is logged at debug level, and an unusable directory as an error")
    func cancellationIsDebugAndBadDirectoryError() async throws {
        let fixture = try Fixture()
        let lines = RecordingHandler.Lines()
        let logger = Logger(label: "test") { _ in RecordingHandler(lines: lines) }
        let logging = CacheLogger(fixture.manager, logger: logger)
        await waitUntil { lines.all.contains { $0.hasPrefix("info: The disk tier is open.") } }
        let waiting = Resource(.provider(NeverProvider()))
        let load = Task { try await fixture.manager.image(for: waiting) }
        await waitUntil { fixture.manager.loader.providers.waiterCount == 1 }
        load.cancel()
        await #expect(throws: CancellationError.self) { try await load.value }
        await waitUntil { lines.all.contains { $0.hasPrefix("debug: ") } }
        #expect(!lines.all.contains { $0.hasPrefix("warning: ") })
        let file = fixture.folder.path + "/file"
        try Data().write(to: URL(fileURLWithPath: file))
        let unusable = ImageCache<Data>(
            disk: .init(name: "unusable", directory: URL(fileURLWithPath: file)), serializer: TransformingSerializer(),
            triggers: [])
        let other = CacheLogger(unusable, logger: logger)
        await waitUntil { lines.all.contains { $0.hasPrefix("error: The disk tier is not in use.") } }
        withExtendedLifetime((logging, other)) {}
    }

    @Test("Queries, fragments, credentials and owners are removed from texts")
    func textsAreRedacted() {
        let home = NSHomeDirectory()
        for (text, expected) in [
            ("http://u:p@host/a.png?token=1#x answered with 404.", "http://host/a.png answered with 404."),
            ("The value of 'https://h/a?b=c\u{1F}user one' is no image.", "The value of 'https://h/a' is no image."),
            ("'k?secret' is not cached", "'k' is not cached"),
            ("\(home)/cache is in use.", "~/cache is in use."), ("no URL: 3 % of 5", "no URL: 3 % of 5"),
        ] {
            #expect(Redaction.text(text) == expected)
        }
    }

    @Test("A load is a child span of its caller; transfer and decoding are its children")
    func loadIsASpanWithChildren() async throws {
        let fixture = try Fixture()
        let tracer = InMemoryTracer()
        let tracing = LoadTracer(fixture.manager, tracer: tracer)
        let resource = try Fixture.resource("a")
        try await tracer.withSpan("caller") { _ in _ = try await fixture.manager.image(for: resource) }
        // A hit in memory is no span.
        _ = try await fixture.manager.image(for: resource)
        let broken = Resource(.data(Data("no image".utf8), cacheKey: "b"))
        await #expect(throws: ImageError.self) { try await fixture.manager.image(for: broken) }
        let spans = tracer.finishedSpans
        #expect(
            spans.map(\.operationName) == [
                "halcyon.transfer", "halcyon.decode", "halcyon.load", "caller", "halcyon.transfer", "halcyon.decode",
                "halcyon.load",
            ])
        let (transfer, decode, load, caller) = (spans[0], spans[1], spans[2], spans[3])
        #expect(load.parentSpanID == caller.spanID)
        #expect(transfer.parentSpanID == load.spanID && decode.parentSpanID == load.spanID)
        #expect(load.attributes["halcyon.outcome"]?.toSpanAttribute() == .string("provider"))
        #expect(spans[6].status?.code == .error && spans[5].status?.code == .error && spans[6].parentSpanID == nil)
        #expect(tracer.activeSpans.isEmpty)
        withExtendedLifetime(tracing) {}
    }

    @Test("A lost index is logged as rebuilt, and a slow opening is logged")
    func rebuiltIndexIsLogged() async throws {
        let fixture = try Fixture()
        _ = try await fixture.manager.image(for: try Fixture.resource("a"))
        await fixture.cache.close()
        let directory = URL(fileURLWithPath: fixture.folder.path)
        for case let file as URL in try #require(
            FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil))
        where file.lastPathComponent.hasPrefix("index.sqlite") {
            try FileManager.default.removeItem(at: file)
        }
        let lines = RecordingHandler.Lines()
        let cache = ImageCache<Data>(
            disk: .init(name: "observed", directory: directory), serializer: TransformingSerializer(), triggers: [])
        let logging = CacheLogger(
            cache, logger: Logger(label: "test") { _ in RecordingHandler(lines: lines) }, slowOpening: .zero)
        await waitUntil { lines.all.contains { $0.hasPrefix("notice: The disk tier was slow to open. entries=1") } }
        #expect(lines.all.contains { $0.hasPrefix("notice: The index of the disk tier was rebuilt from its files.") })
        withExtendedLifetime(logging) {}
    }
}
