import HalcyonEviction
import HalcyonLearning
import HalcyonTrace

extension LearnerReplay {
    /// Replays the trace, a tenth of the labelled samples held back from training, and says what the judgement of the
    /// model at the end rests on.
    ///
    /// - Parameter victim: the number of the eviction to be explained, from 1; 0 for none.
    /// - Throws: ``ReplayError`` if the trace gave too little to learn from, or fewer evictions than asked for.
    public func explain(
        victim: Int = 0, path: String, notes: [String] = [], progress: ReplayProgress? = nil
    ) throws(ReplayError) -> ExplainReport {
        try requireLearning()
        let model = makeModel()
        model.observe(victim: victim, seed: seed)
        let run = try serve(model, progress: progress)
        guard let explanation = model.explanation(parameters, victim: victim, seed: seed) else { throw tooShort }
        if victim > 0, explanation.victim == nil {
            throw ReplayError.data("There is no eviction \(victim): there were \(run.evictions).")
        }
        let (victim, runnerUp) = (explanation.victim?.victim, explanation.victim?.runnerUp)
        let user = mode == .perUser ? victim?.user : nil
        return ExplainReport(
            trace: TraceSummary(trace, path: path, notes: notes), run: run,
            victimKey: name(victim?.object, trace.names.keys), runnerUpKey: name(runnerUp?.object, trace.names.keys),
            user: name(user, trace.names.users), explanation: explanation)
    }

    private func name(_ number: UInt32?, _ names: StringTable) -> String? {
        number.flatMap { names.count > Int($0) ? names[$0] : nil }
    }
}
