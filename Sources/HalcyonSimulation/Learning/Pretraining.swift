import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTrace

/// The users that the models of devices are trained on before the replay: never those that they serve.
///
/// A model is trained by ``DeviceTraining`` in caches of the job's capacity and with its seed, by the requests as the job has
/// them: under the labels of the job. Only a policy that learns, and names no model of its own, begins with it, and so does the
/// prefetch planner.
package enum Pretraining: Sendable, Hashable, CustomStringConvertible {
    /// The users of the replayed trace, in two halves (``UserPart``): a model is trained on each, with all its requests, and
    /// serves the users of the other half.
    case otherUsers
    /// All users of other traces, by the names of these.
    case traces([String])

    /// The training steps of each model. On onlineretail with 20 objects, 10,000 to 40,000 steps differ by less than 0.1 points.
    package static let steps = 20_000
    private static let otherUsersName = "other-users"

    /// Reads `other-users`, or the names of traces with commas between them.
    ///
    /// - Throws: ``ReplayError/usage(_:)`` if a name is empty or given twice.
    package init(parsing text: String) throws(ReplayError) {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0).trimmingSpaces }
        guard !names.contains(""), Set(names).count == names.count,
            names == [Self.otherUsersName] || !names.contains(Self.otherUsersName)
        else {
            throw .usage(
                "'\(text.shortened())' does not say what models are trained on: write other-users, or other traces, each once, with "
                    + "commas between them.")
        }
        self = names == [Self.otherUsersName] ? .otherUsers : .traces(names)
    }

    /// The notation that ``init(parsing:)`` reads.
    package var description: String {
        switch self {
        case .otherUsers: Self.otherUsersName
        case .traces(let names): names.joined(separator: ",")
        }
    }

    /// The names of other traces; empty for ``otherUsers``.
    package var traceNames: [String] {
        guard case .traces(let names) = self else { return [] }
        return names
    }

    /// What the models were trained on, as a sentence.
    package var sentence: String {
        "A learner or planner that names no model begins with one \(words) (learned: in \(Self.steps.grouped) steps), and goes on learning."
    }

    /// What a model was trained on, in words: `trained on all users of a.csv`.
    package var words: String {
        switch self {
        case .otherUsers: "trained on one half of the users of this trace for the other half"
        case .traces(let names): "trained on all users of \(names.joined(separator: ", "))"
        }
    }
}

/// What decides the models of a job besides the requests and their labels: jobs of one trace that have it in common share
/// their models.
package struct PretrainingKey: Hashable, Sendable {
    package let pretraining: Pretraining
    let policy: String
    let capacity: String
    let prefetch: String?
    let announcements: String?
    let seed: UInt64
}

extension ReplayJob {
    /// ``pretraining`` where it decides the result: for a policy or a planner that begins with a pretrained model. Nil otherwise.
    package var statedPretraining: Pretraining? {
        tiers == nil && (Self.begins(policy) || plannerBegins) ? pretraining : nil
    }

    private static func describing(_ prefetch: PrefetchOptions) -> String {
        // What a planner on lists learns does not depend on what is fetched.
        let fetches = prefetch.planner.requests == .off ? "" : "\(prefetch.budget) \(prefetch.latency.shortest)"
        return "\(prefetch.policy.name) \(prefetch.parameters.sorted { $0.key < $1.key }) \(fetches)"
    }

    /// Whether the prefetch policy is a planner without a model of its own.
    package var plannerBegins: Bool { options.prefetch?.isPlanner == true && options.prefetch?.pretrained == nil }

    /// What decides the models of the job. Nil if none is trained.
    package var pretrainingKey: PretrainingKey? {
        statedPretraining.map {
            PretrainingKey(
                pretraining: $0, policy: policy.label, capacity: capacity.description,
                prefetch: plannerBegins ? options.prefetch.map(Self.describing) : nil,
                announcements: options.announcements?.description, seed: options.seed)
        }
    }

    /// Whether a policy begins with a model that it is given: it learns, and names none, not even `model=none`.
    package static func begins(_ policy: ConfiguredPolicy) -> Bool {
        policy.info.name == LearnedPolicy.info.name && !policy.settings.contains { $0.name == "model" }
            && (try? LearnedParameters(settingsOf: policy))?.learns == true
    }

