import Foundation
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct WriterTests {
    let folder: TemporaryFolder
    let text = """
        time,key,size,category,user
        1,"a,""b",10,x|y,u1
        1.5,7,20,,
        2,007,30,y,u2
        2,7,20,x,u1

        """

    init() throws { folder = try TemporaryFolder() }

    @Test func writtenCSVLoadsAsTheSameTrace() throws {
        let trace = try Trace.load(folder.file("a.csv", text), .with { $0.names = .all })
        for name in ["b.csv", "b.csv.gz", "b.csv.zst"] {
            let path = "\(folder.path)/\(name)"
            try TraceWriter.write(trace, to: path, format: .csv)
            let back = try Trace.load(path, .with { $0.names = .all })
            #expect(back.fingerprint == trace.fingerprint)
            #expect((0..<3).map { back.names.keys[$0] } == ["a,\"b", "7", "007"])
        }
        #expect(try String(contentsOfFile: "\(folder.path)/b.csv", encoding: .utf8) == text)
    }

    @Test func oracleGeneralHasTheDefinedBytes() throws {
        let trace = try Trace.load(
            folder.file("a.csv", "time,key,size\n3,258,5\n4,9,6\n4,258,5\n"), .with { $0.names = .keys })
        let path = "\(folder.path)/a.oracleGeneral"
        try TraceWriter.write(trace, to: path, format: .oracleGeneral)
        let none = [UInt8](repeating: 255, count: 8)
        let expected: [[UInt8]] = [
            [3, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0],
            [4, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0] + none,
            [4, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0] + none,
        ]
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path))) == expected.flatMap { $0 })
    }

    @Test(arguments: ["o.oracleGeneral", "o.oracleGeneral.zst", "o.oracleGeneral.gz"])
    func oracleGeneralRoundTripKeepsTheTrace(name: String) throws {
        let plain = "time,key,size\n1,18446744073709551615,10\n1,7,20\n2,12,30\n3,7,20\n"
        let trace = try Trace.load(folder.file("a.csv", plain), .with { $0.names = .all })
        let path = "\(folder.path)/\(name)"
        try TraceWriter.write(trace, to: path, format: .oracleGeneral)
        let back = try Trace.load(path, .with { $0.names = .all })
        #expect(back.fingerprint == trace.fingerprint)
        try TraceWriter.write(back, to: "\(folder.path)/c.csv", format: .csv)
        #expect(try String(contentsOfFile: "\(folder.path)/c.csv", encoding: .utf8) == plain)
    }

    @Test func oracleGeneralRefusesUnsupportedTraces() throws {
        func fault(_ text: String) throws -> String? {
            let trace = try Trace.load(folder.file("a.csv", text), .with { $0.names = .keys })
            let path = "\(folder.path)/x.oracleGeneral"
            do throws(TraceError) {
                try TraceWriter.writeOracleGeneral(trace, to: path)
                return nil
            } catch {
                #expect(!FileManager.default.fileExists(atPath: path))
                return error.message
            }
        }
        #expect(
            try fault("time,key,size\n-1,a,1\n")
                == "request 1 is at -1 s; oracleGeneral supports times from 0 to 4294967295 s")
        #expect(
            try fault("key,size\na,4294967296\n")
                == "request 1 has 4294967296 bytes; oracleGeneral supports sizes up to 4294967295")
        let text = hashBytes(Array("a".utf8), 1)
        #expect(
            try fault("key\na\n\(text)\n")
                == "the keys 'a' and '\(text)' both become \(text); oracleGeneral cannot distinguish them")
    }

    @Test func failedWriteLeavesNoFile() throws {
        var names = TraceNames()
        names.keys = StringTable(["a\nb"])
        let trace = Trace(entries: [0], times: TimeColumn(count: 1), objectSizes: [1], names: names)
        #expect(throws: TraceError.self) { try TraceWriter.writeCSV(trace, to: "\(folder.path)/x.csv") }
        #expect(throws: TraceError.self) { try TraceWriter.writeCSV(trace, to: "\(folder.path)/no/x.csv") }
        let file = try AtomicFile(path: "\(folder.path)/y")
        try file.write([1, 2, 3])
        _ = consume file
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        let whole = try AtomicFile(path: "\(folder.path)/y")
        try whole.write([1, 2, 3])
        try whole.finish()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["y"])
    }

    @Test func writingTwiceGivesTheSameBytes() throws {
        let trace = try Trace.load(folder.file("a.csv", text), .with { $0.names = .all })
        for name in ["b.csv.gz", "b.csv.zst"] {
            try TraceWriter.writeCSV(trace, to: "\(folder.path)/\(name)")
            let first = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(name)"))
            try TraceWriter.writeCSV(trace, to: "\(folder.path)/\(name)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(name)")) == first)
        }
    }
}
