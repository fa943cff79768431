import Foundation
import GRDB
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonAccessLog

/// A folder with a log in it.
final class LogFixture: Sendable {
    let folder: TemporaryFolder
    let clock = ManualClock()
    let events = EventList()

    init() throws { folder = try TemporaryFolder() }

    var path: String { "\(folder.path)/access.sqlite" }

    /// A log whose clock does not move, without bounds unless `change` sets some.
    func log(_ change: (inout AccessLog.Configuration) -> Void = { _ in }) -> AccessLog {
        var configuration = AccessLog.Configuration()
        configuration.clock = clock
        configuration.keys = .raw
        configuration.bounds = .none
        configuration.lockTimeout = .milliseconds(20)
        let events = events
        configuration.onEvent = { events.add($0) }
        change(&configuration)
        return AccessLog(path: path, configuration)
    }

    /// All accesses in the file; none if a process was killed before it wrote any.
    func accesses() throws -> [RecordedAccess] {
        let reader: AccessLogReader
        do throws(AccessLogError) {
            reader = try AccessLogReader(path: path)
        } catch {
            if error.reason == .empty { return [] }
            throw error
        }
        var all: [RecordedAccess] = []
        while true {
            let batch = try reader.next()
            if batch.isEmpty { return all }
            all += batch
        }
    }

    /// Calls a closure with the test's own connection.
    func sql<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try LogFixture.sql(path, body)
    }

    static func sql<Value>(_ path: String, _ body: (Database) throws -> Value) throws -> Value {
        var options = Configuration()
        options.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: path, configuration: options)
        defer { try? queue.close() }
        return try queue.inDatabase(body)
    }

    /// The faults that SQLite's checks of integrity and foreign keys find in the file.
    func faults() throws -> [String] {
        try sql { db in
            let integrity = try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
            return integrity + (try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").map { "\($0)" })
        }
    }

    /// Whether a file of the log holds these bytes anywhere.
    func contains(_ text: String) throws -> Bool {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(name)"))
            if data.range(of: Data(text.utf8)) != nil { return true }
        }
        return false
    }
}

/// The events of a log, in order.
final class EventList: Sendable {
    private let list = Mutex<[AccessLogEvent]>([])
    var all: [AccessLogEvent] { list.withLock { $0 } }
    func add(_ event: AccessLogEvent) { list.withLock { $0.append(event) } }
}

/// Waits until a condition holds, up to the time limit of the suite.
func eventually(_ condition: () -> Bool) async throws -> Bool { await waitUntil(condition) }

extension AccessLog {
    /// Records accesses with the keys `k0`, `k1` …, a microsecond apart from `start` on.
    func record(_ range: Range<Int>, start: Int64 = 1_000_000, user: String? = nil, category: String? = nil) {
        for number in range {
            record(
                "k\(number)", cost: number + 1, categories: category.map { [$0] } ?? [], outcome: .disk, user: user,
                at: start + Int64(number))
        }
    }
}

/// The reason of a failure, or `nil` after success.
func reason(_ body: () async throws(AccessLogError) -> Void) async -> AccessLogError.Reason? {
    do {
        try await body()
        return nil
    } catch {
        return error.reason
    }
}
