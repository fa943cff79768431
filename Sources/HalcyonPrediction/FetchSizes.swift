import HalcyonPrefetch

/// What an image of unknown size is taken to have: as many bytes as those that were fetched have on average, in this run and before.
struct FetchSizes {
    /// Where nothing was fetched yet: what a photograph of some hundred thousand pixels takes.
    static let usual = 100_000

    private var count = 0
    private var bytes = 0

    init() {}

    /// Goes on from what was paid for before. That is near enough: fetches that brought nothing are among it, and what was under way when
    /// a process was killed counts as what it was taken to have.
    init(after spending: PrefetchSpending) {
        if spending.bytesSpent > 0 { (count, bytes) = (max(spending.objectsSpent, 1), spending.bytesSpent) }
    }

    /// The mean, in bytes.
    var mean: Int { count == 0 ? Self.usual : bytes / count }

    /// Takes an image that came over the network into account.
    mutating func note(_ size: Int) {
        count += 1
        let (sum, isTooLarge) = bytes.addingReportingOverflow(size)
        bytes = isTooLarge ? bytes : sum
    }
}
