import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Who may go: the candidates of the learned policy")
struct LearnedCandidatesTests {
    /// A cache under the learned policy that is filled with objects of many sizes, or all of the same, and has evicted for long.
    private final class Filled {
        var index: CacheCore<LearnedPolicy>
        private var random = SplitMix64(seed: 3)
        private let sizesDiffer: Bool
        private var number = 0

        init(_ parameters: LearnedParameters, residents: Int, sizesDiffer: Bool, requests: Int, seed: UInt64 = 1) {
            let context = PolicyContext(
                capacity: sizesDiffer ? residents * 100 : residents, usesUniformSizes: !sizesDiffer, seed: seed)
            index = CacheCore(LearnedPolicy(parameters, context: context), context)
            self.sizesDiffer = sizesDiffer
            request(requests, popular: residents)
        }

        /// Half of the requests go to so many objects that stay popular, half to new ones.
        func request(_ count: Int, popular: Int) {
            for _ in 0..<count {
                let object = random.next(below: 2) == 0 ? random.next(below: popular) : 1_000_000 + number
                request(object, cost: sizesDiffer ? 1 << (object * 37 % 8) + object % 50 : 1)
            }
        }

        func request(_ object: Int, cost: Int) {
            number += 1
            _ = index.access(
                Access(entry: EntryID(object), requestNumber: number, time: Int64(number) * 100_000, size: cost))
        }

        var now: Access { Access(entry: .none, requestNumber: number, time: Int64(number) * 100_000) }
    }

    /// What is wrong with the candidates, the hand and the marks of who is a candidate, if anything.
    private func fault(_ policy: borrowing LearnedPolicy) -> String? {
        let records = policy.history.records.base
        var residents: Set<UInt32> = []
        var slot = policy.history.oldest
        while slot != ObjectRecord.none {
            residents.insert(slot)
            slot = records[Int(slot)].newer
        }
        if residents.count != policy.history.count { return "the list has not all residents" }
        for place in 0..<policy.candidates.count {
            let candidate = policy.candidates.slots[place]
            if !residents.contains(candidate) { return "candidate \(candidate) is no resident" }
            if Int(records[Int(candidate)].candidate) != place { return "candidate \(candidate) is at another place" }
        }
        let marked = (0..<policy.history.used).count { records[$0].candidate != ObjectRecord.notCandidate }
        if marked != policy.candidates.count { return "\(marked) are marked" }
        if policy.hand != ObjectRecord.none && !residents.contains(policy.hand) { return "the hand is at nobody" }
        return nil
    }

    @Test(
        "A large cache gives up one after the other until nobody is left, though chance hardly finds the last",
        arguments: [false, true])
    func trimming(sizesDiffer: Bool) {
        let cache = Filled(LearnedParameters(), residents: 20_000, sizesDiffer: sizesDiffer, requests: 0)
        for object in 0..<20_000 { cache.request(object, cost: 1) }
        var left = cache.index.count
        #expect(left == 20_000)
        while left > 0 {
            left -= 1
            cache.index.trim(to: .max, count: left, at: cache.now)
            let count = cache.index.count
            guard count == left else {
                Issue.record("\(count) are left, not \(left)")
                return
            }
        }
    }

    @Test("After most of its room is taken away a cache goes on, and the network goes on deciding")
    func shrinking() {
        var parameters = LearnedParameters()
        parameters.decider = .contest
        let cache = Filled(parameters, residents: 9_000, sizesDiffer: true, requests: 20_000)
        cache.index.limit(capacity: 30_000, count: .max, at: cache.now)
        let (evictions, byNetwork) = (cache.index.policy.evictions, cache.index.policy.evictionsByNetwork)
        cache.request(3_000, popular: 150)
        let (more, moreByNetwork) = (cache.index.policy.evictions, cache.index.policy.evictionsByNetwork)
        #expect(more > evictions + 500)
        #expect(moreByNetwork - byNetwork > (more - evictions) * 9 / 10)
        let found = fault(cache.index.policy)
        #expect(found == nil)
    }

