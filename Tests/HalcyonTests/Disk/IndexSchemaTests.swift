import Foundation
import GRDB
import Halcyon
import HalcyonAccessLog
import Testing

@testable import HalcyonCache

@Suite("The schema of the index database", .timeLimit(.minutes(20)))
struct IndexSchemaTests {
    /// The tables that the versions 1 and 2 created.
    private static func schema(_ version: Int) -> String {
        """
        CREATE TABLE entry (
            name TEXT PRIMARY KEY NOT NULL, size INTEGER NOT NULL, length INTEGER NOT NULL,
            accessed INTEGER NOT NULL, expires INTEGER NOT NULL, renewal INTEGER NOT NULL,
            fingerprint INTEGER NOT NULL, categories TEXT NOT NULL\
        \(version == 1 ? "" : ", source INTEGER NOT NULL, owner INTEGER NOT NULL")
        ) WITHOUT ROWID;
        PRAGMA user_version = \(version);
        """
    }

    /// Stores three values, and puts an index of an older version in place of the present one.
    private func withOlderIndex(_ fixture: DiskFixture, _ version: Int) throws -> String {
        var disk: DiskStorage? = try fixture.open()
        for key in ["a", "b", "c"] {
            try disk?.store(value: bytes(10), forKey: key, context: AccessContext(categories: ["k"]))
            fixture.clock.advance(by: 1)
        }
        _ = try disk?.value(forKey: "a")
        let hidden = try #require(disk?.directoryURL.path) + "/.halcyon"
        try fixture.close(&disk)
        let columns =
            "name, size, length, accessed, expires, renewal, fingerprint, categories"
            + (version == 1 ? "" : ", source, owner")
        try DatabaseQueue(path: hidden + "/index.sqlite").write { database in
            try database.execute(sql: "ALTER TABLE entry RENAME TO newer")
            try database.execute(sql: Self.schema(version))
            try database.execute(sql: "INSERT INTO entry SELECT \(columns) FROM newer; DROP TABLE newer")
        }
        return hidden
    }

    @Test("An index of an older version keeps its entries, their categories and their order", arguments: [1, 2])
    func olderIndexKeepsItsEntries(version: Int) throws {
        let fixture = try DiskFixture()
        let hidden = try withOlderIndex(fixture, version)
        try FileManager.default.createDirectory(atPath: hidden + "/freshness", withIntermediateDirectories: false)
        var disk: DiskStorage? = try fixture.open { $0.sizeLimit = 3 * 4_096 }
        disk?.waitUntilListed()
        #expect(disk?.use(category: "k").count == 3)
        disk?.set(note: Data([1]), of: "a")
        try disk?.store(value: bytes(10), forKey: "d")
        #expect(["a", "b", "c", "d"].filter { disk?.isCached(forKey: $0) == true } == ["a", "c", "d"])
        try fixture.close(&disk)
        disk = try fixture.open()
        disk?.waitUntilListed()
        #expect(disk?.note(of: "a") == Data([1]))
        #expect(disk?.use(category: "k").count == 2)
        // The files of notes that version 2 kept beside the index are gone.
        #expect(!FileManager.default.fileExists(atPath: hidden + "/freshness"))
    }

    @Test("An older index on a disk that cannot be written is read as it is", arguments: [1, 2])
    func olderIndexIsReadWithoutWriting(version: Int) throws {
        let fixture = try DiskFixture()
        let hidden = try withOlderIndex(fixture, version)
        let rows = try IndexDatabase.rowsOfClosed(in: URL(fileURLWithPath: hidden))
        #expect(rows.count == 3 && rows.allSatisfy { $0.categories == ["k"] && $0.note == nil && $0.stored == 0 })
    }

    @Test("A table of another shape is replaced; an error that is no damage leaves the file alone")
    func otherShapeIsReplaced() throws {
        let fixture = try DiskFixture()
        var disk: DiskStorage? = try fixture.open()
        try disk?.store(value: bytes(10), forKey: "a", context: AccessContext(categories: ["k"]))
        let hidden = try #require(disk?.directoryURL.path) + "/.halcyon"
        try fixture.close(&disk)
        let path = hidden + "/index.sqlite"
        try DatabaseQueue(path: path).write { try $0.execute(sql: "DROP TABLE entry; CREATE TABLE entry (name TEXT)") }
        disk = try fixture.open()
        disk?.waitUntilListed()
        #expect(disk?.isCached(forKey: "a") == true && disk?.use(category: "k").count == 0)
        try disk?.store(value: bytes(10), forKey: "a", context: AccessContext(categories: ["k"]))
        try fixture.close(&disk)
        // A view in the place of the table gives SQLITE_ERROR.
        try DatabaseQueue(path: path).write {
            try $0.execute(
                sql: "ALTER TABLE entry RENAME TO moved; CREATE VIEW entry AS SELECT * FROM moved WHERE none")
        }
        let before = FileIdentity(path)
        #expect(throws: DatabaseError.self) { try IndexDatabase.open(in: URL(fileURLWithPath: hidden)) }
        #expect(before != nil && FileIdentity(path) == before)
        let moved = try DatabaseQueue(path: path).read { try Int.fetchOne($0, sql: "SELECT count(*) FROM moved") }
        #expect(moved == 1)
    }
}
