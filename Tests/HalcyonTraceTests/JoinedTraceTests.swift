import Foundation
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// Several files as one trace, compared with the file that all of them make.
@Suite(.timeLimit(.minutes(20))) struct JoinedTraceTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private struct Columns {
        var entries: [UInt32] = []
        var users: [UInt32] = []
        var times: [Int64] = []
    }

    /// Returns the columns of a stream.
    private func streamed(_ path: String, _ options: TraceLoadOptions) throws -> Columns {
        var stream = try TraceStream(path, options)
        var batch = StreamBatch()
        var columns = Columns()
        while try stream.next(into: &batch) {
            columns.entries += batch.entries
            columns.users += batch.users
            columns.times += batch.times
        }
        return columns
    }

    @Test(arguments: 0..<6)
    func joinedFilesEqualTheConcatenatedOne(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var random2 = RandomCSV(random: SeededGenerator(seed: seed + 100))
        let text = random2.text() + "\n"
        let rows = text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().map(String.init)
        let cuts = [
            0, Int.random(in: 0...rows.count, using: &random), Int.random(in: 0...rows.count, using: &random),
            rows.count,
        ].sorted()
        let header = "time,key,size,category,user\n"
        let paths = try (0..<3).map {
            try folder.file("part\($0).csv", header + rows[cuts[$0]..<cuts[$0 + 1]].joined(separator: "\n") + "\n")
        }
        let whole = try Trace.load(folder.file("whole.csv", text), .with { $0.names = .all })
        let naive = NaiveCSV(text)
        for (chunkBytes, threads) in [(1, 1), (1, 3), (200, 2), (1 << 20, 2)] {
            var options = TraceLoadOptions.with {
                $0.chunkBytes = chunkBytes
                $0.threads = threads
                $0.names = .all
                $0.continuations = Array(paths.dropFirst())
            }
            let joined = try Trace.load(paths[0], options)
            #expect(joined.fingerprint == whole.fingerprint)
            #expect(joined.entries == naive.entries && Array(joined.times) == naive.times)
            #expect((0..<joined.names.keys.count).map { joined.names.keys[UInt32($0)] } == naive.keys)
            #expect(joined.report.parts.map(\.requests).reduce(0, +) == whole.count)
            #expect(joined.report.parts.map(\.path) == paths)
            let batches = try streamed(paths[0], options)
            #expect(batches.entries == naive.entries && batches.times == naive.times)
            #expect(batches.users == naive.users)
            options.skip = whole.count / 3
            options.limit = max(whole.count / 2, 1)
            var alone = options
            alone.continuations = []
            let part = try Trace.load("\(folder.path)/whole.csv", alone)
            #expect(try Trace.load(paths[0], options).fingerprint == part.fingerprint)
            #expect(try streamed(paths[0], options).entries == part.entries)
        }
    }

    /// A CSV, a binary file and a compressed one with the same objects, each with columns that the others do not have.
    @Test func filesMayHaveDifferentFormats() throws {
        func little(_ value: some FixedWidthInteger) -> [UInt8] {
            (0..<(value.bitWidth / 8)).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        func record(_ time: UInt32, _ key: UInt64, _ size: UInt32) -> [UInt8] {
            var bytes = little(time)
            bytes += little(key)
            bytes += little(size)
            bytes += little(Int64(-1))
            return bytes
        }
        let first = try folder.file("a.csv", "user,time,key\nu,1,7\n,2,8\nv,2,7\n")
        let second = try folder.file("b.oracleGeneral", record(2, 8, 50) + record(3, 9, 60))
        let third = try Trace.load(
            folder.file("c.csv", "time,key,category,user,size\n3,9,x,v,60\n5.5,7,y,w,70\n"), .with { $0.names = .all })
        try TraceWriter.write(third, to: "\(folder.path)/c.csv.zst", format: .csv)
        let whole = try Trace.load(
            folder.file(
                "whole.csv",
                "time,key,size,category,user\n1,7,,,u\n2,8,,,\n2,7,,,v\n2,8,50,,\n3,9,60,,\n3,9,60,x,v\n5.5,7,70,y,w\n"),
            .with { $0.names = .all })
        for chunkBytes in [1, 1 << 20] {
            let options = TraceLoadOptions.with {
                $0.names = .all
                $0.chunkBytes = chunkBytes
                $0.continuations = [second, "\(folder.path)/c.csv.zst"]
            }
            let joined = try Trace.load(first, options)
            #expect(joined.fingerprint == whole.fingerprint)
            #expect(joined.users == [0, Trace.noUser, 1, Trace.noUser, Trace.noUser, 1, 2])
            #expect((0..<3).map { joined.names.keys[$0] } == ["7", "8", "9"])
            #expect(joined.report.parts.map(\.requests) == [3, 2, 2])
            #expect(joined.report.unknownSizes == whole.report.unknownSizes)
            #expect(try streamed(first, options).users == joined.users)
            #expect(try streamed(first, options).entries == joined.entries)
        }
    }

    @Test func timesGoOnFromFileToFile() throws {
        let a = try folder.file("a.csv", "time,key\n1,x\n9,y\n")
        let empty = try folder.file("empty.csv", "time,key\n")
        let b = try folder.file("b.csv", "key,time\n\nz,3\n")
        for (others, sentence) in [
            ([b], "b.csv:3:3: time 3 s is before 9 s, the time of the last request of a.csv; "),
            ([empty, b], "b.csv:3:3: time 3 s is before 9 s, the time of the last request of a.csv; "),
            ([a], "a.csv:2:1: time 1 s is before 9 s, the time of the last request of a.csv; "),
        ] {
            for chunkBytes in [1, 1 << 20] {
                var options = TraceLoadOptions.with {
                    $0.continuations = others
                    $0.chunkBytes = chunkBytes
                }
                let expected = sentence + "times must not decrease unless sorting is enabled (--sort)"
                func found(_ body: () throws -> Void) -> String? {
                    do { try body() } catch { return "\(error)".replacing("\(folder.path)/", with: "") }
                    return nil
                }
                #expect(found { _ = try Trace.load(a, options) } == expected)
                #expect(found { _ = try streamed(a, options) } == expected)
                options.sort = true
                #expect(try Trace.load(a, options).report.outOfOrder == 1)
            }
        }
        let later = try folder.file("later.csv", "time,key\n9,x\n")
        #expect(try Trace.load(a, .with { $0.continuations = [empty, later, empty] }).entries == [0, 1, 0])
    }

    @Test func filesThatDoNotGoTogetherAreRefused() throws {
        let a = try folder.file("a.csv", "time,key\n1,x\n")
        let b = try folder.file("b.csv", "key\nx\n")
        #expect(
            fault(a, .with { $0.continuations = [a, b] })
                == "b.csv: has no times, and a.csv, which it continues, has some; either all files of a trace have times or none"
        )
        #expect(
            fault(b, .with { $0.continuations = [a] })
                == "a.csv: has times, and b.csv, which it continues, has none; either all files of a trace have times or none"
        )
        #expect(fault(a, .with { $0.continuations = ["\(folder.path)/c.csv"] }) == "c.csv: there is no such file")
        #expect(
            fault(a, .with { $0.continuations = [try! folder.file("d.csv", "time,key\n2,x\nz,x\n")] })
                == "d.csv:3:1: time 'z' is not a number; seconds such as 12 or 12.5 are accepted")
        // Without times, requests are a second apart through all files.
        #expect(Array(try Trace.load(b, .with { $0.continuations = [b, b] }).times) == [0, 1_000_000, 2_000_000])
    }

    @Test func operationsAndDeletionsOfAllFilesAreCounted() throws {
        let twitter = try folder.file("a.twr", "0,k,1,2,7,get,0\n0,k,1,2,7,delete,0\n")
        let csv = try folder.file("b.csv", "op,key,time\nget,k,1\nput,l,1\n")
        let last = try folder.file("c.twr", "1,k,1,2,7,delete,0\n2,k,1,2,7,set,0\n")
        let trace = try Trace.load(twitter, .with { $0.continuations = [csv, last] })
        #expect(trace.report.operations.map(\.name) == ["get", "delete", "set", "put"])
        #expect(
            trace.report.operations.map(\.rows) == [2, 2, 1, 1]
                && trace.report.operations.map(\.leftOut) == [0, 2, 0, 0])
        #expect(trace.count == 4)
    }
}
