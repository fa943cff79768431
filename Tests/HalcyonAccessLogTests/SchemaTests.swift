import Foundation
import GRDB
import Testing

@testable import HalcyonAccessLog

@Suite("Schema and migrations", .timeLimit(.minutes(20)))
struct SchemaTests {
    let fixture: LogFixture

    init() throws { fixture = try LogFixture() }

    /// A log of version 1. This text is never changed: such files exist.
    static let version1 = """
        PRAGMA auto_vacuum = INCREMENTAL;
        PRAGMA journal_mode = WAL;
        CREATE TABLE key (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, name TEXT);
        CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE category_set (id INTEGER PRIMARY KEY, members TEXT NOT NULL UNIQUE);
        CREATE TABLE category_set_member (category_set INTEGER NOT NULL REFERENCES category_set(id),
            position INTEGER NOT NULL, category INTEGER NOT NULL REFERENCES category(id),
            PRIMARY KEY (category_set, position)) WITHOUT ROWID;
        CREATE TABLE user (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE session (id INTEGER PRIMARY KEY, started INTEGER NOT NULL);
        CREATE TABLE outcome (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE access (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, key INTEGER NOT NULL REFERENCES key(id),
            cost INTEGER NOT NULL, category_set INTEGER REFERENCES category_set(id), user INTEGER REFERENCES user(id),
            session INTEGER NOT NULL REFERENCES session(id), outcome INTEGER NOT NULL REFERENCES outcome(id));
        INSERT INTO outcome VALUES (1,'memory'),(2,'disk'),(3,'network'),(4,'prefetched'),(5,'miss');
        INSERT INTO key VALUES (7, x'00112233445566778899aabbccddeeff', NULL),
            (9, x'ba7816bf8f01cfea414140de5dae2223', 'abc');
        INSERT INTO category VALUES (1, 'cats'), (2, 'dogs');
        INSERT INTO category_set VALUES (3, '2,1');
        INSERT INTO category_set_member VALUES (3, 0, 2), (3, 1, 1);
        INSERT INTO user VALUES (4, 'ada');
        INSERT INTO session VALUES (1, 1000000);
        INSERT INTO access VALUES (10, 1000000, 7, 500, 3, 4, 1, 3), (11, 2500000, 9, 60, NULL, NULL, 1, 1);
        PRAGMA application_id = 1215065959;
        PRAGMA user_version = 1;
        """

    static let ofVersion1 = [
        RecordedAccess(
            time: 1_000_000, key: "00112233445566778899aabbccddeeff", cost: 500, categories: ["dogs", "cats"],
            user: "ada", outcome: .network, session: 1),
        RecordedAccess(time: 2_500_000, key: "abc", cost: 60, outcome: .memory, session: 1),
    ]

