import Foundation
import HalcyonEviction
import HalcyonSupport
import Testing

@testable import HalcyonBoosting

@Suite("LRB: features, labels, sampling and the memory window", .timeLimit(.minutes(20)))
struct LRBTests {
    private func row(
        _ histories: borrowing RequestHistories, _ history: UInt32, age: UInt32, size: Int, window: Int
    ) -> [Double] {
        let row = FeatureRow(count: RequestHistories.features)
        histories.fill(row.values, of: history, age: age, size: size, window: window)
        return row.array
    }

    @Test("The features of an object with one request are its age, size and decayed counters")
    func objectWithOneRequestHasAgeSizeAndCounters() {
        let histories = RequestHistories()
        let found = row(histories, .max, age: 3_000, size: 70, window: 1 << 26)
        // 3,000 / 1,024 is 2, 3,000 / 2,048 is 1, and 0 for the larger ones.
        let counters = [0.25, 0.5, 1, 1, 1, 1, 1, 1, 1, 1]
        #expect(found == [3_000] + [Double](repeating: 0, count: 31) + [70, 0] + counters)
    }

    @Test("Distances are newest first; counters decay by whole multiples of their length and grow by 1")
    func distancesAreNewestFirstAndCountersDecay() {
        var histories = RequestHistories()
        let history = histories.begin(distance: 1_024)
        histories.append(distance: 5_000, to: history)
        let found = row(histories, history, age: 2_048, size: 1, window: 6_000)
        // After the second request: 1.5, then 2 for the longer ones. 5,000 is 4, 2, 1 and 0 lengths; the age 2, 1 and 0.
        let counters =
            [(1.5 / 16 + 1) / 4, (2.0 / 4 + 1) / 2, 2.0 / 2 + 1, 3] + [Double](repeating: 3, count: 6)
        // 5,000 is within a window of 6,000; 5,000 + 1,024 is not.
        #expect(found == [2_048, 5_000, 1_024] + [Double](repeating: 0, count: 29) + [1, 1] + counters)
    }

    @Test("The last 31 distances are kept; a released history is used again")
    func last31DistancesAreKept() {
        var histories = RequestHistories()
        let (first, other) = (histories.begin(distance: 1), histories.begin(distance: 77))
        for distance in UInt32(2)...40 { histories.append(distance: distance, to: first) }
        let found = row(histories, first, age: 0, size: 1, window: 1 << 20)
        #expect(Array(found[1...31]) == (10...40).reversed().map(Double.init) && found[33] == 31)
        histories.release(first)
        #expect(histories.begin(distance: 5) == first)
        #expect(row(histories, first, age: 0, size: 1, window: 9)[1...3] == [5, 0, 0])
        #expect(row(histories, other, age: 0, size: 1, window: 9)[1...3] == [77, 0, 0])
    }

    @Test("Pending samples are kept by object and removed newest first")
    func samplesAreRemovedNewestFirstByObject() {
        var pending = SampleLists()
        var (first, second) = (SampleLists.none, SampleLists.none)
        for time in UInt32(1)...4 { pending.add(time, to: &first) }
        pending.add(9, to: &second)
        #expect(pending.count == 5)
        #expect((1...5).map { _ in pending.removeNewest(from: &first) } == [4, 3, 2, 1, nil])
        pending.add(6, to: &first)
        #expect(pending.removeNewest(from: &second) == 9 && pending.removeNewest(from: &first) == 6)
        #expect(pending.count == 0)
    }

