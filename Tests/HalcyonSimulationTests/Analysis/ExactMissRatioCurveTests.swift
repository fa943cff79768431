import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Exact miss-ratio curve", .timeLimit(.minutes(20)))
struct ExactMissRatioCurveTests {
    /// The misses of LRU by simulation, on a list.
    private func misses(_ entries: [UInt32], capacity: Int) -> Int {
        var list: [UInt32] = []
        var misses = 0
        for entry in entries {
            if let place = list.firstIndex(of: entry) {
                list.remove(at: place)
            } else {
                misses += 1
                if list.count == capacity { list.removeLast() }
            }
            list.insert(entry, at: 0)
        }
        return misses
    }

    @Test("The curve has the misses of a simulation at every capacity", arguments: [1, 2, 3])
    func curveEqualsASimulationAtEveryCapacity(seed: UInt64) throws {
        let trace = try ScanModel(requests: 3_000, objects: 30, scanShare: 0.1, scanLength: 10).generate(seed: seed)
        let curve = MissRatioCurve.exact(of: trace)
        for capacity in [1, 2, 3, 5, 8, 13, 21, 29, 30, 31, 40, 60, 100, trace.objectCount] {
            #expect(curve.misses(atCapacity: UInt64(capacity)) == misses(trace.entries, capacity: capacity))
        }
    }

    @Test("The curve has the misses of a sequence worked by hand")
    func curveMatchesASequenceByHand() {
        // Distances of a b c a a b d c: -, -, -, 3, 1, 3, -, 4.
        let curve = MissRatioCurve.exact(of: TinyTraces.unit([0, 1, 2, 0, 0, 1, 3, 2]))
        #expect((0...5).map { curve.misses(atCapacity: UInt64($0)) } == [8, 7, 7, 5, 4, 4])
        #expect(curve.points.map(\.capacity) == [1, 3, 4])
        #expect(curve.measuredObjects == 4)
        #expect(curve.samplingRate == 1)
    }

    @Test("With equal sizes the curve in bytes is the curve in objects")
    func byteCurveOfEqualSizesIsTheObjectCurve() throws {
        let objects = try ZipfModel(requests: 3_000, objects: 60, alpha: 0.7).generate(seed: 1)
        let sized = TinyTraces.sized(objects.entries, sizes: Array(repeating: 16, count: objects.objectCount))
        let bytes = MissRatioCurve.exact(of: sized)
        let plain = MissRatioCurve.exact(of: sized, unit: .objects)
        #expect(bytes.unit == .bytes)
        for capacity in 1...60 {
            #expect(
                bytes.misses(atCapacity: UInt64(capacity) * 16) == plain.misses(atCapacity: UInt64(capacity)))
        }
    }

    @Test("The curve of no requests is empty; without repeated requests all miss")
    func curveWithoutRepeatedRequestsHasNoHits() {
        #expect(MissRatioCurve.exact(of: TinyTraces.unit([])).points.isEmpty)
        #expect(MissRatioCurve.exact(of: TinyTraces.unit([0, 1, 2])).missRatio(atCapacity: 100) == 1)
    }

    @Test("A thinned curve keeps its ends and values of the whole curve")
    func thinnedCurveKeepsItsEndsAndValues() throws {
        let trace = try ZipfModel(requests: 5_000, objects: 500, alpha: 0.8).generate(seed: 1)
        let curve = MissRatioCurve.exact(of: trace)
        let thin = curve.thinned(to: 20)
        #expect(thin.points.count <= 20 && thin.points.count > 10)
        #expect(thin.points.first == curve.points.first)
        #expect(thin.points.last == curve.points.last)
        #expect(thin.points.allSatisfy { curve.points.contains($0) })
    }

    /// Inclusion holds in objects, so that these are exactly the counts of the peer's LRU.
    @Test("With uniform sizes the curve has the misses of libCacheSim's LRU")
    func objectCurveEqualsThePeersMisses() throws {
        let table = try PeerTable.shared.get()
        for (name, traces) in table.traces {
            let curve = MissRatioCurve.exact(of: traces.objects)
            for row in table.rows where row.trace == name && row.policy == "lru" && !row.honoursSizes {
                #expect(
                    curve.misses(atCapacity: UInt64(row.capacity)) == row.misses, "\(name) at \(row.capacity)")
            }
        }
    }

    /// The byte curve is an approximation of a real cache; this test states its error on real sizes.
    @Test("The byte curve is within 0.01 of the miss ratio of libCacheSim's LRU")
    func byteCurveIsNearThePeersMissRatio() throws {
        let table = try PeerTable.shared.get()
        for (name, traces) in table.traces where traces.bytes.sizeUnit == .bytes {
            let curve = MissRatioCurve.exact(of: traces.bytes)
            for row in table.rows where row.trace == name && row.policy == "lru" && row.honoursSizes {
                let ratio = Double(row.misses) / Double(traces.bytes.count)
                let ours = curve.missRatio(atCapacity: UInt64(row.capacity))
                #expect(abs(ours - ratio) < 0.01, "\(name) at \(row.capacity): \(ours) beside \(ratio)")
            }
        }
    }
}
