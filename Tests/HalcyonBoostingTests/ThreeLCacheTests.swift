import Foundation
import HalcyonEviction
import HalcyonSupport
import Testing

@testable import HalcyonBoosting

@Suite("3L-Cache: features, candidates and history", .timeLimit(.minutes(20)))
struct ThreeLCacheTests {
    @Test("Worked: features at a time")
    func features() {
        let row = FeatureRow(count: ThreeLRecord.features)
        var record = ThreeLRecord(size: 9, firstRequest: 10)
        record.fill(row.values, at: 14)
        #expect(row.array == [4, 0, 0, 0, 9, 1])
        for time: UInt32 in [15, 35, 36, 136] { record.request(at: time) }
        record.fill(row.values, at: 136)
        #expect(row.array == [0, 100, 1, 20, 9, 5])
        record.frequency = .max
        record.request(at: 137)
        #expect(record.frequency == .max)
    }

    @Test("The ring of evictions keeps order and empty places, beside a plain array")
    func ring() {
        var ring = EvictionRing()
        var generator = SplitMix64(seed: 1)
        var plain: [(number: UInt32, entry: EntryID)] = []
        for step in 0..<20_000 {
            switch generator.next(below: step < 9_000 ? 5 : 9) {
            case 0...2: plain.append((ring.append(EntryID(step)), EntryID(step)))
            case 3 where !plain.isEmpty:
                let index = generator.next(below: plain.count)
                ring.empty(plain[index].number)
                plain[index].entry = .none
            case _ where !plain.isEmpty: #expect(ring.removeFirst() == plain.removeFirst().entry)
            default: break
            }
            #expect(ring.count == plain.count)
            if let index = plain.indices.randomElement(using: &generator) {
                #expect(ring.entry(at: index) == plain[index].entry)
            }
        }
    }

    @Test("The heap gives the farthest valid prediction, beside a plain dictionary")
    func heap() {
        var heap = CandidateHeap(capacity: 0)
        var generator = SplitMix64(seed: 2)
        var plain: [EntryID: Float] = [:]
        var pops = 0
        for step in 0..<20_000 {
            let entry = EntryID(generator.next(below: 200))
            switch generator.next(below: 6) {
            case 0...2:
                let distance = Float(generator.next(below: 50))
                heap.insert(entry, distance: distance)
                plain[entry] = distance
            case 3:
                heap.remove(entry)
                plain[entry] = nil
            case _ where step % 5_000 == 4_999:
                heap.removeAll()
                plain = [:]
            default:
                let farthest = heap.popFarthest()
                #expect((farthest == nil) == plain.isEmpty)
                guard let farthest else { break }
                pops += 1
                #expect(plain[farthest] == plain.values.max())
                plain[farthest] = nil
            }
            #expect(heap.count == plain.count)
        }
        #expect(pops > 3_000)
    }

    /// The order that libstdc++'s `push_heap` and `pop_heap` give, computed with them.
    @Test("Equal predictions leave the heap in the order of the authors' code")
    func equalPredictions() {
        var heap = CandidateHeap(capacity: 0)
        for entry in EntryID(0)..<10 { heap.insert(entry, distance: 5) }
        #expect((0..<10).map { _ in heap.popFarthest() } == [0, 2, 6, 9, 8, 5, 7, 4, 1, 3])
    }

    @Test("Worked: the head of a scan has all residents, the rest those with few requests")
    func scan() {
        var scan = CandidateScan(largestStep: 1_024, adapts: true)
        scan.beginStep(residents: 1_000)
        // 1 % and two more.
        #expect(scan.step == 12)
        // The head has 10 residents, and two more pass besides; these are the numbers 0 to 12.
        let frequent = (0..<20).map { _ in scan.pass(frequency: 9) }
        #expect(frequent == (0..<20).map { $0 <= 12 })
        #expect(scan.pass(frequency: 1) && !scan.pass(frequency: 2) && !scan.isComplete)
        var bySize = CandidateScan(largestStep: 1_024, adapts: false)
        bySize.beginStep(residents: 1_000)
        #expect((0..<1_000).allSatisfy { _ in bySize.pass(frequency: 60_000) } && bySize.isComplete)
        var tiny = CandidateScan(largestStep: 1_024, adapts: true)
        tiny.beginStep(residents: 2)
        #expect(tiny.step == 1)
    }

