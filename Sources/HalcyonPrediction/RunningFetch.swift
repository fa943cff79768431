import HalcyonPrefetch

/// The user for whom a ``Forecaster`` fetches.
struct ForesightUser {
    var number = UInt32.max
    var name: String?
}

/// A fetch in flight.
struct RunningFetch {
    let task: Task<Void, Never>
    /// The user for whom it is fetched.
    let user: ForesightUser
    /// Its payment from the budget.
    let payment: PrefetchSpending.Payment
    let received: ReceivedBytes
    /// Whether the image was requested meanwhile.
    var isWanted = false
}