    /// Refuses caches that do not each serve one user, and halves that are too small.
    func verifyPretraining(_ trace: Trace) throws(ReplayError) {
        guard let pretraining else { return }
        guard mode == .perUser, knowledge == .device else {
            throw .usage(
                "A pretrained model serves the caches of single users with device knowledge: add --per user, with --knowledge "
                    + "device, or leave --pretrain out.")
        }
        if tiers != nil, policies.contains(where: Self.begins) {
            throw .usage("A model is trained in one cache a user, not in two tiers: leave --pretrain or --tiers out.")
        }
        guard pretraining == .otherUsers, statedPretraining != nil else { return }
        var isKnown = [Bool](repeating: false, count: trace.userCount)
        for user in trace.users { isKnown[Int(user)] = true }
        let users = isKnown.indices.filter { isKnown[$0] }
        let first = users.count { UserPart(number: 1, of: 2).contains(UInt32($0)) }
        guard min(first, users.count - first) >= 2 else {
            throw .data(
                "\(users.count.counted("user")) in halves of \(first) and \(users.count - first) are too few to train models on "
                    + "other users: each half needs at least 2.")
        }
    }
}

/// The models of a job's devices, trained before its replay.
package struct DeviceModels: Sendable {
    /// The policy with its model: for all users, or for each half of them. Empty for a policy that begins with none.
    private let policies: [ConfiguredPolicy]
    /// What planners begin with, likewise.
    private let planners: [PretrainedPlanner]

    /// Trains the models of a job; without a pretrained policy there are none. O(steps), and O(requests) for each time that
    /// all users have been replayed.
    ///
    /// - Parameters:
    ///   - input: the requests of the job, with its labels.
    ///   - traces: those that ``Pretraining/traces(_:)`` names, with the labels of the job.
    /// - Throws: ``ReplayError`` as ``DeviceTraining``.
    package init?(for job: ReplayJob, over input: ReplayInput, others traces: [Trace]) throws(ReplayError) {
        guard let pretraining = job.statedPretraining else { return nil }
        do {
            // A model for another cache needs to know how the cache is used.
            let given = ReplayJob.begins(job.policy) ? job.policy : ConfiguredPolicy(LearnedPolicy.self)
            let knowsWorkload = given.settings.contains { $0.name == "workload" }
            let parameters = try LearnedParameters(settingsOf: given).applying(
                knowsWorkload ? [] : [.init("workload", "on")], policy: LearnedPolicy.info.name)
            func training(_ inputs: [ReplayInput], _ users: UserPart?) throws(ReplayError) -> DeviceTraining {
                try DeviceTraining(
                    inputs: inputs, users: users, parameters: parameters, capacities: [job.capacity],
                    seed: job.options.seed)
            }
            let trainings =
                switch pretraining {
                case .otherUsers: try [2, 1].map { try training([input], UserPart(number: $0, of: 2)) }
                case .traces: [try training(traces.map { ReplayInput($0) }, nil)]
                }
            policies =
                try ReplayJob.begins(job.policy)
                ? trainings.map {
                    let model = try $0.train(steps: Pretraining.steps)
                    return try PolicyCatalogue.standard.serving(model, mode: .continuing).policy(job.policy.label)
                } : []
            planners =
                try job.plannerBegins
                ? job.options.prefetch.map { prefetch in
                    let announcements = prefetch.plansOnLists ? job.options.announcements : nil
                    return try trainings.map { try $0.trainPlanner(prefetch, announcements: announcements) }
                } ?? [] : []
        } catch let error as ReplayError {
            throw error
        } catch {
            throw .usage("\(error)")
        }
    }

    /// Returns the policy of a user, if it begins with a pretrained model.
    func policy(ofUser user: Int) -> ConfiguredPolicy? { Self.choice(from: policies, user) }

    /// Returns what the planner of a user begins with, if there is one.
    func planner(ofUser user: Int) -> PretrainedPlanner? { Self.choice(from: planners, user) }

    private static func choice<Model>(from models: [Model], _ user: Int) -> Model? {
        models.count < 2 || UserPart(number: 1, of: 2).contains(UInt32(user)) ? models.first : models.last
    }
}

extension LearnedParameters {
    /// The parameters as a policy was given them, and otherwise the defaults. Those of an admission rule are left out.
    fileprivate init(settingsOf policy: ConfiguredPolicy) throws(PolicyError) {
        let names = Self.table.map(\.name)
        self = try LearnedParameters().applying(
            policy.settings.filter { names.contains($0.name) }, policy: policy.info.name)
    }
}
