import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("The candidates and their scores")
struct CandidateSetTests {
    /// A set of up to 128 residents of 300, and beside it what it should hold.
    private final class Beside {
        var set = CandidateSet(limit: 128)
        let records = HeapArray(repeating: ObjectRecord(), count: 300)
        var expected: [UInt32: (score: Float, scoring: UInt32)] = [:]

        func add(_ slot: UInt32, score: Float, scoring: UInt32) {
            set.add(slot, score: score, scoring: scoring, records: records.base)
            expected[slot] = (score, scoring)
        }

        /// Whether records, scores and ages are what they should be, as of scoring `scoring`.
        func isAsExpected(scoring: UInt32) -> Bool {
            guard set.count == expected.count else { return false }
            for slot in UInt32(0)..<300 {
                let place = records[Int(slot)].candidate
                guard let (score, given) = expected[slot] else {
                    if place != ObjectRecord.notCandidate { return false }
                    continue
                }
                if place == ObjectRecord.notCandidate || set.slots[Int(place)] != slot { return false }
                if set.scores[Int(place)] != score { return false }
                let age = set.age(at: Int(place), scoring: scoring)
                if age != UInt8(truncatingIfNeeded: scoring - given) { return false }
            }
            return true
        }
    }

    @Test("The same as a dictionary: who is in, with which score, given how many scorings ago, and who has the least")
    func besideDictionary() {
        var random = SplitMix64(seed: 1)
        let beside = Beside()
        for step in 0..<20_000 {
            let (slot, scoring) = (UInt32(random.next(below: 300)), UInt32(step / 40))
            let score = Float(random.next(below: 1_000))
            let place = beside.records[Int(slot)].candidate
            if place == ObjectRecord.notCandidate {
                if !beside.set.isFull { beside.add(slot, score: score, scoring: scoring) }
            } else if random.next(below: 2) == 0 {
                beside.set.rescore(at: Int(place), score: score, scoring: scoring)
                beside.expected[slot] = (score, scoring)
            } else {
                beside.set.remove(at: Int(place), records: beside.records.base)
                beside.expected[slot] = nil
            }
            if beside.set.count > 0 {
                let least = beside.set.least()
                #expect(beside.set.scores[least] == beside.expected.values.map(\.score).min())
            }
            if step % 100 == 0 { #expect(beside.isAsExpected(scoring: scoring), "step \(step)") }
        }
    }

    @Test("The best go until so many are left, to a 256th of the range", arguments: [0, 1, 40, 64, 127, 128, 200])
    func dropBest(most: Int) {
        var random = SplitMix64(seed: UInt64(most))
        for round in 0..<50 {
            let beside = Beside()
            // From all different to nearly all the same.
            let values = [1_000_000, 1_000, 20, 2, 1][round % 5]
            for slot in UInt32(0)..<128 { beside.add(slot, score: Float(random.next(below: values)), scoring: 0) }
            let before = beside.expected.values.map(\.score).sorted()
            beside.set.dropBest(leaving: most, records: beside.records.base)
            #expect(beside.set.count == min(most, 128))
            for slot in UInt32(0)..<128 where beside.records[Int(slot)].candidate == ObjectRecord.notCandidate {
                beside.expected[slot] = nil
            }
            #expect(beside.isAsExpected(scoring: 0))
            let step = (before[127] - before[0]) / 256
            for (left, ideal) in zip(beside.expected.values.map(\.score).sorted(), before) {
                #expect(left - ideal <= step * 1.001)
            }
        }
    }

    @Test("So many are left whatever the scores are", arguments: [Float.nan, .infinity, -.infinity, 0])
    func dropStrange(score: Float) {
        for strange in [1, 60, 128] {
            let beside = Beside()
            for slot in UInt32(0)..<128 {
                beside.add(slot, score: slot < strange ? score : Float(slot), scoring: 0)
            }
            beside.set.dropBest(leaving: 64, records: beside.records.base)
            #expect(beside.set.count == 64)
            let inRecords = (0..<300).count { beside.records[$0].candidate != ObjectRecord.notCandidate }
            #expect(inRecords == 64)
        }
    }
}
