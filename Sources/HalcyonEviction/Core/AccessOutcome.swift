/// What became of an access. Odd raw values are hits.
@frozen
public enum AccessOutcome: UInt8, Sendable {
    /// Absent, fetched and kept.
    case miss = 0
    /// Resident.
    case hit = 1
    /// Absent, fetched and not kept: larger than the cache or refused by the policy.
    case refused = 2
    /// Absent from the first of two tiers, resident in the second.
    case lowerTierHit = 3
    /// Resident but expired or of another size than what is asked for now; fetched anew and kept.
    case stale = 4

    /// Whether the object was found.
    @inlinable
    public var isHit: Bool { rawValue & 1 == 1 }
}
