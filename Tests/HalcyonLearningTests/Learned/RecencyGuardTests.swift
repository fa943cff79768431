import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("LRU's turn")
struct RecencyGuardTests {
    /// A guard of a cache of 100, whose shadow holds what was asked for in requests 1 to 100.
    private func filled() -> RecencyGuard {
        var recency = RecencyGuard(capacity: 100)
        for now in UInt32(1)...100 { recency.note(last: nil, now: now, isMiss: true, residents: 100) }
        return recency
    }

    @Test("Comes when more than ten hits were lost to LRU, for a tenth of the residents")
    func turn() {
        var recency = filled()
        for lost in UInt32(1)...10 {
            recency.note(last: lost, now: 100 + lost, isMiss: true, residents: 100)
            let decides = recency.decides()
            #expect(!decides, "after \(lost)")
        }
        recency.note(last: 11, now: 111, isMiss: true, residents: 100)
        let turns = recency.turns
        #expect(turns == 1)
        var decided = 0
        while recency.decides() { decided += 1 }
        #expect(decided == 10)
        // From there on the sum starts anew.
        recency.note(last: 12, now: 112, isMiss: true, residents: 100)
        let decides = recency.decides()
        #expect(!decides)
    }

    @Test("Does not come while one of four hits that differ is the learner's")
    func fair() {
        var recency = filled()
        var now: UInt32 = 100
        for round in UInt32(0)..<30 {
            for lost in 1...3 {
                now += 1
                recency.note(last: round * 3 + UInt32(lost), now: now, isMiss: true, residents: 100)
            }
            now += 1
            recency.note(last: nil, now: now, isMiss: false, residents: 100)
        }
        let turns = recency.turns
        #expect(turns == 0)
    }

    @Test("Does not come where the learner has lately been right twice as often")
    func lead() {
        for lead in [20, 40] {
            var recency = filled()
            var now: UInt32 = 100
            for _ in 0..<lead {
                now += 1
                recency.note(last: nil, now: now, isMiss: false, residents: 100)
            }
            // What was asked for in requests 41 and later is still held.
            for lost in UInt32(50)..<65 {
                now += 1
                recency.note(last: lost, now: now, isMiss: true, residents: 100)
            }
            let turns = recency.turns
            #expect(turns == (lead == 20 ? 1 : 0), "\(lead) ahead")
        }
    }

    @Test("Hits and misses that LRU shares, and what was removed, count for nothing")
    func same() {
        var recency = filled()
        for object in UInt32(1)...40 { recency.forget(object) }
        for now in UInt32(101)...140 { recency.note(last: now - 100, now: now, isMiss: true, residents: 100) }
        for now in UInt32(141)...180 { recency.note(last: now - 100, now: now, isMiss: false, residents: 100) }
        let turns = recency.turns
        #expect(turns == 0)
    }

    /// Half of the requests go to objects that stay popular; then every object is asked for twice and no more.
    private func changing() -> [Access] {
        var random = SplitMix64(seed: 7)
        return (0..<20_000).map { index in
            let isPopular = random.next(below: 2) == 0
            let entry: Int
            if index < 12_000 {
                entry = isPopular ? random.next(below: 300) : 300 + index
            } else {
                entry = 20_000 + (index % 2 == 0 ? index / 2 : index / 2 - 60)
            }
            return Access(entry: EntryID(entry), requestNumber: index, time: Int64(index) * 1_000_000)
        }
    }

    private func hits(_ text: String, from first: Int) throws -> Int {
        let cache = try PolicyCatalogue.standard.policy(text).makeCache(
            PolicyContext(capacity: 150, usesUniformSizes: true, seed: 1))
        return changing().enumerated().count { cache.access($1) == .hit && $0 >= first }
    }

    @Test("Saves a learner that has just learnt to refuse what now is asked for twice")
    func change() throws {
        let (lru, guarded) = (try hits("lru", from: 12_000), try hits("learned", from: 12_000))
        let network = try hits("learned(decider=network)", from: 12_000)
        // LRU has every second request. The network sees none of them at first, and most once its label looks further; LRU's turns save
        // what it misses until then.
        #expect(lru > 3_900 && guarded > 3_200 && guarded > network + 50, "\(lru), \(network), \(guarded)")
    }
}
