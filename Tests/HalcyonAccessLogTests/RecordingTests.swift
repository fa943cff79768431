import Foundation
import GRDB
import Testing

@testable import HalcyonAccessLog

@Suite("Recording in batches", .timeLimit(.minutes(20)))
struct RecordingTests {
    let fixture: LogFixture

    init() throws { fixture = try LogFixture() }

    @Test("All recorded fields are read back in order")
    func recordedFieldsAreReadInOrder() async throws {
        let log = fixture.log()
        var expected: [RecordedAccess] = []
        for (number, outcome) in RecordedAccess.Outcome.allCases.enumerated() {
            let categories = Array(["cats", "dogs", "birds"].prefix(number % 4))
            let user = number % 2 == 0 ? "ada" : nil
            log.record(
                "https://e.org/\(number % 3)", cost: number * 1_000, categories: categories, outcome: outcome,
                user: user, at: Int64(number) * 1_500_000)
            expected.append(
                RecordedAccess(
                    time: Int64(number) * 1_500_000, key: "https://e.org/\(number % 3)", cost: number * 1_000,
                    categories: categories, user: user, outcome: outcome, session: 1))
        }
        try await log.flush()
        #expect(try fixture.accesses() == expected)
        #expect(try fixture.faults() == [])
        #expect(log.statistics.recorded == 5 && log.statistics.written == 5 && log.statistics.waiting == 0)
    }

    @Test("Accesses are written after half the flush interval; an idle log sets no timer")
    func accessesAreWrittenAfterHalfTheFlushInterval() async throws {
        let log = fixture.log { $0.flushInterval = .seconds(8) }
        #expect(fixture.clock.sleeperCount == 0)
        log.record(0..<3)
        #expect(try await eventually { fixture.clock.sleeperCount == 1 })
        fixture.clock.advance(by: .milliseconds(3_999))
        #expect(fixture.clock.sleeperCount == 1)
        #expect(!FileManager.default.fileExists(atPath: fixture.path))
        #expect(log.statistics.waiting == 3)
        fixture.clock.advance(by: .milliseconds(1))
        #expect(try await eventually { log.statistics.written == 3 })
        #expect(try fixture.accesses().map(\.key) == ["k0", "k1", "k2"])
        #expect(fixture.clock.sleeperCount == 0)
        log.record(3..<4)
        #expect(try await eventually { fixture.clock.sleeperCount == 1 })
    }

    @Test("The flush interval is one second by default")
    func flushIntervalIsOneSecondByDefault() { #expect(AccessLog.Configuration().flushInterval == .seconds(1)) }

    @Test("A full batch is written at once")
    func fullBatchIsWrittenAtOnce() async throws {
        let log = fixture.log { $0.batch = 8 }
        log.record(0..<8)
        #expect(try await eventually { log.statistics.written == 8 })
        #expect(try fixture.accesses().map(\.key) == (0..<8).map { "k\($0)" })
        // The writer takes what waits when it runs, be it more than a batch: only less than a batch is left to the timer.
        log.record(8..<40)
        #expect(try await eventually { log.statistics.waiting < 8 })
        try await log.flush()
        #expect(try fixture.accesses().map(\.key) == (0..<40).map { "k\($0)" })
    }

    @Test("Accesses beyond the waiting limit are lost and counted; accepted ones are kept")
    func overloadIsLostAndCounted() async throws {
        let log = fixture.log { $0.waitingLimit = 10 }
        log.record(0..<25)
        #expect(log.statistics.recorded == 10)
        #expect(log.statistics.lost == [.overload: 15])
        try await log.flush()
        log.record(25..<30)
        try await log.flush()
        let kept = (0..<10).map { "k\($0)" } + (25..<30).map { "k\($0)" }
        #expect(try fixture.accesses().map(\.key) == kept)
        #expect(log.statistics.written == 15 && log.statistics.lostCount == 15)
    }

    @Test("Concurrent threads lose no access, keep their order, and times follow the order")
    func concurrentThreadsLoseNothing() async throws {
        let log = fixture.log { $0.batch = 64 }
        let (threads, each) = (4, 2_000)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<threads {
                group.addTask {
                    for number in 0..<each { log.record("\(thread)-\(number)", cost: 1, outcome: .memory) }
                }
            }
        }
        try await log.flush()
        let accesses = try fixture.accesses()
        #expect(accesses.count == threads * each)
        for thread in 0..<threads {
            let own = accesses.map(\.key).filter { $0.hasPrefix("\(thread)-") }
            #expect(own == (0..<each).map { "\(thread)-\($0)" })
        }
        #expect(zip(accesses, accesses.dropFirst()).allSatisfy { $0.time <= $1.time })
        let now = Int64(Date().timeIntervalSince1970 * 1e6)
        #expect(accesses.allSatisfy { abs($0.time - now) < 600_000_000 })
        #expect(try fixture.faults() == [])
    }

    @Test("A disabled log records nothing and makes no file; earlier accesses are kept")
    func disabledLogRecordsNothing() async throws {
        let log = fixture.log { $0.isRecording = false }
        log.record(0..<5)
        #expect(log.statistics == AccessLogStatistics())
        #expect(fixture.clock.sleeperCount == 0)
        #expect(!FileManager.default.fileExists(atPath: fixture.path))
        log.isRecording = true
        log.record(5..<7)
        log.isRecording = false
        log.record(7..<9)
        try await log.flush()
        #expect(try fixture.accesses().map(\.key) == ["k5", "k6"])
    }

    @Test("A session begins at each opening and when the app begins one")
    func sessionsBeginAtOpeningAndOnRequest() async throws {
        let first = fixture.log()
        first.record(0..<2)
        first.beginSession()
        first.record(2..<3)
        try await first.close()
        let second = fixture.log()
        second.record(3..<5)
        try await second.close()
        #expect(try fixture.accesses().map(\.session) == [1, 1, 2, 3, 3])
        #expect(
            try fixture.sql { try Int64.fetchAll($0, sql: "SELECT started FROM session ORDER BY id") }
                == [1_000_000, 1_000_002, 1_000_003])
    }

    @Test("Waiting accesses are written when the log is released or closed; later ones are refused")
    func waitingAccessesAreWrittenWhenTheLogEnds() async throws {
        do {
            let log = fixture.log()
            log.record(0..<3)
        }
        #expect(try await eventually { (try? fixture.accesses().count) == 3 })
        let log = fixture.log()
        log.record(3..<5)
        try await log.close()
        log.record(5..<9)
        #expect(try fixture.accesses().count == 5)
        log.isRecording = true
        log.record(9..<11)
        #expect(await reason(log.flush) == .closed)
        #expect(log.statistics.lost == [.failure(.closed): 2] && log.statistics.waiting == 0)
    }
}
