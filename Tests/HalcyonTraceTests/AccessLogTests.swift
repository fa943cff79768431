import Foundation
import GRDB
import HalcyonAccessLog
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

@Suite(
    "An access log is a trace",
    .timeLimit(.minutes(20)))
struct AccessLogTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    var path: String { "\(folder.path)/access.sqlite" }

    /// A request of the trace that is recorded and read back.
    struct Request: Equatable {
        var time: Int64
        var key: String
        var size: UInt64
        var categories: [String]
        var user: String?
    }

    /// Requests with all optional fields present or missing.
    static let requests: [Request] = {
        var random = SeededGenerator(seed: 11)
        var time: Int64 = 1_700_000_000_000_000
        return (0..<9_000).map { number in
            time += Int64.random(in: 0...3_000_000, using: &random)
            let object = Int.random(in: 0..<700, using: &random)
            return Request(
                time: time, key: object % 9 == 0 ? "a, \"quoted\" key|\(object)" : "https://e.org/\(object)",
                size: UInt64(object * 31 + 1),
                categories: Array(["cats", "dogs, and, puppies", "c\(object % 20)"][..<(object % 4)]),
                user: number % 13 == 0 ? nil : "u\(number % 17)")
        }
    }()

    func log(raw: Bool = true) -> AccessLog {
        var configuration = AccessLog.Configuration()
        configuration.keys = raw ? .raw : .hashed
        configuration.bounds = .none
        configuration.clock = StoppedClock()
        return AccessLog(path: path, configuration)
    }

    func record(_ requests: some Sequence<Request>, in log: AccessLog) {
        for request in requests {
            log.record(
                request.key, cost: Int(request.size), categories: request.categories, outcome: .memory,
                user: request.user, at: request.time)
        }
    }

    /// The requests of a trace with its names.
    func requests(of trace: Trace) -> [Request] {
        (0..<trace.count).map { index in
            let user = trace.user(ofRequest: index)
            return Request(
                time: trace.times[index], key: trace.names.keys[trace.entries[index]],
                size: trace.size(ofRequest: index),
                categories: trace.categorySets[trace.categorySet(ofRequest: index)].map { trace.names.categories[$0] },
                user: user == Trace.noUser ? nil : trace.names.users[user])
        }
    }

    @Test("Recorded accesses are loaded row for row")
    func recordedAccessesAreLoadedRowForRow() async throws {
        let log = log()
        record(AccessLogTests.requests, in: log)
        try await log.close()
        for (chunkBytes, threads) in [(1 << 20, 2), (1_000, 3)] {
            let trace = try Trace.load(
                path,
                .with {
                    $0.names = .all
                    $0.chunkBytes = chunkBytes
                    $0.threads = threads
                })
            #expect(requests(of: trace) == AccessLogTests.requests)
            var report = LoadReport()
            report.format = .accessLog
            #expect(trace.report == report && trace.sizeUnit == .bytes)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["access.sqlite"])
    }

    /// A list of a log, with the number of requests before it.
    private struct List: Equatable {
        var position: Int
        var time: Int64
        var user: String?
        var keys: [String]
        var categories: [[String]]
    }

    /// The lists of a trace with its names.
    private func lists(of trace: Trace) -> [List] {
        let lists = trace.lists ?? ShownLists()
        return lists.elements.map { list in
            List(
                position: list.position, time: list.time,
                user: list.user == Trace.noUser ? nil : String(decoding: trace.name(ofUser: list.user), as: UTF8.self),
                keys: list.objects.map { String(decoding: trace.key(ofObject: $0), as: UTF8.self) },
                categories: list.categories.map { set in
                    trace.categorySets[set].map { category in
                        let count = UInt32(trace.categoryCount)
                        return category < count
                            ? trace.names.categories[category] : lists.names.categories[category - count]
                    }
                })
        }
    }

    @Test(
        "Recorded lists are the lists of the trace, at their places among its requests, which are the same without them"
    )
    func recordedListsAreTheListsOfTheTrace() async throws {
        let plain = log()
        record(Self.requests, in: plain)
        try await plain.close()
        let without = try Trace.load(path, .with { $0.names = .all })
        #expect(without.lists == nil)
        try FileManager.default.removeItem(atPath: path)

        let log = log()
        var random = SeededGenerator(seed: 12)
        var expected: [List] = []
        for (number, request) in Self.requests.enumerated() {
            // Two pages at one time are two lists; some images are only shown, and some categories.
            for page in 0..<(number % 50 == 0 ? 2 : 0) {
                let objects = (0...number % 7).map { _ in Int.random(in: 0..<900, using: &random) }
                let shown = List(
                    position: number, time: request.time, user: number % 100 == 0 ? nil : "u\(number % 19)",
                    keys: objects.map { "https://e.org/\($0)" },
                    categories: objects.map { $0 % 3 == 0 ? ["c\($0 % 25)", "page \(page)"] : [] })
                log.record(
                    list: RecordedList(
                        time: shown.time,
                        items: zip(shown.keys, shown.categories).map {
                            RecordedList.Item(key: $0, cost: 77, categories: $1)
                        }, user: shown.user))
                expected.append(shown)
            }
            record([request], in: log)
        }
        try await log.close()
        for (chunkBytes, threads) in [(1 << 20, 2), (1_000, 3)] {
            let trace = try Trace.load(
                path,
                .with {
                    $0.names = .all
                    $0.chunkBytes = chunkBytes
                    $0.threads = threads
                })
            #expect(lists(of: trace) == expected)
            #expect(requests(of: trace) == Self.requests && trace.entries == without.entries)
            #expect(trace.objectSizes == without.objectSizes && trace.allObjectCount > trace.objectCount)
            #expect(trace.lists?.shownOnlySizes.allSatisfy { $0 == 77 } == true)
        }
        let part = try Trace.load(path, .with { ($0.names, $0.limit, $0.skip) = (.all, 1_000, 500) })
        let kept = expected.filter { $0.position > 500 && $0.position < 1_500 }
        #expect(lists(of: part).map(\.keys) == kept.map(\.keys))
        #expect(lists(of: part).map(\.position) == kept.map { $0.position - 500 })
    }

    @Test("What a log recorded of prefetches has the numbers of shown objects; others are numbered after them")
    func recordingHasTheNumbersOfShownObjects() async throws {
        let log = log()
        log.record("a", cost: 10, outcome: .network, user: "u", at: 1_000_000)
        log.record(
            list: RecordedList(
                time: 2_000_000, items: ["s", "b", "a", "t"].map { RecordedList.Item(key: $0) }, user: "v"))
        for key in ["x", "t", "b"] {
            log.record(
                event: RecordedEvent(time: 3_000_000, kind: .prefetchArrival, key: key, user: "v", duration: 5, cost: 4)
            )
        }
        log.record("b", cost: 30, outcome: .prefetched, user: "u", at: 4_000_000)
        log.record(list: RecordedList(time: 5_000_000, items: [RecordedList.Item(key: "w")], user: "u"))
        try await log.close()
        let trace = try Trace.load(path, .with { $0.recording = true })
        #expect(trace.entries == [0, 1])
        let lists = try #require(trace.lists)
        #expect(lists.objects == [2, 1, 0, 3, 4] && lists.positions == [1, 2] && lists.users == [1, 0])
        // "s" and "w" have the mean size of accesses, "t" that of its prefetch.
        #expect(trace.objectSizes == [10, 30] && lists.shownOnlySizes == [20, 4, 20])
        let events = try #require(trace.recording).events
        #expect(events.map(\.object) == [5, 3, 1] && events.map(\.user) == [1, 1, 1])
        let first = try Trace.load(path, .with { ($0.recording, $0.limit) = (true, 1) })
        #expect(first.lists?.count == 0 && first.recording?.events.count == 0)
    }

    @Test("Hashed keys give the same objects as raw keys")
    func hashedKeysGiveTheSameObjects() async throws {
        let raw = log()
        record(AccessLogTests.requests, in: raw)
        try await raw.close()
        let expected = try Trace.load(path).fingerprint
        try FileManager.default.removeItem(atPath: path)
        let hashed = log(raw: false)
        record(AccessLogTests.requests, in: hashed)
        try await hashed.close()
        #expect(try Trace.load(path).fingerprint == expected)
    }

    @Test("A log converted to CSV equals its own export byte for byte and gives the same trace")
    func convertedLogEqualsItsOwnExport() async throws {
        let log = log()
        record(AccessLogTests.requests, in: log)
        try await log.export(to: "\(folder.path)/own.csv")
        let trace = try Trace.load(path, .with { $0.names = .all })
        try TraceWriter.write(trace, to: "\(folder.path)/converted.csv")
        let own = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/own.csv"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/converted.csv")) == own)
        #expect(try Trace.load("\(folder.path)/own.csv").fingerprint == trace.fingerprint)
        try await log.close()
    }

    @Test("A streamed log equals the loaded one; skip and limit count accesses")
    func streamedLogEqualsTheLoadedOne() async throws {
        let log = log()
        record(AccessLogTests.requests, in: log)
        try await log.close()
        let trace = try Trace.load(path)
        var stream = try TraceStream(path, .with { $0.chunkBytes = 10_000 })
        var batch = StreamBatch()
        var entries: [UInt32] = []
        var times: [Int64] = []
        while try stream.next(into: &batch) {
            entries += batch.entries
            times += batch.times
        }
        #expect(entries == trace.entries && times == trace.times.map { $0 })
        let part = try Trace.load(
            path,
            .with {
                $0.names = .all
                $0.skip = 8_190
                $0.limit = 100
            })
        #expect(requests(of: part) == Array(AccessLogTests.requests[8_190..<8_290]))
    }

    @Test("While the log is written, the flushed accesses are read")
    func flushedAccessesAreReadWhileTheLogIsWritten() async throws {
        let log = log()
        for end in [3_000, 6_000, 9_000] {
            record(AccessLogTests.requests[end - 3_000..<end], in: log)
            try await log.flush()
            let trace = try Trace.load(path, .with { $0.names = .all })
            #expect(requests(of: trace) == Array(AccessLogTests.requests[..<end]))
        }
        try await log.close()
    }

    @Test("After the clock is set back times are held and counted; sorting restores the recorded times")
    func timesAreHeldAfterTheClockIsSetBack() async throws {
        let log = log()
        for (key, time) in [("a", 10), ("b", 20), ("c", 15), ("d", 17), ("e", 21)] {
            log.record(key, cost: 1, outcome: .memory, at: Int64(time) * 1_000_000)
        }
        try await log.close()
        func load(_ change: (inout TraceLoadOptions) -> Void) throws -> (String, [Int64], LoadReport) {
            let trace = try Trace.load(
                path,
                .with {
                    $0.names = .keys
                    change(&$0)
                })
            return (
                trace.entries.map { trace.names.keys[$0] }.joined(), trace.times.map { $0 / 1_000_000 }, trace.report
            )
        }
        let held = try load { _ in }
        #expect((held.0, held.1) == ("abcde", [10, 20, 20, 20, 21]))
        #expect(held.2.heldTimes == 2)
        let sorted = try load { $0.sort = true }
        #expect((sorted.0, sorted.1) == ("acdbe", [10, 15, 17, 20, 21]))
        #expect(sorted.2.heldTimes == 0 && sorted.2.outOfOrder == 2)
        #expect(try load { $0.limit = 3 }.2.heldTimes == 1)
    }

    @Test("An object that was missed first has its later size in traces, streams and exports")
    func missedObjectHasTheSizeOfItsFirstStore() async throws {
        let log = log()
        for (key, cost) in [("a", 0), ("b", 7), ("a", 0), ("a", 5), ("c", 0), ("a", 6), ("b", 0)] {
            log.record(key, cost: cost, outcome: cost == 0 ? .miss : .network, at: 1)
        }
        try await log.export(to: "\(folder.path)/own.csv")
        try await log.close()
        for path in [path, "\(folder.path)/own.csv"] {
            let trace = try Trace.load(path)
            #expect(trace.objectSizes == [5, 7, 1])
            #expect(trace.report.unknownSizes == 1 && trace.report.sizeDisagreements == 1)
            var stream = try TraceStream(path, TraceLoadOptions())
            var batch = StreamBatch()
            #expect(try stream.next(into: &batch))
            #expect(batch.sizes == [5, 7, 5, 5, 1, 5, 7])
        }
    }

    @Test("A log without sizes, users and categories is a trace without them")
    func logWithoutSizesUsersAndCategoriesIsATrace() async throws {
        let log = log()
        for number in 0..<5 { log.record("k\(number % 2)", cost: 0, outcome: .miss, at: Int64(number)) }
        try await log.close()
        let trace = try Trace.load(path)
        #expect(trace.entries == [0, 1, 0, 1, 0])
        #expect(!trace.hasUsers && !trace.hasCategories && trace.sizeUnit == .objects && trace.report.noSizes)
    }

    @Test("A foreign, newer, truncated, damaged, compressed or empty file is refused in one sentence")
    func fileThatIsNoAccessLogIsRefused() async throws {
        let log = log()
        record(AccessLogTests.requests[..<2_000], in: log)
        try await log.close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        func found(_ bytes: Data, _ name: String = "x.sqlite") throws -> String? {
            let found = fault(try folder.file(name, Array(bytes)))
            try FileManager.default.removeItem(atPath: "\(folder.path)/\(name)")
            return found
        }
        func changed(_ sql: String) throws -> Data {
            try whole.write(to: URL(fileURLWithPath: "\(folder.path)/y.sqlite"))
            var options = Configuration()
            options.foreignKeysEnabled = false
            let queue = try DatabaseQueue(path: "\(folder.path)/y.sqlite", configuration: options)
            try queue.inDatabase { try $0.execute(sql: sql) }
            try queue.close()
            return try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/y.sqlite"))
        }
        #expect(try found(whole) == nil)
        #expect(fault("\(folder.path)/no.sqlite") == "no.sqlite: there is no such file")
        try FileManager.default.createDirectory(atPath: "\(folder.path)/d.sqlite", withIntermediateDirectories: false)
        #expect(fault("\(folder.path)/d.sqlite") == "d.sqlite: is a directory; a trace file is needed")
        #expect(try found(Data()) == "x.sqlite: is empty; a trace has at least one request")
        let unborn = try DatabaseQueue(path: "\(folder.path)/u.sqlite")
        try unborn.inDatabase { _ = try Row.fetchAll($0, sql: "PRAGMA journal_mode = WAL") }
        try unborn.close()
        #expect(fault("\(folder.path)/u.sqlite") == "u.sqlite: is empty; a trace has at least one request")
        #expect(
            try found(Data("time,key\n1,a\n".utf8))
                == "x.sqlite: is no SQLite file; an access log of Halcyon is needed")
        #expect(
            try found(changed("PRAGMA application_id = 7"))
                == "x.sqlite: is an SQLite file of another program; an access log of Halcyon is needed")
        #expect(
            try found(changed("PRAGMA user_version = 99"))
                == "x.sqlite: has schema version 99, of a later release; this one knows versions up to 4")
        for count in [20, 99, 4_096, whole.count / 2, whole.count - 1] {
            #expect(
                try found(whole.prefix(count))
                    == "x.sqlite: is truncated: it has \(count) bytes, where its header speaks of "
                    + "\(count < 32 ? 100 : whole.count)")
        }
        var damaged = whole
        damaged.replaceSubrange(8_192..., with: Data(repeating: 0xa5, count: whole.count - 8_192))
        #expect(
            try found(damaged)
                == "x.sqlite: is damaged (database disk image is malformed); 'sqlite3 FILE .recover' may save a part")
        #expect(try found(changed("UPDATE access SET outcome = 77 WHERE id = 1500"))?.contains("is damaged") == true)
        #expect(try found(changed("DELETE FROM access")) == "x.sqlite: holds no request")
        #expect(
            try found(whole, "x.sqlite.gz")
                == "x.sqlite.gz: is compressed; access logs are read uncompressed, so decompress it first")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                == ["access.sqlite", "d.sqlite", "u.sqlite", "y.sqlite"])
    }

    @Test("Noise in any page gives a sentence or a trace and never a crash")
    func noiseInAnyPageNeverCrashes() async throws {
        let log = log()
        record(AccessLogTests.requests[..<800], in: log)
        try await log.close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        var random = SeededGenerator(seed: 3)
        var sentences = 0
        for _ in 0..<120 {
            var bytes = Array(whole)
            let start = Int.random(in: 100..<bytes.count, using: &random)
            for offset in start..<min(start + 64, bytes.count) { bytes[offset] = .random(in: 0...255, using: &random) }
            if fault(try folder.file("n.sqlite", bytes)) != nil { sentences += 1 }
        }
        #expect(sentences > 0)
    }

    @Test("A trace cannot be written as an access log")
    func traceCannotBeWrittenAsALog() throws {
        let trace = Trace(entries: [0], times: TimeColumn(count: 1), objectSizes: [1])
        #expect(throws: TraceError(file: path, message: "accessLog cannot be written; csv and oracleGeneral can")) {
            try TraceWriter.write(trace, to: path)
        }
    }
}

/// A clock that does not wake any sleeper.
private struct StoppedClock: Clock {
    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try await Task.sleep(for: .seconds(3_600))
    }
}
