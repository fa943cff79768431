import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace

/// The prefetching of a replay: the policy and its limits.
public struct PrefetchOptions: Sendable, Equatable {
    /// The prefetch policy as requested, with the parameters set by the user.
    public let policy: PolicySpec
    /// The planner's parameters, if the policy is the planner.
    public var planner: PlannerParameters
    /// The parameters of the policy `announced`, if it is the policy.
    public var announced = AnnouncedParameters()
    /// The pretrained model that the planner starts with; it continues learning. Nil by default.
    public var pretrained: PretrainedPlanner?
    /// Whether the planner of each device goes on from what that of the device before has learned: to train a model, which no
    /// device could. False by default.
    package var trainsDevices = false
    /// The prefetch budget of each cache.
    public var budget: PrefetchBudget
    /// The latency of a prefetch. With two tiers, their model takes the place of one that was not set.
    public var latency: FetchLatency {
        didSet { isLatencySet = true }
    }
    private var isLatencySet: Bool
    /// Whether the durations that a log recorded are required, and not only used if there are some. False by default.
    package var requiresMeasured = false

    /// The idle time after which a user's visit has ended, in microseconds. The default is 30 minutes.
    public var idleTime = PlanningMoment.idleTime

    package static let plannerName = "planner"
    /// The name of the planner on lists alone.
    package static let listsName = "lists"
    /// The name that repeats what a log recorded in place of a policy.
    package static let recordedName = "recorded"
    private static let announcedName = "announced"

    /// Creates prefetching options for a policy as text.
    ///
    /// - Parameters:
    ///   - policy: the name of a policy of `PrefetchCatalogue`. `planner` and
    ///     `announced` accept parameters: `planner(price=0.05)`. Or `recorded`,
    ///     which repeats the prefetches of an access log.
    ///   - latency: the latency of a prefetch; by default that of the tiers, or ``FetchLatency/standard``.
    /// - Throws: ``ReplayError/usage(_:)`` for an unknown policy, `PolicyError` for an unknown
    ///   parameter.
    public init(policy text: String, budget: PrefetchBudget, latency: FetchLatency? = nil) throws {
        let spec = try PolicySpec(parsing: text)
        guard spec.name == Self.recordedName || PrefetchCatalogue.entry(named: spec.name) != nil else {
            let names = (PrefetchCatalogue.entries.map(\.name) + [Self.recordedName]).joined(separator: ", ")
            throw ReplayError.usage("There is no prefetch policy '\(spec.name)': give one of \(names), or none.")
        }
        planner = spec.name == Self.listsName ? .listsOnly : PlannerParameters()
        switch spec.name {
        case Self.plannerName, Self.listsName: planner = try planner.applying(spec.settings, policy: spec.name)
        case Self.announcedName: announced = try announced.applying(spec.settings, policy: spec.name)
        default: _ = try NoParameters().applying(spec.settings, policy: spec.name)
        }
        policy = spec
        self.budget = budget
        self.latency = latency ?? .standard
        isLatencySet = latency != nil
    }

    /// Uses the latencies of two tiers, unless a latency was set.
    package mutating func adopt(_ tiers: TierOptions?) {
        if let tiers, !isLatencySet { latency = .modelled(tiers.latency) }
    }

    /// Uses the durations that a log recorded, unless a latency was set or none was measured.
    package mutating func adopt(_ recording: TraceRecording?) {
        if let fetches = recording?.fetches, fetches.count > 0, !isLatencySet { latency = .measured(fetches) }
    }

    /// Replaces measured latencies of objects by their median.
    package mutating func useMedianLatency() {
        if case .measured = latency { latency = .fixed(latency.shortest) }
    }

    /// Whether the prefetches of the log are repeated.
    package var isRecorded: Bool { policy.name == Self.recordedName }

    /// Refuses to repeat what was not recorded.
    package func verify(_ recording: TraceRecording?) throws(ReplayError) {
        if requiresMeasured, recording?.fetches.count ?? 0 == 0 {
            throw .usage(
                "Measured latencies need an access log with durations of fetches that is read from its start in its own order."
            )
        }
        if isRecorded, recording == nil {
            throw .usage(
                "The prefetch policy recorded needs an access log that is read from its start in its own order.")
        }
    }

    /// Refuses a policy that has no model to train.
    func verifyPlanner() throws(ReplayError) {
        guard !isPlanner else { return }
        throw .usage("The prefetch policy \(policy.name) has no model to train: give planner or planner(visits=on).")
    }

    /// Refuses a budget in bytes if objects are counted.
    package func verify(unit: SizeUnit) throws(ReplayError) {
        if unit == .objects && budget.countsBytes {
            throw .usage(
                "The budget \(budget) is in bytes, but objects are counted here: give it in objects, such as 2/request."
            )
        }
    }

    /// Whether the policy is the planner.
    package var isPlanner: Bool { [Self.plannerName, Self.listsName].contains(policy.name) }

    /// Every parameter of the policy with its value; empty for a policy without parameters.
    package var parameters: [String: String] {
        let values: [(String, String)] =
            switch policy.name {
            case Self.plannerName, Self.listsName:
                PlannerParameters.table.filter { planner.decisive.contains($0.name) }.map {
                    ($0.name, $0.read(planner))
                }
            case Self.announcedName: AnnouncedParameters.table.map { ($0.name, $0.read(announced)) }
            default: []
            }
        return Dictionary(values, uniquingKeysWith: { $1 })
    }

    /// The inputs that the policy depends on beside the accesses; none for the repetition of a log.
    package var traits: PrefetchTraits { PrefetchCatalogue.entry(named: policy.name)?.traits ?? [] }

    /// Whether the policy plans on lists.
    package var plansOnLists: Bool { isPlanner ? planner.lists == .on : traits.contains(.usesLists) }

    /// Creates an instance that has seen no request.
    ///
    /// - Parameter start: what a planner starts with.
    func makePolicy(_ context: PrefetchContext, from start: PretrainedPlanner?) -> any PrefetchPolicy {
        if isRecorded { return RecordedPrefetches() }
        if policy.name == Self.announcedName { return AnnouncedPrefetch(announced, context) }
        if !isPlanner, let entry = PrefetchCatalogue.entry(named: policy.name) {
            return entry.make(context)
        }
        if let start { return PrefetchPlanner(start, parameters: planner, context: context) }
        return PrefetchPlanner(planner, context: context)
    }
}

/// The policy of a replay that repeats recorded prefetches: it proposes nothing of its own.
private final class RecordedPrefetches: PrefetchPolicy {
    var metadataBytes: Int { 0 }
    func note(_ access: Access, isHit: Bool) {}
    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {}
}
