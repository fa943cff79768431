import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("Predictive prefetching: kept accesses are hashed by default", .timeLimit(.minutes(20)))
struct HashedAccessesTests: PredictiveTests {
    let notes = ScriptedPolicy.Notes()

    private let inMemory = ImageOptions { $0.cacheMemoryOnly = true }

    private func named(_ name: String, user: String? = "user-of-the-test") -> Resource {
        Resource(fake("path-\(name)"), cacheKey: "key-\(name)", categories: ["category-\(name)"], user: user)
    }

    private func folder(_ fixture: ManagerFixture) throws -> URL {
        try #require(fixture.cache.diskStorage).folder.hidden
    }

    private func manager(_ fixture: ManagerFixture) -> HalcyonManager {
        HalcyonManager(cache: fixture.cache, downloader: fixture.downloader, defaultOptions: inMemory)
    }

    /// Recorded with Python: `hmac.new(bytes(range(32)), bytes([kind]) + name, hashlib.sha256).hexdigest()[:32]`.
    @Test("Hashes of names are the recorded HMACs of kind and name")
    func hashesOfNamesAreTheRecordedHMACs() throws {
        let key = try #require(NameHashKey(Data(0..<32)))
        #expect(key.identifier == "e711546e3faad4c7c4aa756bc26cad6a")
        #expect(key.hash("ann", .user) == "82d094139cb17ed8f8ea19ffead9e849")
        #expect(key.hash("ü/x", .key) == "8991a05a23fae585c513deee115b9334")
    }

    /// Returns the texts that occur in the files of a folder and its subfolders.
    private func found(_ texts: [String], in folder: URL) throws -> [String] {
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var found: [String] = []
        for case let file as URL in files {
            guard let data = try? Data(contentsOf: file) else { continue }
            found += texts.filter { data.range(of: Data($0.utf8)) != nil || file.lastPathComponent.contains($0) }
        }
        return found
    }

    private let texts = ["http", "//fake", "path-", "key-", "user-of-the-test", "category-"]

