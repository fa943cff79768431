import Foundation
import HalcyonEviction
import HalcyonSupport
import Testing

@testable import HalcyonBoosting

@Suite("3L-Cache: features, candidates and history", .timeLimit(.minutes(20)))
struct ThreeLCacheTests {
    @Test("The features at a time match figures worked by hand")
    func featuresMatchFiguresByHand() {
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

    @Test("The ring of evictions equals a plain array in order and empty places")
    func evictionRingEqualsAPlainArray() {
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

    @Test("The heap gives the farthest valid prediction, as a plain dictionary")
    func heapGivesTheFarthestValidPrediction() {
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
    func equalPredictionsFollowTheAuthorsOrder() {
        var heap = CandidateHeap(capacity: 0)
        for entry in EntryID(0)..<10 { heap.insert(entry, distance: 5) }
        #expect((0..<10).map { _ in heap.popFarthest() } == [0, 2, 6, 9, 8, 5, 7, 4, 1, 3])
    }

    @Test("The head of a scan has all residents, the rest those with few requests")
    func scanHeadHasAllResidentsAndTheRestTheRare() {
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

    @Test("After a scan the limits follow its evictions")
    func limitsFollowTheEvictionsOfAScan() {
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

    @Test("The history grows while it finds more than 1 % further requests")
    func historyGrowsWhileItFindsMoreThanOnePercent() {
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
    @Test("Samples and labels match a sequence worked by hand", arguments: 1...10)
    func samplesAndLabelsMatchASequenceByHand(seed: UInt64) throws {
        let trainer = AgeTrainer()
        let policy = ConfiguredPolicy.threeLCache(trainer) { $0.boosting.batch = 5 }
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

    /// Object i is requested at time i alone, and evicted at time i + 1. Three evicted objects are known beside one
    /// resident, so that object i is forgotten at time i + 4: a wait of 4. After the first training, 4 is added to it.
    @Test("A forgotten object has a label of its wait plus the longest wait before", arguments: 1...10)
    func forgottenObjectIsLabelledByItsWait(seed: UInt64) {
        let trainer = AgeTrainer()
        let policy = ConfiguredPolicy.threeLCache(trainer) { $0.boosting.batch = 30 }
        let cache = policy.makeCache(PolicyContext(capacity: 1, seed: seed))
        for time in 0..<2_000 { _ = cache.access(Access(entry: EntryID(time), requestNumber: time)) }
        for (index, set) in trainer.sets.enumerated() {
            for row in set.rows {
                #expect((1...4).contains(row.row[0]) && Array(row.row[1...]) == [0, 0, 0, 1, 1])
                #expect(row.label == Float(log1p(index == 0 ? 4.0 : 8)))
            }
        }
        #expect(Set(trainer.sets.flatMap(\.rows).map { $0.row[0] }) == [1, 2, 3, 4])
        // Some 68 % of the objects are sampled; a quarter of 2,000 × 68 % fills 11 batches, and all of them would fill 45.
        #expect((6...18).contains(trainer.sets.count))
    }

    /// With one object more than fits, none is forgotten. Until the first training every sample is used.
    @Test("The features and labels of samples follow from the sequence", arguments: 1...6)
    func samplesFollowFromTheSequence(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let sequence = (0..<4_000).map { _ in EntryID(generator.next(below: 21)) }
        let trainer = AgeTrainer()
        let policy = ConfiguredPolicy.threeLCache(trainer) { $0.boosting.batch = 600 }
        let cache = policy.makeCache(PolicyContext(capacity: 20, seed: seed))
        for (number, entry) in sequence.enumerated() { _ = cache.access(Access(entry: entry, requestNumber: number)) }

        var times: [[Double]: Int] = [:]
        var requests: [EntryID: [Int]] = [:]
        for (number, entry) in sequence.enumerated() { requests[entry, default: []].append(number) }
        for numbers in requests.values {
            for (index, next) in numbers.enumerated().dropFirst() {
                let last = numbers[index - 1]
                let distances = (1...3).map { $0 < index ? Double(numbers[index - $0] - numbers[index - $0 - 1]) : 0 }
                for time in last..<next {
                    let label = Double(Float(log1p(Double(next - time))))
                    times[[Double(time - last)] + distances + [1, Double(index), label], default: 0] += 1
                }
            }
        }
        let rows = try #require(trainer.sets.first).rows
        var unknown = 0
        for row in rows {
            let key = row.row + [Double(row.label)]
            if times[key, default: 0] == 0 { unknown += 1 } else { times[key, default: 0] -= 1 }
        }
        #expect(unknown == 0 && rows.count == 600, "\(unknown) of \(rows.count) rows")
    }
}
