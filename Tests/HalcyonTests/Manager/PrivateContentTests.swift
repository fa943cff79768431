import Foundation
import Halcyon
import HalcyonSupport
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

/// Responses that are private to a user are never served to another one.
@Suite("Manager: private content", .timeLimit(.minutes(20)))
struct PrivateContentTests {
    /// A server that returns a picture in the colour of the user in `X-User` or `Authorization`.
    private struct Server {
        static let colors = ["u1": EncodedPicture.red, "u2": EncodedPicture.green]
        let server: HostileServer

        init(_ fields: [String]) throws {
            let files = try Self.colors.mapValues { try $0().file }
            let other = try EncodedPicture.blue.file
            server = try HostileServer { visit in
                let user = visit.headers["x-user"] ?? visit.headers["authorization"] ?? ""
                visit.answer(Array(files[user] ?? other), status: "200 OK", headers: fields)
            }
        }

        var url: URL { server.url("/a") }
    }

    private struct Naming: ImageDownloadRequestModifier {
        let field: String
        let value: String

        func modified(for request: TransportRequest) -> TransportRequest? {
            var request = request
            request.headers[field] = value
            return request
        }
    }

    private func load(
        _ fixture: ManagerFixture, _ url: URL, _ user: String?, by field: String?,
        _ change: (inout ImageOptions) -> Void = { _ in }
    ) async throws -> ImageResult {
        let options = ImageOptions {
            $0.waitForCache = true
            if let field, let user { $0.requestModifier = Naming(field: field, value: user) }
            change(&$0)
        }
        return try await fixture.manager.image(for: Resource(url, user: user), options: options)
    }

