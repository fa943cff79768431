/// The balance between two deciders that are compared: a sum of differences, which are positive if they count for the first, and
/// the sum of their squares.
///
/// It compares a shadow with the learner (``PolicyShadow``), a given network with the one that a cache trains further
/// (``GivenNetwork``), and a planner's victims with those of the eviction policy.
package struct Balance: Sendable, BitwiseCopyable {
    /// The sum of the differences: more than 0 if the first is ahead.
    package var excess = 0.0
    /// The sum of their squares: their number, if each is 1 or −1.
    package var squares = 0.0

    /// A balance without differences.
    package init() {}

    /// The standard deviations by which the first is ahead, if the differences were independent and none was expected.
    package var lead: Double { squares > 0 ? excess / squares.squareRoot() : 0 }

    /// Adds a difference; the sums so far count `memory` times as much as before.
    package mutating func count(_ difference: Double, keeping memory: Double) {
        excess = excess * memory + difference
        squares = squares * memory + difference * difference
    }
}
