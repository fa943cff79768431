/// The times of accesses and evictions since the last ``removeAll()``.
///
/// A cache that is made with it (``ConfiguredPolicy/makeCache(_:model:times:)``) adds the time of each choice of a victim;
/// its owner adds the time of each access by ``access(_:)``. Several caches may share one, as long as they are used in
/// turn. Times are those of a monotonic clock, less what reading it costs (``clockCost``), and never below zero. 16 bytes
/// an access and as many an eviction.
public final class CacheTimes {
    /// The time of each access that found its object.
    public private(set) var hits: [Duration] = []
    /// The time of each access that did not, evictions included, the fetch of the object not.
    public private(set) var misses: [Duration] = []
    /// The time of each choice of a victim. A choice that falls on the new object itself is no eviction: its time is in the
    /// access alone.
    public private(set) var evictions: [Duration] = []
    /// What the clock shows around nothing. It is subtracted from every time.
    public let clockCost: Duration

    private let clock = ContinuousClock()
    /// The number of choices so far.
    private var choices = 0
    /// What timing a choice adds to the access it is made for.
    private var choiceCost = Duration.zero
    /// Enough for any batch, and touched once, so that hardly anything is allocated within what is timed.
    private static let room = 1 << 16

    /// Nothing noted yet. Takes about a millisecond to find what the clock costs: medians of 1,001 readings.
    public init() {
        let clock = clock
        clockCost = Self.median { clock.measure {} }
        for list in [\CacheTimes.hits, \.misses, \.evictions] {
            self[keyPath: list] = Array(repeating: .zero, count: Self.room)
        }
        removeAll()
        choiceCost = max(.zero, Self.median { clock.measure { addChoice(since: clock.now) } } - clockCost)
        removeAll()
    }

    /// Forgets every time, and keeps the room for them.
    public func removeAll() {
        hits.removeAll(keepingCapacity: true)
        misses.removeAll(keepingCapacity: true)
        evictions.removeAll(keepingCapacity: true)
    }

    /// The time on the clock.
    @usableFromInline var now: ContinuousClock.Instant { clock.now }

    /// Serves an access and adds its time, without what the clock costs.
    public func access(_ serve: () -> AccessOutcome) -> AccessOutcome {
        let choicesBefore = choices
        let start = clock.now
        let outcome = serve()
        let spent = clock.now - start
        let net = max(.zero, spent - clockCost - choiceCost * (choices - choicesBefore))
        if outcome.isHit { hits.append(net) } else { misses.append(net) }
        return outcome
    }

    /// Adds the time of a choice of a victim: from `start` to now, without what the clock costs.
    @usableFromInline
    func addChoice(since start: ContinuousClock.Instant) {
        evictions.append(max(.zero, clock.now - start - clockCost))
        choices += 1
    }

    /// Removes the last choice: it fell on the new object itself, so that no entry is evicted.
    @usableFromInline
    func withdrawChoice() { evictions.removeLast() }

    private static func median(_ reading: () -> Duration) -> Duration {
        (0...1_000).map { _ in reading() }.sorted()[500]
    }
}
