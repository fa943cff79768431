/// What a cache is to save.
enum Objective: String, CaseIterable, Sendable {
    /// As many requests as possible.
    case objects
    /// As many bytes as possible.
    case bytes
    /// As much as possible of what misses cost: so much a miss, and so much a byte.
    case cost
}