    @Test("Worked: after a scan the limits follow its evictions")
    func adaptation() {
        var scan = CandidateScan(largestStep: 100, adapts: true)
        scan.beginStep(residents: 100)
        for _ in 0..<2 { _ = scan.pass(frequency: 1) }
        scan.endStep()
        for _ in 0..<3 { scan.countEviction(frequency: 1, wasPassed: true) }
        // Beyond the head: its 3 evictions of a step of 3 candidates are set aside.
        for _ in 2..<100 { _ = scan.pass(frequency: 1) }
        scan.endStep()
        for _ in 0..<6 { scan.countEviction(frequency: 5, wasPassed: false) }
        scan.countEviction(frequency: 7, wasPassed: true)
        scan.restart(residents: 100, waiting: 3)
        // 3 evictions of 3 candidates in the head, 1 of 3 beyond. Of 10 evicted, 99 % have at most 2 + ⌈2 × 6.9 / 7⌉.
        #expect(scan.headPercent == 2 && scan.reservedPercent == 3 && scan.frequencyLimit == 4)
        scan.restart(residents: 100, waiting: 0)
        #expect(scan.headPercent == 1 && scan.reservedPercent == 1 && scan.frequencyLimit == 1)
    }

    @Test("Worked: the history grows while it finds more than 1 % further requests")
    func history() {
        func window(requests: Int, hits: Int, found: Int) -> HistoryWindow {
            var window = HistoryWindow()
            window.isFull = true
            for index in 0..<requests {
                if index < hits + found { window.count(isHit: index < hits) } else { window.countUnknown() }
            }
            window.adapt()
            return window
        }
        // 1.2 % more than the hits, and 1 < 500,001 / 6,000.
        #expect(window(requests: 1_000_001, hits: 500_000, found: 6_000).factor == 3)
        #expect(window(requests: 1_000_001, hits: 500_000, found: 5_000).factor == 2)
        #expect(window(requests: 1_000_000, hits: 500_000, found: 6_000).factor == 2)
        // 400,000 / 300,000 is 1, which is not more than 1.
        #expect(window(requests: 1_000_001, hits: 600_001, found: 300_000).factor == 2)
        #expect(!window(requests: 1_000_001, hits: 500_000, found: 6_000).isFull)
    }

    /// Requests 0: x, 1: a (evicts x), then a. The history holds up to 1 × 1 + 2 evictions, so that x stays known. A
    /// sample of a that was drawn at request t has age 0 and the label of the next request, a distance of 1.
    @Test("Worked: samples and labels", arguments: 1...10)
    func samples(seed: UInt64) throws {
        let trainer = AgeTrainer()
        let policy = ConfiguredPolicy.threeLCache(trainer) { $0.batch = 5 }
        let cache = policy.makeCache(PolicyContext(capacity: 1, seed: seed))
        var sequence: [EntryID] = [8, 5] + [EntryID](repeating: 5, count: 30)
        sequence.append(8)
        for (number, entry) in sequence.enumerated() { _ = cache.access(Access(entry: entry, requestNumber: number)) }
        let rows = try #require(trainer.sets.first).rows
        #expect(rows.count == 5)
        for row in rows {
            let requests = Int(row.row[5])
            // The object a has its n-th request at number n, and at least two when it is sampled.
            #expect(row.row[0] == 0 && row.row[4] == 1 && row.label == Float(log1p(1.0)) && requests >= 2)
            #expect(Array(row.row[1...3]) == (1...3).map { $0 < requests ? 1 : 0 })
        }
    }
}
