/// How well scores put what happened above what did not: the area under the ROC curve, which is the share of pairs of a
/// positive and a negative sample in order, ties counting half (Mann and Whitney, 1947).
struct RankedScores {
    private let order: [Int]
    /// Whether a place of ``order`` has the score of the place before it.
    private let isTied: [Bool]
    private let labels: [Bool]

    /// O(n log n).
    init(_ scores: [Float], labels: [Bool]) {
        let order = scores.indices.sorted { (scores[$0], $0) < (scores[$1], $1) }
        self.order = order
        isTied = order.indices.map { $0 > 0 && scores[order[$0]] == scores[order[$0 - 1]] }
        self.labels = labels
    }

    /// The area where each sample counts as often as `weight` says; a half where there is only one kind. O(n).
    func area(weight: [Double]) -> Double {
        var (below, tied, tiedPositives, area, positives) = (0.0, 0.0, 0.0, 0.0, 0.0)
        for place in order.indices {
            if !isTied[place] {
                area += tiedPositives * (below + tied / 2)
                below += tied
                (tied, tiedPositives) = (0, 0)
            }
            let sample = order[place]
            if labels[sample] {
                tiedPositives += weight[sample]
                positives += weight[sample]
            } else {
                tied += weight[sample]
            }
        }
        area += tiedPositives * (below + tied / 2)
        below += tied
        return below > 0 && positives > 0 ? area / (below * positives) : 0.5
    }
}