    /// Requests 0: x, 1: a (evicts x), 2, 3, …: a, with a window of 3. The first sample is drawn at request 2, of a or of
    /// x. At request 3, x is forgotten: its sample has the age 2 and the label 2 × 3. Later samples are of a.
    @Test(
        "An object forgotten at the end of the window has a label of twice the window", arguments: 1...20)
    func objectForgottenAtTheWindowsEndIsLabelledTwiceTheWindow(seed: UInt64) throws {
        let trainer = AgeTrainer()
        let policy = ConfiguredPolicy.lrb(trainer) {
            $0.window = 3
            $0.boosting.batch = 4
        }
        let cache = policy.makeCache(PolicyContext(capacity: 1, seed: seed))
        for (number, entry) in ([8, 5, 5, 5, 5, 5, 5, 5] as [EntryID]).enumerated() {
            _ = cache.access(Access(entry: entry, requestNumber: number))
        }
        let rows = try #require(trainer.sets.first).rows
        #expect(rows.count == 4 && trainer.sets.count == 1)
        let isOfX = rows[0].label == Float(log1p(6.0))
        // Of x: age 2, no distance. Of a: sampled at request 2, so that one distance of 1 is within the window.
        #expect(rows[0].row[0...1] == (isOfX ? [2, 0] : [0, 1]) && rows[0].row[33] == (isOfX ? 0 : 1))
        #expect(rows[0].label == Float(log1p(isOfX ? 6.0 : 1)))
        for (index, row) in rows.enumerated().dropFirst() {
            // Sampled at request 2 + index. The distances that add up to less than 3 are two.
            #expect(row.row[0] == 0 && row.row[33] == 2 && row.label == Float(log1p(1.0)))
            #expect(row.row[1...31].reduce(0, +) == Double(1 + index))
        }
    }

    /// With a window of 2, x is resident for longer than the window when b evicts it: its samples have the label age + 2.
    @Test("A resident evicted outside the window has a label of its age plus the window")
    func residentEvictedOutsideTheWindowIsLabelledAgePlusWindow() throws {
        let trainer = AgeTrainer()
        let policy = ConfiguredPolicy.lrb(trainer) {
            $0.window = 2
            $0.boosting.batch = 3
        }
        let cache = policy.makeCache(PolicyContext(capacity: 2, seed: 3))
        // x = 1 is inserted at request 2 and is evicted at request 7, after hits of a = 2 and the forgetting of 9.
        for (number, entry) in ([9, 2, 1, 2, 2, 2, 2, 3] as [EntryID]).enumerated() {
            _ = cache.access(Access(entry: entry, requestNumber: number))
        }
        #expect(!cache.contains(1) && cache.contains(2) && cache.contains(3))
        // Samples are drawn at requests 3 to 7. Those of x have the label 5 + 2.
        let all = trainer.sets.flatMap(\.rows)
        let ofX = all.filter { $0.row[1] == 0 && $0.row[0] <= 5 && $0.label == Float(log1p(7.0)) }
        let ofA = all.filter { $0.label == Float(log1p(1.0)) }
        #expect(!ofX.isEmpty && ofX.allSatisfy { (1...5).contains($0.row[0]) })
        #expect(ofX.count + ofA.count == all.count)
    }

    /// Every row is that of an object at the time of a request, as computed from the whole sequence; one for each time.
    @Test("Each request samples one known object; its features and label follow from the sequence", arguments: 1...6)
    func eachRequestSamplesOneKnownObject(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let sequence = (0..<3_000).map { _ in EntryID(generator.next(below: 60) * generator.next(below: 3)) }
        let trainer = AgeTrainer()
        let policy = ConfiguredPolicy.lrb(trainer) { $0.boosting.batch = 500 }
        let cache = policy.makeCache(PolicyContext(capacity: 20, seed: seed))
        for (number, entry) in sequence.enumerated() { _ = cache.access(Access(entry: entry, requestNumber: number)) }

        // The distances and the label of each object at each time that a sample could be drawn.
        var times: [[Double]: Set<Int>] = [:]
        var requests: [EntryID: [Int]] = [:]
        for (number, entry) in sequence.enumerated() { requests[entry, default: []].append(number) }
        for numbers in requests.values {
            for (index, next) in numbers.enumerated().dropFirst() {
                let distances = (1..<max(index, 1)).map { Double(numbers[$0] - numbers[$0 - 1]) }.reversed().prefix(31)
                for time in numbers[index - 1]..<next {
                    let age = Double(time - numbers[index - 1])
                    let key = [age] + distances + [Double](repeating: 0, count: 31 - distances.count)
                    times[key + [Double(Float(log1p(Double(next - time))))], default: []].insert(time)
                }
            }
        }
        let rows = trainer.sets.flatMap(\.rows)
        #expect(rows.count >= 1_500)
        var unknown = 0
        for row in rows where times[Array(row.row[0...31]) + [Double(row.label)]]?.popFirst() == nil { unknown += 1 }
        #expect(unknown == 0, "\(unknown) of \(rows.count) rows")
    }
}
