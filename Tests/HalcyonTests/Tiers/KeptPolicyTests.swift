import Foundation
import Halcyon
import HalcyonEviction
import HalcyonLearning
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("What a policy has learned, across starts", .timeLimit(.minutes(20)))
struct KeptPolicyTests {
    /// A request: an object of a skewed choice, with the category that it always has, and a user.
    private struct Request {
        let key: String
        let context: AccessContext

        init(_ random: inout SplitMix64, objects: Int = 120) {
            let object = min(random.next(below: objects), random.next(below: objects))
            key = "https://a.test/private-\(object)"
            context = AccessContext(
                categories: object % 5 == 0 ? [] : ["secret-\(object % 4)"],
                user: random.next(below: 3) == 0 ? nil : "someone-\(object % 3)")
        }
    }

    private func open(_ fixture: DiskFixture, _ policy: String, _ change: (inout DiskStorageConfig) -> Void = { _ in })
        throws -> DiskStorage
    {
        try fixture.open(policy: policy, flushDelay: .seconds(60)) {
            $0.sizeLimit = 30 * 4_096
            $0.expiration = .never
            change(&$0)
        }
    }

    private func serve(_ request: Request, _ disk: DiskStorage) throws -> Bool {
        if try disk.value(forKey: request.key, context: request.context) != nil { return true }
        try disk.store(value: Data([1]), forKey: request.key, context: request.context)
        return false
    }

