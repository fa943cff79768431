import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTrace

/// Experiments as a file: traces × policies × capacities × modes × prefetching × seeds × labels.
///
/// ```yaml
/// schema: halcyon.suite/1
/// description: Which policy hits most on the bundled traces.
/// traces:
///   - {path: ../../Traces/shop.csv}
///   - {path: "${HALCYON_TRACES}/web.csv", limit: 300000}
/// experiments:
///   - name: shared
///     policies: [lru, learned, {policy: s3-fifo, grid: {small: [0.05, 0.1]}}]
///     capacities: [1%, 10%]
///     seeds: 5
/// ```
///
/// Paths are relative to the folder of the file; `${NAME}` is an environment variable. `replay sweep` runs a suite.
public struct Suite: Sendable {
    /// The version of the file's structure.
    package static let schema = "halcyon.suite/1"

    /// The name: that of the file without its extension.
    public var name: String
    /// The file as the caller named it. Traces are relative to its folder.
    package var path: String
    /// What the suite is to show, in one or two sentences.
    package var description: String
    /// The folder of the results as written: relative to the folder of the suite. Nil by default:
    /// ``resultsFolder(_:)`` says which one is used.
    package var results: String?
    /// The traces in the order of the file.
    package var traces: [TraceReference]
    /// The experiments in the order of the file.
    package var experiments: [SuiteExperiment]

    /// Creates a suite.
    package init(
        name: String, path: String, description: String = "", traces: [TraceReference], experiments: [SuiteExperiment]
    ) {
        self.name = name
        self.path = path
        self.description = description
        self.traces = traces
        self.experiments = experiments
    }

