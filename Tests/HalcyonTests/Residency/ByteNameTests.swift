import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonEviction
import HalcyonSupport
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction
@testable import HalcyonViews

/// Two names that Swift's strings hold to be equal, and that have different bytes.
struct NamePair: Sendable, CustomTestStringConvertible {
    let one: String
    let other: String

    var testDescription: String {
        [one, other].map { $0.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ") }
            .joined(separator: " | ")
    }

    /// Composed and decomposed letters, singletons, marks in two orders (UAX #15), and 40 names with a random number of them.
    static let all: [NamePair] = {
        let parts = [
            ("\u{e9}", "e\u{301}"), ("K", "\u{212a}"), ("\u{c5}", "\u{212b}"), ("a\u{323}\u{301}", "a\u{301}\u{323}"),
            ("\u{ac00}", "\u{1100}\u{1161}"), (";", "\u{37e}"), ("`", "\u{1fef}"),
        ]
        var generator = SeededGenerator(seed: 51)
        let random = (0..<40).map { _ in
            var (one, other) = ("", "")
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                let plain = String(UnicodeScalar(UInt8.random(in: 97...122, using: &generator)))
                let part = parts[Int.random(in: parts.indices, using: &generator)]
                (one, other) = (one + plain + part.0, other + plain + part.1)
            }
            return (one, other)
        }
        return (parts + random).map { NamePair(one: $0.0, other: $0.1) }
    }()
}

/// Names compare by bytes in every table of the live cache: users, keys, categories, files, extensions, processors and providers.
@Suite("Names that differ in Unicode normalisation alone are different names", .timeLimit(.minutes(20)))
struct ByteNameTests {
    @Test("Such names are equal strings, and different names, lists and members of tables", arguments: NamePair.all)
    func namesOfDifferentBytesAreDifferent(pair: NamePair) {
        let (one, other) = (ByteName(pair.one), ByteName(pair.other))
        #expect(pair.one == pair.other && Array(pair.one.utf8) != Array(pair.other.utf8))
        #expect(one != other && one == ByteName(pair.one) && !(one == pair.other))
        #expect(Set([one, other, one]).count == 2)
        #expect(ByteName.List([pair.one, "x"]) != ByteName.List([pair.other, "x"]))
        var table: [ByteName: Int] = [:]
        (table[pair.one], table[pair.other]) = (1, 2)
        #expect(table[pair.one] == 1 && table.removeValue(forKey: pair.other) == 2 && table.count == 1)
    }

    @Test(
        "Users and categories have numbers of their own, and rules hold for the category they name",
        arguments: NamePair.all)
    func usersAndCategoriesHaveOwnNumbers(pair: NamePair) throws {
        let users = UserNumbers()
        #expect(users.number(of: pair.one) == 0 && users.number(of: pair.other) == 1)
        users.forget(pair.other)
        #expect(users.number(of: pair.one) == 0 && users.number(of: pair.other) == 2)

        var categories = CategoryInterner()
        #expect(categories.intern(pair.one) == 0 && categories.intern(pair.other) == 1)
        let (first, second) = (categories.set(of: [pair.one]).number, categories.set(of: [pair.other]).number)
        #expect(first != second && categories.knownSet(of: [pair.other]) == second)
        #expect(categories.isSet(first, of: [pair.one]) && !categories.isSet(first, of: [pair.other]))

        let memory = MemoryStorage<Blob>(
            config: .lasting(cost: 100, rules: [pair.one: CategoryRule(countLimit: 1, priority: 1)]),
            configured: try PolicyCatalogue.standard.livePolicy("lru"), clock: ManualClock())
        for category in [pair.one, pair.other] {
            for key in ["a", "b"] {
                memory.store(value: Blob(), forKey: key + category, context: AccessContext(categories: [category]))
            }
        }
        #expect(memory.use(category: pair.one).count == 1 && memory.use(category: pair.other).count == 2)
        // A dictionary by strings has one row for both.
        #expect(memory.statistics.useByCategory[pair.one]?.count == 3)
        memory.remove(category: pair.one)
        #expect(memory.use(category: pair.one).count == 0 && memory.use(category: pair.other).count == 2)
    }

