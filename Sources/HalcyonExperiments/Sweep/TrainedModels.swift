import HalcyonSimulation
import HalcyonTrace

/// The models that the devices of several jobs begin with: each is trained once for the jobs that share it.
struct TrainedModels: Sendable {
    private struct Key: Hashable {
        let training: PretrainingKey
        let labels: LabelControl
    }

    private var models: [Key: Result<DeviceModels?, ReplayError>] = [:]

    /// Trains the models of jobs over one trace, in parallel. O(steps) a model.
    ///
    /// - Parameters:
    ///   - jobs: the jobs with their labels, which the training sees in all traces.
    ///   - input: the requests with the labels of the trace.
    ///   - others: the other traces that the jobs name, by these names.
    ///   - workers: the number of parallel trainings; by default one per core.
    init(
        for jobs: [(job: ReplayJob, labels: LabelControl)], over input: ReplayInput, others: [String: Trace],
        workers: Int?
    ) async {
        var wanted: [Key: ReplayJob] = [:]
        for (job, labels) in jobs {
            guard let training = job.pretrainingKey else { continue }
            wanted[Key(training: training, labels: labels)] = job
        }
        let keys = Array(wanted.keys)
        let trained = await concurrentMap(keys, workers: workers) { [wanted] key in
            Result { () throws(ReplayError) -> DeviceModels? in
                guard let job = wanted[key] else { return nil }
                let labelled = input.relabelled(try key.labels.applied(to: input.trace))
                var traces: [Trace] = []
                for trace in key.training.pretraining.traceNames.compactMap({ others[$0] }) {
                    traces.append(try key.labels.applied(to: trace))
                }
                return try DeviceModels(for: job, over: labelled, others: traces)
            }
        }
        models = Dictionary(uniqueKeysWithValues: zip(keys, trained))
    }

    /// Returns the models of one of the jobs; `nil` if it has none.
    ///
    /// - Throws: `ReplayError` if they could not be trained.
    func models(of job: ReplayJob, labels: LabelControl) throws(ReplayError) -> DeviceModels? {
        try job.pretrainingKey.flatMap { models[Key(training: $0, labels: labels)] }?.get() ?? nil
    }
}