    @Test(
        "A private, authorized or varying response is cached for its user only, also after a restart",
        arguments: [
            (fields: ["Cache-Control: private, max-age=60"], by: "X-User"),
            (fields: ["Cache-Control: max-age=60"], by: "Authorization"),
            (fields: ["Cache-Control: max-age=60", "Vary: Accept-Encoding, X-User"], by: "X-User"),
        ])
    func privateResponseIsCachedForItsUserOnly(fields: [String], by field: String) async throws {
        let server = try Server(fields)
        let folder = try TemporaryFolder()
        do {
            let fixture = try ManagerFixture(folder: folder)
            for user in ["u1", "u2", "u1", "u2"] {
                #expect(try await load(fixture, server.url, user, by: field).image == Server.colors[user]?().picture)
            }
            #expect(server.server.count("/a") == 2)
            fixture.cache.clearMemoryCache()
            for user in ["u2", "u1"] {
                let found = try await load(fixture, server.url, user, by: field)
                let expected = try Server.colors[user]?().picture
                #expect(found.cacheType == .disk && found.image == expected)
                let request = ImageOptions { $0.requestModifier = Naming(field: field, value: user) }
                #expect(
                    fixture.manager.imageInMemory(for: Resource(server.url, user: user), options: request)?.image
                        == found.image)
            }
            #expect(fixture.manager.imageInMemory(for: Resource(server.url, user: "u3")) == nil)
            #expect(!fixture.cache.isCached(forKey: server.url.absoluteString))
            await fixture.cache.close()
        }
        let fixture = try ManagerFixture(folder: folder)
        #expect(try await load(fixture, server.url, "u1", by: field).cacheType == .disk)
        let only: (inout ImageOptions) -> Void = { $0.onlyFromCache = true }
        #expect(await failure { try await load(fixture, server.url, "u3", by: field, only) } is ManagerError)
        #expect(server.server.count("/a") == 2)
    }

    @Test("A public response without a Vary field that differs by user is shared")
    func publicResponseIsShared() async throws {
        let server = try Server(["Cache-Control: public, max-age=60", "Vary: Accept, Accept-Encoding"])
        let fixture = try ManagerFixture()
        for user in ["u1", "u2", nil] { _ = try await load(fixture, server.url, user, by: nil) }
        #expect(server.server.count("/a") == 1)
        #expect(fixture.cache.isCached(forKey: server.url.absoluteString))
    }

    @Test("A private response to a load without a user, and its variants, are served to no user")
    func privateResponseWithoutUserServesNoUser() async throws {
        let server = try Server(["Cache-Control: private, max-age=60"])
        let folder = try TemporaryFolder()
        let half = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 3))
        let fixture = try ManagerFixture(folder: folder)
        let keeping: (inout ImageOptions) -> Void = { $0.cacheOriginalImage = true }
        let variant: (inout ImageOptions) -> Void = {
            $0.processor = half
            $0.cacheOriginalImage = true
        }
        let only: (inout ImageOptions) -> Void = { $0.onlyFromCache = true }
        let onlyVariant: (inout ImageOptions) -> Void = {
            variant(&$0)
            $0.onlyFromCache = true
        }
        _ = try await load(fixture, server.url, nil, by: nil, keeping)
        _ = try await load(fixture, server.url, nil, by: nil, variant)
        // In memory, on disk alone, and promoted again by the app itself.
        for round in 0..<3 {
            #expect(await failure { try await load(fixture, server.url, "u1", by: "X-User", only) } is ManagerError)
            #expect(
                await failure { try await load(fixture, server.url, "u1", by: "X-User", onlyVariant) } is ManagerError)
            #expect(fixture.manager.imageInMemory(for: Resource(server.url, user: "u1")) == nil)
            #expect(await fixture.manager.imageCachedType(for: Resource(server.url, user: "u1")) == .none)
            if round == 0 { fixture.cache.clearMemoryCache() }
            if round == 1 { #expect(try await load(fixture, server.url, nil, by: nil, only).cacheType == .disk) }
        }
        // Its own key marks it as private. No other entry, which could be evicted or lost, is needed for that.
        #expect(!fixture.cache.isCached(forKey: server.url.absoluteString))
        #expect(try await load(fixture, server.url, "u1", by: "X-User").image == (try EncodedPicture.red().picture))
        #expect(try await load(fixture, server.url, nil, by: nil, only).image == (try EncodedPicture.blue.picture))
    }

    @Test("The cache knows whether private entries may exist, also after a restart")
    func cacheKnowsWhetherPrivateEntriesExist() async throws {
        let server = try Server(["Cache-Control: private, max-age=60"])
        for user in ["u1", nil] {
            let folder = try TemporaryFolder()
            do {
                let fixture = try ManagerFixture(folder: folder)
                // Before the folder is listed, private entries may exist.
                await fixture.settle()
                #expect(!fixture.cache.privateEntries.mayExist)
                await fixture.cache.store(try EncodedPicture().picture, forKey: "shared")
                #expect(!fixture.cache.privateEntries.mayExist)
                _ = try await load(fixture, server.url, user, by: nil)
                #expect(fixture.cache.privateEntries.mayExist)
                await fixture.cache.close()
            }
            let fixture = try ManagerFixture(folder: folder)
            await fixture.settle()
            #expect(fixture.cache.privateEntries.mayExist)
            #expect(try await load(fixture, server.url, user, by: nil).cacheType == .disk)
        }
        // A disk that cannot be opened contains no private entries.
        let folder = try TemporaryFolder()
        let first = try ManagerFixture(folder: folder)
        #expect(first.cache.diskState.isOpen)
        let second = ImageCache<Bitmap>(
            disk: DiskStorageConfig(name: "test", directory: URL(fileURLWithPath: folder.path)),
            serializer: BitmapSerializer(), triggers: [])
        #expect(!second.diskState.isOpen && !second.privateEntries.mayExist)
        await first.cache.close()
    }

    @Test("A private entry is found after the index was lost")
    func privateEntryIsFoundAfterIndexLoss() async throws {
        let server = try Server(["Cache-Control: private, max-age=60"])
        let folder = try TemporaryFolder()
        let first = try ManagerFixture(folder: folder)
        _ = try await load(first, server.url, "u1", by: "X-User")
        let hidden = try #require(first.cache.diskStorage?.folder.hidden)
        await first.cache.close()
        for name in try FileManager.default.contentsOfDirectory(atPath: hidden.path) where name.hasPrefix("index") {
            try FileManager.default.removeItem(at: hidden.appendingPathComponent(name))
        }
        let second = try ManagerFixture(folder: folder)
        let only: (inout ImageOptions) -> Void = { $0.onlyFromCache = true }
        #expect(try await load(second, server.url, "u1", by: "X-User", only).cacheType == .disk)
    }

    @Test("A response that is no longer private replaces the private entry and its variants", arguments: ["u1", nil])
    func publicResponseReplacesPrivateEntry(user: String?) async throws {
        let (old, new) = (try EncodedPicture(), try EncodedPicture.blue)
        let isPublic = SharedFlag()
        let server = try HostileServer { visit in
            visit.answer(
                Array(isPublic.value ? new.file : old.file), status: "200 OK",
                headers: ["Cache-Control: \(isPublic.value ? "public" : "private"), max-age=60"])
        }
        let (fixture, url) = (try ManagerFixture(), server.url("/a"))
        let variant: (inout ImageOptions) -> Void = {
            $0.processor = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 3))
            $0.cacheOriginalImage = true
        }
        let refresh: (inout ImageOptions) -> Void = { $0.forceRefresh = true }
        for change in [{ _ in }, variant] { _ = try await load(fixture, url, user, by: nil, change) }
        isPublic.value = true
        for change in [{ _ in }, variant] {
            _ = try await load(fixture, url, user, by: nil) {
                change(&$0)
                refresh(&$0)
            }
        }
        for _ in 0..<2 {
            #expect(try await load(fixture, url, user, by: nil).image == new.picture)
            let small = try await load(fixture, url, user, by: nil, variant)
            #expect(small.image[0, 0] == new.picture[0, 0])
            await fixture.settle()
            fixture.cache.clearMemoryCache()
        }
        // The first variant was made of the kept original.
        #expect(server.count("/a") == 3)
    }

    @Test("The shared entry is served if the private entry cannot be read")
    func sharedEntryServesForUnreadablePrivateOne() async throws {
        let server = try Server(["Cache-Control: public, max-age=60"])
        let fixture = try ManagerFixture()
        _ = try await load(fixture, server.url, nil, by: nil)
        let key = server.url.absoluteString
        let disk = try #require(fixture.cache.diskStorage)
        await fixture.cache.store(try EncodedPicture().picture, forKey: EntryOrigin.privateKey(key, of: "u1"))
        try disk.store(value: Data("no image".utf8), forKey: EntryOrigin.privateKey(key, of: "u1"))
        fixture.cache.clearMemoryCache()
        let only: (inout ImageOptions) -> Void = { $0.onlyFromCache = true }
        #expect(try await load(fixture, server.url, "u1", by: nil, only).image == EncodedPicture.blue.picture)
    }

    @Test("An image behind a private redirect is its user's; behind a no-store redirect it is not stored")
    func redirectHeadersDecideWhoseImageItIs() async throws {
        let files = try Server.colors.mapValues { try $0().file }
        let images = try HostileServer { visit in
            let user = String(visit.path.dropFirst())
            visit.answer(Array(files[user] ?? Data()), status: "200 OK", headers: ["Cache-Control: public, max-age=60"])
        }
        let server = try HostileServer { visit in
            let user = visit.headers["authorization"] ?? visit.headers["x-user"] ?? "u1"
            let control = visit.path == "/no-store" ? "no-store" : visit.path == "/private" ? "private" : "max-age=60"
            visit.answer(
                [], status: "302 Found",
                headers: ["Location: \(images.url("/\(user)").absoluteString)", "Cache-Control: \(control)"])
        }
        for (path, field) in [("/me", "Authorization"), ("/private", "X-User")] {
            let (fixture, url) = (try ManagerFixture(), server.url(path))
            for user in ["u1", "u2", "u1"] {
                #expect(try await load(fixture, url, user, by: field).image == Server.colors[user]?().picture)
            }
            #expect(server.count(path) == 2 && !fixture.cache.isCached(forKey: url.absoluteString))
        }
        // Behind a redirect without such directives the image is shared.
        let (fixture, url) = (try ManagerFixture(), server.url("/all"))
        for user in ["u1", "u2"] { _ = try await load(fixture, url, user, by: nil) }
        #expect(server.count("/all") == 1 && fixture.cache.isCached(forKey: url.absoluteString))
        _ = try await load(fixture, server.url("/no-store"), "u1", by: nil) { $0.freshness = FreshnessPolicy() }
        #expect(!fixture.cache.isCached(forKey: server.url("/no-store").absoluteString))
    }

    @Test("Users whose requests share a transfer do not share its private response", arguments: [false, true])
    func usersInOneTransferDoNotShareItsPrivateResponse(processorsDiffer: Bool) async throws {
        let file = try EncodedPicture().file
        let gate = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            if visit.path == "/a" { gate.wait() }
            visit.answer(Array(file), status: "200 OK", headers: ["Cache-Control: private, max-age=60"])
        }
        let fixture = try ManagerFixture()
        let loads = ["u1", "u2", nil, "u1"].enumerated().map { number, user in
            Task {
                try await load(fixture, server.url("/a"), user, by: nil) {
                    if processorsDiffer, number > 0 {
                        $0.processor = DownsamplingImageProcessor(size: PixelSize(width: number, height: number))
                    }
                }
            }
        }
        await fixture.downloader.waitForWaiters(4)
        for _ in 0..<4 { gate.signal() }
        for load in loads { _ = try await load.value }
        // The loads of u1 share a transfer, unless that of another user answers first and they load again one after
        // the other.
        #expect((3...4).contains(server.count("/a")))
        let key = server.url("/a").absoluteString
        for (number, owner) in ["u1", "u2", "", "u1"].enumerated() {
            let isVariant = processorsDiffer && number > 0
            let identifier =
                isVariant
                ? DownsamplingImageProcessor(size: PixelSize(width: number, height: number)).identifier : ""
            #expect(!fixture.cache.isCached(forKey: EntryKey(key, processorIdentifier: identifier)))
            for user in ["u1", "u2", ""] {
                let isOwner = user == owner || !processorsDiffer
                #expect(
                    fixture.cache.isCached(
                        forKey: EntryKey(EntryOrigin.privateKey(key, of: user), processorIdentifier: identifier))
                        == isOwner,
                    "\(user) \(number)")
            }
        }
    }

    @Test("Users who revalidate one shared entry together do not share a private answer")
    func usersRevalidatingTogetherDoNotSharePrivateAnswer() async throws {
        let gate = DispatchSemaphore(value: 0)
        let (old, new) = (try EncodedPicture().file, try EncodedPicture.blue.file)
        let server = try HostileServer { visit in
            if visit.headers["if-none-match"] == nil, visit.headers["x-later"] == nil {
                visit.answer(
                    Array(old), status: "200 OK", headers: ["Cache-Control: public, max-age=60", "ETag: \"1\""])
            } else {
                gate.wait()
                visit.answer(
                    Array(new), status: "200 OK", headers: ["Cache-Control: private, max-age=60", "ETag: \"2\""])
            }
        }
        let (fixture, url) = (try ManagerFixture(), server.url("/a"))
        let fresh: @Sendable (inout ImageOptions) -> Void = { $0.freshness = FreshnessPolicy() }
        _ = try await load(fixture, url, nil, by: nil, fresh)
        fixture.clock.advance(by: 61)
        let later: @Sendable (inout ImageOptions) -> Void = {
            fresh(&$0)
            $0.requestModifier = Naming(field: "X-Later", value: "1")
        }
        let loads = ["u1", "u2"].map { user in Task { try await load(fixture, url, user, by: nil, later) } }
        await fixture.downloader.waitForWaiters(2)
        for _ in 0..<2 { gate.signal() }
        for load in loads { #expect(try await load.value.image == EncodedPicture.blue.picture) }
        #expect(server.count("/a") == 3)
    }

    @Test("Removing a user's private entries keeps those of other users")
    func removingUserKeepsOtherUsersEntries() async throws {
        let server = try Server(["Cache-Control: private, max-age=60"])
        let fixture = try ManagerFixture()
        for user in ["u1", "u2"] { _ = try await load(fixture, server.url, user, by: "X-User") }
        await fixture.cache.removePrivate(ofUser: "u1")
        #expect(await fixture.manager.imageCachedType(for: Resource(server.url, user: "u1")) == .none)
        #expect(await fixture.manager.imageCachedType(for: Resource(server.url, user: "u2")) == .memory)
        fixture.cache.clearMemoryCache()
        #expect(await fixture.manager.imageCachedType(for: Resource(server.url, user: "u1")) == .none)
        #expect(await fixture.manager.imageCachedType(for: Resource(server.url, user: "u2")) == .disk)
        await fixture.manager.remove(server.url)
        #expect(await fixture.manager.imageCachedType(for: Resource(server.url, user: "u2")) == .none)
    }

    @Test("A no-store response is not stored by joined loads that ignore freshness either")
    func noStoreAppliesToLoadsIgnoringFreshness() async throws {
        let file = try EncodedPicture().file
        let gate = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            gate.wait()
            visit.answer(Array(file), status: "200 OK", headers: ["Cache-Control: no-store"])
        }
        let (fixture, other) = (try ManagerFixture(), try ManagerFixture())
        let url = server.url("/a")
        // The same variant, with each option that decides where a load stores it.
        let loads = (0..<8).map { number in
            Task {
                try await fixture.manager.image(
                    for: url,
                    options: ImageOptions {
                        $0.processor = BlackWhiteImageProcessor()
                        if number % 2 == 1 { $0.freshness = FreshnessPolicy() }
                        if number == 2 { $0.forcedExtension = "webp" }
                        if number == 4 { $0.cacheOriginalImage = true }
                        if number == 6 { ($0.cache, $0.originalCache) = (other.cache, other.cache) }
                    })
            }
        }
        await fixture.downloader.waitForWaiters(8)
        gate.signal()
        for load in loads { _ = try await load.value }
        for fixture in [fixture, other] {
            await fixture.settle()
            #expect(fixture.cache.memoryStorage.count == 0 && fixture.cache.diskStorage?.count == 0)
        }
    }

    @Test("An image that must not be stored is removed from a load that has just begun to store it")
    func forbiddenImageIsRemovedAfterItsStore() async throws {
        let places = KeptPlaces()
        let place = KeptPlaces.Place(cache: ObjectIdentifier(places), key: ByteName("a"), tier: .memory)
        let (isClaimed, isForbidden, isKept) = (Flag(), Flag(), Flag())
        let storing = Task.detached {
            try await places.inTurn {
                let isOwn = places.claim(place, now: 0, until: { _ in .max }, remove: { isKept.isSet = false })
                isClaimed.isSet = true
                // Were it not for the turn, the removal would be over by now.
                for _ in 0..<100 where !isForbidden.isSet { usleep(1_000) }
                isKept.isSet = true
                return isOwn
            }
        }
        await waitUntil { isClaimed.isSet }
        await places.forbid()
        isForbidden.isSet = true
        #expect(try await storing.value && !isKept.isSet)
        #expect(try await !places.inTurn { places.claim(place, now: 0, until: { _ in .max }, remove: {}) })
    }

    /// A Boolean for several tasks.
    private final class Flag: Sendable {
        private let state = Mutex(false)
        var isSet: Bool {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    @Test("Joined loads with different file extensions store one file for each")
    func joinedLoadsStoreOneFilePerExtension() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let loads = [nil, "webp", "webp"].map { forcedExtension in
            Task {
                try await fixture.manager.image(
                    for: fake("a"),
                    options: ImageOptions {
                        $0.forcedExtension = forcedExtension
                        $0.waitForCache = true
                    })
            }
        }
        await fixture.downloader.waitForWaiters(3)
        transport.answer("a", try EncodedPicture().file)
        for load in loads { _ = try await load.value }
        for forcedExtension in [nil, "webp"] {
            #expect(
                fixture.cache.diskStorage?.isCached(
                    forKey: EntryKey(fake("a").absoluteString, forcedExtension: forcedExtension)) == true)
        }
        #expect(fixture.cache.statistics.disk.stores == 2)
    }

    @Test("A key of an app's own that has the separator reaches no image of another user", arguments: [false, true])
    func keyOfAnAppReachesNoPrivateImage(isVariant: Bool) async throws {
        let server = try Server(["Cache-Control: private, max-age=60"])
        let fixture = try ManagerFixture()
        let processor = BlackWhiteImageProcessor()
        _ = try await load(fixture, server.url, "bob", by: nil) { if isVariant { $0.processor = processor } }
        let key = server.url.absoluteString + "\u{1F}bob"
        let options = ImageOptions {
            $0.onlyFromCache = true
            if isVariant { $0.processor = processor }
        }
        let stolen = Resource(server.url, cacheKey: key, user: "mallory")
        #expect(fixture.manager.imageInMemory(for: stolen, options: options) == nil)
        #expect(await fixture.manager.imageCachedType(for: stolen, options: options) == .none)
        #expect(await failure { try await fixture.manager.image(for: stolen, options: options) } is ManagerError)
        // It is a key like any other, and removes what it names.
        let plain = ImageOptions { $0.waitForCache = true }
        let own = Resource(server.url, cacheKey: key)
        #expect(own.cacheKey == server.url.absoluteString + "\u{1E}1bob")
        _ = try await fixture.manager.image(for: own, options: plain)
        #expect(await fixture.manager.imageCachedType(for: own) == .memory)
        await fixture.manager.remove(key)
        #expect(await fixture.manager.imageCachedType(for: own) == .none)
        let owner = Resource(server.url, user: "bob")
        #expect(await fixture.manager.imageCachedType(for: owner, options: options) == .memory)
    }

    @Test("An entry without a freshness record is loaded again, and served if the server fails")
    func entryWithoutRecordIsLoadedAgain() async throws {
        let (old, new) = (try EncodedPicture(), try EncodedPicture.blue)
        let versions = Versions("\"1\"", new.file, "max-age=60")
        let server = try versions.start()
        let fixture = try ManagerFixture()
        let url = server.url("/a")
        await fixture.cache.store(old.picture, original: old.file, forKey: url.absoluteString)
        let fresh = ImageOptions { $0.freshness = FreshnessPolicy() }
        versions.version.withLock { $0.fails = true }
        #expect(try await fixture.manager.image(for: url, options: fresh).image == old.picture)
        versions.version.withLock { $0.fails = false }
        fixture.clock.advance(by: 10)
        #expect(try await fixture.manager.image(for: url, options: fresh).image == new.picture)
        #expect(versions.log.last == "200 -")
    }

    @Test("A variant of a replaced original does not get the validators of the earlier bytes")
    func variantGetsNoValidatorsOfOtherBytes() async throws {
        let (old, new) = (try EncodedPicture(), try EncodedPicture.blue)
        let versions = Versions("\"1\"", old.file, "max-age=60")
        let server = try versions.start()
        let (fixture, url) = (try ManagerFixture(), server.url("/a"))
        let half = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 3))
        let options = ImageOptions {
            $0.freshness = FreshnessPolicy()
            $0.cacheOriginalImage = true
            $0.waitForCache = true
        }
        _ = try await fixture.manager.image(for: url, options: options)
        // The original's bytes are replaced by those of another version; its record stays behind.
        let disk = try #require(fixture.cache.diskStorage)
        let notes = fixture.cache.notes
        let note = await notes.settled(of: url.absoluteString)
        try disk.store(value: new.file, forKey: url.absoluteString)
        await notes.set(note, of: url.absoluteString)
        fixture.cache.clearMemoryCache()
        var variant = options
        variant.processor = half
        _ = try await fixture.manager.image(for: url, options: variant)
        await fixture.settle()
        let key = url.absoluteString.computedKey(with: half.identifier)
        #expect(FreshnessRecord(note: fixture.cache.notes.note(of: key))?.freshness.validators.etag != "\"1\"")
    }
}

extension EncodedPicture {
    fileprivate static func red() throws -> EncodedPicture {
        try EncodedPicture(PixelColor(red: 250, green: 10, blue: 10))
    }
    fileprivate static func green() throws -> EncodedPicture {
        try EncodedPicture(PixelColor(red: 10, green: 250, blue: 10))
    }
}
