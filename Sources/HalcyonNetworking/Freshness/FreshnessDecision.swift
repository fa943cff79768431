/// The decision about a cached entry.
public enum FreshnessDecision: Sendable, Hashable {
    /// Use it.
    case use
    /// Use it, and ask the server in the background.
    case useAndRevalidate
    /// Ask the server first, by the validators if there are any, and use it if nothing has changed.
    case revalidate
}

/// The degree to which a cache follows the freshness that servers state.
public struct FreshnessPolicy: Sendable, Hashable {
    /// Whether it follows it at all. If not, as in most image caches, an entry is used until it expires by the cache's own rules.
    public var honoursServer: Bool
    /// The seconds for which a stale entry is used while a fresh one is loaded, if that is more than the server allows; `nil` leaves it
    /// to the server. Default: `nil`.
    public var staleWhileRevalidate: Int64?
    /// The seconds for which a stale entry is used if the server fails, if that is more than the server allows; `nil` leaves it to the
    /// server. Default: 604,800, a week.
    ///
    /// A server fails if it cannot be reached in time, or if it answers 429 or a status from 500 to 599. Any other answer, such as 403,
    /// 404 or 410, is one, and the load ends with its error. An entry with `must-revalidate` or `no-cache` is never used stale: RFC 9111,
    /// 5.2.2.2 and 5.2.2.4, forbid it, and servers that send these know why. An entry without a record may be used.
    ///
    /// See `ManagerRevalidationTests.staleImageServesServerErrorsOnly(status:isServed:)`.
    public var staleIfError: Int64?
    /// The lifetime of an entry whose server states none, as a share of the time since its last change (`Last-Modified`): from 0, which
    /// makes it stale at once, to 1. Default: 0.1, as RFC 9111, 4.2.2, suggests.
    ///
    /// Entries with `no-cache` or `must-revalidate`, and those without `Last-Modified`, are revalidated at each use.
    public var heuristicShare: Double
    /// The longest lifetime by ``heuristicShare``, in seconds. Default: 86,400, a day.
    public var heuristicLimit: Int64

    /// Creates a policy.
    public init(
        honoursServer: Bool = true, staleWhileRevalidate: Int64? = nil, staleIfError: Int64? = 604_800,
        heuristicShare: Double = 0.1, heuristicLimit: Int64 = 86_400
    ) {
        self.honoursServer = honoursServer
        self.staleWhileRevalidate = staleWhileRevalidate
        self.staleIfError = staleIfError
        self.heuristicShare = heuristicShare
        self.heuristicLimit = heuristicLimit
    }

    /// Returns what to do with an entry at a time, in seconds since 1970. An entry without a record (`nil`), which may have been lost,
    /// is revalidated. So is one that was received in the future: the clock was ahead then, and its age is not known.
    ///
    /// See `FreshnessTests.policyDecidesUseOrRevalidation()`.
    ///
    /// - Parameter isServerFailing: whether the server has just failed, and is not to be asked again yet: what may be used then is.
    public func decision(
        for freshness: Freshness?, at now: Int64, isServerFailing: Bool = false
    ) -> FreshnessDecision {
        guard honoursServer else { return .use }
        let decision = decisionOfServer(freshness, now)
        return isServerFailing && mayServeAfterError(freshness, at: now) ? .use : decision
    }

    private func decisionOfServer(_ freshness: Freshness?, _ now: Int64) -> FreshnessDecision {
        guard let freshness, now >= freshness.received else { return .revalidate }
        let end = end(of: freshness)
        if now < end { return .use }
        if freshness.mustRevalidate { return .revalidate }
        let allowed = max(staleWhileRevalidate ?? 0, freshness.control.staleWhileRevalidate ?? 0)
        return now < end.adding(allowed) ? .useAndRevalidate : .revalidate
    }

    /// Returns whether a stale entry may be used where the server fails; an entry without a record may.
    public func mayServeAfterError(_ freshness: Freshness?, at now: Int64) -> Bool {
        guard honoursServer, let freshness else { return true }
        let end = end(of: freshness)
        if freshness.mustRevalidate { return now >= freshness.received && now < end }
        return now < end.adding(max(staleIfError ?? 0, freshness.control.staleIfError ?? 0))
    }

    /// The time until which an entry is fresh.
    private func end(of freshness: Freshness) -> Int64 {
        freshness.freshUntil(share: heuristicShare, limit: heuristicLimit)
    }
}
