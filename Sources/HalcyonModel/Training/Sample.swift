/// A row of features taken at one instant, with what the heuristics thought then: 36 bytes.
///
/// Bytes 0 ..< 32 are the network's inputs (``Feature``); the heuristics' follow, apart, so that switching off a group of
/// features takes nothing from them.
enum Sample {
    static let width = 36
    /// What ``GreedyDual`` gives the object above its clock.
    static let worth = 32
    /// The time since the last access, in octaves.
    static let age = 33
    /// The object's cost, in octaves.
    static let cost = 34
    /// Once it is known: bit 0 says whether the object was asked for again within the horizon. From the start: the other
    /// bits say which judges would have evicted the object; see ``Contest``.
    static let outcome = 35
}
