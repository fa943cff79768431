import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Candidates and their scores", .timeLimit(.minutes(20)))
struct CandidateSetTests {
    /// A set of up to 128 residents of 300, and its expected content.
    private final class Expectation {
        var set = CandidateSet(limit: 128)
        let records = HeapArray(repeating: ObjectRecord(), count: 300)
        var expected: [UInt32: (score: Float, scoring: Int)] = [:]

        func add(_ slot: UInt32, score: Float, scoring: Int) {
            set.add(slot, score: score, scoring: scoring, records: records.base)
            expected[slot] = (score, scoring)
        }

        /// Returns whether records, scores and ages are as expected, as of scoring `scoring`.
        func isAsExpected(scoring: Int) -> Bool {
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

    @Test("The set equals a dictionary in members, scores, ages and the lowest score")
    func candidateSetEqualsADictionary() {
        var random = SplitMix64(seed: 1)
        let expectation = Expectation()
        for step in 0..<20_000 {
            let (slot, scoring) = (UInt32(random.next(below: 300)), step / 40)
            let score = Float(random.next(below: 1_000))
            let place = expectation.records[Int(slot)].candidate
            if place == ObjectRecord.notCandidate {
                if !expectation.set.isFull { expectation.add(slot, score: score, scoring: scoring) }
            } else if random.next(below: 2) == 0 {
                expectation.set.rescore(at: Int(place), score: score, scoring: scoring)
                expectation.expected[slot] = (score, scoring)
            } else {
                expectation.set.remove(at: Int(place), records: expectation.records.base)
                expectation.expected[slot] = nil
            }
            if expectation.set.count > 0 {
                let least = expectation.set.least()
                #expect(expectation.set.scores[least] == expectation.expected.values.map(\.score).min())
            }
            if step % 100 == 0 { #expect(expectation.isAsExpected(scoring: scoring), "step \(step)") }
        }
    }

    @Test(
        "Dropping keeps the given number of lowest scores, exact to 1/256 of the range",
        arguments: [0, 1, 40, 64, 127, 128, 200])
    func droppingKeepsTheLowestScores(most: Int) {
        var random = SplitMix64(seed: UInt64(most))
        for round in 0..<50 {
            let expectation = Expectation()
            // From all different to nearly all equal.
            let values = [1_000_000, 1_000, 20, 2, 1][round % 5]
            for slot in UInt32(0)..<128 { expectation.add(slot, score: Float(random.next(below: values)), scoring: 0) }
            let before = expectation.expected.values.map(\.score).sorted()
            expectation.set.dropBest(leaving: most, records: expectation.records.base)
            #expect(expectation.set.count == min(most, 128))
            for slot in UInt32(0)..<128 where expectation.records[Int(slot)].candidate == ObjectRecord.notCandidate {
                expectation.expected[slot] = nil
            }
            #expect(expectation.isAsExpected(scoring: 0))
            let step = (before[127] - before[0]) / 256
            for (left, ideal) in zip(expectation.expected.values.map(\.score).sorted(), before) {
                #expect(left - ideal <= step * 1.001)
            }
        }
    }

    @Test(
        "Dropping keeps the given number even if scores are not finite",
        arguments: [Float.nan, .infinity, -.infinity, 0])
    func droppingKeepsTheGivenNumberWithInfiniteScores(score: Float) {
        for strange in [1, 60, 128] {
            let expectation = Expectation()
            for slot in UInt32(0)..<128 {
                expectation.add(slot, score: slot < strange ? score : Float(slot), scoring: 0)
            }
            expectation.set.dropBest(leaving: 64, records: expectation.records.base)
            #expect(expectation.set.count == 64)
            let inRecords = (0..<300).count { expectation.records[$0].candidate != ObjectRecord.notCandidate }
            #expect(inRecords == 64)
        }
    }
}
