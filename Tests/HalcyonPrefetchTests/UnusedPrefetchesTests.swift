import HalcyonEviction
import HalcyonPrefetch
import Testing

@Suite("What was fetched and isUnused is looked at in turns")
struct UnusedPrefetchesTests {
    /// Turns of objects, beside a plain list of what isUnused.
    private struct Turns {
        private(set) var waiting: [UnusedPrefetches.Fetch] = []
        private var objects = UnusedPrefetches()
        private var fetches = 0

        mutating func fetch(_ object: UInt32, user: UInt32 = 0) {
            fetches += 1
            let fetch = UnusedPrefetches.Fetch(object: object, user: user, number: fetches)
            waiting.append(fetch)
            objects.add(fetch) { [waiting] in waiting.contains($0) }
        }

        /// It is asked for, or leaves.
        mutating func end(_ object: UInt32) { waiting.removeAll { $0.object == object } }

        mutating func next(of user: UInt32 = 0) -> [UInt32] {
            var list: [UInt32] = [99]
            objects.next(of: user, into: &list) { [waiting] in waiting.contains($0) }
            return list
        }
    }

    @Test("Each in its turn, in the order in which they came; one that isUnused no longer has none")
    func turns() {
        var turns = Turns()
        #expect(turns.next() == [])
        for object: UInt32 in [5, 6, 7] { turns.fetch(object) }
        #expect((0..<5).map { _ in turns.next() } == [[5], [6], [7], [5], [6]])
        turns.end(7)
        turns.fetch(8)
        #expect((0..<4).map { _ in turns.next() } == [[5], [6], [8], [5]])
        for object: UInt32 in [5, 6, 8] { turns.end(object) }
        #expect(turns.next() == [])
    }

    @Test("One that is fetched again comes after those that wait already, and has one turn")
    func again() {
        var turns = Turns()
        for object: UInt32 in [5, 6] { turns.fetch(object) }
        turns.end(5)
        turns.fetch(5)
        #expect((0..<4).map { _ in turns.next() } == [[6], [5], [6], [5]])
    }

    @Test("A user's own are looked at; those of others are passed over, a few at a time")
    func users() {
        var turns = Turns()
        turns.fetch(1, user: 1)
        for object in UInt32(2)..<6 { turns.fetch(object, user: 2) }
        turns.fetch(6, user: 1)
        #expect(turns.next(of: 1) == [1])
        #expect(turns.next(of: 1) == [], "four of the other user's are passed over")
        #expect(turns.next(of: 1) == [6])
        #expect(turns.next(of: 3) == [])
    }

    @Test(
        "Of many that come and go everyone who stays has a turn in each round, whatever the order in which others leave"
    )
    func many() {
        var generator = SplitMix64(seed: 3)
        var turns = Turns()
        for round in 0..<30 {
            for object in 0..<UInt32(50) where !turns.waiting.contains(where: { $0.object == object }) {
                if generator.next(below: 3) == 0 { turns.fetch(object) }
            }
            for fetch in turns.waiting.shuffled(using: &generator) where generator.next(below: 2) == 0 {
                turns.end(fetch.object)
            }
            let expected = Set(turns.waiting.map(\.object))
            let seen = (0..<turns.waiting.count).flatMap { _ in turns.next() }
            #expect(Set(seen) == expected && seen.count == expected.count, "round \(round)")
        }
    }
}
