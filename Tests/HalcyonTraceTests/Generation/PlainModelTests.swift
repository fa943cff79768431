import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct PlainModelTests {
    @Test func loopRepeatsItsObjectsInOrder() throws {
        let trace = try LoopModel(requests: 7, objects: 3).generate(seed: 1)
        #expect(trace.entries == [0, 1, 2, 0, 1, 2, 0])
        #expect(trace.objectCount == 3)
        #expect(trace.names.keys[2] == "2")
        #expect(trace.times[6] == 6_000_000)
        #expect(trace.sizeUnit == .objects)
        #expect(trace.report.noSizes)
    }

    /// Each object keeps its place in a round, within the range of displacement.
    @Test func jitterDisplacesWithinItsRange() throws {
        var model = LoopModel(requests: 4_000, objects: 100)
        model.jitter = 0.25
        let keys = try model.generate(seed: 2).keys
        var displaced = 0
        for round in 0..<40 {
            let objects = Array(keys[round * 100..<(round + 1) * 100])
            #expect(Set(objects) == Set(0..<100), "a round has every object once")
            for (place, object) in objects.enumerated() {
                // An object's place is at 0.75 · object + [0, 25), so those before and after are at most 34 away.
                #expect(abs(place - object) <= 34)
                displaced += place == object ? 0 : 1
            }
        }
        #expect(displaced > 3_000)
        #expect(try model.generate(seed: 2).keys == keys)
        #expect(try model.generate(seed: 3).keys != keys)
    }

    @Test func phasesHaveTheirOwnObjects() throws {
        var model = LoopModel(requests: 10, objects: 2)
        model.phases = 3
        #expect(try model.generate(seed: 1).keys == [0, 1, 0, 1, 2, 3, 2, 4, 5, 4])
    }

    @Test func mixtureHasItsShares() throws {
        var model = LoopModel(requests: 40_000, objects: 50)
        (model.hotShare, model.hotObjects, model.onceShare) = (0.3, 10, 0.2)
        let keys = try model.generate(seed: 4).keys
        let loop = keys.filter { $0 < 50 }
        #expect(loop == loop.indices.map { $0 % 50 })
        #expect(abs(Double(keys.count { (50..<60).contains($0) }) / 40_000 - 0.3) < 0.012)
        let once = keys.filter { $0 >= 60 }
        #expect(once == Array(60..<60 + once.count))
        #expect(abs(Double(once.count) / 40_000 - 0.2) < 0.01)
    }

    /// Reuse distances by brute force: the number of objects since the last request, the object itself included.
    @Test(arguments: [LoopModel.block, .keyValue], [UInt64(1), 2, 3])
    func shortLoopsHaveTheStatedDistances(model: LoopModel, seed: UInt64) throws {
        let trace = try model.generate(seed: seed)
        #expect((9_000...14_000).contains(trace.count) && (850...950).contains(trace.objectCount))
        var stack: [UInt32] = []
        var (reuses, within) = (0, 0)
        let capacity = Double(trace.objectCount) / 10
        for entry in trace.entries {
            if let place = stack.firstIndex(of: entry) {
                reuses += 1
                if (2 * capacity...3 * capacity).contains(Double(place + 1)) { within += 1 }
                stack.remove(at: place)
            }
            stack.insert(entry, at: 0)
        }
        #expect(Double(within) / Double(reuses) > 0.6)
    }

    @Test func zipfIsEqualForTheSameSeed() throws {
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

    @Test func scannedObjectsOccurOnceInOrder() throws {
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
        var loop = LoopModel()
        (loop.hotShare, loop.onceShare) = (0.6, 0.6)
        #expect(throws: GenerationError(parameter: "onceShare", value: "0.6", accepted: "at most 1 - hotShare (0.4)")) {
            try loop.generate(seed: 1)
        }
        (loop.hotShare, loop.onceShare, loop.jitter) = (0, 0, 1.5)
        #expect(throws: GenerationError.self) { try loop.generate(seed: 1) }
        #expect(throws: GenerationError.self) { try ScanModel(scanShare: 1.5).generate(seed: 1) }
    }
}

extension Trace {
    /// The keys of the requests, as numbers.
    fileprivate var keys: [Int] { entries.map { Int(names.keys[$0]) ?? -1 } }
}
