import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

/// How a load handles the answer to a revalidation, a failure and Low Data Mode.
@Suite("Manager: revalidation", .timeLimit(.minutes(20)))
struct ManagerRevalidationTests {
    /// A server of one picture, whose status and fields a test changes. It answers 304 to its tag.
    private final class Script: Sendable {
        struct Answer { var status = 200, control = "max-age=10", files: [String: Data] = [:] }

        let answer: Mutex<Answer>
        /// The request field that names the user whose picture is returned.
        let field: String

        init(_ file: Data, control: String = "max-age=10", field: String = "X-User") {
            answer = Mutex(Answer(control: control, files: ["": file]))
            self.field = field
        }

        func transport() -> ScriptedTransport {
            ScriptedTransport { [self] request in
                let answer = answer.withLock { $0 }
                var head = ResponseHead(url: request.url, status: answer.status)
                head.headers = ["ETag": "\"1\"", "Cache-Control": answer.control]
                if answer.status == 200, request.headers["If-None-Match"] != nil { head.status = 304 }
                guard head.status == 200 else { return (head, Data()) }
                let name = request.url.lastPathComponent
                return (head, answer.files[request.headers[field] ?? name] ?? answer.files[""] ?? Data())
            }
        }
    }

    private func fresh(_ change: (inout ImageOptions) -> Void = { _ in }) -> ImageOptions {
        ImageOptions {
            $0.freshness = FreshnessPolicy()
            $0.waitForCache = true
            change(&$0)
        }
    }

    private func names(_ transport: ScriptedTransport) -> [String] {
        transport.requests.map { $0.url.lastPathComponent + ($0.headers["If-None-Match"] == nil ? "" : "?") }
    }

    @Test(
        "A 304 that makes a shared entry private removes it, and each user loads an own one",
        arguments: [(control: "private, max-age=60", by: "X-User"), (control: "max-age=60", by: "Authorization")],
        [false, true])
    func privateNotModifiedRemovesSharedEntry(change: (control: String, by: String), isLater: Bool) async throws {
        let (old, red, blue) = (
            try EncodedPicture(), try EncodedPicture(PixelColor(red: 250, green: 10, blue: 10)), try EncodedPicture.blue
        )
        let script = Script(old.file, control: "public, max-age=60", field: change.by)
        let transport = script.transport()
        let fixture = try ManagerFixture(transport)
        _ = try await fixture.manager.image(for: Resource(fake("a")), options: fresh())
        fixture.clock.advance(by: 61)
        script.answer.withLock {
            $0.control = change.control
            ($0.files["u1"], $0.files["u2"]) = (red.file, blue.file)
        }
        func load(_ user: String) async throws -> Bitmap {
            let options = fresh {
                if isLater { $0.freshness = FreshnessPolicy(staleWhileRevalidate: 100) }
                $0.requestModifier = AnyModifier { request in
                    var request = request
                    request.headers[change.by] = user
                    return request
                }
            }
            return try await fixture.manager.image(for: Resource(fake("a"), user: user), options: options).image
        }
        for (user, sample) in [("u1", red), ("u2", blue)] {
            if isLater {
                #expect(try await load(user) == (user == "u1" ? old : sample).picture)
                await waitUntil { fixture.manager.loader.revalidating.withLock { $0.isEmpty } }
            }
            #expect(try await load(user) == sample.picture)
        }
        #expect(!fixture.cache.isCached(forKey: fake("a").absoluteString))
        #expect(names(transport) == ["a", "a?", "a", "a"])
    }

    @Test(
        "A stale image is served for status 429 and 500 to 599, and not for other statuses",
        arguments: [
            (401, false), (403, false), (404, false), (410, false), (429, true),
            (500, true), (501, true), (502, true), (503, true), (504, true), (599, true),
        ])
    func staleImageServesServerErrorsOnly(status: Int, isServed: Bool) async throws {
        let sample = try EncodedPicture()
        let script = Script(sample.file)
        let fixture = try ManagerFixture(script.transport())
        let resource = Resource(fake("a"))
        _ = try await fixture.manager.image(for: resource, options: fresh())
        fixture.clock.advance(by: 20)
        script.answer.withLock { $0.status = status }
        let result = try? await fixture.manager.image(for: resource, options: fresh())
        #expect((result?.image == sample.picture) == isServed)
        let error = await failure { try await fixture.manager.prefetch(resource, fresh(), toMemory: false) }
        #expect((error == nil) == isServed)
    }

