import Foundation
import GRDB
import Halcyon
import HalcyonAccessLog
import HalcyonTestSupport
import Testing

@testable import HalcyonCache

@Suite("Image cache: killed processes", .timeLimit(.minutes(20)))
struct KillTests {
    @Test("After kill -9 under load values are whole, sizes agree and the log is sound")
    func killedCacheLeavesWholeValuesAndLog() async throws {
        let executable = try #require(TestProcess.executable)
        let folder = try TemporaryFolder()
        var (values, accesses) = (0, 0)
        for round in 0..<SoakLength.kills(short: 3) {
            let process = try ChildProcess(
                executable.path, ["load", folder.path, "\(round)", "600"], output: .pipe)
            #expect(await process.firstOutput() == Data("ready\n".utf8), "round \(round)")
            if round == 0 {
                // At least one process is killed after it has stored and logged something.
                await waitUntil { hasContent(folder.path) }
            } else {
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...400)))
            }
            process.signal(SIGKILL)
            #expect(await process.ended() == .killed(by: SIGKILL), "round \(round)")

            for name in ["disk", "cache"] {
                let disk = try DiskStorage(
                    config: .init(name: name, directory: URL(fileURLWithPath: folder.path), sizeLimit: 500_000))
                values += try expectWholeValues(in: disk, keys: 200, words: 200)
                #expect(disk.totalSize <= 500_000)
            }
            accesses = try soundLog(folder.path + "/access.sqlite")
        }
        #expect(values > 0 && accesses > 0)
    }

    @Test("After SIGTERM a process has removed expired values and written its index, and ends by the signal")
    func terminatedProcessCleansItsDisk() async throws {
        let executable = try #require(TestProcess.executable)
        let folder = try TemporaryFolder()
        let process = try ChildProcess(executable.path, ["terminate", folder.path], output: .pipe)
        #expect(await process.firstOutput() == Data("ready\n".utf8))
        let disk = folder.path + "/halcyon.cache.terminated"
        #expect(try values(in: disk) == 2)
        process.signal(SIGTERM)
        #expect(await process.ended() == .killed(by: SIGTERM))
        #expect(try values(in: disk) == 1)
        let rows = try await DatabaseQueue(path: disk + "/.halcyon/index.sqlite").read { database in
            try String.fetchAll(database, sql: "SELECT categories FROM entry")
        }
        #expect(rows == [#"["lasting"]"#])
    }

    /// The number of values in the folder of a disk storage.
    private func values(in folder: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: folder).count(where: { !$0.hasPrefix(".") })
    }

    /// Whether there are values in the disk storage and accesses in the log of a running process.
    private func hasContent(_ folder: String) -> Bool {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/halcyon.cache.disk")) ?? []
        guard files.count(where: { !$0.hasPrefix(".") }) > 20,
            let reader = try? AccessLogReader(path: folder + "/access.sqlite")
        else { return false }
        return reader.count > 0
    }

    /// Checks that a log is sound and returns its number of accesses; 0 if the process was killed before it created
    /// the log.
    private func soundLog(_ path: String) throws -> Int {
        do {
            let reader = try AccessLogReader(path: path)
            var count = 0
            while case let batch = try reader.next(), !batch.isEmpty { count += batch.count }
            #expect(count == reader.count)
            let faults = try DatabaseQueue(path: path).read { database in
                try String.fetchAll(database, sql: "PRAGMA integrity_check")
                    + Row.fetchAll(database, sql: "PRAGMA foreign_key_check").map { "\($0)" }
            }
            #expect(faults == ["ok"])
            return count
        } catch let error as AccessLogError where error.reason == .empty || error.reason == .unreadable {
            return 0
        }
    }
}
