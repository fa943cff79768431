import Foundation
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// Limits of 32 bits, tested with lower ones.
@Suite(.timeLimit(.minutes(20))) struct LimitTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Rows in random order of time, with all columns.
    private func rows(_ count: Int) -> [(time: Int, text: String)] {
        (0..<count).map { row in
            let time = row * 7_919 % 1_009
            return (time, "\(time),k\(row * row % 97),\(row % 50 + 1),c\(row % 5),u\(row % 11)")
        }
    }

    @Test func sortingBeyond32BitPositionsGivesTheSameTrace() throws {
        let rows = rows(3_000)
        let header = "time,key,size,category,user\n"
        let unsorted = try folder.file("t.csv", header + rows.map { $0.text + "\n" }.joined())
        let stable = rows.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
        let sorted = try folder.file("s.csv", header + stable.map { $0.element.text + "\n" }.joined())
        let expected = try Trace.load(sorted, .with { $0.names = .all })
        for (narrow, piece) in [(Int(UInt32.max), 1 << 30), (2_999, 1 << 30), (0, 1), (0, 7), (Int(UInt32.max), 1_000)]
        {
            for chunkBytes in [100, 1 << 20] {
                let trace = try Trace.load(
                    unsorted,
                    .with {
                        $0.sort = true
                        $0.narrowSort = narrow
                        $0.sortedPiece = piece
                        $0.chunkBytes = chunkBytes
                        $0.names = .all
                    })
                #expect(trace.fingerprint == expected.fingerprint)
                #expect(trace.entries == expected.entries && trace.users == expected.users)
                #expect(trace.objectSizes == expected.objectSizes && Array(trace.times) == Array(expected.times))
                #expect(trace.names.keys[5] == expected.names.keys[5])
            }
        }
        #expect(TraceAssembler.order(of: [3, 1, 2, 1], as: Int.self) == [1, 3, 2, 0])
        #expect(TraceAssembler.order(of: [3, 1, 2, 1], as: UInt32.self) == [1, 3, 2, 0])
    }

    @Test(arguments: [
        ("k#,c,u", "keys"), ("#,c,u", "keys"), ("k,c#,u", "category fields"), ("k,c,u#", "users"),
    ])
    func tooManyNamesAreRefused(_ pattern: String, _ kind: String) throws {
        let header = "key,category,user\n"
        func row(_ number: Int) -> String { pattern.replacing("#", with: "\(number)") + "\n" }
        for chunkBytes in [1, 64, 1 << 20] {
            for threads in [1, 3] {
                let options = TraceLoadOptions.with {
                    $0.tooManyNames = 100
                    $0.chunkBytes = chunkBytes
                    $0.threads = threads
                }
                let fits = try folder.file("t.csv", header + (0..<300).map { row($0 % 99) }.joined())
                #expect(try Trace.load(fits, options).count == 300)
                #expect(try streamed(fits, options) == 300)
                let tooMany = try folder.file("t.csv", header + (0..<5_000).map { row($0 % 100) }.joined())
                let sentence =
                    "t.csv: has at least 100 distinct \(kind), and less are accepted; read a part of it with --limit"
                #expect(fault(tooMany, options) == sentence)
                #expect(throws: TraceError.self) { try streamed(tooMany, options) }
            }
        }
    }

    private func streamed(_ path: String, _ options: TraceLoadOptions) throws -> Int {
        var stream = try TraceStream(path, options)
        var (batch, count) = (StreamBatch(), 0)
        while try stream.next(into: &batch) { count += batch.entries.count }
        return count
    }

    @Test func nameLimitIsThatOf32BitNumbers() {
        #expect(NameTable.tooMany == Int(UInt32.max))
        #expect(NameTable.none == UInt32.max)
    }
}