    @Test("A stale image is served if the server is unreachable, and not if its certificate is invalid")
    func staleImageServesUnreachableServer() async throws {
        let (sample, transport) = (try EncodedPicture(), FakeTransport())
        let fixture = try ManagerFixture(transport)
        transport.answer(
            "a", sample.file, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=10, stale-if-error=100"])
        _ = try await fixture.manager.image(for: fake("a"), options: fresh())
        fixture.clock.advance(by: 20)
        transport.fail("a", .cannotConnect("no route"))
        #expect(try await fixture.manager.image(for: fake("a"), options: fresh()).image == sample.picture)
        fixture.clock.advance(by: 11)
        transport.fail("a", .tls("expired"))
        #expect(await failure { try await fixture.manager.image(for: fake("a"), options: fresh()) } is NetworkError)
    }

    @Test("In Low Data Mode a stale image is not revalidated; the low-data source is loaded instead")
    func lowDataModeDoesNotRevalidate() async throws {
        let (sample, small) = (try EncodedPicture(), try EncodedPicture.blue)
        let script = Script(sample.file)
        script.answer.withLock { $0.files["low"] = small.file }
        let (transport, isConstrained) = (script.transport(), SharedFlag())
        let fixture = try ManagerFixture(transport)
        let downloader = ImageDownloader.test(transport, clock: fixture.clock) {
            $0.isNetworkConstrained = { isConstrained.value }
        }
        let manager = HalcyonManager(cache: fixture.cache, downloader: downloader)
        let options = fresh { $0.lowDataSource = .network(fake("low")) }
        let later = fresh {
            $0.lowDataSource = .network(fake("low"))
            $0.freshness = FreshnessPolicy(staleWhileRevalidate: 1_000)
        }
        #expect(try await manager.image(for: fake("a"), options: options).image == sample.picture)
        fixture.clock.advance(by: 20)
        isConstrained.value = true
        // In the background, for a prefetch and for a load that waits.
        #expect(try await manager.image(for: fake("a"), options: later).image == sample.picture)
        await waitUntil { manager.loader.revalidating.withLock { $0.isEmpty } }
        #expect(names(transport) == ["a", "low"])
        // Prefetches are not counted as accesses.
        let before = (fixture.recorder.all.count, fixture.cache.statistics.lookUps.memory)
        _ = try await manager.prefetch(Resource(fake("a")), options, toMemory: false)
        _ = try await manager.prefetch(Resource(fake("b")), options, toMemory: false)
        #expect(before == (fixture.recorder.all.count, fixture.cache.statistics.lookUps.memory))
        #expect(try await manager.image(for: fake("a"), options: options).image == small.picture)
        #expect(names(transport) == ["a", "low"])
        isConstrained.value = false
        #expect(try await manager.image(for: fake("a"), options: options).image == sample.picture)
        #expect(names(transport) == ["a", "low", "a?"])
    }

    @Test("The priority of a load can be changed while it revalidates")
    func priorityCanChangeDuringRevalidation() async throws {
        let (sample, transport) = (try EncodedPicture(), FakeTransport())
        let fixture = try ManagerFixture(transport)
        transport.answer("a", sample.file, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=10"])
        _ = try await fixture.manager.image(for: fake("a"), options: fresh())
        fixture.clock.advance(by: 20)
        let done = SharedFlag()
        let task = fixture.manager.retrieveImage(with: fake("a"), options: fresh { $0.callbackQueue = .untouch }) {
            done.value = (try? $0.get()) != nil
        }
        await transport.waitForCalls(2)
        task.setPriority(.veryHigh)
        await transport.waitForCalls(3)
        #expect(transport.calls.last == .priority("a", .veryHigh))
        transport.answer("a", Data(), status: 304)
        await waitUntil { done.value }
    }

    @Test("A refresh answered no-store removes the earlier image and its freshness record", arguments: [false, true])
    func noStoreRefreshRemovesImageAndRecord(isVariant: Bool) async throws {
        let (old, new) = (try EncodedPicture(), try EncodedPicture.blue)
        let script = Script(old.file, control: "max-age=1000")
        let fixture = try ManagerFixture(script.transport())
        let options = fresh {
            if isVariant { $0.processor = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 3)) }
            $0.cacheOriginalImage = true
        }
        _ = try await fixture.manager.image(for: fake("a"), options: options)
        let key = fake("a").absoluteString
        let computed = key.computedKey(with: options.processor?.identifier ?? "")
        #expect(fixture.cache.notes.note(of: computed) != nil)
        script.answer.withLock { ($0.control, $0.files[""]) = ("no-store", new.file) }
        var refresh = options
        refresh.forceRefresh = true
        #expect(try await fixture.manager.image(for: fake("a"), options: refresh).image[0, 0] == new.picture[0, 0])
        for name in [key, computed] {
            #expect(!fixture.cache.isCached(forKey: name) && fixture.cache.notes.note(of: name) == nil)
        }
        var only = options
        only.onlyFromCache = true
        #expect(await failure { try await fixture.manager.image(for: fake("a"), options: only) } is ManagerError)
    }

    @Test("Freshness is recorded only for the bytes of its response", arguments: [false, true])
    func freshnessIsRecordedForItsResponseOnly(isReplaced: Bool) async throws {
        let (sample, other) = (try EncodedPicture(), try EncodedPicture.blue)
        let fixture = try ManagerFixture(FakeTransport())
        let (url, key) = (fake("a"), fake("a").absoluteString)
        func load(_ policy: FreshnessPolicy?) -> ImageLoad {
            let options = ImageOptions {
                $0.freshness = policy
                $0.waitForCache = true
            }
            return ImageLoad(Source(url), of: Resource(url), SharedOptions(options, of: fixture.manager))
        }
        let head = ResponseHead(url: url, status: 200, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=10"])
        let freshness = Freshness(head, requested: 0, received: 0)
        let made = MadeImage(sample.picture)
        try await fixture.manager.loader.keep(made, original: sample.file, freshness, load(nil))
        #expect(fixture.cache.notes.note(of: key) == nil)
        if isReplaced {
            await fixture.cache.store(other.picture, original: other.file, forKey: key)
            await fixture.settle()
        }
        // This load shares the response, which the first load has stored.
        try await fixture.manager.loader.keep(made, original: sample.file, freshness, load(FreshnessPolicy()))
        let record = FreshnessRecord(note: fixture.cache.notes.note(of: key))
        #expect((record != nil) == !isReplaced)
        #expect(record?.isOf(other.file) != true)
    }
}