    @Test("Candidates are residents at their places, through hits, removals, limits and trims", arguments: 0..<16)
    func invariants(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        func one<T>(of values: [T]) -> T { values[random.next(below: values.count)] }
        var parameters = LearnedParameters()
        parameters.candidates = one(of: [8, 9, 64, 127, 128])
        parameters.evictions = one(of: [1, 2, 4, 32])
        parameters.decider = one(of: [.contest, .network, .network, .heuristic])
        let residents = one(of: [0, 1, 9, 63, 65, 128, 129, 256, 400])
        let sizesDiffer = seed % 2 == 0
        let cache = Filled(
            parameters, residents: residents, sizesDiffer: sizesDiffer, requests: 1, seed: UInt64(seed))
        let capacity = cache.index.capacity
        for step in 0..<3_000 {
            switch random.next(below: 200) {
            case 0..<3: cache.index.remove(EntryID(random.next(below: residents + 1)))
            case 3: cache.index.limit(capacity: capacity / 3, count: .max, at: cache.now)
            case 4: cache.index.limit(capacity: capacity, count: one(of: [1, 5, 100, .max]), at: cache.now)
            case 5: cache.index.trim(to: cache.index.used / 2, count: .max, at: cache.now)
            case 6: cache.index.limit(capacity: capacity * 2, count: .max, at: cache.now)
            default: cache.request(1, popular: residents + 1)
            }
            guard step % 10 == 0, let found = fault(cache.index.policy) else { continue }
            Issue.record("step \(step): \(found)")
            return
        }
    }

    /// A cache whose network decides, with scores of many ages.
    private func keeping(_ seed: UInt64) -> Filled {
        var parameters = LearnedParameters()
        (parameters.decider, parameters.evictions) = (.network, 16)
        return Filled(parameters, residents: 1_000, sizesDiffer: true, requests: 12_000, seed: seed)
    }

    @Test("Where sizes differ candidates keep their scores, and who goes was scored now and has the least of all")
    func keptScores() {
        var oldest = 0
        for seed in UInt64(1)...5 {
            let cache = keeping(seed)
            let (slot, score) = cache.index.policy.weakest(by: .network)
            let policy = (candidates: 0..<cache.index.policy.candidates.count, scoring: cache.index.policy.scoring)
            let ages = policy.candidates.map { cache.index.policy.candidates.age(at: $0, scoring: policy.scoring) }
            let scores = policy.candidates.map { cache.index.policy.candidates.scores[$0] }
            let place = Int(cache.index.policy.history.records[Int(slot)].candidate)
            #expect(ages[place] == 0 && scores[place] == score && scores.min() == score)
            oldest = max(oldest, Int(ages.max() ?? 0))
        }
        #expect(oldest > 3)
    }

    @Test("The runner-up is who goes next, looked at again as the least is, and watching it changes no score")
    func runnerUp() {
        for seed in UInt64(1)...5 {
            let cache = keeping(seed)
            let (slot, _) = cache.index.policy.weakest(by: .network)
            func scores() -> [Float] {
                (0..<cache.index.policy.candidates.count).map { cache.index.policy.candidates.scores[$0] }
            }
            let before = scores()
            let next = cache.index.policy.runnerUp(to: slot, by: .network, newcomerScore: .infinity)
            #expect(scores() == before)
            let place = Int(cache.index.policy.history.records[Int(slot)].candidate)
            let records = cache.index.policy.history.records.base
            cache.index.policy.candidates.remove(at: place, records: records)
            let (runnerUp, score) = cache.index.policy.weakest(by: .network)
            // Of several with the least score either may name any.
            let scoreOfNext = cache.index.policy.candidates.scores[
                Int(cache.index.policy.history.records[Int(next.slot)].candidate)]
            #expect(next.score == score && (next.slot == runnerUp || scoreOfNext == score))
        }
    }

    @Test(
        "A scoring serves as many evictions as asked for, half as many where sizes differ, at most a tenth of the residents"
    )
    func evictionsAScoring() {
        for (residents, sizesDiffer, expected) in [
            (1_000, false, 4), (1_000, true, 2), (30, false, 3), (30, true, 2), (15, false, 1),
        ] {
            let cache = Filled(
                LearnedParameters(), residents: residents, sizesDiffer: sizesDiffer, requests: residents * 6)
            let served = cache.index.policy.evictionsAScoring
            #expect(served == expected, "\(residents), \(sizesDiffer)")
        }
    }
}
