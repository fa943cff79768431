import HalcyonEviction

extension LearnedModel {
    /// Prepares to be explained; to be called before the first request.
    ///
    /// - Parameters:
    ///   - every: each so-manieth labelled sample is kept from training.
    ///   - bound: so many of them are kept at most, drawn at random.
    ///   - victim: the number of the eviction to be explained, from 1; 0 for none.
    ///   - seed: of the draw.
    public func observe(every: Int = 10, bound: Int = 8_192, victim: Int = 0, seed: UInt64) {
        learner.pointee.trainer.heldBack = HeldBackSamples(every: every, bound: bound, seed: seed)
        learner.pointee.watch = VictimWatch(number: victim)
    }

    /// What the judgement of the model as it is now rests on; `nil` where it has learnt too little or none was held back.
    ///
    /// - Parameters:
    ///   - parameters: those that the model was made with.
    ///   - victim: the number given to ``observe(every:bound:victim:seed:)``.
    ///   - seed: of permutations and bootstrap.
    public func explanation(_ parameters: LearnedParameters, victim: Int = 0, seed: UInt64) -> ModelExplanation? {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        let kept = learner.pointee.trainer.heldBack.inOrder()
        guard learner.pointee.trainer.isReady, !kept.isEmpty else { return nil }
        let inputs = learner.pointee.trainer.network.inputs
        var judgement = Judgement(
            weights: learner.pointee.trainer.network.weights, inputs: inputs, hidden: parameters.hidden,
            blas: parameters.blas)
        var rows: [[Float]] = []
        for sample in kept { rows.append(judgement.inputs(sample.row)) }
        let labels = kept.map { $0.row[Sample.outcome] & 1 == 1 }
        let logits = judgement.logits(rows)
        let importance = PermutationImportance(rows: rows, labels: labels, seed: seed)
        let groups = importance.groups(
            FeatureGroups.named.filter { parameters.groups.contains($0.group) }, by: &judgement)
        let count = Double(rows.count)
        let means = (0..<inputs).map { place in rows.reduce(0) { $0 + $1[place] } / Float(rows.count) }
        let losses = zip(logits, labels).map { Judgement.loss(logit: $0, isPositive: $1) }
        return ModelExplanation(
            samples: rows.count, positiveShare: Double(labels.count { $0 }) / count,
            loss: losses.reduce(0, +) / count,
            area: RankedScores(logits, labels: labels).area(weight: losses.map { _ in 1 }),
            groups: groups,
            calibration: ModelExplanation.calibration(
                zip(kept, labels).filter { $0.0.note.isReady }
                    .map { (Judgement.probability($0.0.note.logit), $0.1) }),
            victim: learner.pointee.watch.record.map {
                VictimExplanation($0, number: victim, inputs: inputs, means: means, parameters: parameters)
            })
    }
}

extension ModelExplanation {
    /// Chances held against what happened, in ten bins. O(n).
    static func calibration(_ chances: [(chance: Double, happened: Bool)]) -> [Bin] {
        let bins = 10
        var (counts, sums, positives) = (
            [Int](repeating: 0, count: bins), [Double](repeating: 0, count: bins), [Int](repeating: 0, count: bins)
        )
        for (chance, happened) in chances {
            let bin = min(Int(chance * Double(bins)), bins - 1)
            counts[bin] += 1
            sums[bin] += chance
            if happened { positives[bin] += 1 }
        }
        return (0..<bins).map { bin in
            let count = Double(counts[bin])
            return Bin(
                from: Double(bin) / Double(bins), to: Double(bin + 1) / Double(bins), samples: counts[bin],
                predicted: count > 0 ? sums[bin] / count : nil,
                observed: count > 0 ? Double(positives[bin]) / count : nil)
        }
    }
}
