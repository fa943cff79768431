import Foundation
import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

/// LeCaR against sequences worked by hand, and the weights and rates of both against the formulas of their papers.
@Suite("LeCaR and the learning rates by hand", .timeLimit(.minutes(20)))
struct LearningExpertTests {
    /// Capacity 4, all weight on the LRU expert (and none on the other): LRU; and the other way round: LFU.
    ///
    ///     a b c d, a a b hit
    ///     e       by recency c is the last; c and d were used once, c first: both experts name c
    ///     b hit
    ///     f       by recency d; d and e were used once, d first: both name d
    ///     c       by recency a; by frequency e
    @Test("LeCaR with all weight on one expert decides as LRU or as LFU")
    func lecarWithOneExpertIsLRUOrLFU() throws {
        let lru = WorkedSequence("a- b- c- d- a+ a+ b+ e-c b+ f-d c-a")
        #expect(try lru.played(by: "lecar(lru-weight=1)", capacity: 4) == lru.expected)
        let lfu = WorkedSequence("a- b- c- d- a+ a+ b+ e-c b+ f-d c-e")
        #expect(try lfu.played(by: "lecar(lru-weight=0)", capacity: 4) == lfu.expected)
    }

    /// Capacity 2: a, a, b, then c: by recency a is evicted, by frequency b. The victim is requested one access later,
    /// so that the expert that chose it loses weight: 0.5 e^(-0.45 · 0.005^(1/2)) against 0.5.
    @Test("A request for a victim lowers the weight of the LeCaR expert that chose it", arguments: UInt64(1)...8)
    func regretLowersTheWeightOfTheExpertThatErred(seed: UInt64) throws {
        let cache = try PolicyCatalogue.classical.policy("lecar").makeCache(PolicyContext(capacity: 2, seed: seed))
        for (index, entry) in ([0, 0, 1, 2] as [EntryID]).enumerated() {
            _ = cache.access(Access(entry: entry, requestNumber: index))
        }
        let lruErred = !cache.contains(0)
        #expect(lruErred == cache.contains(1))
        #expect(cache.state.metrics == [PolicyMetric("lru_weight", 0.5)])
        _ = cache.access(Access(entry: lruErred ? 0 : 1, requestNumber: 4))
        let fallen = 0.5 * exp(-0.45 * pow(0.005, 1.0 / 2))
        let expected = (lruErred ? fallen : 0.5) / (fallen + 0.5)
        let weight = try #require(cache.state.metrics.first).value
        #expect(abs(weight - expected) < 1e-12)
    }

    @Test("At equal weights LeCaR draws both experts")
    func equalWeightsDrawBothExperts() throws {
        let policy = try PolicyCatalogue.classical.policy("lecar")
        let drawn = (UInt64(1)...64).map { seed in
            let cache = policy.makeCache(PolicyContext(capacity: 2, seed: seed))
            for entry in [0, 0, 1, 2] as [EntryID] { _ = cache.access(Access(entry: entry)) }
            return cache.contains(0)
        }
        #expect(Set(drawn) == [true, false])
    }
}

@Suite("Cacheus", .timeLimit(.minutes(20)))
struct CacheusTests {
    /// A sequence in which both experts agree on every victim, so that nothing is drawn.
    ///
    /// Capacity 2, of which R has 1. a and b pass through SR; b is hit and moves to R. c: the last of SR and the
    /// rarest is a. a returns and c is evicted; a is remembered, so it enters R and b moves to SR; a's frequency is 2
    /// again. b is hit in SR and changes places with a. d: the last of SR and the rarest is a (2 against 3).
    @Test("Cacheus evicts the victim on which its experts agree, as in the worked sequence")
    func cacheusEvictsWhereItsExpertsAgree() throws {
        let sequence = WorkedSequence("a- b- b+ c-a a-c b+ d-a b+")
        #expect(try sequence.played(by: "cacheus", capacity: 2) == sequence.expected)
    }
}
