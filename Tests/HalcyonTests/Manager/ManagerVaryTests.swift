import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

/// Responses that header fields of the request select (RFC 9111, 4.1).
@Suite("Manager: responses that vary", .timeLimit(.minutes(20)))
struct ManagerVaryTests {
    /// A server whose picture depends on one field of the request.
    private struct Server {
        let pictures: [String: EncodedPicture]
        let plain: EncodedPicture
        let transport: ScriptedTransport

        init(_ field: String, vary: String? = nil, control: String = "max-age=60") throws {
            let pictures = [
                "dark": try EncodedPicture(PixelColor(red: 1, green: 1, blue: 1)),
                "light": try EncodedPicture(PixelColor(red: 250, green: 250, blue: 250)),
            ]
            let plain = try EncodedPicture.blue
            (self.pictures, self.plain) = (pictures, plain)
            transport = ScriptedTransport { request in
                let value = request.headers[field] ?? ""
                let tag = "\"\(value)\""
                let isKnown = request.headers["If-None-Match"] == tag
                let head = ResponseHead(
                    url: request.url, status: isKnown ? 304 : 200,
                    headers: ["Vary": vary ?? field, "Cache-Control": control, "ETag": tag])
                return (head, isKnown ? Data() : (pictures[value] ?? plain).file)
            }
        }

        func picture(_ value: String?) -> Bitmap { (value.flatMap { pictures[$0] } ?? plain).picture }
    }

    /// A load whose request sets fields, with an asynchronous modifier.
    private struct Setting: AsyncImageDownloadRequestModifier {
        let fields: HeaderFields

        func modified(for request: TransportRequest) async -> TransportRequest? {
            var request = request
            for field in fields.fields { request.headers[field.name] = field.value }
            return request
        }
    }

    private func options(_ fields: HeaderFields, heeds: Bool, isAsync: Bool = false) -> ImageOptions {
        ImageOptions {
            $0.waitForCache = true
            $0.freshness = heeds ? FreshnessPolicy() : nil
            if fields.fields.isEmpty { return }
            let setting = Setting(fields: fields)
            $0.requestModifier =
                isAsync
                ? setting
                : AnyModifier { request in
                    var request = request
                    for field in fields.fields { request.headers[field.name] = field.value }
                    return request
                }
        }
    }

    @Test(
        "Each value of a field that selects the response has its own picture, also after a restart",
        arguments: [false, true], [nil, "ann"])
    func eachValueHasItsPicture(heeds: Bool, user: String?) async throws {
        let server = try Server("X-Theme")
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        func look(_ fixture: ManagerFixture, _ theme: String, isAsync: Bool) async throws -> ImageResult {
            try await fixture.manager.image(
                for: Resource(fake("a"), user: user),
                options: options(["X-Theme": theme], heeds: heeds, isAsync: isAsync))
        }
        do {
            let fixture = try ManagerFixture(server.transport, folder: folder, clock: clock)
            for (number, theme) in ["dark", "light", "dark", "light"].enumerated() {
                let found = try await look(fixture, theme, isAsync: number > 1)
                #expect(found.image == server.picture(theme) && found.cacheType == (number < 2 ? .none : .memory))
            }
            #expect(server.transport.requests.count == 2)
            #expect(!fixture.cache.isCached(forKey: fake("a").absoluteString))
            await fixture.cache.close()
        }
        let fixture = try ManagerFixture(server.transport, folder: folder, clock: clock)
        for theme in ["light", "dark"] {
            let found = try await look(fixture, theme, isAsync: false)
            #expect(found.image == server.picture(theme) && found.cacheType == .disk)
            let resource = Resource(fake("a"), user: user)
            let call = options(["X-Theme": theme], heeds: heeds)
            #expect(await fixture.manager.imageCachedType(for: resource, options: call) == .memory)
            #expect(fixture.manager.imageInMemory(for: resource, options: call)?.image == (heeds ? nil : found.image))
        }
        #expect(server.transport.requests.count == 2)
        // Another user has none of them, and removing the URL removes all.
        var only = options(["X-Theme": "dark"], heeds: heeds)
        only.onlyFromCache = true
        let other = Resource(fake("a"), user: "bob")
        #expect(await failure { try await fixture.manager.image(for: other, options: only) } is ManagerError)
        await fixture.manager.remove(fake("a"))
        #expect(fixture.cache.memoryStorage.count == 0 && fixture.cache.diskStorage?.count == 0)
    }

