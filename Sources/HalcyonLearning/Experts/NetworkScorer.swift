import HalcyonEviction

/// The network as an expert: scores the residents of one cache by the model that the cache decides by.
struct NetworkScorer {
    private let learner: UnsafeMutablePointer<Learner>
    private let missCost: MissCost
    private let usesUniformSizes: Bool

    init(learner: UnsafeMutablePointer<Learner>, missCost: MissCost, usesUniformSizes: Bool) {
        self.learner = learner
        self.missCost = missCost
        self.usesUniformSizes = usesUniformSizes
    }

    /// Scores `count` residents, at least one, in one product. O(count × weights).
    mutating func score(
        _ slots: UnsafePointer<UInt32>, count: Int, of records: UnsafePointer<ObjectRecord>,
        at instant: FeatureInstant, into scores: UnsafeMutablePointer<Float>
    ) {
        let learner = learner
        learner.pointee.features.write(
            slots, count: count, of: records, at: instant, columns: learner.pointee.trainer.inputs)
        learner.pointee.trainer.predict(columns: count, logits: scores)
        var place = 0
        while place < count {
            let logit = scores[place]
            let logSize = records[Int(slots[place])].logSize
            scores[place] = missCost.score(logit: logit, logSize: logSize, usesUniformSizes: usesUniformSizes)
            place &+= 1
        }
    }

    /// Returns the score of one object now. O(weights).
    func score(_ record: ObjectRecord, at instant: FeatureInstant) -> Float {
        let learner = learner
        learner.pointee.features.write(record, at: instant, inputs: learner.pointee.trainer.inputs)
        let logit = learner.pointee.trainer.predict()
        return missCost.score(logit: logit, logSize: record.logSize, usesUniformSizes: usesUniformSizes)
    }
}
