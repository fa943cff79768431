import HalcyonAccessLog

extension AccessLog: AccessRecorder {
    /// Records what an ``ImageCache`` was asked for.
    public func record(_ access: RecordedAccess) {
        let outcome: LoggedAccess.Outcome =
            switch access.outcome {
            case .memory: .memory
            case .disk: .disk
            case .network: .network
            case .prefetched: .prefetched
            case .miss: .miss
            }
        record(
            access.key, cost: access.cost, categories: access.categories, outcome: outcome, user: access.user,
            at: access.time)
    }
}