    @Test("A load that sets a field does not get what a load without it has cached, nor the other way round")
    func unsetFieldIsAnotherResponse() async throws {
        for order in [[nil, "dark", nil, "dark"], ["dark", nil, "dark", nil]] as [[String?]] {
            let server = try Server("Accept")
            let fixture = try ManagerFixture(server.transport)
            for value in order {
                let fields: HeaderFields = value.map { ["Accept": $0] } ?? [:]
                let found = try await fixture.manager.image(for: fake("a"), options: options(fields, heeds: true))
                #expect(found.image == server.picture(value), "\(order)")
            }
            #expect(server.transport.requests.count == 2)
            // No load without it sets the field: all users share that response.
            #expect(fixture.cache.isCached(forKey: fake("a").absoluteString))
        }
    }

    @Test("A variant is made of the original that the load's fields select")
    func variantIsMadeOfSelectedOriginal() async throws {
        let server = try Server("Accept")
        let fixture = try ManagerFixture(server.transport)
        func look(_ value: String?, _ processor: (any ImageProcessor)?) async throws -> ImageResult {
            var call = options(value.map { ["Accept": $0] } ?? [:], heeds: true)
            (call.processor, call.cacheOriginalImage) = (processor, true)
            return try await fixture.manager.image(for: fake("a"), options: call)
        }
        let gray = BlackWhiteImageProcessor()
        for value in [nil, "dark", "light"] { _ = try await look(value, nil) }
        for value in [nil, "dark", "light"] {
            let made = try await look(value, gray)
            #expect(try made.image == gray.process(server.picture(value)) && made.isFromOriginal)
        }
        #expect(server.transport.requests.count == 3)
    }

    @Test("A variant of a picture that other fields select is loaded, also while that one is in memory")
    func variantOfOtherPictureIsLoaded() async throws {
        let server = try Server("Accept")
        let fixture = try ManagerFixture(server.transport)
        let gray = BlackWhiteImageProcessor()
        for value in [nil, "dark", nil, "dark"] {
            var call = options(value.map { ["Accept": $0] } ?? [:], heeds: true)
            (call.processor, call.cacheOriginalImage) = (gray, true)
            let found = try await fixture.manager.image(for: fake("a"), options: call)
            #expect(try found.image == gray.process(server.picture(value)))
        }
        #expect(server.transport.requests.count == 2)
    }

    @Test("A named user's credentials may change without another picture; without a user they select it")
    func userNameStandsForCredentials() async throws {
        for (user, count) in [("ann", 1), (nil, 2)] {
            let server = try Server("Authorization")
            let fixture = try ManagerFixture(server.transport)
            for token in ["dark", "light"] {
                let call = options(["Authorization": token, "traceparent": token], heeds: true)
                let found = try await fixture.manager.image(for: Resource(fake("a"), user: user), options: call)
                #expect(found.image == server.picture(user == nil ? token : "dark"))
            }
            #expect(server.transport.requests.count == count)
        }
    }

    @Test("A stale picture is revalidated by its own tag, and a 304 keeps it")
    func selectedPictureIsRevalidatedByItsTag() async throws {
        let server = try Server("X-Theme")
        let fixture = try ManagerFixture(server.transport)
        for theme in ["dark", "light"] {
            _ = try await fixture.manager.image(for: fake("a"), options: options(["X-Theme": theme], heeds: true))
        }
        fixture.clock.advance(by: 61)
        for theme in ["dark", "light", "dark"] {
            let found = try await fixture.manager.image(
                for: fake("a"), options: options(["X-Theme": theme], heeds: true))
            #expect(found.image == server.picture(theme) && found.cacheType == .memory)
        }
        #expect(
            server.transport.requests.map { $0.headers["If-None-Match"] } == [nil, nil, "\"dark\"", "\"light\""])
    }

    @Test("When a server begins to tell requests apart, the entry for all is replaced by one for each")
    func serverThatBeginsToVaryReplacesTheEntry() async throws {
        let (old, dark) = (try EncodedPicture(), try EncodedPicture.blue)
        let varies = SharedFlag()
        let transport = ScriptedTransport { request in
            let head = ResponseHead(
                url: request.url, status: 200,
                headers: varies.value
                    ? ["Vary": "Accept", "Cache-Control": "max-age=60"] : ["Cache-Control": "max-age=1"])
            return (head, varies.value ? dark.file : old.file)
        }
        let fixture = try ManagerFixture(transport)
        let call = options(["Accept": "dark"], heeds: true)
        #expect(try await fixture.manager.image(for: fake("a"), options: call).image == old.picture)
        #expect(fixture.cache.isCached(forKey: fake("a").absoluteString))
        varies.value = true
        fixture.clock.advance(by: 2)
        for _ in 0..<2 {
            #expect(try await fixture.manager.image(for: fake("a"), options: call).image == dark.picture)
        }
        #expect(transport.requests.count == 2 && !fixture.cache.isCached(forKey: fake("a").absoluteString))
    }
}
