import Foundation
import GRDB
import HalcyonTestSupport
import Testing

@testable import HalcyonAccessLog

@Suite("Full and read-only disks", .timeLimit(.minutes(20)))
struct DiskTests {
    func log(_ disk: SmallDisk, _ clock: ManualClock) -> AccessLog {
        var configuration = AccessLog.Configuration()
        configuration.keys = .raw
        configuration.clock = clock
        configuration.bounds = .none
        configuration.waitingLimit = 3_000
        return AccessLog(path: "\(disk.path)/access.sqlite", configuration)
    }

    @Test("On a full disk accesses wait, then are lost and counted; with room the waiting ones are written")
    func accessesWaitOnAFullDiskAndAreWrittenLater() async throws {
        guard let disk = try SmallDisk(kilobytes: 600) else { return }
        let log = log(disk, ManualClock())
        var failed = false
        for round in 0..<60 where !failed {
            log.record(round * 500..<(round + 1) * 500)
            failed = await reason(log.flush) == .diskFull
        }
        #expect(failed)
        let written = log.statistics.written
        log.record(100_000..<104_000)
        #expect(await reason(log.flush) == .diskFull)
        let statistics = log.statistics
        #expect(statistics.waiting == 3_000)
        #expect(statistics.lost.keys.allSatisfy { $0 == .failure(.diskFull) })
        #expect(statistics.lostCount >= 1_000)
        #expect(disk.remount("size=20m"))
        try await log.flush()
        #expect(log.statistics.written == written + 3_000)
        #expect(try AccessLogReader(path: log.path).count == written + 3_000)
        try await log.close()
        let faults = try LogFixture.sql(log.path) { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
        #expect(faults == ["ok"])
    }

    @Test("On a disk full from the start no file is made, and recording continues")
    func recordingContinuesOnADiskFullFromTheStart() async throws {
        guard let disk = try SmallDisk(kilobytes: 4) else { return }
        let log = log(disk, ManualClock())
        log.record(0..<10)
        #expect(await reason(log.flush) == .diskFull)
        #expect(log.statistics.waiting == 10)
        #expect(disk.remount("size=20m"))
        try await log.flush()
        #expect(try AccessLogReader(path: log.path).count == 10)
        try await log.close()
    }

    @Test("A log on a read-only disk can be read, and is written when the disk is writable again")
    func readOnlyLogIsReadAndLaterWritten() async throws {
        guard let disk = try SmallDisk(kilobytes: 4_000) else { return }
        let first = log(disk, ManualClock())
        first.record(0..<5)
        try await first.close()
        #expect(disk.remount("ro"))
        #expect(try AccessLogReader(path: first.path).next().map(\.key) == (0..<5).map { "k\($0)" })
        let second = log(disk, ManualClock())
        second.record(5..<8)
        #expect(await reason(second.flush) == .unwritable)
        #expect(second.statistics.waiting == 3)
        #expect(disk.remount("rw"))
        try await second.flush()
        #expect(try AccessLogReader(path: first.path).count == 8)
        try await second.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["access.sqlite"])
    }
}
