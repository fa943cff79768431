import HalcyonEviction
import Testing

@testable import HalcyonLearning
@testable import HalcyonPrefetch

@Suite("The planner's structures", .timeLimit(.minutes(20)))
struct PlannerStructureTests {
    @Test("A ranked list has the best scores, as sorting gives them")
    func rankedListHasTheBestScores() {
        var generator = SplitMix64(seed: 5)
        var lists = RankedLists(width: 6)
        var scores: [[UInt32: Float]] = Array(repeating: [:], count: 4)
        for step in 0..<4_000 {
            let (list, item) = (Int(generator.next(below: 4)), UInt32(generator.next(below: 30)))
            // Scores rise with time, as those of popular objects do.
            let score = max(scores[list][item] ?? 0, Float(step) + Float(generator.next(below: 100)))
            scores[list][item] = score
            lists.raise(item, to: score, in: list)
        }
        for list in 0..<4 {
            let best = scores[list].sorted { ($0.value, $1.key) > ($1.value, $0.key) }.prefix(6).map(\.value)
            #expect(lists[list].map(\.score) == best)
        }
        #expect(lists[9].isEmpty)
    }

    @Test("Counts are exact while there is room; then the rarest is replaced slowly")
    func rarestCountIsReplacedSlowly() {
        var lists = RankedLists(width: 2)
        for item: UInt32 in [7, 8, 8, 8] { lists.add(1, to: item, fade: 0.5, in: 0) }
        #expect(lists[0].map(\.item) == [8, 7] && lists[0].map(\.score) == [3, 1])
        // 7 has a score of 1, so the new object replaces it.
        lists.add(1, to: 9, fade: 0.5, in: 0)
        #expect(lists[0].map(\.item) == [8, 9])
        lists.add(1, to: 9, fade: 0.5, in: 0)
        // 9 has a score of 2 now, and each new object lowers it by a half before it is replaced.
        lists.add(1, to: 5, fade: 0.5, in: 0)
        lists.add(1, to: 5, fade: 0.5, in: 0)
        #expect(lists[0].map(\.item) == [8, 9] && lists[0].map(\.score) == [3, 1])
        lists.add(1, to: 5, fade: 0.5, in: 0)
        #expect(lists[0].map(\.item) == [8, 5])
    }

    @Test("Pairs looked up together equal those looked up one by one")
    func batchLookupEqualsSingleLookups() {
        var generator = SplitMix64(seed: 4)
        var rows = PairRows(repeating: UInt32(0), bound: 1 << 14)
        for _ in 0..<3_000 {
            rows.update(UInt32(generator.next(below: 9)), UInt32(generator.next(below: 1_000))) { $0 += 1 }
        }
        var lookup = PairLookup(repeating: UInt32(0), count: 100)
        var wrong = 0
        for first in UInt32(0)..<9 {
            let seconds = (0..<100).map { _ in UInt32(generator.next(below: 1_000)) }
            lookup.find(in: rows, first, seconds, count: 100)
            for (index, second) in seconds.enumerated() {
                let found = lookup.isFound(index) ? lookup.values[index] : nil
                if found != rows.value(first, second)?.pointee { wrong += 1 }
            }
        }
        #expect(wrong == 0)
    }

    @Test("There are at most twelve candidates, each once and none held; unused prefetches have reserved places")
    func candidateListIsBoundedAndUnique() {
        var list = CandidateList()
        for unused in [0, 1] {
            list.begin(unused: unused)
            for object in UInt32(0)..<40 {
                list.add(object / 2, unless: { $0 % 3 == 0 })
            }
            #expect(list.isFull && list.newCount == 12 - unused)
            let isHeldThere = list.place(of: 3) != nil
            #expect(!isHeldThere)
            for object in UInt32(50)..<50 + UInt32(unused) { list.add(unused: object) }
            #expect(list.count == 12 && list.newCount == 12 - unused)
            let last = list[11]
            #expect(last == (unused == 1 ? 50 : 17))
        }
    }

    @Test("Bins count predicted and observed requests; selected candidates have another ratio")
    func calibrationBinsCountPredictedAndObserved() {
        var calibration = Calibration()
        // Logits of 0 and −4 are 50 % and 1.8 %.
        for _ in 0..<3 { calibration.note(logit: 0, isPositive: true) }
        calibration.note(logit: -4, isPositive: false)
        let bins = calibration.bins
        #expect(bins.count == 10 && bins.first?.from == 0 && bins.last?.to == 1)
        #expect(zip(bins, bins.dropFirst()).allSatisfy { $0.to == $1.from })
        #expect(bins.map(\.count) == [0, 0, 1, 0, 0, 0, 0, 0, 3, 0])
        #expect(bins[8].observed == 1 && abs(bins[8].predicted - 0.5) < 0.01)
        #expect(bins[2].observed == 0 && abs(bins[2].predicted - 0.018) < 0.002)
        #expect(abs(calibration.selectionRatio(at: 0.25) - 0.75) < 0.001)
        for _ in 0..<1_000 { calibration.noteChosen(logit: -1.0986, isPositive: false) }
        #expect(calibration.selectionRatio(at: 0.25) < 0.03)
        #expect(abs(calibration.selectionRatio(at: 0.5) - 0.75) < 0.001, "other bins keep the prior")
    }

    @Test("Sampled negative candidates count for all of them")
    func sampledNegativesCountForAll() {
        var calibration = Calibration()
        // A hundred candidates with a probability of 10 %. A fifth of the ninety negative ones are counted.
        for index in 0..<28 { calibration.note(logit: -2.197_2, share: 0.2, isPositive: index < 10) }
        let bin = calibration.bins[5]
        #expect(bin.count == 100 && abs(bin.observed - 0.1) < 1e-6 && abs(bin.predicted - 0.1) < 0.001)
    }

    @Test("Probabilities that are too high are corrected")
    func excessiveProbabilitiesAreCorrected() {
        var calibration = Calibration()
        var generator = SplitMix64(seed: 2)
        for _ in 0..<40_000 { calibration.note(logit: -1.5, isPositive: generator.next(below: 50) == 0) }
        #expect(abs(calibration.probability(-1.5) - 0.02) < 0.01)
        // The same with a tenth of the negative candidates.
        var sparing = Calibration()
        for _ in 0..<200_000 {
            let isPositive = generator.next(below: 50) == 0
            if isPositive || generator.next(below: 10) == 0 {
                sparing.note(logit: -1.5, share: 0.1, isPositive: isPositive)
            }
        }
        #expect(abs(sparing.probability(-1.5) - 0.02) < 0.01)
    }
}
