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
    /// to the server.
    public var staleWhileRevalidate: Int64?

    /// Creates a policy.
    public init(honoursServer: Bool = true, staleWhileRevalidate: Int64? = nil) {
        self.honoursServer = honoursServer
        self.staleWhileRevalidate = staleWhileRevalidate
    }

    /// Returns what to do with an entry at a time, in seconds since 1970. An entry without a record (`nil`), which may have been lost,
    /// is revalidated.
    ///
    /// See `FreshnessTests.policyDecidesUseOrRevalidation()`.
    public func decision(for freshness: Freshness?, at now: Int64) -> FreshnessDecision {
        guard honoursServer else { return .use }
        guard let freshness else { return .revalidate }
        if now < freshness.freshUntil { return .use }
        if freshness.mustRevalidate { return .revalidate }
        let allowed =
            staleWhileRevalidate.map { span -> Int64 in
                let (time, overflows) = freshness.freshUntil.addingReportingOverflow(span)
                return overflows ? (span > 0 ? .max : .min) : time
            } ?? 0
        return now < max(freshness.staleWhileRevalidateUntil, allowed) ? .useAndRevalidate : .revalidate
    }

    /// Returns whether a stale entry may be used where the server fails; an entry without a record may.
    public func mayServeAfterError(_ freshness: Freshness?, at now: Int64) -> Bool {
        guard honoursServer, let freshness else { return true }
        return now < max(freshness.freshUntil, freshness.staleIfErrorUntil)
    }
}