    /// Runs a first process that accesses "a", "b" and "c" and keeps their images in memory.
    private func firstStart(in folder: TemporaryFolder, keepsURLs: Bool = false) async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file), folder: folder)
        let manager = manager(fixture)
        let predictive = manager.startPredicting(
            configuration { ($0.budget, $0.keepsURLs) = (.init(perRequest: .init(objects: 0)), keepsURLs) })
        for name in ["a", "b", "c"] { _ = try await manager.image(for: named(name)) }
        await predictive.stop()
        #expect(await predictive.modelFault == nil)
        await fixture.cache.close()
    }

    /// Runs another process with visits from which both models learn.
    private func visits(in folder: TemporaryFolder, keepsURLs: Bool) async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file), folder: folder)
        let manager = manager(fixture)
        var configuration = PrefetchConfiguration()
        configuration.pretrained = try PlannerKeepingTests().learnt()
        (configuration.budget, configuration.keepsURLs) = (.init(perRequest: .init(objects: 0)), keepsURLs)
        let predictive = manager.startPredicting(configuration)
        for _ in 0..<12 {
            for name in ["a", "b", "c"] {
                _ = try await manager.image(for: named(name))
                fixture.clock.advance(by: 10)
            }
            await predictive.settle()
            fixture.clock.advance(by: 86_400)
        }
        await predictive.stop()
        #expect(await predictive.modelFault == nil)
        await fixture.cache.close()
    }

    @Test("No file of the hidden folder contains a part of a URL, key, user or category", arguments: [false, true])
    func hiddenFolderHasNoClearNames(keepsURLs: Bool) async throws {
        let folder = try TemporaryFolder()
        try await firstStart(in: folder, keepsURLs: keepsURLs)
        let fixture = try ManagerFixture(FakeTransport(), folder: folder)
        let hidden = try self.folder(fixture)
        let kept = try #require(try KeptAccessesFile(folder: hidden).read())
        #expect(kept.accesses.count == 3 && kept.objects.count == 3 && kept.users.count == 1)
        #expect(kept.categorySets.count == 3 && (kept.hashKey == nil) == keepsURLs)
        #expect((KeptAccessesFile(folder: hidden).readKey() == nil) == keepsURLs)
        await fixture.cache.close()
        // The models are among the files that are searched.
        try await visits(in: folder, keepsURLs: keepsURLs)
        #expect(try PretrainedPlanner.kept(in: hidden) != nil)
        #expect(try found(texts, in: hidden).isEmpty == !keepsURLs)
    }

    @Test("After a restart an object is fetched once it is named; with clear names it is fetched at once")
    func hashedObjectIsFetchedOnceNamed() async throws {
        for (keepsURLs, announces) in [(false, false), (false, true), (true, false)] {
            let folder = try TemporaryFolder()
            try await firstStart(in: folder, keepsURLs: keepsURLs)
            let heard = notes.take().filter { !$0.hasPrefix("plan") }
            let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
            let fixture = try ManagerFixture(transport, folder: folder)
            let manager = manager(fixture)
            let predictive = manager.startPredicting(configuration { $0.keepsURLs = keepsURLs })
            if announces { predictive.announce([named("b")], options: inMemory) }
            _ = try await manager.image(for: named("a"))
            await predictive.settle()
            let told = notes.take().filter { !$0.hasPrefix("announced") }
            // The numbers of objects, users and categories are those of the first start.
            #expect(Array(told.prefix(heard.count)) == heard)
            #expect(told.dropFirst(heard.count).first == "miss 0 in 1 by 0")
            let isKnown = keepsURLs || announces
            #expect(
                started(transport).prefix(2)
                    == (isKnown ? ["path-a", "path-b"] : ["path-a"]), "\(keepsURLs) \(announces)")
            // The object that was announced is written as the same hash again.
            await predictive.stop()
            let kept = try #require(try KeptAccessesFile(folder: self.folder(fixture)).read())
            #expect(kept.objects.count == 3 && kept.users.count == 1 && kept.categorySets.count == 3)
            #expect(kept.accesses.map(\.object) == [0, 1, 2, 0])
        }
    }

    @Test("A file of the other kind is removed; the earlier format is read only with clear names")
    func fileOfOtherKindIsRemoved() async throws {
        let old = Data(
            (#"{"version":1,"users":["user-of-the-test"],"categorySets":[["category-a"]],"objects":[{"key":"key-a","#
                + #""url":"http://fake/path-a"}],"accesses":[{"object":0,"user":0,"categories":0,"time":5,"cost":7,"#
                + #""isHit":true}]}"#).utf8)
        for keepsURLs in [false, true] {
            let fixture = try ManagerFixture(FakeTransport())
            let file = KeptAccessesFile(folder: try folder(fixture))
            try old.write(to: file.url)
            var predictive = fixture.manager.startPredicting(configuration { $0.keepsURLs = keepsURLs })
            await predictive.save()
            // A plan of the last round may arrive late.
            let told = notes.take().filter { !$0.hasPrefix("plan") }
            #expect(told == (keepsURLs ? ["set 1 = [0]", "hit 0 in 1 by 0"] : []))
            #expect(try file.read()?.version == (keepsURLs ? KeptAccesses.version : nil))
            #expect(await predictive.modelFault == nil)
            // The file that is written now is of the other kind for the next start.
            predictive.accessed(
                RecordedAccess(time: 9, key: "key-a", cost: 1, categories: [], user: nil, outcome: .memory))
            await predictive.save()
            #expect((try file.read()?.hashKey == nil) == keepsURLs)
            predictive = fixture.manager.startPredicting(configuration { $0.keepsURLs = !keepsURLs })
            _ = notes.take()
            _ = await predictive.metrics
            await predictive.save()
            #expect(try file.read() == nil && file.readKey() == nil)
            await predictive.stop()
            _ = notes.take()
        }
    }

    @Test("Hashes of a lost key are dropped, and clearing the disk removes the key")
    func hashesOfLostKeyAreDropped() async throws {
        let folder = try TemporaryFolder()
        try await firstStart(in: folder)
        _ = notes.take()
        let fixture = try ManagerFixture(FakeTransport(), folder: folder)
        let file = KeptAccessesFile(folder: try self.folder(fixture))
        try FileManager.default.removeItem(at: file.keyURL)
        let predictive = fixture.manager.startPredicting(configuration())
        await predictive.save()
        #expect(notes.take() == [] && !FileManager.default.fileExists(atPath: file.url.path))
        predictive.accessed(RecordedAccess(time: 9, key: "a", cost: 1, categories: [], user: nil, outcome: .memory))
        await predictive.save()
        #expect(file.readKey() != nil)
        await fixture.cache.clearDiskCache()
        #expect(try file.readKey() == nil && file.read() == nil)
    }

    // MARK: - Forgetting a user

    private func users(_ file: KeptAccessesFile) throws -> [String] {
        let kept = try #require(try file.read())
        #expect(kept.isSound)
        return kept.users
    }

    @Test(
        "A forgotten user's accesses are removed from memory and file, with and without a running predictor",
        arguments: [true, false])
    func forgottenUsersAccessesAreRemoved(keepsURLs: Bool) async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let manager = manager(fixture)
        let file = KeptAccessesFile(folder: try folder(fixture))
        let predictive = manager.startPredicting(
            configuration { ($0.budget, $0.keepsURLs) = (.init(perRequest: .init(objects: 0)), keepsURLs) })
        for (name, user) in [("a", "u1"), ("b", "u2"), ("c", "u3"), ("b", "u1")] {
            _ = try await manager.image(for: named(name, user: user))
        }
        await predictive.save()
        let before = try #require(try file.read())
        #expect(before.users.count == 3)
        try await manager.forget(user: "u1")
        #expect(try users(file) == Array(before.users.dropFirst()))
        await predictive.save()
        let running = try #require(try file.read())
        #expect(running.users == Array(before.users.dropFirst()) && running.accesses.count == 2)
        #expect(running.objects.count == 2 && running.categorySets.count == 2)
        // The user is unknown now and gets a new number.
        _ = notes.take()
        _ = try await manager.image(for: named("a", user: "u1"))
        await predictive.settle()
        #expect(notes.take().contains("hit 0 in 1 by 3"))
        await predictive.stop()
        manager.stopPredicting()
        try await manager.forget(user: "u2")
        let stopped = try #require(try file.read())
        #expect(stopped.users == [before.users[2], before.users[0]] && stopped.accesses.count == 2 && stopped.isSound)
        try await manager.forget(user: "nobody of them")
        #expect(try file.read() == stopped)
        for user in ["u1", "u3"] { try await manager.forget(user: user) }
        #expect(try file.read() == nil && file.readKey() == nil)
    }

    @Test("Forgetting a user cancels the user's fetch in flight")
    func forgettingUserCancelsFetch() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let (predictive, settled) = try await fetching(fixture.manager, transport)
        try await fixture.manager.forget(user: "u")
        #expect(transport.calls.last == .cancel("b"))
        await settled.value
        #expect(await predictive.statistics.cancelled == 1)
    }

    @Test("Forgetting a user removes the user's private values and log entries, and no other user's")
    func forgettingUserClearsCachesAndLog() async throws {
        let folder = try TemporaryFolder()
        let log = AccessLog(path: folder.path + "/log.sqlite")
        let cache = ImageCache(
            memory: .lasting(cost: 1 << 20),
            disk: DiskStorageConfig(name: "one", directory: URL(fileURLWithPath: folder.path)),
            serializer: BitmapSerializer(), recorder: log, triggers: [])
        let originals = ImageCache(
            memory: .lasting(cost: 1 << 20),
            disk: DiskStorageConfig(name: "two", directory: URL(fileURLWithPath: folder.path)),
            serializer: BitmapSerializer(), triggers: [])
        let manager = HalcyonManager(
            cache: cache, originalCache: originals, downloader: .test(FakeTransport(), clock: ManualClock()))
        let picture = try EncodedPicture().picture
        for user in ["u1", "u2"] {
            for cache in [cache, originals] {
                await cache.store(picture, forKey: EntryOrigin.privateKey("a", of: user))
            }
            log.record("a", cost: 1, outcome: .network, user: user)
        }
        await cache.settleDisk()
        try await manager.forget(user: "u1")
        for cache in [cache, originals] {
            #expect(!cache.isCached(forKey: EntryOrigin.privateKey("a", of: "u1")))
            #expect(cache.isCached(forKey: EntryOrigin.privateKey("a", of: "u2")))
        }
        #expect(try await log.deleteAccesses(ofUser: "u1") == 0)
        #expect(try await log.deleteAccesses(ofUser: "u2") == 1)
        // A log that cannot be written is reported, and the other data are removed.
        try await log.close()
        await #expect(throws: AccessLogError.self) { try await manager.forget(user: "u2") }
        for cache in [cache, originals] { #expect(!cache.isCached(forKey: EntryOrigin.privateKey("a", of: "u2"))) }
    }
}
