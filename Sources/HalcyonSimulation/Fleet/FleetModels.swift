/// What the caches of a fleet learn together, where their policy learns.
public enum FleetModels: String, Sendable, Codable, CaseIterable {
    /// One model serves all users and learns from all.
    case shared
    /// Each user's cache has a model of its own.
    case own
    /// One model for all, to which each user's cache adds a correction learnt from that user alone.
    case adapted
}
