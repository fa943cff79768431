/// A policy in the catalogue: its info, its parameters, and how to make a cache with it.
public struct PolicyEntry: Sendable {
    /// One settable value, without its owner's type.
    public struct ParameterInfo: Sendable {
        /// The name.
        public let name: String
        /// What it does.
        public let help: String
        /// What is accepted, in words.
        public let accepts: String
        /// The default, as one would write it.
        public let defaultValue: String
    }

    /// Its name, meaning, source and traits.
    public let info: PolicyInfo
    /// What can be set.
    public let parameters: [ParameterInfo]

    private let resolve: @Sendable ([PolicySpec.Setting]) throws(PolicyError) -> Resolved

    struct Resolved {
        let values: [(name: String, value: String)]
        let make: @Sendable (PolicyContext, CacheTimes?) -> CacheRun
        let makeDecorated: @Sendable (PolicyContext, any PolicyDecorator) -> CacheRun
        let makeLive: @Sendable (PolicyContext) -> LiveIndex
        let makeFleet: FleetMaker?
    }

    /// Given the context of a fleet, makes what makes its caches.
    typealias FleetMaker = @Sendable (PolicyContext, CacheTimes?) -> (PolicyContext) -> CacheRun

    /// The entry of a policy.
    public init<Policy: CataloguedPolicy & ~Copyable>(_ policy: Policy.Type) {
        self.init(policy, defaults: Policy.Parameters(), fleet: { _ in nil })
    }

    /// The entry of a policy whose caches can share a model.
    public init<Policy: ModelSharingPolicy & ~Copyable>(_ policy: Policy.Type) {
        self.init(policy, defaults: Policy.Parameters())
    }

    /// The same, with values of its own for what is not set by hand.
    ///
    /// - Parameter defaults: besides what can be written it may hold what a policy is to start with, such as a trained
    ///   model.
    public init<Policy: ModelSharingPolicy & ~Copyable>(_ policy: Policy.Type, defaults: Policy.Parameters) {
        self.init(policy, defaults: defaults, fleet: { values in Self.fleetMaker(of: policy, values) })
    }

    /// Makes caches that share a model with these parameters.
    static func fleetMaker<Policy: ModelSharingPolicy & ~Copyable>(
        of policy: Policy.Type, _ values: Policy.Parameters
    ) -> FleetMaker {
        { fleet, times in
            let model = Policy.makeModel(values, context: fleet)
            return { Policy.makeCache(Policy(values, context: $0, model: model), context: $0, times: times) }
        }
    }

    private init<Policy: CataloguedPolicy & ~Copyable>(
        _ policy: Policy.Type, defaults: Policy.Parameters,
        fleet: @escaping @Sendable (Policy.Parameters) -> FleetMaker?
    ) {
        let info = Policy.info
        self.info = info
        parameters = Policy.Parameters.table.map {
            ParameterInfo(name: $0.name, help: $0.help, accepts: $0.accepts, defaultValue: $0.read(defaults))
        }
        resolve = { settings throws(PolicyError) in
            let values = try defaults.applying(settings, policy: info.name)
            return Resolved(
                values: Policy.Parameters.table.map { ($0.name, $0.read(values)) },
                make: { context, times in
                    Policy.makeCache(Policy(values, context: context), context: context, times: times)
                },
                makeDecorated: { context, decorator in
                    decorator.makeCache(around: Policy(values, context: context), context: context)
                },
                makeLive: { context in Policy.makeLiveIndex(Policy(values, context: context), context: context) },
                makeFleet: fleet(values))
        }
    }

    /// The policy with these settings.
    ///
    /// - Throws: ``PolicyError`` if a parameter does not exist or its value is not accepted.
    public func configured(_ settings: [PolicySpec.Setting] = []) throws(PolicyError) -> ConfiguredPolicy {
        let resolved = try resolve(settings)
        return ConfiguredPolicy(
            info: info, settings: settings, parameters: resolved.values, makeRun: resolved.make,
            makeDecoratedRun: resolved.makeDecorated, makeLive: resolved.makeLive, makeFleet: resolved.makeFleet)
    }
}

/// A policy with its parameters set, ready to make caches.
public struct ConfiguredPolicy: Sendable {
    /// Its name, meaning, source and traits.
    public let info: PolicyInfo
    /// What was set by hand.
    public let settings: [PolicySpec.Setting]
    /// Every parameter with its value.
    public let parameters: [(name: String, value: String)]
    let makeRun: @Sendable (PolicyContext, CacheTimes?) -> CacheRun
    let makeDecoratedRun: @Sendable (PolicyContext, any PolicyDecorator) -> CacheRun
    let makeLive: @Sendable (PolicyContext) -> LiveIndex
    let makeFleet: PolicyEntry.FleetMaker?

    /// The name with what was set by hand: `s3-fifo(small=0.2)`.
    public var label: String { PolicySpec(name: info.name, settings: settings).description }

    /// Whether its caches can share what they learn.
    public var learns: Bool { makeFleet != nil }

    /// An empty cache under this policy, compiled for the policy's type.
    ///
    /// - Parameter times: where the cache notes how long its accesses and evictions take; `nil` for one that is not timed.
    public func makeCache(_ context: PolicyContext, times: CacheTimes? = nil) -> CacheRun {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        return makeRun(context, times)
    }

    /// An empty cache under this policy, for a storage that holds values.
    public func makeLiveIndex(_ context: PolicyContext) -> LiveIndex {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        return makeLive(context)
    }

    /// An empty cache under this policy with something around it; slower, because not compiled for the policy's type.
    public func makeCache(_ context: PolicyContext, decorator: some PolicyDecorator) -> CacheRun {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        return makeDecoratedRun(context, decorator)
    }

    /// What makes the caches of a fleet that share one model; `nil` for a policy that has none.
    ///
    /// - Parameter times: where these caches note how long their accesses and evictions take; `nil` where they are not timed.
    public func sharedModelCaches(
        _ fleet: PolicyContext, times: CacheTimes? = nil
    ) -> ((PolicyContext) -> CacheRun)? {
        makeFleet.map { $0(fleet, times) }
    }
}

extension PolicyParameters {
    /// These values with some set by hand.
    ///
    /// - Parameter policy: the policy's name, for messages.
    /// - Throws: ``PolicyError`` if a parameter does not exist or is set twice, or its value is not accepted or does not go with
    ///   another.
    public func applying(_ settings: [PolicySpec.Setting], policy: String) throws(PolicyError) -> Self {
        var values = self
        var given: Set<String> = []
        for setting in settings {
            guard let parameter = Self.table.first(where: { $0.name == setting.name }) else {
                throw .unknownParameter(setting.name, policy: policy, accepted: Self.table.map(\.name))
            }
            guard given.insert(setting.name).inserted else {
                throw .conflict("\(policy) is given '\(setting.name)' twice: give it once.")
            }
            guard parameter.write(&values, setting.value) else {
                throw .badValue(setting.value, parameter: setting.name, policy: policy, accepts: parameter.accepts)
            }
        }
        values.giveWay(to: given)
        if let conflict = values.conflict { throw .conflict(conflict) }
        return values
    }
}