    @Test("Keys, reads, operations on disk and marks of prefetches are of one key alone", arguments: NamePair.all)
    func keysOfTheCacheAreDifferent(pair: NamePair) {
        var keys = KeyTable()
        #expect(keys.intern(pair.one) != keys.intern(pair.other))

        var reads = PendingReads()
        let ticket = reads.begin(pair.one, requestNumber: 0)
        reads.void(pair.other)
        #expect(!reads.isPending(pair.other) && reads.end(ticket))

        var schedule = DiskOwner.Schedule()
        #expect(schedule.handle(.request(1, .store(ByteName(pair.one)), isPrepared: true)) == [.ready(1)])
        #expect(!schedule.isFree(ByteName(pair.one)) && schedule.isFree(ByteName(pair.other)))
        #expect(schedule.handle(.request(2, .store(ByteName(pair.other)), isPrepared: true)) == [.ready(2)])
        // A removal of another extension voids no store.
        let labels = DiskOwner.Schedule.Labels(forcedExtension: pair.one)
        #expect(schedule.handle(.request(3, .store(ByteName("k"), labels), isPrepared: false)) == [])
        #expect(
            !schedule.handle(.request(4, .remove(ByteName("k"), forcedExtension: pair.other), isPrepared: true))
                .contains(.complete(3, .void)))

