import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

@testable import HalcyonLearning

@Suite("The learned policy", .timeLimit(.minutes(20)))
struct LearnedPolicyTests {
    private func policy(_ text: String = "learned") throws -> ConfiguredPolicy {
        try PolicyCatalogue.standard.policy(text)
    }

    /// Half of the requests go to 100 objects that stay popular, half to objects that are never requested again.
    private func accesses(_ count: Int, seed: UInt64) -> [Access] {
        var random = SplitMix64(seed: seed)
        return (0..<count).map { index in
            let popular = random.next(below: 2) == 0
            return Access(
                entry: popular ? EntryID(random.next(below: 300)) : EntryID(300 + index), requestNumber: index,
                time: Int64(index) * 1_000_000, categories: popular ? 1 : 2, user: UInt32(random.next(below: 5)))
        }
    }

    private func hits(_ policy: ConfiguredPolicy, _ accesses: [Access], capacity: Int, seed: UInt64 = 0) -> Int {
        let cache = policy.makeCache(PolicyContext(capacity: capacity, seed: seed))
        cache.define(categorySet: 1, members: [0])
        cache.define(categorySet: 2, members: [1])
        return accesses.count { cache.access($0) == .hit }
    }

    @Test("With half of the requests for one-hit wonders, learned has 1.2 times the hits of LRU")
    func learnedHasMoreHitsThanLRUAmongOneHitWonders() throws {
        let accesses = accesses(12_000, seed: 1)
        let lru = hits(try policy("lru"), accesses, capacity: 150)
        let learned = hits(try policy(), accesses, capacity: 150)
        #expect(Double(learned) > Double(lru) * 1.2, "\(learned) hits beside LRU's \(lru)")
    }

    @Test("Equal seeds give equal hits; every seed has more hits than LRU")
    func equalSeedsGiveEqualHitsAboveLRU() throws {
        let accesses = accesses(6_000, seed: 2)
        let lru = hits(try policy("lru"), accesses, capacity: 150)
        for seed in UInt64(1)...3 {
            let first = hits(try policy(), accesses, capacity: 150, seed: seed)
            #expect(first == hits(try policy(), accesses, capacity: 150, seed: seed))
            #expect(first > lru)
        }
    }

    @Test("Calls are ordered, victims resident, the capacity kept; batches and prefixes change nothing")
    func callsAreOrderedAndBatchesChangeNothing() throws {
        let policy = try policy()
        for trace in MicroTrace.all {
            for capacity in [0, 40, 1 << 40] {
                let run = CheckedRun(policy, trace.context(for: policy, capacity: capacity))
                let outcomes = run.serve(trace.accesses)
                #expect(run.record.breaches.isEmpty, "\(trace) at \(capacity): \(run.record.breaches.prefix(3))")
                #expect(run.cache.state.used <= capacity)
                if capacity == 0 {
                    let kept = zip(trace.accesses, outcomes).count { $0.size > 0 && $1 != .refused }
                    #expect(kept == 0)
                }
                let growing = CheckedRun(policy, trace.context(for: policy, capacity: capacity, roomForEntries: false))
                let areSame = growing.serve(trace.accesses, batchesOf: 7) == outcomes
                #expect(areSame, "\(trace) at \(capacity)")
                let prefix = CheckedRun(policy, trace.context(for: policy, capacity: capacity))
                let stands = prefix.serve(Array(trace.accesses.prefix(700))) == Array(outcomes.prefix(700))
                #expect(stands, "\(trace) at \(capacity)")
            }
        }
    }

    @Test("Later accesses change no decision: features, labels, normalisation and sampling are causal")
    func laterAccessesChangeNoDecision() throws {
        let (common, whole) = (6_000, 10_000)
        let first = accesses(whole, seed: 7)
        let second = first.prefix(common) + accesses(whole, seed: 8).suffix(whole - common)
        let (outcomes, share) = try replay(policy("learned"), first)
        let (others, _) = try replay(policy("learned"), Array(second))
        #expect(outcomes.prefix(common) == others.prefix(common))
        #expect(outcomes.suffix(whole - common) != others.suffix(whole - common))
        // The network also decides most evictions of the common prefix.
        let (_, shareBefore) = try replay(policy("learned"), Array(first.prefix(common)))
        #expect(share > 0.5 && shareBefore > 0.5, "\(share), \(shareBefore) of the evictions")
    }

