import CXz
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
        if name.hasSuffix(".xz") {
            let bytes = try xz(Array(plain.utf8))
            _ = try folder.file(name, bytes)
            return bytes
        }
        let path = "\(folder.path)/\(name)"
        let sink = try openSink(path, compression: nil)
        try Array(plain.utf8).withUnsafeBytes { bytes in try sink.write(bytes) }
        try sink.finish()
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Compresses with liblzma, as `xz -6` does.
    func xz(_ bytes: [UInt8]) throws -> [UInt8] {
        var output = [UInt8](repeating: 0, count: lzma_stream_buffer_bound(bytes.count))
        var count = 0
        try #require(
            lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nil, bytes, bytes.count, &output, &count, output.count)
                == LZMA_OK)
        return Array(output.prefix(count))
    }

    @Test(arguments: ["a.csv.gz", "a.csv.zst", "a.csv.xz"]) func compressedFileIsReadAndTruncationFound(name: String)
        throws
    {
        let whole = try Trace.load(folder.file("a.csv", plain))
        let bytes = try packed(name)
        #expect(bytes.count < plain.utf8.count / 2)
        #expect(try Trace.load("\(folder.path)/\(name)").fingerprint == whole.fingerprint)
        for part in [bytes.count - 1, bytes.count / 2, 8] {
            let message = fault(try folder.file(name, Array(bytes.prefix(part))))
            #expect(message?.contains("ends early: the file is truncated") == true, "\(part): \(message ?? "-")")
        }
        var damaged = bytes
        for index in (bytes.count / 2)..<(bytes.count / 2 + 50) { damaged[index] ^= 0x5a }
        #expect(fault(try folder.file(name, damaged)) != nil)
        #expect(fault(try folder.file(name, bytes + [1, 2, 3, 4, 5])) != nil)
        #expect(fault(try folder.file(name, [])) != nil)
    }

    @Test(arguments: ["a.csv.gz", "a.csv.zst", "a.csv.xz"]) func severalMembersAreOneFile(name: String) throws {
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

    @Test("The first bytes decide how a file is compressed, whatever its name and format")
    func contentDecidesCompression() throws {
        let numbers = (0..<3_000).flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
        let records = try folder.file("plain.int32", numbers)
        let whole = try Trace.load(records)
        for (name, wrong) in [
            ("a.csv.gz", "x.csv.xz"), ("a.csv.zst", "x.csv"), ("a.csv.xz", "x.csv.gz"), ("a.csv.xz", "x.csv"),
        ] {
            #expect(try Trace.load(folder.file(wrong, packed(name))).count == 20_000, "\(name) as \(wrong)")
        }
        for name in ["x.int32", "x.int32.gz", "x.int32.zst"] {
            #expect(try Trace.load(folder.file(name, xz(numbers))).fingerprint == whole.fingerprint)
        }
        let packed = "\(folder.path)/a.oracleGeneral.gz"
        try TraceWriter.write(whole, to: packed)
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: packed)))
        for name in ["b.oracleGeneral", "b.bin", "b.bin.zst"] {
            #expect(try Trace.load(folder.file(name, bytes)).entries == whole.entries)
        }
        #expect(
            fault(try folder.file("d.csv.xz", plain))
                == "d.csv.xz: does not start as xz data does, although its name or --compression says so")
        #expect(
            fault(try folder.file("e.csv", xz(Array(plain.utf8))), .with { $0.compression = .gzip })
                == "e.csv: does not start as gzip data does, although its name or --compression says so")
    }

    @Test("xz is read and not written; nothing is left")
    func xzIsNotWritten() throws {
        let whole = try Trace.load(folder.file("a.csv", plain))
        #expect(throws: TraceError.self) { try TraceWriter.write(whole, to: "\(folder.path)/b.csv.xz") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.csv"])
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
