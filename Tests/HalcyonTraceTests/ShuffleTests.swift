import HalcyonSupport
import HalcyonTrace
import Testing

@Suite("Simultaneous requests in a random order", .timeLimit(.minutes(20)))
struct ShuffleTests {
    /// Returns a random trace whose users request several objects at one time.
    private func trace(requests: Int, users: Int, times: Int, seed: UInt64) -> Trace {
        var generator = SeededGenerator(seed: seed)
        let entries = (0..<requests).map { _ in UInt32(generator.below(40)) }
        let at = (0..<requests).map { _ in Int64(generator.below(times)) * 1_000_000 }.sorted()
        let names = TraceNames()
        let owners = (0..<requests).map { _ in
            generator.below(9) == 0 ? Trace.noUser : UInt32(generator.below(max(users, 1)))
        }
        return Trace(
            entries: entries, times: TimeColumn(at), users: users == 0 ? [] : owners,
            objectSizes: (0..<40).map { 100 + UInt64($0) }, objectCategories: (0..<40).map { UInt32($0 % 3) },
            categorySets: CategorySets(), userCount: users, sizeUnit: .bytes, names: names)
    }

    /// A request by fields that identify it in any numbering: an object's size names it.
    private func requests(_ trace: Trace) -> [[UInt64]] {
        (0..<trace.count).map { index in
            let user = trace.user(ofRequest: index)
            return [
                UInt64(trace.times[index]), user == Trace.noUser ? 999 : UInt64(user), trace.size(ofRequest: index),
                UInt64(trace.categorySet(ofRequest: index)),
            ]
        }
    }

    @Test("Shuffling keeps each user's places and the requests at each time")
    func shufflingChangesOnlyTheOrderAtOneTime() {
        for (users, times) in [(5, 60), (1, 10), (0, 10), (5, 1), (3, 100_000)] {
            let whole = trace(requests: 3_000, users: users, times: times, seed: 7)
            let shuffled = whole.shufflingSimultaneous(seed: 3)
            let (before, after) = (requests(whole), requests(shuffled))
            #expect(before.map { $0[0] } == after.map { $0[0] })
            // Users are numbered by their first request, and their places do not change.
            let owners = Dictionary(
                zip(after, before).map { ($0[1], $1[1]) }, uniquingKeysWith: { first, _ in first })
            #expect(zip(after, before).allSatisfy { owners[$0[1]] == $1[1] })
            func groups(_ list: [[UInt64]], _ owner: (UInt64) -> UInt64?) -> [[UInt64?]: [UInt64]] {
                Dictionary(grouping: list) { [$0[0], owner($0[1])] }.mapValues { $0.map { $0[2] }.sorted() }
            }
            #expect(groups(before, { $0 }) == groups(after, { owners[$0] }))
            if times < 1_000 { #expect(before.map { $0[2] } != after.map { $0[2] }) }
            #expect(shuffled.fingerprint == whole.shufflingSimultaneous(seed: 3).fingerprint)
        }
    }

    @Test("Each order of three simultaneous requests is equally likely")
    func ordersOfSimultaneousRequestsAreEquallyLikely() {
        let three = Trace(entries: [0, 1, 2], times: TimeColumn([5, 5, 5]), objectSizes: [1, 2, 3], sizeUnit: .bytes)
        var counts: [[UInt64]: Int] = [:]
        for seed in 0..<6_000 {
            let order = three.shufflingSimultaneous(seed: UInt64(seed))
            counts[(0..<3).map { order.size(ofRequest: $0) }, default: 0] += 1
        }
        // Five standard deviations of a binomial count.
        #expect(counts.count == 6 && counts.values.allSatisfy { (856...1_144).contains($0) })
    }

    @Test("If each request has its own time, nothing changes")
    func distinctTimesAreNotShuffled() {
        let whole = Trace(entries: [0, 1, 0], times: TimeColumn(count: 3), objectSizes: [1, 1])
        #expect(whole.shufflingSimultaneous(seed: 1).fingerprint == whole.fingerprint)
    }
}