    /// Returns the outcomes of one batch with all accesses, and the ratio of evictions that the network decided.
    private func replay(_ policy: ConfiguredPolicy, _ accesses: [Access]) throws -> ([AccessOutcome], Double) {
        let cache = policy.makeCache(PolicyContext(capacity: 150, usesUniformSizes: true))
        cache.define(categorySet: 1, members: [0])
        cache.define(categorySet: 2, members: [1])
        var outcomes = [AccessOutcome](repeating: .miss, count: accesses.count)
        accesses.map(\.entry).withUnsafeBufferPointer { entries in
            accesses.map(\.time).withUnsafeBufferPointer { times in
                accesses.map(\.categories).withUnsafeBufferPointer { categories in
                    accesses.map(\.user).withUnsafeBufferPointer { users in
                        let batch = RequestBatch(
                            firstRequest: 0, entries: entries, times: times.baseAddress,
                            categories: categories.baseAddress, users: users.baseAddress)
                        outcomes.withUnsafeMutableBufferPointer { buffer in
                            if let base = buffer.baseAddress { cache.replay(batch, outcomes: base) }
                        }
                    }
                }
            }
        }
        let share = try #require(cache.state.metrics.first { $0.name == "evictions_by_network" }).value
        return (outcomes, share)
    }

    @Test("Entries can be removed at any time, and reused numbers change no decision")
    func entriesCanBeRemovedAndTheirNumbersReused() throws {
        let policy = try policy()
        for trace in MicroTrace.all {
            let run = CheckedRun(policy, trace.context(for: policy, capacity: 40, roomForEntries: false))
            let expected = CheckedRun(policy, trace.context(for: policy, capacity: 40, roomForEntries: false))
                .serve(trace.accesses)
            let outcomes = run.serve(trace.accesses, recyclingEvery: 5).outcomes
            let areSame = outcomes == expected
            #expect(areSame, "\(trace)")
            for entry in 0..<EntryID(trace.objectCount) { run.cache.remove(entry) }
            #expect(run.record.breaches.isEmpty, "\(run.record.breaches.prefix(3))")
            #expect(run.cache.state.count == 0)
        }
    }

    /// Sizes of 2 differ from sizes of 1 only in that the policy is not given that they are uniform. The look-back of
    /// LRU is longest if 64 requests are between any two for different objects.
    @Test(
        "A resident needs at most 128 bytes with its ghosts, besides a fixed part",
        arguments: [2_060, 10_000, 10_500, 16_400], [[1], [2], [1, 2, 3]])
    func metadataIsAtMost128BytesAResident(residents: Int, sizes: [Int]) {
        #expect(MemoryLayout<ObjectRecord>.stride == 64 && MemoryLayout<Ghost>.stride == 24)
        // Nothing is learned: samples and the model do not depend on the residents. The shadow of LRU exists only if the
        // network may decide, so that it is counted separately.
        var parameters = LearnedParameters()
        parameters.decider = .heuristic
        let mean = sizes.reduce(0, +) / sizes.count
        let context = PolicyContext(capacity: residents * mean, usesUniformSizes: sizes == [1])
        let fixed = LearnedPolicy(parameters, context: context).metadataBytes.total
        for spacing in residents == 2_060 ? [1, 64] : [1] {
            var index = CacheCore(LearnedPolicy(parameters, context: context), context)
            // A live storage has numbers for residents and remembered objects.
            let numbers = residents * 11 / 4
            var most = 0
            var shadow = LeastRecentShadow(capacity: residents)
            var latest = [Int?](repeating: nil, count: numbers)
            for request in 0..<numbers * 3 * spacing {
                let entry = request % spacing == 0 ? request / spacing % numbers : 0
                _ = index.access(
                    Access(entry: EntryID(entry), requestNumber: request, size: sizes[entry % sizes.count]))
                most = max(most, index.count)
                if sizes == [1] {
                    _ = shadow.access(last: latest[entry], now: request)
                    latest[entry] = request
                }
            }
            #expect(most >= residents)
            let each = Double(index.policy.metadataBytes.total - fixed + shadow.byteCount) / Double(most)
            #expect(each <= 128, "\(each) bytes with \(spacing)")
        }
    }

    @Test("Candidates are scored again even if every new object is refused")
    func candidatesAreRescoredDuringRefusals() {
        var parameters = LearnedParameters()
        parameters.decider = .heuristic
        let context = PolicyContext(capacity: 200, usesUniformSizes: true)
        var index = CacheCore(LearnedPolicy(parameters, context: context), context)
        for round in 0..<50 {
            for entry in 0..<200 { _ = index.access(Access(entry: EntryID(entry), requestNumber: round * 200 + entry)) }
        }
        var refused = 0
        let scorings = index.policy.sampler.scoring
        for number in 0..<40 {
            let outcome = index.access(Access(entry: EntryID(1_000 + number), requestNumber: 10_000 + number))
            if outcome == .refused { refused += 1 }
        }
        #expect(refused == 40)
        #expect(index.policy.sampler.scoring > scorings + 1)
    }

