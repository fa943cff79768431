import Foundation
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct CompressionTests {
    let folder: TemporaryFolder
    let plain: String

    init() throws {
        folder = try TemporaryFolder()
        plain = "time,key\n" + (0..<20_000).map { "\($0),\($0 * $0 % 7_919)\n" }.joined()
    }

    func packed(_ name: String) throws -> [UInt8] {
        let path = "\(folder.path)/\(name)"
        let sink = try openSink(path, compression: nil)
        try Array(plain.utf8).withUnsafeBytes { bytes in try sink.write(bytes) }
        try sink.finish()
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    @Test(arguments: ["a.csv.gz", "a.csv.zst"]) func compressedFileIsReadAndTruncationFound(name: String) throws {
        let whole = try Trace.load(folder.file("a.csv", plain))
        let bytes = try packed(name)
        #expect(bytes.count < plain.utf8.count / 2)
        #expect(try Trace.load("\(folder.path)/\(name)").fingerprint == whole.fingerprint)
        for part in [bytes.count - 1, bytes.count / 2, 5] {
            let message = fault(try folder.file(name, Array(bytes.prefix(part))))
            #expect(message?.contains("ends early: the file is truncated") == true, "\(part): \(message ?? "-")")
        }
        var damaged = bytes
        for index in (bytes.count / 2)..<(bytes.count / 2 + 50) { damaged[index] ^= 0x5a }
        #expect(fault(try folder.file(name, damaged)) != nil)
        #expect(fault(try folder.file(name, bytes + [1, 2, 3, 4, 5])) != nil)
        #expect(fault(try folder.file(name, [])) != nil)
    }

    @Test(arguments: ["a.csv.gz", "a.csv.zst"]) func severalMembersAreOneFile(name: String) throws {
        let bytes = try packed(name)
        let doubled = try folder.file(name, bytes + bytes)
        // The second member's header is a line of the whole file and no request.
        #expect(fault(doubled)?.contains(":20002:1: time 'time' is not a number") == true)
    }

    @Test func compressionIsRecognizedAndCanBeOverridden() throws {
        let gzip = try packed("a.csv.gz")
        #expect(try Trace.load(folder.file("b.csv", gzip)).count == 20_000)
        #expect(try Trace.load(folder.file("b.dat", gzip), .with { $0.format = .csv }).count == 20_000)
        #expect(
            fault(try folder.file("c.csv.gz", plain))
                == "c.csv.gz: does not start as gzip data does, although its name or --compression says so")
        #expect(
            try Trace.load(folder.file("c.csv.gz", plain), .with { $0.compression = Compression.none }).count == 20_000)
    }

    @Test(arguments: ["gz", "zst"]) func binaryTraceWithoutAFormatInItsNameIsRead(_ ending: String) throws {
        let whole = try Trace.load(folder.file("a.csv", plain))
        let packed = "\(folder.path)/a.oracleGeneral.\(ending)"
        try TraceWriter.write(whole, to: packed)
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: packed)))
        let format = TraceLoadOptions.with { $0.format = .oracleGeneral }
        // As with standard input, whose name does not imply a format.
        let nameless = try folder.file("input", bytes)
        #expect(try Trace.load(nameless, format).entries == whole.entries)
        var stream = try TraceStream(nameless, format)
        var (batch, count) = (StreamBatch(), 0)
        while try stream.next(into: &batch) { count += batch.entries.count }
        #expect(count == whole.count)
        let cut = fault(try folder.file("input", Array(bytes.prefix(bytes.count / 2))), format)
        #expect(cut?.contains("ends early: the file is truncated") == true)
    }

    @Test func recordsThatStartLikeGzipDataAreRecords() throws {
        // 0x00088b1f seconds: the magic number of gzip, deflate and no flags.
        var record: [UInt8] = [0x1f, 0x8b, 0x08, 0x00] + [UInt8](repeating: 7, count: 8) + [1, 0, 0, 0]
        record += [UInt8](repeating: 0xff, count: 8)
        let nameless = try folder.file("input", Array(repeating: record, count: 40).flatMap { $0 })
        let trace = try Trace.load(nameless, .with { $0.format = .oracleGeneral })
        #expect(trace.count == 40 && trace.times[0] == 559_903_000_000)
    }

    @Test func formatFollowsFromTheName() {
        #expect(TraceFormat(path: "/x.y/w.csv.gz") == .csv)
        #expect(TraceFormat(path: "cluster52.oracleGeneral.sample10.zst") == .oracleGeneral)
        #expect(TraceFormat(path: "a.bin") == .oracleGeneral)
        #expect(TraceFormat(path: "trace.vscsi") == .vscsi)
        #expect(TraceFormat(path: "cluster001.twitter.zst") == .twitter)
        #expect(TraceFormat(path: "csv") == nil)
        #expect(Compression(path: "a.csv.GZ") == .gzip)
    }
}
