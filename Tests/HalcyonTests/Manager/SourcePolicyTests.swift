import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

/// A manager loads what its policy and its downloader's requests allow, from whichever kind of source, and opens nothing else.
@Suite("Manager: the policy of sources", .timeLimit(.minutes(20)))
struct SourcePolicyTests {
    private func manager(
        _ fixture: ManagerFixture, _ policy: SourcePolicy = SourcePolicy(), _ options: ImageOptions = ImageOptions(),
        constrained: Bool = false, request change: @escaping @Sendable (inout TransportRequest) -> Void = { _ in }
    ) -> HalcyonManager {
        let downloader = ImageDownloader.test {
            $0.request = { .test($0, change) }
            $0.isNetworkConstrained = { constrained }
        }
        return HalcyonManager(
            cache: fixture.cache, downloader: downloader, defaultOptions: options, sourcePolicy: policy)
    }

    /// The reason for which a load was refused; `nil` for any other end.
    private func refusal(_ work: () async throws -> some Any) async -> String? {
        guard case .sourceRefused(_, let reason)? = await failure(work) as? ManagerError else { return nil }
        return reason
    }

    private let noFolder = "the policy names no folder of files that may be read"

    @Test("Without restrictions, an app reads files by their URLs and by Source.file")
    func unrestrictedAppReadsItsFiles() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture()
        let file = URL(fileURLWithPath: try fixture.folder.file("a.png", Array(sample.file)))
        let manager = manager(fixture)
        #expect(try await manager.image(for: file).image == sample.picture)
        #expect(try await manager.image(for: .file(file, cacheKey: "b")).image == sample.picture)
        #expect(try await manager.image(for: .network(file, cacheKey: "c")).image == sample.picture)
    }

    @Test(
        "A manager whose requests are restricted reads no file, whichever kind of source names it",
        arguments: [
            { $0.peerFilter = .publicAddresses }, { $0.allowedSchemes = ["https"] },
        ] as [@Sendable (inout TransportRequest) -> Void])
    func restrictedRequestsReadNoFile(change: @escaping @Sendable (inout TransportRequest) -> Void) async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture()
        let file = URL(fileURLWithPath: try fixture.folder.file("a.png", Array(sample.file)))
        let manager = manager(fixture, constrained: true, request: change)
        for source in [Source(file), .file(file), .network(file)] {
            #expect(await refusal { try await manager.image(for: source) } == noFolder)
        }
        var options = ImageOptions()
        options.alternativeSources = [.file(file, cacheKey: "other")]
        let error = await failure { try await manager.image(for: .network(file), options: options) }
        guard case .allSourcesFailed(let failures)? = error as? ManagerError else {
            Issue.record("the alternative source is \(String(describing: error))")
            return
        }
        #expect(
            failures.map { "\($0.error)" }
                == Array(repeating: "\(file.absoluteString) may not be loaded: \(noFolder).", count: 2))
        options.alternativeSources = nil
        options.lowDataSource = .file(file, cacheKey: "low")
        let remote = try #require(URL(string: "https://example.org/a"))
        #expect(await refusal { try await manager.image(for: remote, options: options) } == noFolder)
        #expect(await refusal { try await manager.prefetch(Resource(file), nil, toMemory: true) } == noFolder)
        // A folder that the policy names is read.
        let named = SourcePolicy(folders: [URL(fileURLWithPath: fixture.folder.path)])
        let other = self.manager(fixture, named, request: change)
        #expect(try await other.image(for: file).image == sample.picture)
    }

    @Test("Files inside of a named folder are read, and none outside: not by '..', links, prefixes, hosts or a NUL")
    func onlyFilesInsideNamedFoldersAreRead() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture()
        let files = FileManager.default
        let root = URL(fileURLWithPath: fixture.folder.path)
        for name in ["in/deep", "in2", "out"] {
            try files.createDirectory(at: root.appendingPathComponent(name), withIntermediateDirectories: true)
        }
        for name in ["in/a.png", "in/deep/b.png", "in2/c.png", "out/d.png"] {
            _ = try fixture.folder.file(name, Array(sample.file))
        }
        func link(_ name: String, _ target: String) throws {
            try files.createSymbolicLink(atPath: "\(root.path)/\(name)", withDestinationPath: "\(root.path)/\(target)")
        }
        try link("in/leaving.png", "out/d.png")
        try link("in/folder", "out")
        try link("in/staying.png", "in/deep/b.png")
        try link("alias", "in")
        let manager = manager(fixture, SourcePolicy(folders: [root.appendingPathComponent("alias")]))
        func url(_ path: String) throws -> URL { try #require(URL(string: "file://\(root.path)/\(path)")) }
        for path in [
            "in/a.png", "in/deep/b.png", "alias/a.png", "in/staying.png", "out/../in/a.png", "in/deep/../a.png",
        ] {
            #expect(try await manager.image(for: .network(url(path), cacheKey: path)).image == sample.picture)
        }
        let outside = "it is in none of the folders that the policy names"
        for path in [
            "out/d.png", "in2/c.png", "in/leaving.png", "in/folder/d.png", "in/../out/d.png", "in/%2e%2e/out/d.png",
            "in",
            "out/missing.png", "in/folder/missing.png", "in/../out/missing.png",
        ] {
            #expect(
                await refusal { try await manager.image(for: .network(url(path), cacheKey: path)) } == outside,
                "\(path)")
        }
        let elsewhere = try #require(URL(string: "file://elsewhere\(root.path)/in/a.png"))
        #expect(await refusal { try await manager.image(for: elsewhere) } == "it is no path of this machine")
        // A NUL does not end the name.
        let cut = await failure { try await manager.image(for: url("in/a.png%00.png")) }
        guard case .cannotReadFile? = cut as? ManagerError else {
            Issue.record("a name with a NUL is \(String(describing: cut))")
            return
        }
        let missing = await failure { try await manager.image(for: url("in/missing.png")) }
        #expect("\(try #require(missing))" == "\(root.path)/in/missing.png cannot be read: No such file or directory.")
    }

    @Test("A file longer than the body of a response may be is refused like one; a FIFO is no picture")
    func longFilesAndFIFOsAreRefused() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture()
        let file = URL(fileURLWithPath: try fixture.folder.file("a.png", Array(sample.file)))
        let size = sample.file.count
        let exact = manager(fixture) { $0.limits.responseBytes = size }
        #expect(try await exact.image(for: file).image == sample.picture)
        let short = manager(fixture) { $0.limits.responseBytes = size - 1 }
        let error = await failure { try await short.image(for: .file(file, cacheKey: "b")) }
        #expect(
            "\(try #require(error))"
                == "\(file.path) cannot be read: The body is longer than the \(size - 1) bytes that are accepted.")
        let pipe = fixture.folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let other = await failure { try await exact.image(for: URL(fileURLWithPath: pipe)) }
        #expect("\(try #require(other))" == "\(pipe) cannot be read: it is no regular file.")
    }

    @Test("Two loads of one file that may read different folders share nothing")
    func loadsOfDifferentFoldersAreNotMerged() {
        let url = URL(fileURLWithPath: "/a")
        var (one, other) = (
            LocalFileProvider(url, cacheKey: nil, queue: .untouch),
            LocalFileProvider(url, cacheKey: nil, queue: .untouch)
        )
        #expect(ProviderKey(one) == ProviderKey(other))
        one.access.folders = []
        #expect(ProviderKey(one) != ProviderKey(other))
        other.access.folders = []
        #expect(ProviderKey(one) == ProviderKey(other))
    }

    @Test("A scheme that the policy does not have is refused before a connection, also of data and files")
    func otherSchemesAreRefused() async throws {
        let sample = try EncodedPicture()
        let server = try HostileServer { $0.answer(Array(sample.file)) }
        let fixture = try ManagerFixture()
        let manager = manager(fixture, SourcePolicy(schemes: ["https", "ftp"]))
        let file = URL(fileURLWithPath: try fixture.folder.file("a.png", Array(sample.file)))
        let data = try #require(URL(string: "data:;base64," + sample.file.base64EncodedString()))
        for url in [server.url("/a"), file, data] {
            #expect(await refusal { try await manager.image(for: url) } == "the policy allows the schemes ftp, https")
        }
        #expect(server.connections == 0)
        // The policy adds none to those of the request.
        let ftp = try #require(URL(string: "ftp://127.0.0.1/a"))
        #expect(await failure { try await manager.image(for: ftp) } as? NetworkError == .unsupportedScheme("ftp"))
    }

    /// Follows a redirect by a request of its own, without a filter.
    private struct Careless: ImageDownloadRedirectHandler {
        func handleHTTPRedirection(for response: ResponseHead, newRequest: TransportRequest) async -> TransportRequest?
        {
            .test(newRequest.url) { $0.allowedSchemes = ["http", "https", "file"] }
        }
    }

    /// A modifier that makes a request of its own.
    private struct Renewing: ImageDownloadRequestModifier {
        func modified(for request: TransportRequest) -> TransportRequest? { .test(request.url) }
    }

    @Test("The addresses of the policy hold for redirects, handlers, modifiers and prefetches")
    func addressesHoldForEveryRequest() async throws {
        let sample = try EncodedPicture()
        let inner = try HostileServer { $0.answer(Array(sample.file)) }
        let outer = try HostileServer { visit in
            visit.answer([], status: "302 Found", headers: ["Location: \(inner.url("/secret"))"])
        }
        let fixture = try ManagerFixture()
        let outerOnly = SourcePolicy(addresses: .custom("outer") { $0.port == outer.port })
        let careless = ImageOptions {
            $0.redirectHandler = Careless()
            $0.requestModifier = Renewing()
        }
        for options in [ImageOptions(), careless] {
            let manager = manager(fixture, outerOnly, options)
            let error = await failure { try await manager.image(for: outer.url("/a")) }
            #expect(error as? NetworkError == .peerRefused(address: "127.0.0.1"))
        }
        let none = manager(fixture, .publicServers, careless)
        let prefetch = await failure { try await none.prefetch(Resource(inner.url("/a")), nil, toMemory: true) }
        #expect(prefetch as? NetworkError == .peerRefused(address: "127.0.0.1"))
        #expect(outer.visits.count == 2 && inner.connections == 0)
        // A redirect to a file is none, whatever the handler allows.
        let file = try fixture.folder.file("a.png", Array(sample.file))
        let leading = try HostileServer { visit in
            visit.answer([], status: "302 Found", headers: ["Location: file://\(file)"])
        }
        let error = await failure { try await manager(fixture, SourcePolicy(), careless).image(for: leading.url("/a")) }
        #expect(error as? NetworkError == .invalidRedirect("file://\(file)"))
    }

    @Test("Two filters accept what both accept, and differ from other pairs")
    func narrowedFilterAcceptsWhatBothAccept() throws {
        let even = PeerFilter.custom("a") { $0.port % 2 == 0 }
        let large = PeerFilter.custom("b") { $0.port > 2 }
        let both = even.narrowed(by: large)
        let accepted = (1...6).filter { port in PeerAddress("1.1.1.1", port: port).map(both.accepts) == true }
        #expect(accepted == [4, 6])
        #expect(
            even.narrowed(by: .any) == even && PeerFilter.any.narrowed(by: even) == even
                && even.narrowed(by: even) == even)
        #expect(both != even && both != large && both == even.narrowed(by: large))
        func custom(_ name: String) -> PeerFilter { .custom(name) { _ in true } }
        #expect(custom("a").narrowed(by: custom("bcustom:c")) != custom("acustom:b").narrowed(by: custom("c")))
    }
}
