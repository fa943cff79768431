import Foundation
import GRDB
import GRDBSQLite
import Testing

@testable import HalcyonAccessLog

@Suite("Bounds: removal of the oldest accesses and their unused names", .timeLimit(.minutes(20)))
struct BoundsTests {
    let fixture: LogFixture

    init() throws { fixture = try LogFixture() }

    @Test("A bound of rows keeps exactly the newest rows", arguments: [0, 1, 700, 2_500])
    func newestRowsAreKeptWithinTheBound(bound: Int) async throws {
        let log = fixture.log {
            $0.bounds = AccessLog.Bounds(rows: bound, bytes: nil, days: nil)
            $0.batch = 512
        }
        for round in 0..<3 {
            log.record(round * 1_500..<(round + 1) * 1_500)
            try await log.flush()
            let end = (round + 1) * 1_500
            let first = max(0, end - bound)
            #expect(try fixture.accesses().map(\.key) == (first..<end).map { "k\($0)" })
        }
        #expect(try fixture.faults() == [])
    }

    @Test("A bound of days removes old accesses, also when nothing new is recorded")
    func oldAccessesAreRemovedWithoutNewRecords() async throws {
        let day: Int64 = 86_400_000_000
        let log = fixture.log {
            $0.bounds = AccessLog.Bounds(rows: nil, bytes: nil, days: 30)
            $0.now = { 100 * day }
        }
        for number in 0..<100 { log.record("k\(number)", cost: 1, outcome: .memory, at: Int64(number) * day) }
        try await log.flush()
        #expect(try fixture.accesses().map(\.key) == (70..<100).map { "k\($0)" })
        let later = fixture.log {
            $0.bounds = AccessLog.Bounds(rows: nil, bytes: nil, days: 30)
            $0.now = { 120 * day + 1 }
        }
        try await later.flush()
        #expect(try fixture.accesses().map(\.key) == (91..<100).map { "k\($0)" })
    }

    @Test("Rows written while the clock was ahead are removed with the rows after them")
    func rowsFromAClockAheadAreRemovedWithTheirSuccessors() async throws {
        let day: Int64 = 86_400_000_000
        let log = fixture.log {
            $0.bounds = AccessLog.Bounds(rows: nil, bytes: nil, days: 30)
            $0.now = { 100 * day }
        }
        for number in 0..<5 { log.record("ahead\(number)", cost: 1, outcome: .memory, at: 5_000 * day) }
        for number in 0..<100 { log.record("k\(number)", cost: 1, outcome: .memory, at: Int64(number) * day) }
        try await log.flush()
        #expect(try fixture.accesses().map(\.key) == (70..<100).map { "k\($0)" })
    }

    /// An open log with one row of the future before so many rows of day 70.
    private func fileWithARowOfTheFuture(rows: Int, in fixture: LogFixture) throws -> LogFile {
        var file = try LogFile(path: fixture.path, AccessLog.Configuration())
        try file.append(
            (0...rows).map { number in
                .access(
                    RecordedAccess(
                        time: (number == 0 ? 5_000 : 70) * 86_400_000_000, key: "k\(number)", cost: 1, categories: [],
                        user: nil, outcome: .memory, session: 0, duration: nil))
            })
        return file
    }

    @Test("A row of the future costs a flush the same work whatever the number of rows")
    func rowOfTheFutureCostsNoScan() throws {
        let day: Int64 = 86_400_000_000
        /// The instructions of SQLite's virtual machine that a flush runs a minute after another one.
        func work(rows: Int) throws -> Int {
            let fixture = try LogFixture()
            var file = try fileWithARowOfTheFuture(rows: rows, in: fixture)
            var retention = Retention(AccessLog.Bounds(rows: nil, bytes: nil, days: 30))
            while try retention.step(&file, now: 100 * day) {}
            let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
            count.initialize(to: 0)
            defer { count.deallocate() }
            try file.queue.inDatabase { db in
                sqlite3_progress_handler(
                    db.sqliteConnection, 1,
                    { count in
                        count?.assumingMemoryBound(to: Int.self).pointee += 1
                        return 0
                    }, count)
            }
            while try retention.step(&file, now: 100 * day + 60_000_000) {}
            try file.queue.inDatabase { sqlite3_progress_handler($0.sqliteConnection, 0, nil, nil) }
            file.close()
            return count.pointee
        }
        let few = try work(rows: 10)
        #expect(few > 0 && few < 200)
        #expect(try work(rows: 5_000) == few)
    }

