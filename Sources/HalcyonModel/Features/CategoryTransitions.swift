import HalcyonEviction

/// Which categories follow on which: how often the next access went to each category after an access to each set of them.
///
/// Pairs are kept in a table of bounded size, in which a newer one takes the place of an older one. All operations O(1) a
/// category of the object. Bytes: 20 a pair, up to the bound, and 8 a set.
struct CategoryTransitions: ~Copyable {
    /// Counts halve every 2¹⁷ requests.
    private static let epochShift: UInt32 = 17

    struct Count: BitwiseCopyable {
        var epoch: UInt32 = 0
        var weight: Float = 0

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
    private var totals = SlotArray(repeating: Count())
    private var counts: PairTable<Count>

    /// - Parameter bound: the most pairs of a set and a category that came after it, a power of two.
    init(bound: Int) { counts = PairTable(repeating: Count(), bound: bound) }

    var byteCount: Int { totals.byteCount + counts.byteCount }

    /// Counts an access to `members` by somebody who asked for something of `from` before.
    mutating func note(from: CategorySetID, to members: UnsafeBufferPointer<UInt32>, now: UInt32) {
        if from == 0 || from >= CategorySetTable.bound { return }
        let epoch = now >> CategoryTransitions.epochShift
        totals[from].add(in: epoch)
        for category in members { counts.update(from, category) { $0.add(in: epoch) } }
    }

    /// Has what ``expect(_:_:)`` looks at on its way from memory.
    @inline(__always)
    func expectPlace(_ from: CategorySetID, _ category: UInt32) { counts.expectPlace(from, category) }

    /// Has what followed on `from` on its way from memory, as far as it went to `category`.
    @inline(__always)
    func expect(_ from: CategorySetID, _ category: UInt32) { counts.expect(from, category) }

    /// The chance that the access after one to `from` goes to the likeliest of `members`, by the counts so far with five
    /// more that went elsewhere.
    @inline(__always)
    func chance(from: CategorySetID, to members: UnsafeBufferPointer<UInt32>, now: UInt32) -> Float {
        if from == 0 { return 0 }
        let epoch = now >> CategoryTransitions.epochShift
        var most: Float = 0
        var index = 0
        while index < members.count {
            if let count = counts.value(from, members[index])?.pointee, count.weight(in: epoch) > most {
                most = count.weight(in: epoch)
            }
            index &+= 1
        }
        return most / (totals[from].weight(in: epoch) + 5)
    }
}
