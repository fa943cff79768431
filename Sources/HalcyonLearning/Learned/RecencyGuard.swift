/// Lets LRU decide for a while where LRU is plainly right and the learner is not.
///
/// What users want can change within a few hundred requests, sooner than a network follows. So each request is watched in
/// which this cache and an LRU cache of its size differ (``LeastRecentShadow``), and Page's test (Continuous inspection
/// schemes, Biometrika 1954) sums them up: 1 for a hit that only LRU would have had, ``price`` less for one that LRU would
/// have missed, never below 0. Beyond ``limit(residents:)`` the least recent go, for the next ``turn`` part of a turnover;
/// then the sum starts anew. As long as one of four such requests is the learner's, nothing happens, nor where the learner has
/// lately been right more than twice as often as LRU: there a run of LRU's hits is chance.
///
/// Only where every object takes the same room: LRU is no measure where the large can make room for many small ones.
struct RecencyGuard: ~Copyable {
    /// What a hit that LRU would have missed takes off the sum.
    static let price = 3
    /// What is left of an old one of them beside each new one.
    private static let memory: Float = 0.999
    /// The part of the residents that LRU replaces in its turn.
    static let turn = 0.1

    private var shadow: LeastRecentShadow
    private var excess = 0
    /// The hits that only LRU and only this cache had, over a thousand or so of both.
    private var lost: Float = 0
    private var won: Float = 0
    /// The evictions left that LRU decides.
    private var left = 0
    /// How often LRU's turn came.
    private(set) var turns = 0

    init(capacity: Int) { shadow = LeastRecentShadow(capacity: capacity) }

    var byteCount: Int { shadow.byteCount }

    /// The sum beyond which LRU decides: so many hits lost are hardly chance, and worth a turn of LRU.
    static func limit(residents: Int) -> Int { max(10, residents / 100) }

    /// Takes request `now` into account. O(1), amortised.
    ///
    /// - Parameter last: the request of the object's latest access, if it is known.
    @inline(__always)
    mutating func note(last: UInt32?, now: UInt32, isMiss: Bool, residents: Int) {
        let isHeld = shadow.access(last: last, now: now)
        if isHeld != isMiss { return }
        excess = max(0, excess + (isHeld ? 1 : -RecencyGuard.price))
        lost = lost * RecencyGuard.memory + (isHeld ? 1 : 0)
        won = won * RecencyGuard.memory + (isHeld ? 0 : 1)
        if left == 0 && excess > RecencyGuard.limit(residents: residents) && won < 2 * lost {
            excess = 0
            turns += 1
            left = max(Int(Double(residents) * RecencyGuard.turn), 1)
        }
    }

    /// Takes out an object that was removed, whose latest access was at `last`.
    mutating func forget(_ last: UInt32) { _ = shadow.forget(last) }

    mutating func resize(to capacity: Int) { shadow.resize(to: capacity) }

    /// Whether LRU is to decide the eviction that is due.
    @inline(__always)
    mutating func decides() -> Bool {
        if left == 0 { return false }
        left -= 1
        return true
    }
}