    @Test("A file of version 1 is read as it is, and migrated without loss at the first write")
    func version1IsReadAndMigratedAtTheFirstWrite() async throws {
        try fixture.sql { try $0.execute(sql: SchemaTests.version1) }
        #expect(try fixture.accesses() == SchemaTests.ofVersion1)
        #expect(try fixture.sql { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 1)
        let log = fixture.log()
        log.record("abc", cost: 60, categories: ["dogs", "cats"], outcome: .disk, user: "ada", at: 3_000_000)
        try await log.close()
        let added = RecordedAccess(
            time: 3_000_000, key: "abc", cost: 60, categories: ["dogs", "cats"], user: "ada", outcome: .disk, session: 2
        )
        #expect(try fixture.accesses() == SchemaTests.ofVersion1 + [added])
        let counts = try fixture.sql { db in
            try ["key", "category", "category_set", "user", "access", "accesses"].map {
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)")
            }
        }
        #expect(counts == [2, 2, 1, 1, 3, 3])
        #expect(try fixture.sql { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 4)
        #expect(try fixture.faults() == [])
    }

    @Test("A new file equals a migrated one, table by table")
    func newFileEqualsAMigratedOne() async throws {
        let other = try LogFixture()
        try fixture.sql { try $0.execute(sql: SchemaTests.version1) }
        for log in [fixture.log(), other.log()] {
            log.record("a", cost: 1, outcome: .memory)
            try await log.close()
        }
        func tables(_ fixture: LogFixture) throws -> [String] {
            try fixture.sql { db in
                try [
                    "access", "accesses", "event", "events", "event_kind", "list", "list_item", "lists", "category",
                    "category_set", "category_set_member", "key", "user",
                ].flatMap {
                    try Row.fetchAll(db, sql: "PRAGMA table_info(\($0))").map { "\($0)" }
                }
            }
        }
        #expect(try tables(fixture) == tables(other))
        for fixture in [fixture, other] {
            #expect(try fixture.sql { try Int.fetchOne($0, sql: "PRAGMA auto_vacuum") } == 2)
            #expect(try fixture.sql { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
            #expect(try fixture.sql { try Int32.fetchOne($0, sql: "PRAGMA application_id") } == 0x486c_6f67)
        }
    }

    @Test("A migration that fails changes nothing")
    func failedMigrationChangesNothing() throws {
        try fixture.sql { try $0.execute(sql: SchemaTests.version1) }
        let broken = LogSchema(migrations: [
            LogSchema.version1,
            { db in
                try db.execute(sql: "DELETE FROM access")
                try db.execute(sql: "no SQL")
            },
        ])
        let queue = try DatabaseQueue(path: fixture.path)
        #expect(throws: DatabaseError.self) { try broken.migrate(queue, path: fixture.path) }
        try queue.close()
        #expect(try fixture.sql { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 1)
        #expect(try fixture.accesses() == SchemaTests.ofVersion1)
    }

    @Test("The view has the names of all keys, users, categories and outcomes")
    func viewHasEveryName() async throws {
        try fixture.sql { try $0.execute(sql: SchemaTests.version1) }
        let log = fixture.log()
        try await log.flush()
        let rows = try fixture.sql { try Row.fetchAll($0, sql: "SELECT * FROM accesses ORDER BY id") }
        #expect(rows.count == 2)
        #expect(
            rows.first == [
                "id": 10, "time": 1.0, "key": "00112233445566778899aabbccddeeff", "size": 500,
                "category": "dogs|cats", "user": "ada", "outcome": "network", "session": 1,
                "duration": nil,
            ])
        #expect(
            rows.last == [
                "id": 11, "time": 2.5, "key": "abc", "size": 60, "category": nil, "user": nil, "outcome": "memory",
                "session": 1, "duration": nil,
            ])
        try await log.close()
    }

    @Test("Every query of the schema's page runs and finds rows")
    func everyDocumentedQueryFindsRows() async throws {
        let log = fixture.log()
        for number in 0..<50 {
            log.record(
                "k\(number % 20)", cost: 10 + number % 20, categories: ["c\(number % 3)"],
                outcome: RecordedAccess.Outcome.allCases[number % 5], user: "u\(number % 2)",
                at: 1_700_000_000_000_000 + Int64(number) * 3_600_000_000)
        }
        log.record(event: RecordedEvent(time: 0, kind: .prefetchStart, key: "k1", user: "u1"))
        log.record(event: RecordedEvent(time: 0, kind: .prefetchArrival, key: "k1", user: "u1", duration: 9, cost: 11))
        log.record("k1", cost: 11, outcome: .prefetched, user: "u1", at: 1_700_300_000_000_000)
        log.record("k2", cost: 12, outcome: .network, at: 1_700_300_000_000_000, duration: 250_000)
        log.record(list: RecordedList(time: 0, items: [RecordedList.Item(key: "k3")]))
        try await log.flush()
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .appendingPathComponent("Sources/HalcyonAccessLog/HalcyonAccessLog.docc/Schema.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let queries = text.components(separatedBy: "```sql\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(queries.count >= 5)
        for query in queries {
            let rows = try fixture.sql { try Row.fetchAll($0, sql: query) }
            #expect(!rows.isEmpty, "\(query)")
        }
        try await log.close()
    }
}
