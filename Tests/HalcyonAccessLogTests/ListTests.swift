import Foundation
import GRDB
import Testing

@testable import HalcyonAccessLog
@testable import HalcyonAccessLogReading

@Suite("Lists among the accesses", .timeLimit(.minutes(20)))
struct ListTests {
    let fixture: LogFixture

    init() throws { fixture = try LogFixture() }

    /// Reads the lists as they come with the batches of accesses.
    private func lists(limit: Int? = nil, withCosts: Bool = false) throws -> [RecordedList] {
        let reader = try AccessLogReader(path: fixture.path, limit: limit)
        var all: [RecordedList] = []
        while true {
            let batch = withCosts ? try reader.nextWithCosts() : try reader.next()
            all += reader.lists
            if batch.isEmpty { return all }
        }
    }

    private func list(_ keys: String..., user: String? = nil, at time: Int64 = 5, category: String = "c")
        -> RecordedList
    {
        RecordedList(
            time: time, items: keys.map { RecordedList.Item(key: $0, cost: 7, categories: [category]) }, user: user)
    }

    private func at(_ position: Int, _ list: RecordedList) -> RecordedList {
        var list = list
        list.position = position
        return list
    }

    @Test("Lists are read as recorded, between the accesses around them", arguments: [1, 3, 1_024])
    func listsAreReadInOrderBetweenTheirAccesses(batch: Int) async throws {
        let log = fixture.log { $0.batch = batch }
        var all: [RecordedList] = []
        for number in 0..<40 {
            let items = (0...number % 7).map {
                RecordedList.Item(
                    key: "k\(number + $0)", cost: number * 10 + $0, categories: (0..<$0 % 3).map { "c\($0)" })
            }
            let shown = RecordedList(time: Int64(number), items: items, user: number % 3 == 0 ? nil : "u\(number % 3)")
            log.record(list: shown)
            all.append(at(number / 2, shown))
            if number % 2 == 1 { log.record("a\(number)", cost: 1, outcome: .network, at: 9) }
        }
        log.record(list: RecordedList(time: 99, items: []))
        log.record(list: list("last"))
        all.append(at(20, list("last")))
        try await log.close()
        #expect(try lists() == all)
        let rows = 20 + all.reduce(0) { $0 + $1.items.count }
        #expect(log.statistics.recorded == rows && log.statistics.written == rows && log.statistics.waiting == 0)
        #expect(try lists(limit: 5) == all.filter { $0.position < 5 })
        #expect(try lists(limit: 20) == all && lists(limit: 99) == all)
        #expect(try AccessLogReader(path: fixture.path).listCount == 41)
        let view = try fixture.sql {
            try Row.fetchAll($0, sql: "SELECT * FROM lists WHERE list = 3 ORDER BY position DESC LIMIT 1")
        }
        #expect(
            view == [
                [
                    "list": 3, "time": 2e-6, "access": 1, "position": 2, "key": "k4", "size": 22,
                    "category": "c0|c1", "user": "u2",
                ]
            ])
        #expect(try fixture.faults() == [])
    }

    @Test("A log with more accesses than a batch has each list in the batch of its place")
    func listsComeWithTheBatchOfTheirPlace() async throws {
        let log = fixture.log()
        let count = 2 * AccessLogReader.batch
        for number in 0..<count {
            if number % 1_000 == 0 { log.record(list: list("l\(number)", at: Int64(number))) }
            log.record("k", cost: 1, outcome: .memory, at: Int64(number))
        }
        log.record(list: list("end", at: Int64(count)))
        try await log.close()
        let expected = stride(from: 0, to: count, by: 1_000).map { at($0, list("l\($0)", at: Int64($0))) }
        #expect(try lists() == expected + [at(count, list("end", at: Int64(count)))])
        let reader = try AccessLogReader(path: fixture.path)
        _ = try reader.next()
        #expect(reader.lists == expected.filter { $0.position < AccessLogReader.batch })
    }

    @Test("A list has at most 1,000 images; those behind them are left out")
    func longListIsCut() async throws {
        let items = (0..<100_000).map { RecordedList.Item(key: "k\($0)") }
        let shown = RecordedList(time: 5, items: items)
        #expect(shown.items == Array(items.prefix(1_000)))
        let log = fixture.log { $0.waitingLimit = 1_500 }
        for _ in 0..<3 { log.record(list: shown) }
        // Items count as rows: after the second list, no third one may wait.
        #expect(log.statistics.waiting == 2_000 && log.statistics.lost == [.overload: 1_000])
        try await log.close()
        #expect(try lists().map(\.items.count) == [1_000, 1_000])
        #expect(log.statistics.written == 2_000)
    }

    @Test("A log of version 3 has no lists, and gets them with the first write")
    func logOfVersion3GetsListsWithTheFirstWrite() async throws {
        let queue = try DatabaseQueue(path: fixture.path)
        try LogSchema(migrations: [LogSchema.version1, LogSchema.version2, LogSchema.version3])
            .migrate(queue, path: fixture.path)
        try await queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO key VALUES (1, x'00', 'a');
                    INSERT INTO session VALUES (1, 0);
                    INSERT INTO access VALUES (1, 3, 1, 60, NULL, NULL, 1, 1, NULL);
                    """)
        }
        try queue.close()
        #expect(try lists() == [] && fixture.accesses().map(\.key) == ["a"])
        let log = fixture.log()
        log.record(list: list("b"))
        try await log.close()
        #expect(try lists() == [at(1, list("b"))] && fixture.accesses().map(\.key) == ["a"])
        #expect(try fixture.sql { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 4)
        #expect(try fixture.faults() == [])
    }

    @Test(
        "Lists are deleted by user, by category and altogether, written or waiting, with the names that only they used")
    func listsAreDeletedByUserCategoryAndAltogether() async throws {
        let log = fixture.log()
        for round in 0..<2 {
            log.record(list: list("ada-key", "both", user: "ada-l", category: "cats"))
            log.record(list: list("quasar-key", user: "grace-h", category: "quasars"))
            var mixed = list("hopper-key", "quasar-2", user: "grace-h")
            mixed.items[1].categories = ["quasars"]
            log.record(list: mixed)
            log.record(event: RecordedEvent(time: 5, kind: .prefetchStart, key: "quasar-2", user: "grace-h"))
            if round == 0 { try await log.flush() }
        }
        // No accesses.
        #expect(try await log.deleteAccesses(ofUser: "ada-l") == 0)
        #expect(log.statistics.deletedUnwritten == 2)
        for text in ["ada-l", "ada-key", "both", "cats"] { #expect(try !fixture.contains(text)) }
        #expect(try lists().map(\.items.count) == [1, 2, 1, 2])
        log.record(list: list("quasar-3", "hopper-3", user: "grace-h", category: "quasars"))
        #expect(try await log.deleteAccesses(inCategory: "quasars") == 0)
        #expect(log.statistics.deletedUnwritten == 4)
        #expect(
            try lists() == [at(0, list("hopper-key", user: "grace-h")), at(0, list("hopper-key", user: "grace-h"))])
        #expect(try !fixture.contains("quasar") && AccessLogReader(path: fixture.path).events() == [])
        #expect(try await log.deleteAll() == 0)
        #expect(try lists() == [] && !fixture.contains("hopper"))
        #expect(try fixture.faults() == [])
    }

    @Test(
        "The newest lists are kept: as many items as accesses, not before the oldest access; their names are kept, too")
    func oldestListsAreRemovedWithTheOldestAccesses() async throws {
        let log = fixture.log { $0.bounds = AccessLog.Bounds(rows: 100, bytes: nil, days: nil) }
        for number in 0..<20_000 {
            log.record("k\(number)", cost: 1, outcome: .memory, at: 1)
            if number % 5 == 0 { log.record(list: list("v\(number)", user: "u\(number / 1_000)")) }
            if number % 5_000 == 4_999 { try await log.flush() }
        }
        try await log.flush()
        // Those of the 100 accesses that are left: one list for five accesses.
        let left = stride(from: 19_900, to: 20_000, by: 5)
        #expect(try lists().map { $0.items[0].key } == left.map { "v\($0)" })
        #expect(try lists().map(\.position) == left.map { $0 - 19_899 })
        // More items than rows: the last 100 items, in whole lists.
        for number in 0..<50 { log.record(list: list("a\(number)", "b\(number)", "c\(number)")) }
        try await log.flush()
        #expect(try lists().map { $0.items[0].key } == (17..<50).map { "a\($0)" })
        let keys = try fixture.sql { try Set(String.fetchAll($0, sql: "SELECT name FROM key")) }
        #expect(keys.isSuperset(of: (19_900..<20_000).map { "k\($0)" } + (17..<50).flatMap { ["a\($0)", "c\($0)"] }))
        #expect(keys.count < 10_000)
        #expect(try fixture.accesses().count == 100)
        #expect(try fixture.faults() == [])
    }

    @Test("A log of lists alone stays within its bounds of bytes and days")
    func listsAloneStayWithinBounds() async throws {
        let day: Int64 = 86_400_000_000
        let log = fixture.log {
            $0.bounds = AccessLog.Bounds(rows: nil, bytes: 400_000, days: 10)
            $0.now = { 30 * day }
        }
        for number in 0..<30 {
            log.record(
                list: RecordedList(
                    time: Int64(number) * day,
                    items: (0..<1_000).map { RecordedList.Item(key: "\(number)/\($0)/of-some-length") }))
            if number < 22 { try await log.flush() }
        }
        try await log.flush()
        let kept = try lists()
        let bytes = try FileManager.default.attributesOfItem(atPath: fixture.path)[.size] as? Int ?? .max
        #expect(bytes <= 400_000)
        // Ten days would be 20 to 29; the bytes hold fewer.
        #expect(kept.last?.time == 29 * day && kept.first?.time ?? 0 > 20 * day)
        #expect(kept.map(\.time) == Array(kept.map(\.time).sorted()))
        try await log.close()
        let aged = fixture.log {
            $0.bounds = AccessLog.Bounds(rows: nil, bytes: nil, days: 1)
            $0.now = { 30 * day }
        }
        aged.record(list: list("new", at: 30 * day))
        try await aged.flush()
        #expect(try lists().map(\.time) == [29 * day, 30 * day])
        #expect(try fixture.faults() == [])
    }

    @Test("An image of unknown size gets its size at its first access, of its prefetch, or the mean")
    func unknownSizesAreFound() async throws {
        let log = fixture.log()
        let items = ["a", "b", "c", "d"].map { RecordedList.Item(key: $0, cost: $0 == "d" ? 3 : 0) }
        log.record(list: RecordedList(time: 5, items: items))
        log.record("a", cost: 20, outcome: .network, at: 6)
        log.record("x", cost: 41, outcome: .network, at: 6)
        log.record(event: RecordedEvent(time: 7, kind: .prefetchArrival, key: "b", cost: 9))
        try await log.close()
        #expect(try lists().map { $0.items.map(\.cost) } == [[0, 0, 0, 3]])
        #expect(try lists(withCosts: true).map { $0.items.map(\.cost) } == [[20, 9, 31, 3]])
    }
}
