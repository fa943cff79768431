/// A row of features taken at one instant, with what the heuristics thought then: 42 bytes.
///
/// Bytes 0 ..< 38 are the network's inputs (``Feature``); the heuristics' follow, apart, so that switching off a group of
/// features takes nothing from them.
enum Sample {
    static let width = 42
    /// What ``GreedyDual`` gives the object above its clock.
    static let worth = 38
    /// The time since the last access, in octaves.
    static let age = 39
    /// The object's cost, in octaves.
    static let cost = 40
    /// Once it is known: bit 0 says whether the object was asked for again within the horizon. From the start: the other
    /// bits say which judges would have evicted the object; see ``Contest``.
    static let outcome = 41
}
