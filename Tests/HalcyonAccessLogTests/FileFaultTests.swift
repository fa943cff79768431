import Foundation
import GRDB
import Testing

@testable import HalcyonAccessLog

@Suite(
    "Faults of the log file",
    .timeLimit(.minutes(20)))
struct FileFaultTests {
    let fixture: LogFixture

    init() throws { fixture = try LogFixture() }

    /// A connection that keeps the file from being written.
    func lock() throws -> DatabaseQueue {
        var options = Configuration()
        options.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: fixture.path, configuration: options)
        try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        return other
    }

    var bytes: Data { get throws { try Data(contentsOf: URL(fileURLWithPath: fixture.path)) } }

    @Test("Accesses of a locked file wait, then are lost, and are written when the lock is released")
    func accessesOfALockedFileWaitAndAreWrittenLater() async throws {
        let log = fixture.log { $0.waitingLimit = 5 }
        log.record(0..<2)
        try await log.flush()
        let other = try lock()
        log.record(2..<10)
        #expect(log.statistics.lost == [.overload: 3])
        #expect(await reason(log.flush) == .locked)
        #expect(log.statistics.problem?.description == "\(fixture.path): is locked by another process")
        log.record(10..<14)
        #expect(await reason(log.flush) == .locked)
        #expect(log.statistics.lost == [.overload: 3, .failure(.locked): 4])
        #expect(log.statistics.waiting == 5)
        try other.inDatabase { try $0.execute(sql: "ROLLBACK") }
        try await log.flush()
        #expect(try fixture.accesses().map(\.key) == (0..<7).map { "k\($0)" })
        let events = fixture.events.all
        #expect(events.count == 2)
        #expect(events.first == .failed(AccessLogError(fixture.path, .locked, "is locked by another process")))
        #expect(events.last == .recovered(lost: 4))
        #expect(log.statistics.problem == nil)
    }

    @Test("Without a flush a locked file is retried after the interval")
    func lockedFileIsRetriedAfterTheInterval() async throws {
        let log = fixture.log()
        try await log.flush()
        let other = try lock()
        log.record(0..<3)
        #expect(try await eventually { fixture.clock.sleeperCount == 1 })
        fixture.clock.advance(by: .milliseconds(500))
        #expect(try await eventually { log.statistics.problem?.reason == .locked })
        try other.inDatabase { try $0.execute(sql: "ROLLBACK") }
        #expect(try await eventually { fixture.clock.sleeperCount == 1 })
        fixture.clock.advance(by: .milliseconds(500))
        #expect(try await eventually { log.statistics.written == 3 })
        #expect(try fixture.accesses().count == 3)
    }

    @Test("Without a free page accesses wait and are lost at the limit; the file stays valid")
    func pageLimitLosesAccessesAtTheWaitingLimit() async throws {
        let log = fixture.log {
            $0.pageLimit = 40
            $0.waitingLimit = 1_000
            $0.batch = 100
        }
        var failed = false
        for round in 0..<40 where !failed {
            log.record(round * 500..<(round + 1) * 500)
            failed = await reason(log.flush) == .diskFull
        }
        #expect(failed)
        let written = log.statistics.written
        log.record(100_000..<102_000)
        #expect(await reason(log.flush) == .diskFull)
        let statistics = log.statistics
        #expect(statistics.waiting == 1_000 && statistics.written == written)
        #expect(statistics.recorded == statistics.written + 1_000)
        #expect(statistics.lost.keys.allSatisfy { $0 == .failure(.diskFull) })
        #expect(try fixture.accesses().count == written)
        #expect(try fixture.faults() == [])
        try await log.deleteAll()
        #expect(log.statistics.deletedUnwritten == 1_000)
        log.record(0..<10)
        try await log.flush()
        #expect(try fixture.accesses().count == 10)
        #expect(fixture.events.all.last == .recovered(lost: statistics.lostCount))
    }

    @Test(
        "A damaged file is set aside and a new file started; no waiting access is lost",
        arguments: ["no SQLite file at all, but long enough to be one: \(String(repeating: "x", count: 200))", "x"])
    func damagedFileIsSetAsideAndNothingWaitingIsLost(content: String) async throws {
        _ = try fixture.folder.file("access.sqlite", content)
        let log = fixture.log()
        log.record(0..<3)
        try await log.flush()
        #expect(try fixture.accesses().map(\.key) == ["k0", "k1", "k2"])
        #expect(try String(contentsOfFile: fixture.path + ".damaged", encoding: .utf8) == content)
        #expect(fixture.events.all.contains(.setAside(path: fixture.path + ".damaged", rows: nil)))
        #expect(fixture.events.all.last == .recovered(lost: 0))
        #expect(log.statistics.lostCount == 0)
        #expect(try fixture.faults() == [])
    }

    @Test("A file truncated in the middle is set aside", arguments: [1, 2, 3])
    func truncatedFileIsSetAside(quarters: Int) async throws {
        let first = fixture.log()
        first.record(0..<1_500)
        try await first.close()
        let whole = try bytes
        try whole.prefix(whole.count / 4 * quarters).write(to: URL(fileURLWithPath: fixture.path))
        let log = fixture.log()
        log.record(0..<3)
        try await log.flush()
        #expect(try fixture.accesses().count == 3)
        #expect(FileManager.default.fileExists(atPath: fixture.path + ".damaged"))
    }

    @Test("A file with overwritten pages is set aside when they are read")
    func pagesOverwrittenBeforeOpeningAreSetAside() async throws {
        let first = fixture.log()
        first.record(0..<1_500)
        try await first.close()
        var content = try bytes
        content.replaceSubrange(4_096..., with: Data(repeating: 0xa5, count: content.count - 4_096))
        try content.write(to: URL(fileURLWithPath: fixture.path))
        let log = fixture.log()
        log.record(0..<4)
        try await log.flush()
        #expect(try fixture.accesses().count == 4)
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path + ".damaged")) == content)
        #expect(try fixture.faults() == [])
    }

    @Test("A second damaged file replaces the first, so that only one is kept")
    func secondDamagedFileReplacesTheFirst() async throws {
        for content in ["first \(String(repeating: ".", count: 99))", "second \(String(repeating: ".", count: 99))"] {
            _ = try fixture.folder.file("access.sqlite", content)
            let log = fixture.log()
            log.record(0..<1)
            try await log.close()
            #expect(try String(contentsOfFile: fixture.path + ".damaged", encoding: .utf8) == content)
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path).sorted()
                == ["access.sqlite", "access.sqlite.damaged"])
    }

    @Test("Another program's SQLite file is unchanged; accesses are lost and counted")
    func foreignFileIsUnchangedAndAccessesAreLost() async throws {
        try fixture.sql { try $0.execute(sql: "CREATE TABLE mine (x); INSERT INTO mine VALUES (1)") }
        let before = try bytes
        let log = fixture.log()
        log.record(0..<3)
        #expect(await reason(log.flush) == .foreign)
        #expect(log.statistics.lost == [.failure(.foreign): 3] && log.statistics.waiting == 0)
        #expect(try bytes == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["access.sqlite"])
    }

    @Test("The log of a later release is unchanged; accesses are lost and counted")
    func newerLogIsUnchangedAndAccessesAreLost() async throws {
        let first = fixture.log()
        first.record(0..<1)
        try await first.close()
        try fixture.sql { try $0.execute(sql: "PRAGMA user_version = 99") }
        let before = try bytes
        let log = fixture.log()
        log.record(0..<3)
        #expect(await reason(log.flush) == .newerSchema)
        #expect(
            log.statistics.problem?.message
                == "has schema version 99, of a later release; this one knows versions up to 4")
        #expect(log.statistics.lost == [.failure(.newerSchema): 3])
        #expect(try bytes == before)
    }

    @Test("If the file or its folder vanishes under an open log, a new one is made and reported")
    func vanishedFileOrFolderIsReplacedAndReported() async throws {
        let log = fixture.log()
        log.record(0..<3)
        try await log.flush()
        try FileManager.default.removeItem(atPath: fixture.path)
        log.record(3..<5)
        try await log.flush()
        #expect(try fixture.accesses().map(\.key) == ["k3", "k4"])
        #expect(fixture.events.all == [.replaced])
        try FileManager.default.removeItem(atPath: fixture.folder.path)
        log.record(5..<6)
        try await log.flush()
        #expect(try fixture.accesses().map(\.key) == ["k5"])
        #expect(fixture.events.all == [.replaced, .replaced])
        #expect(try fixture.faults() == [])
    }

    @Test("A directory in place of the file is an error; writing resumes when it is removed")
    func directoryInPlaceOfTheFileIsAnError() async throws {
        try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: false)
        let log = fixture.log()
        log.record(0..<3)
        #expect(await reason(log.flush) == .unwritable)
        #expect(log.statistics.waiting == 3)
        try FileManager.default.removeItem(atPath: fixture.path)
        try await log.flush()
        #expect(try fixture.accesses().count == 3)
    }
}