    @Test(
        "A disk tier that is closed and opened again has the hits and victims of one that went on",
        arguments: ["learned", "learned(model=shipped)", "learned(admit=bloom)"])
    func restartedDiskDecidesAsOneThatWentOn(policy: String) throws {
        let (lasting, restarted) = (try DiskFixture(), try DiskFixture())
        let one = try open(lasting, policy)
        var other: DiskStorage? = try open(restarted, policy)
        var random = SplitMix64(seed: 4)
        for step in 1...2_400 {
            for fixture in [lasting, restarted] { fixture.clock.advance(by: 30) }
            if step % 170 == 0 {
                other?.closeNow()
                try restarted.close(&other)
                other = try open(restarted, policy)
            }
            if step == 1_000 { for disk in [one, try #require(other)] { disk.trim(toSize: 12 * 4_096) } }
            if step % 90 == 0 {
                for disk in [one, try #require(other)] { disk.remove(forKey: "https://a.test/private-3") }
            }
            let request = Request(&random)
            let (first, second) = (try serve(request, one), try serve(request, try #require(other)))
            #expect(first == second, "request \(step)")
            if first != second { return }
        }
        #expect(lasting.left.all == restarted.left.all && lasting.left.all.count > 300)
        try restarted.expectAgreement(try #require(other))
        let statistics = (one.statistics, try #require(other).statistics)
        #expect(statistics.0.useByCategory == statistics.1.useByCategory)
        #expect(statistics.0.policyMetrics == statistics.1.policyMetrics)
    }

    @Test(
        "Both tiers of a cache that is started again have the hits of one that went on and was told to empty its memory"
    )
    func restartedMemoryDecidesAsOneThatWasEmptied() async throws {
        let folders = (try TemporaryFolder(), try TemporaryFolder())
        let clock = ManualClock()
        func cache(in folder: TemporaryFolder) throws -> ImageCache<Blob> {
            var disk = DiskStorageConfig(name: "test", directory: URL(fileURLWithPath: folder.path))
            (disk.cleanInterval, disk.sizeLimit, disk.expiration) = (.zero, 40 * 4_096, .never)
            let policy = try PolicyCatalogue.standard.livePolicy("learned")
            return ImageCache(
                memory: .lasting(cost: 12), disk: disk, memoryPolicy: policy, diskPolicy: policy,
                serializer: BlobSerializer(), clock: clock, triggers: [])
        }
        let one = try cache(in: folders.0)
        var other: ImageCache<Blob>? = try cache(in: folders.1)
        var (random, found) = (SplitMix64(seed: 12), [CacheType: Int]())
        for step in 1...2_000 {
            clock.advance(by: 20)
            if step % 190 == 0 {
                one.clearMemoryCache()
                await other?.enterBackground()
                await other?.close()
                other = nil
                other = try cache(in: folders.1)
            }
            let request = Request(&random)
            let options = CacheOptions(categories: request.context.categories, user: request.context.user)
            var types: [CacheType] = []
            for cache in [one, try #require(other)] {
                let type = try await cache.image(forKey: request.key, options: options).cacheType
                types.append(type)
                if type == .none {
                    _ = await cache.store(Blob(request.key, cost: 1), forKey: request.key, options: options)
                }
            }
            #expect(types[0] == types[1], "request \(step)")
            if types[0] != types[1] { return }
            found[types[0], default: 0] += 1
        }
        for (type, least) in [(CacheType.memory, 100), (.disk, 100), (.none, 300)] { #expect(found[type] ?? 0 > least) }
        #expect(other?.statistics.policyFault == nil)
    }

    // MARK: - Without a disk: the state itself

    private func index(_ policy: String, _ users: UserNumbers = UserNumbers()) throws -> EntryIndex {
        EntryIndex(
            policy: try PolicyCatalogue.standard.livePolicy(policy), limits: Limits(cost: 40, count: 0), rules: [:],
            usualExpiration: .never, seed: 1, users: users, keepsCalls: true)
    }

    private func serve(_ request: Request, _ index: inout EntryIndex, at time: Int64) -> Bool {
        let isHit = index.hasher.withHashed(request.key) {
            index.load($0, at: time, extending: .cacheTime, context: request.context) != nil
        }
        if !isHit {
            index.hasher.withHashed(request.key) {
                _ = index.store(request.key, $0, cost: 1, at: time, expiration: .never, context: request.context)
            }
        }
        index.forgetRemoved()
        return isHit
    }

    private func found(in index: borrowing EntryIndex) -> [EntryIndex.FoundEntry] {
        index.residents { _, _ in true }.map {
            EntryIndex.FoundEntry(
                key: index.key(of: $0), cost: 1, accessed: 0, deadline: index.deadline(of: $0),
                categories: index.categories(of: $0))
        }
    }

    @Test(
        "More calls than are kept: the file stays small, and the next start continues with the model and the residents")
    func manyCallsAreBounded() throws {
        var index = try index("learned")
        var (random, hits) = (SplitMix64(seed: 30), 0)
        for step in 0..<40_000 {
            if serve(Request(&random, objects: 300), &index, at: Int64(step) * 1_000_000), step >= 30_000 { hits += 1 }
        }
        let key = NameHashKey()
        let source = index.callsSource
        let kept = try #require(source).kept(key)
        let calls = try #require(kept.cacheCalls)
        #expect(!calls.isWhole && (15_000...CacheCalls.most).contains(calls.count))
        #expect(kept.isSound && kept.model != nil)
        #expect(try JSONEncoder().encode(kept).count < 1 << 20)
        var next = try self.index("learned")
        let restored = next.restore(kept, key, found: found(in: index))
        #expect(restored.fault == nil && !restored.entries.contains(nil) && !restored.entries.contains(EntryID.none))
        let sizes = (next.count, next.used, index.count, index.used)
        #expect(sizes.0 == sizes.2 && sizes.1 == sizes.3)
        let statistics = next.statistics
        #expect(statistics.policyMetrics["training_steps"] ?? 0 > 60)
        var again = 0
        for step in 40_000..<50_000 {
            if serve(Request(&random, objects: 300), &next, at: Int64(step) * 1_000_000) { again += 1 }
        }
        // Two draws of 10,000 requests differ by less than 1 point.
        #expect(abs(again - hits) < 200)
    }

    @Test(
        "A model of another result version or of other kernels is refused with one sentence, and the calls are used without it"
    )
    func foreignModelIsRefused() throws {
        var index = try index("learned")
        var random = SplitMix64(seed: 31)
        for step in 0..<20_000 { _ = serve(Request(&random), &index, at: Int64(step) * 1_000_000) }
        let key = NameHashKey()
        let source = index.callsSource
        let kept = try #require(source).kept(key)
        var older = kept
        older.resultVersion -= 1
        var damaged = kept
        damaged.model = kept.model?.dropLast(9)
        let cases: [(KeptCalls, String, String)] = [
            (older, "learned", "result version \(older.resultVersion)"),
            (kept, "learned(kernels=system)", "kernels=portable"),
            (damaged, "learned", "truncated"), (kept, "learned(hidden=8)", "hidden units"),
        ]
        for (kept, policy, words) in cases {
            var next = try self.index(policy)
            let restored = next.restore(kept, key, found: found(in: index))
            let fault = try #require(restored.fault)
            #expect(fault.contains(words) && fault.hasSuffix(".") && !fault.contains("\n"))
            let counts = (next.count, index.count)
            #expect(counts.0 == counts.1)
            var hits = 0
            for step in 0..<500 { if serve(Request(&random), &next, at: 1 << 40 + Int64(step)) { hits += 1 } }
            #expect(hits > 100)
        }
    }

    // MARK: - Files

    private func file(_ fixture: DiskFixture, _ name: String = "policy-disk.json") -> URL {
        URL(fileURLWithPath: fixture.folder.path + "/halcyon.cache.test/.halcyon/" + name)
    }

    /// Serves requests on a storage and closes it.
    private func fill(_ fixture: DiskFixture, requests: Int = 300) throws {
        var disk: DiskStorage? = try open(fixture, "learned")
        var random = SplitMix64(seed: 3)
        for _ in 0..<requests {
            fixture.clock.advance(by: 1)
            _ = try serve(Request(&random), try #require(disk))
        }
        disk?.closeNow()
        try fixture.close(&disk)
    }

    @Test("The file has no key, file name, category or user in clear, and other users cannot read it")
    func namesAreHashed() throws {
        let fixture = try DiskFixture()
        try fill(fixture)
        let text = try String(contentsOf: file(fixture), encoding: .utf8)
        for name in ["private", "secret", "someone", "a.test"] { #expect(!text.contains(name)) }
        for name in try fixture.files().keys { #expect(!text.contains(name)) }
        let kept = try JSONDecoder().decode(KeptCalls.self, from: Data(text.utf8))
        #expect(kept.users.count == 3 && kept.categories.count == 4 && kept.sets.count == 4)
        let key = try #require(KeptCallsFile(folder: file(fixture).deletingLastPathComponent(), tier: .disk).readKey())
        #expect(kept.users.contains(key.hash("someone-1", .user)))
        #expect(kept.numberedKeys?.count ?? 0 > 30)
        let folder = file(fixture).deletingLastPathComponent().path
        #expect(try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o700)
    }

    @Test(
        "A damaged file, one of a later release and one whose key is lost are reported, and the cache starts without them",
        arguments: ["cut", "changed", "later", "key", "folder"])
    func badFileIsReported(kind: String) throws {
        let fixture = try DiskFixture()
        try fill(fixture)
        let url = file(fixture)
        let data = try Data(contentsOf: url)
        switch kind {
        case "cut": try data.prefix(data.count / 2).write(to: url)
        case "changed":
            try Data(String(decoding: data, as: UTF8.self).replacing("\"sets\":[[0]", with: "\"sets\":[[9]").utf8)
                .write(to: url)
        case "later":
            try Data(String(decoding: data, as: UTF8.self).replacing("\"version\":1", with: "\"version\":2").utf8)
                .write(to: url)
        case "key": try Data(repeating: 7, count: NameHashKey.count).write(to: file(fixture, "policy.key"))
        default:
            try FileManager.default.removeItem(at: url)
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        }
        if kind != "folder", kind != "key" { #expect(try Data(contentsOf: url) != data) }
        let faults = Mutex<[String]>([])
        let disk = try DiskStorage(
            config: fixture.config {
                $0.sizeLimit = 30 * 4_096
                $0.expiration = .never
            }, configured: PolicyCatalogue.standard.livePolicy("learned"), clock: fixture.clock, patience: .seconds(5),
            onFault: { fault in faults.withLock { $0.append("\(fault)") } })
        disk.waitUntilListed()
        let fault = try #require(faults.withLock { $0.first })
        #expect(fault.hasPrefix(url.path) && fault.hasSuffix(".") && !fault.contains("\n"))
        #expect(disk.count > 20)
        try fixture.expectAgreement(disk)
        var random = SplitMix64(seed: 3)
        for _ in 0..<50 { _ = try serve(Request(&random), disk) }
        disk.closeNow()
        if kind != "folder" {
            #expect(try KeptCallsFile(folder: url.deletingLastPathComponent(), tier: .disk).read() != nil)
        }
    }

    @Test("Forgetting a user removes the calls for the user; clearing the disk and turning it off remove the files")
    func keptCallsAreDeletedWithTheData() async throws {
        let folder = try TemporaryFolder()
        func cache(keeps: Bool = true) throws -> ImageCache<Blob> {
            var disk = DiskStorageConfig(
                name: "test", directory: URL(fileURLWithPath: folder.path), keepsLearning: keeps)
            disk.cleanInterval = .zero
            let policy = try PolicyCatalogue.standard.livePolicy("learned")
            return ImageCache(
                memory: .lasting(cost: 12), disk: disk, memoryPolicy: policy, diskPolicy: policy,
                serializer: BlobSerializer(), triggers: [])
        }
        let hidden = URL(fileURLWithPath: folder.path + "/halcyon.cache.test/.halcyon")
        let files = [CacheType.memory, .disk].map { KeptCallsFile(folder: hidden, tier: $0) }
        func fill(_ cache: ImageCache<Blob>) async {
            var random = SplitMix64(seed: 3)
            for _ in 0..<120 {
                let request = Request(&random)
                let options = CacheOptions(categories: request.context.categories, user: request.context.user)
                if (try? await cache.image(forKey: request.key, options: options))?.cacheType == CacheType.none {
                    _ = await cache.store(Blob(cost: 1), forKey: request.key, options: options)
                }
            }
        }
        var one = try cache()
        await fill(one)
        await one.enterBackground()
        for file in files {
            let kept = try #require(try file.read())
            #expect(kept.calls.users.contains(kept.key.hash("someone-1", .user)))
        }
        await one.close()
        // The user is known to this cache by the hash alone.
        one = try cache()
        await one.settleDisk()
        try await one.forget(user: "someone-1") {}
        for file in files {
            let kept = try #require(try file.read())
            #expect(!kept.calls.users.contains(kept.key.hash("someone-1", .user)))
            #expect(kept.calls.users.contains(kept.key.hash("someone-2", .user)))
            let forgotten = kept.calls.users.firstIndex(of: nil)
            try #require(kept.calls.cacheCalls).forEach { #expect(Int($0.access.user) != forgotten) }
        }
        await one.clearDiskCache()
        for file in files { #expect(try file.read() == nil) }
        await fill(one)
        await one.close()
        #expect(try files[1].read() != nil)
        one = try cache(keeps: false)
        await one.settleDisk()
        for file in files { #expect(try file.read() == nil) }
        await fill(one)
        await one.close()
        for file in files { #expect(try file.read() == nil) }
    }

    @Test("A policy that does not learn keeps nothing")
    func otherPoliciesKeepNothing() throws {
        let fixture = try DiskFixture()
        var disk: DiskStorage? = try open(fixture, "lru")
        try disk?.store(value: Data([1]), forKey: "a")
        disk?.closeNow()
        try fixture.close(&disk)
        #expect(!FileManager.default.fileExists(atPath: file(fixture).path))
    }
}
