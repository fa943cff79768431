import Foundation
import Testing

@testable import HalcyonAccessLog

@Suite("Export to CSV while the log is in use", .timeLimit(.minutes(20)))
struct ExportTests {
    let fixture: LogFixture

    init() throws { fixture = try LogFixture() }

    var csv: String { "\(fixture.folder.path)/out.csv" }

    @Test("An export has every field, quoted where necessary, in recorded order with increasing times")
    func exportHasEveryFieldInRecordedOrder() async throws {
        let log = fixture.log()
        log.record("plain", cost: 10, categories: ["cats"], outcome: .memory, user: "ada", at: 1_000_000)
        log.record("with,comma", cost: 0, categories: ["a\"b", "c|d", "e\nf"], outcome: .disk, at: 1_500_000)
        log.record("back", cost: 3, outcome: .miss, user: "x,y", at: 1_200_000)
        log.record("plain", cost: 10, categories: ["cats"], outcome: .network, user: "ada", at: 2_000_001)
        #expect(try await log.export(to: csv) == 4)
        #expect(
            try String(contentsOfFile: csv, encoding: .utf8) == """
                time,key,size,category,user
                1,plain,10,cats,ada
                1.5,"with,comma",0,"a""b|c%7Cd|e%0Af",
                1.5,back,3,,"x,y"
                2.000001,plain,10,cats,ada

                """)
        var asRecorded = AccessLogText(try AccessLogReader(path: fixture.path), holdsTimes: false)
        let text = String(decoding: try asRecorded.next(), as: UTF8.self)
        #expect(text.contains("\n1.2,back,") && asRecorded.heldTimes == 0)
        var held = AccessLogText(try AccessLogReader(path: fixture.path))
        _ = try held.next()
        #expect(held.heldTimes == 1)
    }

    @Test("A log with lists exports a line for each of their images, with two more columns")
    func listsAreExportedAsShown() async throws {
        let log = fixture.log()
        func items(_ keys: String...) -> [RecordedList.Item] {
            keys.map { RecordedList.Item(key: $0, cost: 9, categories: ["cats", "dogs"]) }
        }
        log.record(list: RecordedList(time: 1_000_000, items: items("a", "b"), user: "ada"))
        log.record(list: RecordedList(time: 1_000_000, items: items("c"), user: "ada"))
        log.record("b", cost: 10, categories: ["cats"], outcome: .memory, user: "ada", at: 1_500_000)
        // A clock that was set back.
        log.record(list: RecordedList(time: 1_200_000, items: items("d"), user: nil))
        #expect(try await log.export(to: csv) == 1)
        #expect(
            try String(contentsOfFile: csv, encoding: .utf8) == """
                time,key,size,category,user,event,list
                1,a,9,cats|dogs,ada,shown,0
                1,b,9,cats|dogs,ada,shown,0
                1,c,9,cats|dogs,ada,shown,1
                1.5,b,10,cats,ada,request,
                1.5,d,9,cats|dogs,,shown,2

                """)
        var asRecorded = AccessLogText(try AccessLogReader(path: fixture.path), holdsTimes: false)
        #expect(String(decoding: try asRecorded.next(), as: UTF8.self).contains("\n1.2,d,"))
    }

    @Test("An empty log exports a header, and an existing file is replaced")
    func emptyLogExportsAHeader() async throws {
        _ = try fixture.folder.file("out.csv", "something else")
        let log = fixture.log()
        #expect(try await log.export(to: csv) == 0)
        #expect(try String(contentsOfFile: csv, encoding: .utf8) == "time,key,size,category,user\n")
    }

    @Test("An unwritable export gives one sentence, leaves no file and changes no existing one")
    func unwritableExportLeavesNothing() async throws {
        let log = fixture.log()
        log.record(0..<3)
        for target in ["\(fixture.folder.path)/no/out.csv", fixture.folder.path] {
            do throws(AccessLogError) {
                try await log.export(to: target)
                Issue.record("\(target) was written")
            } catch {
                #expect(error.reason == .unwritable && error.description.hasPrefix("\(target): cannot be written: "))
            }
        }
        try await log.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["access.sqlite"])
    }

    @Test("An export during recording is a prefix without holes of the recorded accesses")
    func exportDuringRecordingIsAPrefixWithoutHoles() async throws {
        let log = fixture.log { $0.batch = 128 }
        log.record(0..<6_000)
        try await log.flush()
        let recorder = Task {
            var number = 6_000
            while !Task.isCancelled {
                log.record(number..<number + 10)
                number += 10
                try? await Task.sleep(for: .milliseconds(5))
            }
            return number
        }
        for _ in 0..<3 {
            let count = try await log.export(to: csv)
            #expect(count >= 6_000)
            let lines = try String(contentsOfFile: csv, encoding: .utf8).split(separator: "\n").dropFirst()
            #expect(lines.count == count)
            #expect(zip(lines, 0...).allSatisfy { $0.contains(",k\($1),") })
        }
        recorder.cancel()
        let end = await recorder.value
        try await log.flush()
        #expect(log.statistics.written + log.statistics.lostCount == end)
    }

    @Test("A reader shows the log as it was opened, whatever is deleted or added meanwhile")
    func readerShowsTheLogAsOpened() async throws {
        let log = fixture.log { $0.bounds = AccessLog.Bounds(rows: 12_000, bytes: nil, days: nil) }
        log.record(0..<12_000)
        try await log.flush()
        let reader = try AccessLogReader(path: fixture.path)
        var keys = try reader.next().map(\.key)
        log.record(12_000..<20_000)
        try await log.flush()
        // The reader needs what is deleted.
        #expect(await reason { () async throws(AccessLogError) in try await log.deleteAll() } == .notOverwritten)
        while true {
            let batch = try reader.next()
            if batch.isEmpty { break }
            keys += batch.map(\.key)
        }
        #expect(keys == (0..<12_000).map { "k\($0)" })
        #expect(try fixture.accesses() == [])
    }
}
