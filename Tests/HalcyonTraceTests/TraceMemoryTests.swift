import class HalcyonTestSupport.TemporaryFolder
import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct TraceMemoryTests {
    @Test func columnsStayWithinTheirMemoryBudget() throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 3)
        let rows = (0..<5_000).map { time in
            let key = Int.random(in: 0..<900, using: &random)
            let category = Int.random(in: 0..<5, using: &random)
            return "\(time).5,k\(key),\(key + category),c\(category)|d,u\(key % 7)\n"
        }
        let path = try folder.file("t.csv", "time,key,size,category,user\n" + rows.joined())
        let trace = try Trace.load(path, .with { $0.sizes = .perRequest })
        #expect(trace.requestSizes.count == 5_000)
        #expect(trace.requestCategories.count == 5_000)
        #expect(trace.columnBytes <= 20 * trace.count + 64 * trace.objectCount)
        #expect(trace.names.keys.count == 0)
    }

    @Test func tableOfKeysStaysWithinItsMemoryBudget() {
        var table = NameTable()
        let tokens = TokenColumn(capacity: 100_000)
        for row in 0..<100_000 { tokens.setNumber(row, UInt64(row) &* 1_000_003) }
        let names = [UInt8(0)].withUnsafeBufferPointer { base in
            base.baseAddress.map { table.intern(tokens, 0..<100_000, base: $0) }
        }
        #expect(names?.numbers == Array(0..<100_000))
        #expect(names?.firsts == Array(0..<100_000))
        #expect(table.slots.count * 16 <= 48 * table.count)
    }

    @Test func timesAreExactInEveryForm() throws {
        let folder = try TemporaryFolder()
        for (text, expected) in [
            ("0\n0.000001\n", [0, 1]), ("-5\n4294967299\n", [-5_000_000, 4_294_967_299_000_000]),
            ("1.25\n3000000000.5\n", [1_250_000, 3_000_000_000_500_000]), ("1e3\n", [1_000_000_000]), ("1e\n", nil),
            ("99999999999999\n", nil),
        ] as [(String, [Int64]?)] {
            let lines = text.split(separator: "\n").map { "\($0),a\n" }.joined()
            let trace = try? Trace.load(folder.file("t.csv", "time,key\n" + lines))
            #expect(trace.map { Array($0.times) } == expected)
        }
        let nanoseconds = try Trace.load(
            folder.file("t.csv", "time,key\n1234567,a\n"),
            .with { $0.timeUnit = .nanoseconds })
        #expect(Array(nanoseconds.times) == [1_234])
    }
}
