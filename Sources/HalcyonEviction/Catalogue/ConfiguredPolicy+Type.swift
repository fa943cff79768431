extension ConfiguredPolicy {
    /// A policy by its type, ready to make caches.
    ///
    /// ```swift
    /// let policy = ConfiguredPolicy(S3FIFO.self)
    /// ```
    public init<Policy: CataloguedPolicy & ~Copyable>(
        _ policy: Policy.Type, parameters values: Policy.Parameters = Policy.Parameters()
    ) {
        self.init(policy, values, makeFleet: nil)
    }

    /// A policy by its type, whose caches can share a model.
    public init<Policy: ModelSharingPolicy & ~Copyable>(
        _ policy: Policy.Type, parameters values: Policy.Parameters = Policy.Parameters()
    ) {
        self.init(policy, values, makeFleet: PolicyEntry.fleetMaker(of: policy, values))
    }

    private init<Policy: CataloguedPolicy & ~Copyable>(
        _ policy: Policy.Type, _ values: Policy.Parameters, makeFleet: PolicyEntry.FleetMaker?
    ) {
        self.init(
            info: Policy.info, settings: [], parameters: Policy.Parameters.table.map { ($0.name, $0.read(values)) },
            makeRun: { context, times in
                Policy.makeCache(Policy(values, context: context), context: context, times: times)
            },
            makeDecoratedRun: { context, decorator in
                decorator.makeCache(around: Policy(values, context: context), context: context)
            },
            makeLive: { context in Policy.makeLiveIndex(Policy(values, context: context), context: context) },
            makeFleet: makeFleet)
    }
}
