import HalcyonEviction

/// Which categories follow on which: how often the next access went to each category after an access to each set of them.
///
/// What followed on a set lies together (``PairRows``). All operations O(1) a category of the object. Bytes: 12 a place for a pair, up
/// to the bound, and 24 a set.
@usableFromInline
struct CategoryTransitions: ~Copyable {
    /// Counts halve every 2¹⁷ requests.
    @inlinable static var epochShift: Int { 17 }

    /// Returns the epoch of an access, modulo 2³².
    @inlinable @inline(__always)
    static func epoch(of now: Int) -> UInt32 { UInt32(truncatingIfNeeded: now >> epochShift) }

    @usableFromInline
    struct Count: BitwiseCopyable {
        @usableFromInline var epoch: UInt32 = 0
        @usableFromInline var weight: Float = 0

        @inlinable
        @inline(__always)
        func weight(in epoch: UInt32) -> Float {
            epoch == self.epoch ? weight : FastMath.halved(weight, times: epoch &- self.epoch)
        }

        @inline(__always)
        mutating func add(in epoch: UInt32) {
            weight = weight(in: epoch) + 1
            self.epoch = epoch
        }
    }

    /// All that followed on each set.
    @usableFromInline var totals = SlotArray(repeating: Count())
    @usableFromInline var counts: PairRows<Count>

    /// - Parameter bound: the most places for pairs of a set and a category that came after it.
    init(bound: Int) { counts = PairRows(repeating: Count(), bound: bound) }

    var byteCount: Int { totals.byteCount + counts.byteCount }

    /// Counts an access to `members` by somebody who asked for something of `from` before.
    mutating func note(from: CategorySetID, to members: UnsafeBufferPointer<UInt32>, now: Int) {
        if from == 0 || from >= CategorySetTable.bound { return }
        let epoch = CategoryTransitions.epoch(of: now)
        totals[from].add(in: epoch)
        for category in members { counts.update(from, category) { $0.add(in: epoch) } }
    }

    /// What followed on a set.
    @inlinable @inline(__always)
    func followers(of from: CategorySetID) -> PairRow { counts[from] }

    /// How often anything followed on a set.
    @inlinable @inline(__always)
    func followed(_ from: CategorySetID, now: Int) -> Float {
        totals[from].weight(in: CategoryTransitions.epoch(of: now))
    }

    /// Has what followed on a set on its way from memory, as far as it went to `category`.
    @inlinable @inline(__always)
    func expect(_ category: UInt32, in followers: PairRow) { counts.expect(category, in: followers) }

    /// The chance that the access after one to a set goes to the likeliest of `members`, by the counts so far with five more that
    /// went elsewhere.
    ///
    /// - Parameter followed: how often anything followed on the set.
    @inline(__always)
    func chance(
        _ followers: PairRow, _ followed: Float, to members: UnsafeBufferPointer<UInt32>, now: Int
    ) -> Float {
        let epoch = CategoryTransitions.epoch(of: now)
        var most: Float = 0
        var index = 0
        while index < members.count {
            if let count = counts.value(members[index], in: followers)?.pointee, count.weight(in: epoch) > most {
                most = count.weight(in: epoch)
            }
            index &+= 1
        }
        return most / (followed + 5)
    }
}