    /// Returns the folder of the results: `given`, or the one that the suite names, or `results/NAME` with the name
    /// of the suite.
    public func resultsFolder(_ given: String? = nil) -> String {
        if let given { return given }
        guard let results else { return "results/\(name)" }
        guard !results.hasPrefix("/") else { return results }
        var parts: [Substring] = []
        for part in path.split(separator: "/", omittingEmptySubsequences: true).dropLast()
            + results.split(separator: "/")
        {
            switch part {
            case ".": break
            case ".." where parts.last.map { $0 != ".." } ?? false: parts.removeLast()
            default: parts.append(part)
            }
        }
        return (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
    }

    /// Returns the jobs of all experiments on a trace with their labels: every combination once.
    ///
    /// - Parameter trace: the name of the trace.
    func jobs(onTrace trace: String) -> [SuiteJob] {
        experiments.filter { $0.traces.isEmpty || $0.traces.contains(trace) }.flatMap { $0.jobs(onTrace: trace) }
    }
}

/// A part of a suite: all combinations of its lists.
package struct SuiteExperiment: Sendable {
    /// A row of an experiment: a policy, or Kingfisher's two tiers.
    package enum Row: Sendable {
        /// An eviction policy.
        case policy(ConfiguredPolicy)
        /// Kingfisher's image cache as an app has it; see `ReplayJob.kingfisher(capacity:)`.
        case kingfisher
        /// The policies that the tiers name.
        case tiers

        /// The name in a suite: the policy with the parameters set by the user, `kingfisher` or `tiers`.
        package var name: String {
            switch self {
            case .policy(let policy): policy.label
            case .kingfisher: "kingfisher"
            case .tiers: "tiers"
            }
        }
    }

    /// The name, for messages.
    package var name: String
    /// The names of its traces; empty for all.
    package var traces: [String] = []
    /// The kinds of caches. The default is shared.
    package var modes: [ReplayMode] = [.shared]
    /// The policies.
    package var rows: [Row]
    /// The capacities of caches without tiers.
    package var capacities: [CapacityRequest] = []
    /// The tiers that replace each cache; if there are any, ``capacities`` are not used.
    package var tiers: [TierOptions] = []
    /// What the learners and the prefetch policies of per-user caches see. The default is device knowledge.
    package var knowledge: [Knowledge] = [.device]
    /// The prefetching; `nil` stands for none.
    package var prefetch: [PrefetchOptions?] = [nil]
    /// The announcements to the devices of per-user caches; `nil` stands for none. Only with prefetching and device knowledge.
    package var announce: [AnnouncementOptions?] = [nil]
    /// What the models of devices are trained on before the replay; `nil` stands for no such model. Only for policies that begin
    /// with one, with device knowledge and without tiers. A replayed trace is left out of the traces of its models.
    package var pretrain: [Pretraining?] = [nil]
    /// The restarts of each device's app between visits; `nil`, the default, for none. Only with device knowledge.
    package var restart: RestartOptions?
    /// The seeds of runs that draw random numbers. The default is 1.
    package var seeds: [UInt64] = [1]
    /// The labels. Runs that do not look at categories have those of the trace only.
    package var labels: [LabelControl] = [.given]
    /// The requests at the start that are not counted. None by default.
    package var warmup = Warmup.none
    /// The limits that its runs have to keep in `replay check`. Empty by default.
    package var limits: [RunLimit] = []
    /// The policies, tiers and prefetch policies that cannot be used, if the suite was read in spite of them. Empty by
    /// default.
    package var unusable: [UnusablePolicy] = []

    /// Creates an experiment with the default of each list.
    package init(name: String, rows: [Row]) {
        self.name = name
        self.rows = rows
    }

    /// The jobs on a trace, whose models are not trained on it.
    func jobs(onTrace trace: String) -> [SuiteJob] {
        jobs.map { job in
            guard let names = job.job.pretraining?.traceNames, names.contains(trace) else { return job }
            var other = job
            other.job.pretraining = .traces(names.filter { $0 != trace })
            return other
        }
    }

    /// The jobs in the order of modes, policies, tiers or capacities, knowledge, prefetching, announcements, pretraining, labels and
    /// seeds.
    var jobs: [SuiteJob] {
        modes.flatMap { mode in
            rows.flatMap { row in
                places.flatMap { place in
                    knowledge.enumerated().flatMap { number, knowledge in
                        prefetch.flatMap { prefetch in
                            announce.enumerated().flatMap { order, announcements in
                                pretrain.enumerated().flatMap { turn, pretraining in
                                    seeded(
                                        row, mode, place, knowledge, isFirst: number == 0, prefetch, announcements,
                                        isFirstAnnouncement: order == 0, pretraining, isFirstPretraining: turn == 0)
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    private typealias Place = (capacity: CapacityRequest, tiers: TierOptions?)

    private var places: [Place] {
        tiers.isEmpty ? capacities.map { ($0, nil) } : tiers.map { ($0.disk, $0) }
    }

    private func seeded(
        _ row: Row, _ mode: ReplayMode, _ place: Place, _ knowledge: Knowledge, isFirst: Bool,
        _ prefetch: PrefetchOptions?, _ announcements: AnnouncementOptions?, isFirstAnnouncement: Bool,
        _ pretraining: Pretraining?, isFirstPretraining: Bool
    ) -> [SuiteJob] {
        let options = ReplayOptions(warmup: warmup, windows: 1, prefetch: prefetch, restart: restart)
        var job: ReplayJob
        switch row {
        case .kingfisher:
            job = .kingfisher(capacity: place.capacity, mode: mode, tiers: place.tiers, options: options)
        case .tiers:
            job = ReplayJob(
                policy: ConfiguredPolicy(LRU.self), capacity: place.capacity, mode: mode, tiers: place.tiers,
                options: options)
        case .policy(let policy):
            job = ReplayJob(
                policy: policy, capacity: place.capacity, mode: mode, tiers: place.tiers, options: options)
        }
        job.knowledge = knowledge
        if job.statedKnowledge == nil, !isFirst { return [] }
        if job.hasPrefetchPolicyPerUser {
            job.options.announcements = announcements
        } else if !isFirstAnnouncement {
            return []
        }
        if job.mode == .perUser, job.knowledge == .device, job.tiers == nil,
            ReplayJob.begins(job.policy) || job.plannerBegins
        {
            job.pretraining = pretraining
        } else if !isFirstPretraining {
            return []
        }
        let labels = job.usesCategories ? labels : labels.contains(.given) ? [.given] : []
        let seeds = job.isRandomised ? seeds : Array(seeds.prefix(1))
        return labels.flatMap { labels in
            seeds.map { seed in
                var seeded = job
                seeded.options.seed = job.isRandomised ? seed : 1
                return SuiteJob(job: seeded, labels: labels, row: row.name)
            }
        }
    }
}

/// A policy of a suite that cannot be used: the catalogue does not have it, or it does not have a parameter. Also tiers
/// and prefetching that cannot be used.
package struct UnusablePolicy: Sendable, Equatable {
    /// The policy as the suite names it, or the name of the list and the line.
    package var name: String
    /// Why it cannot be used, with file, line and column.
    package var sentence: String
}

/// A job of a suite: a replay and the labels of its requests.
struct SuiteJob: Sendable {
    var job: ReplayJob
    var labels: LabelControl
    /// The name of the experiment's row.
    var row: String
}