        let marks = PrefetchMarks()
        marks.mark(pair.one, inMemory: true, fileName: pair.one)
        #expect(!marks.use(pair.other))
        marks.removed(.disk, [Removal(key: pair.other, cost: 1, categories: [], reason: .evicted)])
        #expect(marks.use(pair.one) && marks.counts == PrefetchCounts(prefetched: 1, used: 1))
    }

    @Test(
        "Requests, processors, providers and entries of one name share nothing with the other", arguments: NamePair.all)
    func loadsOfDifferentNamesAreNotMerged(pair: NamePair) throws {
        func differ<Key: Hashable>(_ make: (String) throws -> Key, _ place: SourceLocation = #_sourceLocation) rethrows
        {
            let (one, other) = (try make(pair.one), try make(pair.other))
            #expect(one != other, sourceLocation: place)
            #expect(Set([one, other, try make(pair.one)]).count == 2, sourceLocation: place)
        }
        let url = fake("a")
        differ { name in
            var request = TransportRequest(url)
            request.mergePartition = name
            return MergeKey(request)
        }
        differ { name in
            var request = TransportRequest(url)
            request.headers["Cookie"] = name
            return MergeKey(request)
        }
        differ { name in
            var request = TransportRequest(url)
            request.credential = Credential(user: "u", password: name)
            return MergeKey(request)
        }
        differ { Credential(user: $0, password: "p") }
        differ { name in PeerFilter.custom(name) { _ in true } }
        differ { ProcessorKey($0, Int.self) }
        differ { ProviderKey(DataProvider(Data(), cacheKey: $0)) }
        let fixture = try ManagerFixture(FakeTransport())
        differ { EntryKey($0) }
        differ { CacheEntry(fixture.cache, EntryKey($0)) }
        differ { CacheEntry(fixture.cache, EntryKey("k", forcedExtension: $0)) }
        differ { LoadKey(Resource(url, cacheKey: $0), nil, nil) }
        differ { LoadKey(Resource(url, user: $0), nil, nil) }
        let owner = SharedResponse()
        #expect(owner.belongs(to: pair.one) && !owner.belongs(to: pair.other) && owner.belongs(to: pair.one))
    }

    @Test("The prefetcher's tables keep users, files, hashes and processors apart", arguments: NamePair.all)
    func namesOfThePrefetcherAreDifferent(pair: NamePair) throws {
        var kept = KeptAccesses()
        kept.users = [pair.one, pair.other]
        kept.objects = [KeptAccesses.Object(key: "k")]
        kept.accesses = (0..<2).map { KeptAccesses.Access(object: 0, user: $0, time: 0, cost: 0, isHit: false) }
        #expect(kept.without(user: pair.one).users.map { Array($0.utf8) } == [Array(pair.other.utf8)])
        #expect(PrefetchUser(name: pair.one).isNamed(pair.one) && !PrefetchUser(name: pair.one).isNamed(pair.other))

        var catalogue = ObjectCatalogue()
        let objects = [pair.one, pair.other].map { name in catalogue.intern(name) { $0 } }
        #expect(objects == [0, 1])
        #expect([pair.one, pair.other].map { catalogue.object(inFile: $0) } == [0, 1])

        let inbox = EventInbox()
        for name in [pair.one, pair.other] {
            inbox.want(
                Resource(fake("a")), ImageOptions(processor: NamedProcessor(identifier: name)), defaults: ImageOptions()
            )
        }
        let templates = inbox.take().events.filter { if case .template = $0 { true } else { false } }
        #expect(templates.count == 2)
    }

    @Test("A log with both names as raw keys and as users is read as a recording", arguments: NamePair.all.prefix(8))
    func logOfBothNamesIsReadAsARecording(pair: NamePair) async throws {
        let folder = try TemporaryFolder()
        var configuration = AccessLog.Configuration()
        configuration.keys = .raw
        let log = AccessLog(path: "\(folder.path)/log.sqlite", configuration)
        for name in [pair.one, pair.other] {
            log.record(name, cost: 1, outcome: .network, user: name, at: 1, duration: 5)
            log.record(event: RecordedEvent(time: 1, kind: .prefetchStart, key: name, user: name))
        }
        try await log.close()
        var options = TraceLoadOptions()
        options.recording = true
        let trace = try Trace.load(log.path, options)
        #expect(trace.entries == [0, 1])
        let events = try #require(trace.recording).events
        #expect(events.map(\.object) == [0, 1] && events.map(\.user) == [0, 1])
    }

    @Test("Two users whose names are equal strings never get each other's private picture, also at once")
    func usersOfEqualStringsShareNoPrivateResponse() async throws {
        let pictures = [try EncodedPicture(), try EncodedPicture.blue]
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let (url, users) = (fake("a"), ["jos\u{e9}", "jose\u{301}"])
        func load(_ user: String) async throws -> ImageResult {
            try await fixture.manager.image(for: url, user: user, options: ImageOptions { $0.waitForCache = true })
        }
        let loads = users.map { user in Task { try await load(user).image } }
        await fixture.downloader.waitForWaiters(2)
        await waitUntil { transport.waiting.count == 1 }
        transport.answer("a", pictures[0].file, headers: ["Cache-Control": "private, max-age=60"])
        // The load whose transfer it is not asks again.
        await waitUntil { transport.waiting.count == 1 && transport.calls.count == 2 }
        transport.answer("a", pictures[1].file, headers: ["Cache-Control": "private, max-age=60"])
        var images: [Bitmap] = []
        for load in loads { images.append(try await load.value) }
        #expect(images[0] != images[1] && pictures.map(\.picture).allSatisfy(images.contains))
        for (user, image) in zip(users, images) {
            #expect(try await load(user).image == image)
            fixture.cache.clearMemoryCache()
            let found = try await load(user)
            #expect(found.cacheType == .disk && found.image == image)
        }
        #expect(transport.calls.count == 2)
    }

    /// Tables that a user of the package reads or fills, and those whose names are ASCII by their own rules.
    private static let allowed: [String: Int] = [
        // Configuration and statistics of an app.
        "HalcyonCache/Disk/DiskStorageConfig.swift": 2, "HalcyonCache/Memory/MemoryStorage.swift": 3,
        "HalcyonCache/Events/CacheStatistics.swift": 2, "HalcyonCache/Residency/StorageStatistics.swift": 5,
        "HalcyonCache/Residency/EntryIndex.swift": 2, "HalcyonSupport/ByteName.swift": 1,
        // Names of header fields and directives, URLs, schemes, origins.
        "HalcyonNetworking/Downloader/ImageDownloader.swift": 3, "HalcyonNetworking/Downloader/Redirection.swift": 1,
        "HalcyonNetworking/Freshness/CacheControl.swift": 1, "HalcyonNetworking/Freshness/Freshness.swift": 1,
        "HalcyonNetworking/Freshness/FieldDigest.swift": 2, "HalcyonNetworking/Transport/RequestRestriction.swift": 2,
        "HalcyonPipeline/Manager/RevalidationPauses.swift": 1, "HalcyonPipeline/Manager/SourcePolicy.swift": 2,
        "HalcyonNetworking/Merging/MergeKey.swift": 4, "HalcyonNetworking/Transport/TransferQueue.swift": 2,
        "HalcyonNetworking/Transport/TransportRequest.swift": 3,
        "HalcyonNetworking/Transport/TransportResponse.swift": 1,
    ]

    @Test(
        "A table by names in a source file has ByteName as its key, or is listed here with the reason",
        arguments: [
            "HalcyonSupport", "HalcyonCache", "HalcyonNetworking", "HalcyonPipeline", "HalcyonPrediction",
            "HalcyonPrefetch",
            "HalcyonViews", "HalcyonAccessLog",
        ])
    func tablesByNamesHaveByteNamesAsKeys(module: String) throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let folder = root.appendingPathComponent("Sources/\(module)")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(!files.isEmpty)
        for file in files.sorted() {
            let lines = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
                .split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
            let count = lines.count { $0.contains("Set<String>") || $0.contains("[String: ") }
            let allowed = Self.allowed["\(module)/\(file)"] ?? 0
            #expect(
                count <= allowed,
                "Sources/\(module)/\(file) has \(count) tables by String, \(allowed) are known: use ByteName for names")
        }
    }
}

/// A processor that is only an identifier.
private struct NamedProcessor: BitmapProcessor {
    let identifier: String

    func process(_ picture: Bitmap) -> Bitmap { picture }
}
