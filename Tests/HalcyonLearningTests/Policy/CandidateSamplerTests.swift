import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("The candidates of the learned policy", .timeLimit(.minutes(20)))
struct CandidateSamplerTests {
    /// A cache under the learned policy that is full of objects of variable or uniform sizes and has evicted many.
    private final class Filled {
        var index: CacheCore<LearnedPolicy>
        private var random = SplitMix64(seed: 3)
        private let usesVariableSizes: Bool
        private var number = 0

        init(_ parameters: LearnedParameters, residents: Int, usesVariableSizes: Bool, requests: Int, seed: UInt64 = 1)
        {
            let context = PolicyContext(
                capacity: usesVariableSizes ? residents * 100 : residents, usesUniformSizes: !usesVariableSizes,
                seed: seed)
            index = CacheCore(LearnedPolicy(parameters, context: context), context)
            self.usesVariableSizes = usesVariableSizes
            request(requests, popular: residents)
        }

        /// Sends requests, half to `popular` objects that stay popular and half to new ones.
        func request(_ count: Int, popular: Int) {
            for _ in 0..<count {
                let object = random.next(below: 2) == 0 ? random.next(below: popular) : 1_000_000 + number
                request(object, size: usesVariableSizes ? 1 << (object * 37 % 8) + object % 50 : 1)
            }
        }

        func request(_ object: Int, size: Int) {
            number += 1
            _ = index.access(
                Access(entry: EntryID(object), requestNumber: number, time: Int64(number) * 100_000, size: size))
        }

        var now: Access { Access(entry: .none, requestNumber: number, time: Int64(number) * 100_000) }
    }

    /// Returns the fault of the candidates, the hand and the candidates' places in the records, if any.
    private func fault(_ policy: borrowing LearnedPolicy) -> String? {
        let records = policy.history.records.base
        var residents: Set<UInt32> = []
        var slot = policy.history.oldest
        while slot != ObjectRecord.none {
            residents.insert(slot)
            slot = records[Int(slot)].newer
        }
        if residents.count != policy.history.count { return "the list has not all residents" }
        for place in 0..<policy.sampler.candidates.count {
            let candidate = policy.sampler.candidates.slots[place]
            if !residents.contains(candidate) { return "candidate \(candidate) is no resident" }
            if Int(records[Int(candidate)].candidate) != place { return "candidate \(candidate) is at another place" }
        }
        let marked = (0..<policy.history.used).count { records[$0].candidate != ObjectRecord.notCandidate }
        if marked != policy.sampler.candidates.count { return "\(marked) are marked" }
        if policy.sampler.hand != ObjectRecord.none && !residents.contains(policy.sampler.hand) {
            return "the hand is not at a resident"
        }
        return nil
    }

    @Test(
        "A large cache can be trimmed one entry at a time until it is empty",
        arguments: [false, true])
    func largeCacheCanBeTrimmedUntilEmpty(usesVariableSizes: Bool) {
        let cache = Filled(LearnedParameters(), residents: 20_000, usesVariableSizes: usesVariableSizes, requests: 0)
        for object in 0..<20_000 { cache.request(object, size: 1) }
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

    @Test("After the capacity shrinks to a fraction the network still decides most evictions")
    func networkDecidesAfterTheCapacityShrinks() {
        var parameters = LearnedParameters()
        parameters.decider = .contest
        parameters.shadows = .off
        let cache = Filled(parameters, residents: 9_000, usesVariableSizes: true, requests: 20_000)
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
    func candidatesAreResidentsAtTheirPlaces(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        func one<T>(of values: [T]) -> T { values[random.next(below: values.count)] }
        var parameters = LearnedParameters()
        parameters.candidates = one(of: [8, 9, 64, 127, 128])
        parameters.evictions = one(of: [1, 2, 4, 32])
        parameters.decider = one(of: [.contest, .network, .network, .heuristic])
        let residents = one(of: [0, 1, 9, 63, 65, 128, 129, 256, 400])
        let usesVariableSizes = seed % 2 == 0
        let cache = Filled(
            parameters, residents: residents, usesVariableSizes: usesVariableSizes, requests: 1, seed: UInt64(seed))
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
        return Filled(parameters, residents: 1_000, usesVariableSizes: true, requests: 12_000, seed: seed)
    }

    @Test("With variable sizes candidates keep their scores, and the victim's is lowest and up to date")
    func victimHasTheLowestUpToDateScore() {
        var oldest = 0
        for seed in UInt64(1)...5 {
            let cache = keeping(seed)
            let lowest = cache.index.policy.lowestResident()
            let (slot, score) = (lowest.slot, lowest.score)
            let (places, scoring) = (
                0..<cache.index.policy.sampler.candidates.count, cache.index.policy.sampler.scoring
            )
            let ages = places.map { cache.index.policy.sampler.candidates.age(at: $0, scoring: scoring) }
            let scores = places.map { cache.index.policy.sampler.candidates.scores[$0] }
            let place = Int(cache.index.policy.history.records[Int(slot)].candidate)
            #expect(ages[place] == 0 && scores[place] == score && scores.min() == score)
            oldest = max(oldest, Int(ages.max() ?? 0))
        }
        #expect(oldest > 3)
    }

    @Test("The runner-up is the next victim, and looking it up changes no score")
    func runnerUpIsTheNextVictim() {
        for seed in UInt64(1)...5 {
            let cache = keeping(seed)
            let slot = cache.index.policy.lowestResident().slot
            func scores() -> [Float] {
                (0..<cache.index.policy.sampler.candidates.count).map {
                    cache.index.policy.sampler.candidates.scores[$0]
                }
            }
            let before = scores()
            let next = VictimObserver(VictimWatch(number: 1)).runnerUp(to: slot, in: cache.index.policy)
            #expect(scores() == before)
            let records = cache.index.policy.history.records.base
            cache.index.policy.sampler.remove(slot, records: records)
            let runnerUp = cache.index.policy.lowestResident()
            // Of several with the lowest score either may choose any.
            let scoreOfNext = cache.index.policy.sampler.candidates.scores[
                Int(cache.index.policy.history.records[Int(next.slot)].candidate)]
            #expect(next.score == runnerUp.score && (next.slot == runnerUp.slot || scoreOfNext == runnerUp.score))
        }
    }

    @Test(
        "One scoring serves 4 evictions, 2 with variable sizes, at most a tenth of the residents"
    )
    func oneScoringServesSeveralEvictions() {
        for (residents, usesVariableSizes, expected) in [
            (1_000, false, 4), (1_000, true, 2), (30, false, 3), (30, true, 2), (15, false, 1),
        ] {
            let cache = Filled(
                LearnedParameters(), residents: residents, usesVariableSizes: usesVariableSizes, requests: residents * 6
            )
            let served = cache.index.policy.sampler.evictionsPerScoring(
                residents: cache.index.policy.history.count, missRatio: cache.index.policy.missRatio)
            #expect(served == expected, "\(residents), \(usesVariableSizes)")
        }
    }
}
