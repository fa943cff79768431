import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// Random files, read in chunks of all sizes by any number of threads, compared with the naive reader.
@Suite(.timeLimit(.minutes(20))) struct CSVPropertyTests {
    @Test(arguments: 0..<12) func loadingAgreesWithTheNaiveReader(seed: Int) throws {
        let folder = try TemporaryFolder()
        var maker = RandomCSV(random: SeededGenerator(seed: UInt64(seed)))
        let text = maker.text()
        let path = try folder.file("t.csv", text)
        let expected = NaiveCSV(text)
        var fingerprints: Set<String> = []
        for (chunkBytes, threads) in [(1, 1), (3, 2), (50, 4), (333, 2), (1 << 20, 1)] {
            let options = TraceLoadOptions.with {
                $0.chunkBytes = chunkBytes
                $0.threads = threads
                $0.names = .all
            }
            let trace = try Trace.load(path, options)
            #expect(trace.entries == expected.entries)
            #expect(Array(trace.times) == expected.times)
            #expect(trace.users == (expected.users.allSatisfy { $0 == Trace.noUser } ? [] : expected.users))
            #expect(
                trace.objectSizes == (trace.sizeUnit == .bytes ? expected.objectSizes : expected.keys.map { _ in 1 }))
            #expect((0..<trace.objectCount).map { trace.names.keys[UInt32($0)] } == expected.keys)
            let categories = (0..<trace.count).map { request in
                trace.categorySets[trace.categorySet(ofRequest: request)].map { trace.names.categories[$0] }
            }
            #expect(categories == expected.categories)
            fingerprints.insert(trace.fingerprint)

            var stream = try TraceStream(path, options)
            var batch = StreamBatch()
            var streamed = StreamBatch()
            while try stream.next(into: &batch) {
                streamed.entries += batch.entries
                streamed.times += batch.times
                streamed.sizes += batch.sizes
                streamed.users += batch.users
                streamed.categorySets += batch.categorySets
            }
            #expect(streamed.entries == trace.entries)
            #expect(streamed.times == expected.times)
            #expect(streamed.sizes == (0..<trace.count).map { trace.size(ofRequest: $0) })
            #expect(streamed.users == expected.users)
            #expect(streamed.categorySets == (0..<trace.count).map { trace.categorySet(ofRequest: $0) })
            #expect(stream.report == trace.report)
        }
        #expect(fingerprints.count == 1)
    }

    @Test(arguments: 0..<6) func sortingComesBeforeSkipAndLimit(seed: Int) throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: UInt64(seed))
        let rows = (0..<100).map { _ in (Int.random(in: 0..<20, using: &random), Int.random(in: 0..<9, using: &random))
        }
        let path = try folder.file("t.csv", "time,key\n" + rows.map { "\($0.0),k\($0.1)\n" }.joined())
        let sorted = rows.enumerated().sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
            .map(\.element)[10..<70]
        for (chunkBytes, threads) in [(1, 1), (40, 3), (1 << 20, 2)] {
            let options = TraceLoadOptions.with {
                $0.chunkBytes = chunkBytes
                $0.threads = threads
                $0.sort = true
                $0.skip = 10
                $0.limit = 60
                $0.names = .keys
            }
            let trace = try Trace.load(path, options)
            #expect(trace.entries.map { trace.names.keys[$0] } == sorted.map { "k\($0.1)" })
            #expect(Array(trace.times) == sorted.map { Int64($0.0) * 1_000_000 })
            #expect(trace.report.outOfOrder > 0)
        }
    }

    @Test func streamSkipsAndLimitsAsLoading() throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("t.csv", "key,size,user\na,1,x\nb,2,y\nc,3,z\nb,5,x\nd,4,\ne,5,\n")
        for chunkBytes in [1, 20, 1 << 20] {
            let options = TraceLoadOptions.with {
                $0.chunkBytes = chunkBytes
                $0.skip = 1
                $0.limit = 4
            }
            let trace = try Trace.load(path, options)
            var stream = try TraceStream(path, options)
            var entries: [UInt32] = []
            var users: [UInt32] = []
            var batch = StreamBatch()
            while try stream.next(into: &batch) {
                entries += batch.entries
                users += batch.users
            }
            #expect(entries == [0, 1, 0, 2])
            #expect(entries == trace.entries)
            #expect(users == [0, 1, 2, Trace.noUser])
            #expect(users == trace.users)
            #expect(stream.report == trace.report)
            #expect(stream.report.sizeDisagreements == 1)
        }
    }
}
