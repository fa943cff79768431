extension MemoryStorage {
    /// What can be set.
    public typealias Config = MemoryStorageConfig

    /// How the storage is configured, read and set under its lock.
    public var config: Config {
        get { core.state.withLock { $0.config } }
        set { withConfig { $0 = newValue } }
    }

    /// Reads and changes the configuration in one step that nobody else comes between.
    ///
    /// New limits and rules hold when this returns; `change` must not use the storage.
    public func withConfig<Result: Sendable>(_ change: @Sendable (inout Config) throws -> Result) rethrows -> Result {
        let now = core.clock.now
        var removedValues: MemoryCore.RemovedValues?
        let result = try core.state.withLock { state throws -> Result in
            let before = state.config
            let result = try change(&state.config)
            if state.config.categoryRules != before.categoryRules {
                state.entries.apply(state.config.categoryRules, time: now)
            }
            if state.config.limits != before.limits { state.entries.limit(state.config.limits, at: now) }
            removedValues = state.takeRemovedValues(reporting: core.reports)
            return result
        }
        core.report(removedValues)
        return result
    }
}
