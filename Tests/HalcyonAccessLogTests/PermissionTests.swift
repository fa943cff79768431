import Foundation
import Testing

@testable import HalcyonAccessLog

/// Users and categories are in clear in a log, so that its files are for their owner alone.
@Suite("Permissions of the files of a log", .timeLimit(.minutes(20)))
struct PermissionTests {
    let fixture: LogFixture

    init() throws {
        fixture = try LogFixture()
        umask(0o022)
    }

    private func mode(_ path: String) throws -> String {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return String(try #require(attributes[.posixPermissions] as? Int), radix: 8)
    }

    private func modes(in folder: String) throws -> [String: String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        return Dictionary(uniqueKeysWithValues: try names.map { ($0, try mode("\(folder)/\($0)")) })
    }

    @Test("The log, its write-ahead log, its index, an export and a folder made for them are for their owner alone")
    func newFilesAreForTheirOwnerAlone() async throws {
        let folder = "\(fixture.folder.path)/logs/today"
        let log = AccessLog(path: "\(folder)/access.sqlite")
        log.record(0..<3, user: "ada")
        try await log.flush()
        try await log.export(to: "\(folder)/out.csv")
        #expect(
            try modes(in: folder) == [
                "access.sqlite": "600", "access.sqlite-wal": "600", "access.sqlite-shm": "600", "out.csv": "600",
            ])
        #expect(try mode(folder) == "700" && mode("\(fixture.folder.path)/logs") == "700")
    }

    @Test("Files that others can read are closed to them when a log opens them")
    func readableFilesAreClosedToOthers() async throws {
        let first = fixture.log()
        first.record(0..<3, user: "ada")
        try await first.flush()
        for name in try modes(in: fixture.folder.path).keys { chmod("\(fixture.folder.path)/\(name)", 0o664) }
        let second = fixture.log()
        second.record(3..<6, user: "ada")
        try await second.flush()
        #expect(
            try modes(in: fixture.folder.path) == [
                "access.sqlite": "600", "access.sqlite-wal": "600", "access.sqlite-shm": "600",
            ])
        #expect(try fixture.accesses().count == 6)
        try await first.close()
        try await second.close()
        // A damaged file that is set aside has the same names.
        let damaged = "\(fixture.folder.path)/damaged.sqlite"
        _ = try fixture.folder.file("damaged.sqlite", "damaged, of ada")
        chmod(damaged, 0o644)
        let third = AccessLog(path: damaged)
        third.record(0..<1)
        try await third.flush()
        #expect(try mode("\(damaged).damaged") == "600")
    }

    @Test("In a folder that all users can write, a link in place of the log is refused and what it names is unchanged")
    func linkInAFolderOfAllUsersIsRefused() async throws {
        let shared = "\(fixture.folder.path)/shared"
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        chmod(shared, 0o777)
        let target = try fixture.folder.file("target", "")
        let path = "\(shared)/access.sqlite"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        let log = AccessLog(path: path)
        log.record(0..<1)
        do throws(AccessLogError) {
            try await log.flush()
            Issue.record("the link was followed")
        } catch {
            #expect(error.reason == .unwritable)
            #expect(
                error.message
                    == "may be another user's: \(path) is a link or has another owner, in a folder that all users can write; "
                    + "a folder of one's own is needed")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: target)).isEmpty)
        try FileManager.default.removeItem(atPath: path)
        log.record(1..<2)
        try await log.flush()
        #expect(try mode(path) == "600")
    }
}
