import HalcyonSupport
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct SizeRuleTests {
    @Test func sizeRulesAreParsed() {
        #expect(SizeRule(argument: "per-request") == .perRequest)
        #expect(SizeRule(argument: "unit") == .unit)
        #expect(SizeRule(argument: "first") == .firstRequest)
        #expect(SizeRule(argument: "lognormal:median=40KB,sigma=1.1") == .lognormal(median: 40_000, sigma: 1.1))
        #expect(SizeRule(argument: "lognormal:sigma=0") == .lognormal(median: 40_000, sigma: 0))
        for bad in ["", "lognormal:", "lognormal:median=0", "lognormal:sigma=-1", "lognormal:mean=3", "units"] {
            #expect(SizeRule(argument: bad) == nil, "\(bad)")
        }
    }

    @Test func byteCountsAreParsed() {
        #expect(ByteCount(argument: "512")?.value == 512)
        #expect(ByteCount(argument: "64MB")?.value == 64_000_000)
        #expect(ByteCount(argument: "1.5 GiB")?.value == 1_610_612_736)
        for bad in ["", "MB", "-1", "1XB", "1e3", "99999999999TB"] {
            #expect(ByteCount(argument: bad) == nil, "\(bad)")
        }
    }

    @Test func drawnSizesDependOnTheKeyAlone() throws {
        let folder = try TemporaryFolder()
        let options = TraceLoadOptions.with { $0.sizes = .lognormal(median: 40_000, sigma: 1.1) }
        let rows = (0..<4_001).map { "k\($0)\n" }
        let forward = try Trace.load(folder.file("a.csv", "key\n" + rows.joined()), options)
        let backward = try Trace.load(folder.file("b.csv", "key\n" + rows.reversed().joined()), options)
        #expect(forward.objectSizes == backward.objectSizes.reversed())
        #expect(forward.sizeUnit == .bytes)
        let sorted = forward.objectSizes.sorted()
        // Quantiles of the log-normal distribution, within the error of 4,001 draws.
        #expect((38_000...42_000).contains(sorted[2_000]))
        #expect((110_000...135_000).contains(sorted[3_366]))
        var stream = try TraceStream("\(folder.path)/a.csv", options)
        var batch = StreamBatch()
        var sizes: [UInt64] = []
        while try stream.next(into: &batch) { sizes += batch.sizes }
        #expect(sizes == forward.objectSizes)
    }

    @Test func oversizedRequestIsRefusedPerRequest() throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("t.csv", "key,size\na,1\na,4294967296\n")
        #expect(
            fault(path, .with { $0.sizes = .perRequest })
                == "t.csv: a request of 4294967296 bytes is too large for --sizes per-request, which accepts sizes up to "
                + "4294967295 bytes")
    }

    @Test func equalSizesAreUniform() throws {
        func uniformSize(_ sizes: [UInt64], requests: [UInt32] = [], unit: SizeUnit = .bytes) -> UInt64? {
            Trace(
                entries: [0, 1, 0], times: TimeColumn(count: 3), objectSizes: sizes, requestSizes: requests,
                sizeUnit: unit
            ).uniformSize
        }
        #expect(uniformSize([1, 1], unit: .objects) == 1)
        #expect(uniformSize([4_096, 4_096]) == 4_096)
        #expect(uniformSize([4_096, 4_097]) == nil)
        #expect(uniformSize([0, 0]) == nil)
        // If requests have sizes, those of the objects are ignored.
        #expect(uniformSize([7, 8], requests: [9, 9, 9]) == 9)
        #expect(uniformSize([9, 9], requests: [9, 9, 8]) == nil)
        #expect(Trace(entries: [], times: TimeColumn(count: 0), objectSizes: [], sizeUnit: .bytes).uniformSize == nil)
        let folder = try TemporaryFolder()
        let path = try folder.file("t.csv", "key,size\na,5\nb,5\na,6\n")
        #expect(try Trace.load(path).uniformSize == 5)
        #expect(try Trace.load(path, .with { $0.sizes = .perRequest }).uniformSize == nil)
        #expect(try Trace.load(path, .with { $0.sizes = .unit }).uniformSize == 1)
        #expect(try Trace.load(folder.file("n.csv", "key\na\nb\n")).uniformSize == 1)
    }
}
