import Foundation
import GRDB
import Testing

@testable import HalcyonAccessLog

@Suite("Events among the accesses", .timeLimit(.minutes(20)))
struct EventTests {
    let fixture: LogFixture

    init() throws { fixture = try LogFixture() }

    private func events(limit: Int? = nil) throws -> [RecordedEvent] {
        try AccessLogReader(path: fixture.path, limit: limit).events()
    }

    private func event(
        _ kind: RecordedEvent.Kind, _ key: String? = nil, user: String? = nil, at time: Int64 = 5, position: Int
    ) -> RecordedEvent {
        var event = RecordedEvent(time: time, kind: kind, key: key, user: user)
        event.position = position
        return event
    }

    @Test("Every kind of event is read as recorded, between the accesses around it", arguments: [1, 3, 1_024])
    func eventsAreReadInOrderBetweenTheirAccesses(batch: Int) async throws {
        let log = fixture.log { $0.batch = batch }
        var all: [RecordedEvent] = []
        for (number, kind) in RecordedEvent.Kind.allCases.enumerated() {
            var event = RecordedEvent(
                time: Int64(number), kind: kind, key: number % 3 == 0 ? nil : "k\(number)",
                user: number % 2 == 0 ? nil : "u\(number)", duration: number % 4 == 0 ? nil : Int64(number) * 7,
                cost: number * 11, conditions: number % 8)
            log.record(event: event)
            event.position = number / 2
            all.append(event)
            if number % 2 == 1 { log.record("a\(number)", cost: 1, outcome: .network, at: 9, duration: Int64(number)) }
        }
        try await log.close()
        #expect(try events() == all)
        #expect(try fixture.accesses().map(\.duration) == [1, 3, 5, 7, 9, 11])
        #expect(log.statistics.recorded == 18 && log.statistics.written == 18 && log.statistics.waiting == 0)
        // The events before the accesses that are read.
        #expect(try events(limit: 2) == all.filter { $0.position < 2 })
        #expect(try events(limit: 99) == all)
        let names = try fixture.sql { try String.fetchAll($0, sql: "SELECT kind FROM events ORDER BY id") }
        #expect(names.prefix(2) == ["prefetch_start", "prefetch_arrival"] && names.last == "conditions")
        #expect(try fixture.faults() == [])
    }

    @Test("Positions count the remaining accesses, also after deletions between them")
    func positionsCountTheRemainingAccesses() async throws {
        let log = fixture.log()
        for number in 0..<6 {
            log.record("a\(number)", cost: 1, outcome: .memory, user: number % 2 == 0 ? "ada" : "grace", at: 1)
            log.record(event: RecordedEvent(time: 5, kind: .plan))
        }
        try await log.deleteAccesses(ofUser: "ada")
        #expect(try events().map(\.position) == [0, 1, 1, 2, 2, 3])
    }

    @Test("Events before the first access are kept after flushes and deletions")
    func eventsBeforeTheFirstAccessAreKept() async throws {
        let log = fixture.log()
        log.record(event: RecordedEvent(time: 5, kind: .plan))
        log.record("a", cost: 1, outcome: .memory, user: "ada", at: 1)
        log.record("b", cost: 1, outcome: .memory, at: 1)
        try await log.flush()
        try await log.deleteAccesses(ofUser: "ada")
        try await log.flush()
        #expect(try events().map(\.position) == [0])
    }

    @Test("A log of version 1 has no events, and gets them with the first write")
    func logOfVersion1GetsEventsWithTheFirstWrite() async throws {
        try fixture.sql { try $0.execute(sql: SchemaTests.version1) }
        #expect(try events() == [])
        let log = fixture.log()
        log.record(event: RecordedEvent(time: 5, kind: .prefetchStart, key: "abc", user: "ada"))
        try await log.close()
        #expect(try events() == [event(.prefetchStart, "abc", user: "ada", position: 2)])
        #expect(try fixture.accesses() == SchemaTests.ofVersion1)
        #expect(try fixture.faults() == [])
    }

