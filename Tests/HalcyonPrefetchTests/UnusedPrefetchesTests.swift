import HalcyonEviction
import HalcyonPrefetch
import Testing

@Suite("Unused prefetches are due in turn", .timeLimit(.minutes(20)))
struct UnusedPrefetchesTests {
    /// The queue beside a plain list of the unused objects.
    private struct Queue {
        private(set) var unused: [UInt32] = []
        private var objects = UnusedPrefetches()
        private var fetches = 0

        mutating func fetch(_ object: UInt32, user: UInt32 = 0) {
            unused.append(object)
            fetches += 1
            objects.add(object, UnusedPrefetches.Prefetch(user: user, number: fetches))
        }

        /// Ends a prefetch: its object is requested or evicted.
        mutating func end(_ object: UInt32) {
            unused.removeAll { $0 == object }
            _ = objects.remove(object)
        }

        mutating func next(of user: UInt32 = 0) -> [UInt32] {
            var list: [UInt32] = [99]
            objects.next(of: user, into: &list)
            return list
        }
    }

    @Test("Unused prefetches are due in the order of their fetch; a used one never is")
    func prefetchesAreDueInOrderUntilUsed() {
        var queue = Queue()
        #expect(queue.next() == [])
        for object: UInt32 in [5, 6, 7] { queue.fetch(object) }
        #expect((0..<5).map { _ in queue.next() } == [[5], [6], [7], [5], [6]])
        queue.end(7)
        queue.fetch(8)
        #expect((0..<4).map { _ in queue.next() } == [[5], [6], [8], [5]])
        for object: UInt32 in [5, 6, 8] { queue.end(object) }
        #expect(queue.next() == [])
    }

    @Test("An object that is fetched again is due after the others, and once a round")
    func refetchedObjectIsDueAfterTheOthers() {
        var queue = Queue()
        for object: UInt32 in [5, 6] { queue.fetch(object) }
        queue.end(5)
        queue.fetch(5)
        #expect((0..<4).map { _ in queue.next() } == [[6], [5], [6], [5]])
    }

    @Test("Only a user's own prefetches are due; at most four of others are skipped at a time")
    func onlyTheUsersOwnPrefetchesAreDue() {
        var queue = Queue()
        queue.fetch(1, user: 1)
        for object in UInt32(2)..<6 { queue.fetch(object, user: 2) }
        queue.fetch(6, user: 1)
        #expect(queue.next(of: 1) == [1])
        #expect(queue.next(of: 1) == [], "four of the other user's are passed over")
        #expect(queue.next(of: 1) == [6])
        #expect(queue.next(of: 3) == [])
    }

    @Test(
        "Of many, each unused one is due once a round, in whatever order others end"
    )
    func eachUnusedPrefetchIsDueOnceARound() {
        var generator = SplitMix64(seed: 3)
        var queue = Queue()
        for round in 0..<30 {
            for object in 0..<UInt32(50) where !queue.unused.contains(object) {
                if generator.next(below: 3) == 0 { queue.fetch(object) }
            }
            for object in queue.unused.shuffled(using: &generator) where generator.next(below: 2) == 0 {
                queue.end(object)
            }
            let expected = Set(queue.unused)
            let seen = (0..<queue.unused.count).flatMap { _ in queue.next() }
            #expect(Set(seen) == expected && seen.count == expected.count, "round \(round)")
        }
    }
}