    @Test(
        "Decisions are equal before and across the end of 32-bit logical time",
        arguments: [true, false])
    func decisionsAreEqualAcrossTheEndOf32BitTime(usesUniformSizes: Bool) throws {
        let accesses = accesses(12_000, seed: 9).map { access in
            var access = access
            if !usesUniformSizes { access.size = 1 + Int(access.entry) % 3 }
            return access
        }
        let context = PolicyContext(capacity: 150, usesUniformSizes: usesUniformSizes, seed: 1)
        /// Returns the outcomes of a cache that has served `start` requests without any effect.
        func outcomes(from start: Int) throws -> [AccessOutcome] {
            let model = LearnedModel(LearnedParameters(), seed: 1)
            model.learner.pointee.features.userCategory.clock = start
            var policy = LearnedPolicy(LearnedParameters(), context: context, model: model)
            policy.ownsModel = true
            policy.now = start
            var core = CacheCore(policy, context)
            for set: CategorySetID in [1, 2] { core.policy.define(categorySet: set, members: [set - 1]) }
            let outcomes = accesses.map { core.access($0) }
            let (now, byNetwork) = (core.policy.now, core.policy.evictionsByNetwork)
            #expect(now == start + accesses.count && byNetwork > 1_000)
            return outcomes
        }
        // The counts of transitions halve at multiples of 2¹⁷, so both start at the same distance from one.
        let (before, across) = (try outcomes(from: 1 << 31 - 6_000), try outcomes(from: 1 << 32 - 6_000))
        let areSame = before == across
        #expect(areSame)
    }

    @Test("Each group of features can be switched off")
    func eachFeatureGroupCanBeSwitchedOff() throws {
        let accesses = accesses(3_000, seed: 5)
        let lru = hits(try policy("lru"), accesses, capacity: 150)
        for group in ["recency", "frequency", "size", "category", "user", "time", "activity"] {
            #expect(hits(try policy("learned(\(group)=off)"), accesses, capacity: 150) > lru / 2, "\(group)")
        }
    }

    @Test("The statistics of the workload are for a trained model, and off unless asked for")
    func workloadStatisticsAreOff() throws {
        let accesses = accesses(3_000, seed: 5)
        let (given, off) = (try policy("learned"), try policy("learned(workload=off)"))
        #expect(hits(given, accesses, capacity: 150) == hits(off, accesses, capacity: 150))
        #expect(
            hits(try policy("learned(workload=on)"), accesses, capacity: 150)
                != hits(off, accesses, capacity: 150))
    }

    @Test("Without features no network is trained, and none decides", arguments: [[1], [1, 2, 3]])
    func networkWithoutFeaturesDecidesNothing(sizes: [Int]) throws {
        let groups = ["recency", "frequency", "size", "category", "user", "time", "activity"]
        let blind = try policy("learned(\(groups.map { "\($0)=off" }.joined(separator: ",")))")
        let accesses = accesses(12_000, seed: 7).map { access in
            var access = access
            access.size = sizes[Int(access.entry) % sizes.count]
            return access
        }
        let cache = blind.makeCache(PolicyContext(capacity: 150, usesUniformSizes: sizes == [1]))
        for access in accesses { _ = cache.access(access) }
        let metrics = cache.state.metrics
        for name in ["training_steps", "evictions_by_network"] {
            #expect(try #require(metrics.first { $0.name == name }).value == 0)
        }
    }

    @Test("Per-user caches that share a model share its training")
    func perUserCachesShareTheTrainingOfAModel() throws {
        let (policy, context) = (try policy(), PolicyContext(capacity: 20))
        let model = try #require(policy.makeModel(context))
        let caches = (0..<5).map { _ in policy.makeCache(context, model: model) }
        for access in accesses(10_000, seed: 6) { _ = caches[Int(access.user)].access(access) }
        let steps = caches.map { cache in cache.state.metrics.first { $0.name == "training_steps" }?.value ?? 0 }
        #expect(Set(steps).count == 1 && steps[0] > 60)
    }

    @Test("A limit lowered after a refusal evicts the resident with the lowest priority")
    func loweredLimitEvictsTheLowestPriority() throws {
        var context = PolicyContext(capacity: 40, usesUniformSizes: false, seed: 1)
        context.keepsVictims = true
        let index = try policy().makeCache(context)
        var victims: [EntryID] = []
        var number = 0
        func access(_ entry: EntryID, size: Int) -> Access {
            number += 1
            return Access(entry: entry, requestNumber: number, size: size)
        }
        for entry: EntryID in [0, 1, 2, 3, 0, 1, 3] {
            _ = index.store(access(entry, size: 10), deadline: .max, victims: &victims)
        }
        #expect(index.store(access(9, size: 50), deadline: .max, victims: &victims) == .refused)
        index.limit(capacity: 30, count: .max, at: access(.none, size: 0), victims: &victims)
        #expect(victims == [2])
    }
}
