import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct PlainModelTests {
    @Test func loopGoesRound() throws {
        let trace = try LoopModel(requests: 7, objects: 3).generate(seed: 1)
        #expect(trace.entries == [0, 1, 2, 0, 1, 2, 0])
        #expect(trace.objectCount == 3)
        #expect(trace.names.keys[2] == "2")
        #expect(trace.times[6] == 6_000_000)
        #expect(trace.sizeUnit == .objects)
        #expect(trace.report.noSizes)
    }

    @Test func zipfIsTheSameForTheSameSeed() throws {
        let model = ZipfModel(requests: 5_000, objects: 700, alpha: 0.9)
        let first = try model.generate(seed: 5)
        let again = try model.generate(seed: 5, names: false)
        #expect(first.entries == again.entries)
        #expect(again.names.keys.count == 0)
        #expect(first.names.keys.count == first.objectCount)
        #expect(try model.generate(seed: 6).entries != first.entries)
    }

    @Test func objectsAreNumberedByFirstRequest() throws {
        let trace = try ZipfModel(requests: 5_000, objects: 700).generate(seed: 5)
        var next: UInt32 = 0
        for entry in trace.entries {
            #expect(entry <= next)
            if entry == next { next += 1 }
        }
        #expect(Int(next) == trace.objectCount)
    }

    @Test func scannedObjectsComeOnceAndInOrder() throws {
        let trace = try ScanModel(requests: 50_000, objects: 100, scanShare: 0.4, scanLength: 50).generate(seed: 1)
        let keys = trace.entries.map { Int(trace.names.keys[$0]) ?? -1 }
        let scanned = keys.filter { $0 >= 100 }
        #expect(scanned == Array(100..<(100 + scanned.count)))
        #expect(abs(Double(scanned.count) / 50_000 - 0.4) < 0.05)
        let pure = try ScanModel(requests: 500, objects: 100, scanShare: 1, scanLength: 50).generate(seed: 1)
        #expect(pure.objectCount == 500)
        let none = try ScanModel(requests: 500, objects: 10, scanShare: 0).generate(seed: 1)
        #expect(none.objectCount <= 10)
    }

    @Test func invalidParametersAreRejected() {
        #expect(
            throws: GenerationError(parameter: "objects", value: "0", accepted: "a whole number from 1 to 4294967294")
        ) { try ZipfModel(requests: 5, objects: 0).generate(seed: 1) }
        #expect(throws: GenerationError.self) { try ZipfModel(alpha: -1).generate(seed: 1) }
        #expect(throws: GenerationError.self) { try ZipfModel(alpha: .nan).generate(seed: 1) }
        #expect(throws: GenerationError.self) { try LoopModel(requests: 0).generate(seed: 1) }
        #expect(throws: GenerationError.self) { try ScanModel(scanShare: 1.5).generate(seed: 1) }
    }
}
