import Foundation
import GRDB
import HalcyonTestSupport
import Testing

@testable import HalcyonAccessLog

@Suite("Killed and concurrent processes", .serialized, .timeLimit(.minutes(20)))
struct ProcessTests {
    let fixture: LogFixture

    init() throws { fixture = try LogFixture() }

    /// A process that records accesses named `name`; see its source. Its output goes to the file `name` in the folder.
    func start(_ name: String, count: Int, flushMilliseconds: Int, rows: Int? = nil) throws -> ChildProcess {
        try ChildProcess(
            BuiltExecutable.url("AccessLogProcess").path,
            [fixture.path, name, String(count), String(flushMilliseconds)] + (rows.map { [String($0)] } ?? []),
            output: .file(try fixture.folder.file(name, "")))
    }

    func lines(_ name: String) throws -> [Substring] {
        try String(contentsOfFile: "\(fixture.folder.path)/\(name)", encoding: .utf8).split(separator: "\n")
    }

    /// The number of written accesses in the last report of a process.
    func written(_ name: String) throws -> Int {
        guard let line = try lines(name).last else { return 0 }
        let word = try #require(line.split(separator: " ").last)
        return try #require(Int(word))
    }

    /// Runs the closure with several logs in parallel; the kills are divided among them. A single slowly logging
    /// process would leave the machine idle.
    func inLanes(_ body: @escaping @Sendable (ProcessTests, _ kills: Int) async throws -> Void) async throws {
        let kills = SoakLength.kills(short: 3)
        let lanes = kills.isMultiple(of: 8) ? 8 : 1
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<lanes { group.addTask { try await body(ProcessTests(), kills / lanes) } }
            try await group.waitForAll()
        }
    }

    @Test("After kill -9 at random points all written accesses are in order and the file is valid")
    func killAtRandomPointsKeepsWrittenAccesses() async throws {
        try await inLanes { try await $0.kill(times: $1) }
    }

    private func kill(times: Int) async throws {
        var expected: [String] = []
        for kill in 0..<times {
            let name = "p\(kill)"
            let process = try start(name, count: .max, flushMilliseconds: 1_000)
            #expect(try await eventually { ((try? lines(name).count) ?? 0) > 0 })
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...2_200)))
            // At random points before and after the end of the first interval; the last time always after it.
            if kill == times - 1 { #expect(try await eventually { ((try? written(name)) ?? 0) > 0 }) }
            await end(process)

            let least = try written(name)
            #expect(try fixture.faults() == [])
            let keys = try fixture.accesses().map(\.key)
            #expect(keys.starts(with: expected))
            let own = keys.dropFirst(expected.count)
            #expect(own.elementsEqual((0..<own.count).map { "\(name)-\($0)" }))
            #expect(own.count >= least, "of \(least) accesses that were written before the kill")
            expected = keys
        }
        let log = fixture.log()
        log.record(0..<1)
        try await log.close()
        #expect(try fixture.accesses().count == expected.count + 1)
    }

    @Test("After kill -9 during trimming the remaining accesses have no hole and all their names")
    func killDuringTrimmingLeavesNoHole() async throws {
        try await inLanes { try await $0.killWhileTrimming(times: $1) }
    }

    private func killWhileTrimming(times: Int) async throws {
        for kill in 0..<times {
            let name = "p\(kill)"
            let process = try start(name, count: .max, flushMilliseconds: 20, rows: 400)
            #expect(try await eventually { ((try? written(name)) ?? 0) > 400 })
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...300)))
            await end(process)

            #expect(try fixture.faults() == [])
            let own = try fixture.accesses().map(\.key).drop { !$0.hasPrefix("\(name)-") }
            let first = try #require(own.first?.split(separator: "-").last.flatMap { Int($0) })
            #expect(own.elementsEqual((first..<first + own.count).map { "\(name)-\($0)" }))
        }
        let log = fixture.log { $0.bounds = AccessLog.Bounds(rows: 400, bytes: nil, days: nil) }
        log.record(0..<1)
        try await log.flush()
        #expect(try fixture.accesses().count == 400)
        try await log.close()
    }

    /// Kills a process and waits for its end.
    private func end(_ process: ChildProcess) async {
        process.signal(SIGKILL)
        #expect(await process.ended() == .killed(by: SIGKILL))
    }

    @Test("Two processes at once record all their accesses, each in order with its names")
    func twoProcessesRecordAllAccessesInOrder() async throws {
        let count = 2_000
        let processes = try ["left", "right"].map { try start($0, count: count, flushMilliseconds: 20) }
        for process in processes {
            #expect(await process.ended() == .exited(0))
        }
        let accesses = try fixture.accesses()
        #expect(accesses.count == 2 * count)
        for name in ["left", "right"] {
            #expect(try lines(name).last == "done")
            let own = accesses.filter { $0.user == name }
            #expect(own.map(\.key) == (0..<count).map { "\(name)-\($0)" })
            #expect(own.map(\.cost) == Array(0..<count))
            #expect(own.map(\.categories) == (0..<count).map { ["c\($0 % 7)"] })
        }
        #expect(Set(accesses.map(\.session)).count == 2)
        #expect(try fixture.faults() == [])
    }

    @Test("A file that several logs create at once is a valid log for all of them")
    func fileCreatedByManyAtOnceIsALog() async throws {
        for round in 0..<150 {
            let path = fixture.folder.path + "/new-\(round).sqlite"
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask { try LogFile(path: path, AccessLog.Configuration()).close() }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("Two logs on one file in turn, with deletions and bounds, keep their names valid")
    func twoLogsOnOneFileKeepTheirNamesValid() async throws {
        let logs = [fixture.log(), fixture.log { $0.bounds = AccessLog.Bounds(rows: 2_000, bytes: nil, days: nil) }]
        for round in 0..<20 {
            for (index, log) in logs.enumerated() {
                for number in 0..<200 {
                    log.record(
                        "k\((round * 37 + number) % 900)", cost: 1, categories: ["c\(round % 5)"], outcome: .disk,
                        user: "u\((round + index) % 4)")
                }
                try await log.flush()
            }
            if round % 6 == 5 { try await logs[round % 2].deleteAccesses(ofUser: "u\(round % 4)") }
        }
        try await logs[0].close()
        try await logs[1].close()
        #expect(try fixture.faults() == [])
        let accesses = try fixture.accesses()
        #expect(accesses.count <= 2_000 && accesses.count > 1_000)
        #expect(accesses.last?.key == "k\((19 * 37 + 199) % 900)")
    }
}
