import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("The area under the ROC curve", .timeLimit(.minutes(20)))
struct RankedScoresTests {
    @Test("The area is 0.75 if four and a half of six pairs are in order")
    func areaCountsOrderedPairsAndTiesHalf() {
        // Positives 3, 1; negatives 2, 1, 0: 3 beats all three, 1 ties with one and beats one.
        let ranks = RankedScores([3, 2, 1, 1, 0], labels: [true, false, true, false, false])
        #expect(ranks.area(weight: [1, 1, 1, 1, 1]) == 0.75)
        // Without the tied negative: 3 beats both, 1 beats one.
        #expect(ranks.area(weight: [1, 1, 1, 0, 1]) == 0.75)
        #expect(RankedScores([1, 2], labels: [true, true]).area(weight: [1, 1]) == 0.5)
    }

    @Test("The area equals a count of all pairs, with weights and ties")
    func areaEqualsCountingAllPairs() {
        var random = SplitMix64(seed: 4)
        for _ in 0..<20 {
            let scores = (0..<40).map { _ in Float(random.next(below: 12)) }
            let labels = scores.map { _ in random.next(below: 3) == 0 }
            let weight = scores.map { _ in Double(random.next(below: 4)) }
            var (won, all) = (0.0, 0.0)
            for left in 0..<40 where labels[left] {
                for right in 0..<40 where !labels[right] {
                    let pair = weight[left] * weight[right]
                    all += pair
                    won += scores[left] > scores[right] ? pair : scores[left] == scores[right] ? pair / 2 : 0
                }
            }
            let area = RankedScores(scores, labels: labels).area(weight: weight)
            #expect(abs(area - (all > 0 ? won / all : 0.5)) < 1e-12)
        }
    }
}
