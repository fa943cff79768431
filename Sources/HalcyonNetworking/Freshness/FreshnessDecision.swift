/// What a cache does with an entry that it has.
public enum FreshnessDecision: Sendable, Hashable {
    /// Use it.
    case use
    /// Use it, and ask the server meanwhile.
    case useAndRevalidate
    /// Ask the server, by the validators if there are any, and use it if nothing has changed.
    case revalidate
}

/// How much a cache heeds what servers say of freshness.
public struct FreshnessPolicy: Sendable, Hashable {
    /// Whether it heeds it at all. Without, as image caches usually do, what is there is used until it expires by the cache's
    /// own rules.
    public var honoursServer: Bool
    /// Whether a stale entry is used while a fresh one is fetched, for so many seconds beyond what the server allows itself;
    /// `nil` leaves it to the server.
    public var staleWhileRevalidate: Int64?

    /// A policy.
    public init(honoursServer: Bool = true, staleWhileRevalidate: Int64? = nil) {
        self.honoursServer = honoursServer
        self.staleWhileRevalidate = staleWhileRevalidate
    }

    /// Returns what to do with an entry at a time, in seconds since 1970. An entry without a record (`nil`), which may have been lost,
    /// is revalidated.
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