    @Test("Rows behind a row of the future are removed within an hour of becoming too old")
    func rowOfTheFutureIsRemovedWithinAnHour() throws {
        let (day, minute): (Int64, Int64) = (86_400_000_000, 60_000_000)
        var file = try fileWithARowOfTheFuture(rows: 3, in: fixture)
        var retention = Retention(AccessLog.Bounds(rows: nil, bytes: nil, days: 30))
        func rows(at now: Int64) throws -> Int {
            while try retention.step(&file, now: now) {}
            return try file.countedRows()
        }
        #expect(try rows(at: 100 * day) == 4)
        #expect(try rows(at: 100 * day + 30 * minute) == 4)
        #expect(try rows(at: 100 * day + 60 * minute) == 0)
        file.close()
    }

    @Test("A bound of more days than exist keeps everything")
    func boundBeyondAllDaysKeepsEverything() async throws {
        let log = fixture.log {
            $0.bounds = AccessLog.Bounds(rows: nil, bytes: nil, days: .max)
            $0.now = { 1_000_000 }
        }
        log.record("a", cost: 1, outcome: .memory, at: 0)
        try await log.flush()
        #expect(try fixture.accesses().map(\.key) == ["a"])
    }

    @Test("File and write-ahead log stay below the bound of bytes and use most of it", arguments: [true, false])
    func fileAndWriteAheadLogStayBelowTheByteBound(newKeys: Bool) async throws {
        let bound = 400_000
        let log = fixture.log {
            $0.bounds = AccessLog.Bounds(rows: nil, bytes: bound, days: nil)
            $0.batch = 500
        }
        for round in 0..<25 {
            for number in round * 500..<(round + 1) * 500 {
                log.record(
                    "https://example.org/images/\(newKeys ? number : number % 50).jpg", cost: 1, categories: ["c"],
                    outcome: .memory, at: Int64(number))
            }
            try await log.flush()
            let sizes = ["", "-wal"].map { suffix in
                (try? FileManager.default.attributesOfItem(atPath: fixture.path + suffix)[.size] as? Int) ?? 0
            }
            #expect(sizes.reduce(0, +) <= bound)
        }
        let accesses = try fixture.accesses()
        #expect(accesses.last?.time == 12_499)
        #expect(zip(accesses, accesses.dropFirst()).allSatisfy { $0.time + 1 == $1.time })
        #expect(accesses.count > (newKeys ? 800 : 3_000))
        #expect(try fixture.faults() == [])
        try await log.close()
        let size = try FileManager.default.attributesOfItem(atPath: fixture.path)[.size] as? Int
        #expect(try #require(size) <= bound)
    }

    @Test("Names without a reference are swept, used names never")
    func unusedNamesAreSweptAndUsedOnesKept() async throws {
        let log = fixture.log {
            $0.bounds = AccessLog.Bounds(rows: 2_000, bytes: nil, days: nil)
            $0.batch = 300
        }
        for number in 0..<12_000 {
            // One key in ten is requested repeatedly until the end.
            let key = number % 10 == 0 ? "fixed\(number / 10 % 20)" : "k\(number)"
            log.record(
                key, cost: 1, categories: ["c\(number / 2_000)"], outcome: .memory, user: "u\(number / 2_000)",
                at: Int64(number))
            if number % 1_500 == 0 { try await log.flush() }
        }
        try await log.flush()
        let counts = try fixture.sql { db in
            try ["key", "user", "category", "category_set"].map { table in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0
            }
        }
        let used = Set(try fixture.accesses().map(\.key)).count
        // A sweep starts after a quarter of the rows, or 1,024, were removed: so many unused keys can remain.
        #expect(counts[0] >= used && counts[0] <= used + 1_024 + 1_500 + 300)
        #expect(counts[1] <= 2 && counts[2] <= 2 && counts[3] <= 2)
        #expect(try fixture.faults() == [])
    }

    @Test("A step of enforcement is small, however much there is to delete")
    func enforcementDeletesInSmallSteps() async throws {
        let first = fixture.log()
        first.record(0..<10_000)
        try await first.close()
        var file = try LogFile(path: fixture.path, AccessLog.Configuration())
        var retention = Retention(AccessLog.Bounds(rows: 10, bytes: nil, days: nil))
        var rows = 10_000
        var goesOn = true
        while goesOn {
            goesOn = try retention.step(&file, now: 0)
            let left = try file.countedRows()
            #expect(rows - left <= Retention.stepRows)
            rows = left
        }
        #expect(rows == 10)
        #expect(try file.queue.inDatabase { try Int.fetchOne($0, sql: "SELECT count(*) FROM key") } == 10)
        file.close()
    }
}
