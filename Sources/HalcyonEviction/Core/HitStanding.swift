/// What a hit would find; see ``CacheCore/standing(of:at:deadline:)``.
public enum HitStanding: Sendable {
    /// The entry is not resident: there is nothing to hit.
    case absent
    /// The entry is there and stays: the index may be told of the hit later, after other hits.
    case deferrable
    /// The entry has expired, would expire sooner, or others may leave for it: the index must be told at once.
    case immediate
}