    @Test("Events are deleted by user, by category and altogether, with the names that only they used")
    func eventsAreDeletedByUserCategoryAndAltogether() async throws {
        let log = fixture.log()
        for round in 0..<2 {
            for (key, user, category) in [("ada-key", "ada-l", "cats"), ("quasar-key", "grace-h", "quasars")] {
                log.record(key, cost: 1, categories: [category], outcome: .memory, user: user, at: 1)
                log.record(event: RecordedEvent(time: 5, kind: .prefetchStart, key: key, user: user))
                log.record(event: RecordedEvent(time: 5, kind: .victim, key: "\(user)-only", user: user))
            }
            if round == 0 { try await log.flush() }
        }
        #expect(try await log.deleteAccesses(ofUser: "ada-l") == 2)
        #expect(try events().map(\.user) == ["grace-h", "grace-h", "grace-h", "grace-h"])
        for text in ["ada-l", "ada-key"] { #expect(try !fixture.contains(text)) }
        #expect(try fixture.contains("grace-h-only"))
        #expect(try await log.deleteAccesses(inCategory: "quasars") == 2)
        #expect(try events().map(\.kind) == [.victim, .victim])
        #expect(try !fixture.contains("quasar-key"))
        #expect(try await log.deleteAll() == 0)
        #expect(try events() == [])
        #expect(try !fixture.contains("grace-h"))
        #expect(try fixture.faults() == [])
    }

    @Test("Waiting events of a category's objects are deleted with it")
    func waitingEventsOfACategoryAreDeletedWithIt() async throws {
        let log = fixture.log()
        log.record("quasar-key", cost: 1, categories: ["quasars"], outcome: .memory, at: 1)
        log.record(event: RecordedEvent(time: 5, kind: .prefetchStart, key: "quasar-key"))
        log.record(event: RecordedEvent(time: 5, kind: .prefetchStart, key: "other"))
        #expect(try await log.deleteAccesses(inCategory: "quasars") == 1)
        #expect(try events().map(\.key) == ["other"])
        #expect(log.statistics.deletedUnwritten == 2 && log.statistics.waiting == 0)
    }

    @Test("Events are removed with the oldest accesses; names that events use are kept")
    func eventsAreRemovedWithTheOldestAccesses() async throws {
        let log = fixture.log { $0.bounds = AccessLog.Bounds(rows: 100, bytes: nil, days: nil) }
        for number in 0..<20_000 {
            log.record("k\(number)", cost: 1, outcome: .memory, at: 1)
            log.record(event: RecordedEvent(time: 5, kind: .victim, key: "v\(number)", user: "u\(number / 1_000)"))
            if number % 5_000 == 4_999 { try await log.flush() }
        }
        try await log.flush()
        #expect(try events().map(\.key) == (19_900..<20_000).map { "v\($0)" })
        let (keys, users) = try fixture.sql { db in
            (
                try Set(String.fetchAll(db, sql: "SELECT name FROM key")),
                try Set(String.fetchAll(db, sql: "SELECT name FROM user"))
            )
        }
        #expect(keys.isSuperset(of: (19_900..<20_000).flatMap { ["k\($0)", "v\($0)"] }) && keys.count < 10_000)
        #expect(users.contains("u19"))
        #expect(try fixture.faults() == [])
    }

    @Test("An unknown kind of event is damage, in one sentence")
    func unknownEventKindIsDamage() async throws {
        let log = fixture.log()
        log.record("k", cost: 1, outcome: .memory, at: 1)
        log.record(event: RecordedEvent(time: 5, kind: .plan))
        try await log.close()
        try fixture.sql { try $0.execute(sql: "UPDATE event SET kind = 77") }
        let fault = "is damaged (event 1 is of kind 77, which there is none of)"
        #expect(throws: AccessLogError(fixture.path, .damaged, fault)) { try events() }
    }
}
