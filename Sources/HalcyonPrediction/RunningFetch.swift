import HalcyonPrefetch

/// Whom a ``Forecaster`` fetches for.
struct ForesightUser {
    var number = UInt32.max
    var name: String?
}

/// A fetch of a ``Forecaster`` that is under way.
struct RunningFetch {
    let task: Task<Void, Never>
    /// The number of the user for whom it is fetched.
    let user: UInt32
    /// What was paid for it.
    let payment: PrefetchSpending.Payment
    let received: ReceivedBytes
    /// Whether somebody has asked for it meanwhile.
    var isWanted = false
}
